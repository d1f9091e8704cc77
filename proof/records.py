"""What is written down during a scenario, and where: all that the makers of the logs and their judge share.

Times are seconds since 1970. What the product tells of itself (jobs, runs and so on) is kept as its API tells it, of which the judge
reads these members.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import msgspec

SCENARIO = "scenario.json"
HITS = "hits*.jsonl"
CALLS = "calls.jsonl"
FAULTS = "faults.jsonl"
STALLS = "stalls.jsonl"
JOBS = "jobs.jsonl"
RUNS = "runs.jsonl"
DEAD_LETTERS = "dead_letters.jsonl"
OCCURRENCES = "occurrences.jsonl"
QUEUES = "queues.jsonl"
WORKERS = "workers.jsonl"
METRICS = "metrics.jsonl"
BOOKS = "books.jsonl"
VERDICT = "verdict.json"
PAGE = "verdict.txt"
PICTURE = "timeline.svg"

CHUNK_BYTES = 8 * 1024 * 1024

Record = TypeVar("Record")


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """What was to happen. `wanted` bounds figures by name; `hits_min` is the load below which the scenario shows nothing."""

    name: str
    seed: int
    store: str
    began_s: float
    ended_s: float
    dumped_s: float
    hits_min: int = 1
    faults_min: int = 0
    lease_s: float = 8.0
    sweep_s: float = 2.0
    wanted: dict[str, float] = {}


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """One request that a target read to its end, written before it was answered."""

    at_s: float
    monotonic_s: float
    path: str
    run: str
    attempt: int
    token: int
    job: str
    scheduled_at: str
    marker: str


class Answered(StrEnum):
    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"
    """It was not done, and the answer (or that there was no connection) says so."""
    UNKNOWN = "unknown"
    """No answer, or one that leaves open whether it was done."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One operation of the client. `marker` names what was asked for: it is the tag of the job or run, and in the body that is sent."""

    operation: str
    sent_s: float
    answered_s: float
    answered: Answered
    status: int | None = None
    marker: str = ""
    id: str | None = None
    """What was created, acted on, or looked at."""
    asked: dict[str, Any] = {}
    seen: dict[str, Any] = {}
    """What a look saw."""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to whom, until when, and what shows that it was. `settled_s`: from then on all must be as before."""

    kind: str
    victim: str
    begin_s: float
    end_s: float
    settled_s: float
    planned: bool = False
    """A hand-over in order, or a heavy load: no accident. It explains that things are late, and nothing else."""
    store_clock_s: float = 0.0
    """By how much the store's clock was wrong meanwhile: what it says of those moments is no time."""
    evidence: dict[str, Any] = {}


class Stall(msgspec.Struct, frozen=True, kw_only=True):
    """The machine stood still: its disk did not answer, or its processors were somebody else's."""

    what: str
    begin_s: float
    end_s: float


class Job(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    state: str
    tags: list[str]


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    attempt: int
    token: int
    worker: str
    claimed_at: str
    started_at: str | None
    finished_at: str
    outcome: str


class Run(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    job_id: str | None
    kind: str
    state: str
    tags: list[str]
    scheduled_at: str
    due_at: str
    created_at: str
    finished_at: str | None
    reason: str | None
    attempts: list[Attempt]


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    id: str


class Occurrence(msgspec.Struct, frozen=True, kw_only=True):
    job_id: str
    scheduled_at: str
    verdict: str
    reason: str | None
    run_id: str | None


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    ready: int
    running: int
    held: int
    waiting: int


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    role: str
    state: str
    busy: int


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of one process, as it told it at the end."""

    process: str
    name: str
    value: float


class Books(msgspec.Struct, frozen=True):
    """Rows of runs that live, of runs that ended, and of runs that do both."""

    hot: int
    archived: int
    both: int


def instant_ms(text: str) -> int:
    """Milliseconds since 1970."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def instant_s(text: str) -> float:
    return instant_ms(text) / 1000


def each_line(path: Path, kind: type[Record]) -> Iterator[Record]:
    """The records of a log, however long it is; none where nobody wrote one. A last line that was cut off is no record."""
    if not path.exists():
        return
    decoder = msgspec.json.Decoder(kind)
    rest = b""
    with path.open("rb") as log:
        while chunk := log.read(CHUNK_BYTES):
            whole, newline, after = chunk.rpartition(b"\n")
            if newline:
                yield from decoder.decode_lines(rest + whole)
                rest = b""
            rest += after


def read_lines(path: Path, kind: type[Record]) -> list[Record]:
    """All records of a log at once."""
    return list(each_line(path, kind))


def write_lines(path: Path, records: Iterable[object]) -> None:
    path.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))
