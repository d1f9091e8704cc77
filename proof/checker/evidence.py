"""All that was written down during a scenario, read into memory and looked up by what it is about."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from pathlib import Path

import msgspec

from proof import records
from proof.records import (
    Answered,
    Books,
    Call,
    DeadLetter,
    Fault,
    Hit,
    Job,
    Metric,
    Occurrence,
    Queue,
    Run,
    Scenario,
    Stall,
    Worker,
    read_lines,
)

TERMINAL = frozenset({"succeeded", "failed", "cancelled", "expired"})


class Evidence(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    scenario: Scenario
    hits: list[Hit] = []
    calls: list[Call] = []
    faults: list[Fault] = []
    stalls: list[Stall] = []
    jobs: list[Job] = []
    runs: list[Run] = []
    dead_letters: list[DeadLetter] = []
    occurrences: list[Occurrence] = []
    queues: list[Queue] = []
    workers: list[Worker] = []
    metrics: list[Metric] = []
    books: list[Books] = []

    @cached_property
    def run_by_id(self) -> dict[str, Run]:
        return {run.id: run for run in self.runs}

    @cached_property
    def hits_of(self) -> dict[str, list[Hit]]:
        """The hits of each run, in the order of their tokens."""
        found: dict[str, list[Hit]] = defaultdict(list)
        for hit in sorted(self.hits, key=lambda hit: (hit.token, hit.at_s)):
            found[hit.run].append(hit)
        return found

    @cached_property
    def runs_of_job(self) -> dict[str | None, list[Run]]:
        found: dict[str | None, list[Run]] = defaultdict(list)
        for run in self.runs:
            found[run.job_id].append(run)
        return found

    @cached_property
    def occurrence_of(self) -> dict[tuple[str, int], Occurrence]:
        return {(one.job_id, records.instant_ms(one.scheduled_at)): one for one in self.occurrences}

    @cached_property
    def job_of_marker(self) -> dict[str, str]:
        """The ids of jobs by their markers: as the client was told, or else as the product lists them."""
        listed = {job.tags[0]: job.id for job in self.jobs if job.tags}
        told = {call.marker: call.id for call in self.calls if call.operation == "create" and call.id is not None}
        return listed | told

    def on_one_clock(self) -> Evidence:
        """Without the runs of which a time was told by a clock that was wrong then: it compares with no other.

        Until all is settled, processes may still go by what they knew of it.
        """
        wrong = [
            (fault.begin_s + fault.store_clock_s, fault.settled_s + fault.store_clock_s)
            for fault in self.faults
            if fault.store_clock_s
        ]
        right = [run for run in self.runs if not any(_tells_a_time_in(run, begin_s, end_s) for begin_s, end_s in wrong)]
        return msgspec.structs.replace(self, runs=right)

    def right_s(self, told_s: float) -> float:
        """A time that the store told, by a clock that was right all along."""
        for fault in self.faults:
            if fault.store_clock_s and fault.begin_s <= told_s - fault.store_clock_s <= fault.settled_s:
                return told_s - fault.store_clock_s
        return told_s

    def faults_during(self, begin_s: float, end_s: float) -> list[Fault]:
        """Accidents whose time, until all had to be as before, meets a span."""
        return [
            fault
            for fault in self.faults
            if not fault.planned and fault.begin_s <= end_s and fault.settled_s >= begin_s
        ]

    def done(self, operation: str) -> list[Call]:
        return [call for call in self.calls if call.operation == operation and call.answered is Answered.ACKNOWLEDGED]


def _tells_a_time_in(run: Run, begin_s: float, end_s: float) -> bool:
    told = [run.created_at, run.finished_at]
    for attempt in run.attempts:
        told += [attempt.claimed_at, attempt.started_at, attempt.finished_at]
    return any(begin_s <= records.instant_s(at) <= end_s for at in told if at is not None)


def read_evidence(folder: Path) -> Evidence:
    return Evidence(
        scenario=msgspec.json.decode((folder / records.SCENARIO).read_bytes(), type=Scenario),
        hits=[hit for path in sorted(folder.glob(records.HITS)) for hit in read_lines(path, Hit)],
        calls=read_lines(folder / records.CALLS, Call),
        faults=read_lines(folder / records.FAULTS, Fault),
        stalls=read_lines(folder / records.STALLS, Stall),
        jobs=read_lines(folder / records.JOBS, Job),
        runs=read_lines(folder / records.RUNS, Run),
        dead_letters=read_lines(folder / records.DEAD_LETTERS, DeadLetter),
        occurrences=read_lines(folder / records.OCCURRENCES, Occurrence),
        queues=read_lines(folder / records.QUEUES, Queue),
        workers=read_lines(folder / records.WORKERS, Worker),
        metrics=read_lines(folder / records.METRICS, Metric),
        books=read_lines(folder / records.BOOKS, Books),
    )
