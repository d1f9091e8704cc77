"""A run: one execution of a job. It has the state; attempts are its tries."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from enum import StrEnum

import msgspec

from dueline.domain.ids import JobId, RunId
from dueline.domain.lanes import PLAIN
from dueline.domain.overlap import Overlap
from dueline.domain.states import RunKind, RunState
from dueline.domain.texts import clean_text

_CLAIMS_PER_GENERATION = 1 << 20


def first_token(generation: int) -> int:
    """Where the tokens of a scheduled run begin.

    A change of a job takes back runs whose time has not come, claimed or not; the same run may be written again. Every change is a
    new generation, far above all tokens of the one before, so that a claim on the old run never fits the new one.
    """
    return generation * _CLAIMS_PER_GENERATION


class OutcomeKind(StrEnum):
    """How an attempt ended."""

    SUCCEEDED = "succeeded"
    REFUSED = "refused"
    """The target answered, and the answer was no."""
    UNREACHABLE = "unreachable"
    TIMED_OUT = "timed_out"
    ERRORED = "errored"
    """A task raised, or the call broke off with its effect unknown."""
    IMPOSSIBLE = "impossible"
    """It could not even be tried: no such task, a URL that no client may call."""
    CANCELLED = "cancelled"
    LOST = "lost"
    """The worker vanished; whether the effect happened is unknown."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    kind: OutcomeKind
    status: int | None = None
    error: str | None = None
    result: str | None = None
    retry_after_ms: int | None = None
    headers: dict[str, str] = {}
    """Those of the answer that were to be kept; names are in lower case."""


def no_such_task(name: str, known: Iterable[str]) -> Outcome:
    """The outcome of a run whose task nobody has; `known` are those that there are."""
    near = get_close_matches(name, known, n=3)
    meant = f" (did you mean {' or '.join(near)}?)" if near else ""
    told = f"no worker that is alive has a task {name}{meant}; start one that has it or correct the name, then redrive the run"
    return Outcome(kind=OutcomeKind.IMPOSSIBLE, error=clean_text(told))


class Attempt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The record of one ended attempt, kept on its run."""

    attempt: int
    token: int
    worker: str
    claimed_ms: int
    started_ms: int | None = None
    finished_ms: int
    outcome: Outcome


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run as people see it, live or finished."""

    id: RunId
    job_id: JobId | None
    version: int | None
    tenant: str
    kind: RunKind
    state: RunState
    queue: str
    priority: int
    tags: tuple[str, ...]
    scheduled_ms: int
    due_ms: int
    created_ms: int
    claimed_ms: int | None
    started_ms: int | None
    finished_ms: int | None
    attempt: int
    lost: int
    worker: str | None
    reason: str | None
    parent_id: RunId | None
    attempts: tuple[Attempt, ...]


def as_seen(run: Run, *, now_ms: int) -> Run:
    """The run as people see it."""
    state = seen_state(run.state, due_ms=run.due_ms, now_ms=now_ms)
    return run if state is run.state else msgspec.structs.replace(run, state=state)


def seen_state(state: RunState, *, due_ms: int, now_ms: int) -> RunState:
    """The state of a run as people see it: until its time has come it is scheduled, even in a worker's hands."""
    if state in (RunState.READY, RunState.RUNNING) and due_ms > now_ms:
        return RunState.SCHEDULED
    return state


class NewRun(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A run to write. `spec` is set for ad-hoc runs: they have no job to look the execution up in."""

    id: RunId
    job_id: JobId | None
    version: int | None
    tenant: str
    kind: RunKind
    queue: str
    priority: int
    region: str
    exclusive: bool
    timeout_ms: int
    scheduled_ms: int
    due_ms: int
    tags: tuple[str, ...] = ()
    spec: str | None = None
    parent_id: RunId | None = None
    overlap: Overlap | None = None
    """The policy to start by, where it is not the job's."""
    lane: str = PLAIN
    """What its worker must have; see `domain.lanes`."""
    expires_ms: int | None = None
    """When it is too late to start it."""
    fairness_key: str = ""
    """What it shares its tenant's turns by; see `domain.fairness`."""
    missed: bool = False
    """Whether what is on time goes first."""
    notifies: bool = False
    """Whether somebody may want to be told of its end; see `domain.notices`."""
    token: int = 0
    """Where its tokens begin. A run that was taken back by a change of its job and is written again must not repeat them."""
