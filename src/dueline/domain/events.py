"""What is told to those who listen: changes of jobs and ends of runs, in the order in which they came; and the story of one run."""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from dueline.domain import limits
from dueline.domain.errors import Invalid
from dueline.domain.ids import JobId, RunId
from dueline.domain.run import Attempt, OutcomeKind, Run
from dueline.domain.states import TERMINAL, JobState, RunState

if TYPE_CHECKING:
    from dueline.domain.job import Job

_MARK = re.compile(r"([0-9a-f]{1,12})-([0-9]{1,15})-([0-9]{1,9})")
_STEP = re.compile(r"[0-9]{1,9}")


class Told(StrEnum):
    """What a row of the store's record of changes tells: that runs ended, or else what became of jobs."""

    ENDED = "ended"
    CREATED = "created"
    UPDATED = "updated"
    PAUSED = "paused"
    RESUMED = "resumed"
    FINISHED = "finished"
    CANCELLED = "cancelled"
    DELETED = "deleted"


class EventType(StrEnum):
    """What listeners are told, by its public name."""

    RUN_SUCCEEDED = "run.succeeded"
    RUN_FAILED = "run.failed"
    RUN_CANCELLED = "run.cancelled"
    RUN_EXPIRED = "run.expired"
    JOB_CREATED = "job.created"
    JOB_UPDATED = "job.updated"
    JOB_PAUSED = "job.paused"
    JOB_RESUMED = "job.resumed"
    JOB_FINISHED = "job.finished"
    JOB_CANCELLED = "job.cancelled"
    JOB_DELETED = "job.deleted"
    RESET = "reset"
    """Some were forgotten before they could be told."""
    RUN_CREATED = "run.created"
    RUN_STATE = "run.state"
    ATTEMPT_STARTED = "attempt.started"
    ATTEMPT_ENDED = "attempt.ended"
    """These four are told of one run to whoever asks for it alone: see `OF_ONE_RUN`."""


OF_ONE_RUN = frozenset({EventType.RUN_CREATED, EventType.RUN_STATE, EventType.ATTEMPT_STARTED, EventType.ATTEMPT_ENDED})
"""What is read from the row of a run while somebody follows it, and recorded nowhere: it is in no stream of all."""


def end_type(state: RunState) -> EventType:
    """The event of a run that ended so."""
    return EventType(f"run.{state}")


def job_type(told: Told) -> EventType:
    """The event of a change of a job."""
    return EventType(f"job.{told}")


_BY_STATE = {
    JobState.ACTIVE: Told.RESUMED,
    JobState.PAUSED: Told.PAUSED,
    JobState.FINISHED: Told.FINISHED,
    JobState.CANCELLED: Told.CANCELLED,
}


def told_of_change(before: Job, after: Job, *, deleted: bool) -> Told | None:
    """What a change of a job is told as. One that leaves definition and state as they are, such as another look at its plan, is not."""
    if deleted:
        return Told.DELETED
    if after.version != before.version:
        return Told.UPDATED
    return None if after.state is before.state else _BY_STATE[after.state]


class EventMark(NamedTuple):
    """How far somebody was told: everything before row `seq` of one record of changes, and the first `told` things of that row."""

    origin_ms: int
    """When the record was begun: the numbers of another one mean nothing in it."""
    seq: int
    told: int = 0

    @property
    def text(self) -> str:
        return f"{self.origin_ms:x}-{self.seq}-{self.told}"


def parse_mark(text: str, *, field: str) -> EventMark:
    """Read what `EventMark.text` wrote, or raise Invalid."""
    found = _MARK.fullmatch(text)
    if found is None:
        raise Invalid((field, "is not the id of an event: pass on what was told, as it is, or leave it out"))
    return EventMark(int(found[1], 16), int(found[2]), int(found[3]))


class Horizon:
    """Up to which number of the record nothing can appear any more.

    Numbers are given out before their rows can be seen, and a later one may be seen first. Whoever writes shows that it does before it gets
    a number, and until its rows can be seen. So once all are gone who wrote when a number was the last, all up to it can be seen.
    """

    def __init__(self) -> None:
        self.seq = 0
        self._pending: tuple[int, frozenset[str]] | None = None

    def saw(self, last: int, writing: Collection[str]) -> int:
        """Take in the last number, and who wrote at some moment after it was read; answers the horizon. Asked in the order of the looks."""
        if not writing:
            self.seq, self._pending = max(self.seq, last), None
        elif self._pending is not None and self._pending[1].isdisjoint(writing):
            self.seq, self._pending = max(self.seq, self._pending[0]), None
        if writing and self._pending is None:
            self._pending = (last, frozenset(writing))
        return self.seq


class JobTold(msgspec.Struct, frozen=True):
    """A job as a change left it. The name is the one that it has by now."""

    id: JobId
    name: str
    state: JobState
    version: int


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is told. `id` is how far whoever was told it is; None where there is no way back to it."""

    id: str | None
    type: EventType
    at_ms: int
    run: Run | None = None
    job: JobTold | None = None
    attempt: Attempt | None = None
    """The attempt that ended."""
    worker: str | None = None
    """Who began an attempt."""

    @property
    def job_id(self) -> JobId | None:
        """The job that it is about."""
        if self.job is not None:
            return self.job.id
        return None if self.run is None else self.run.job_id


class EventFilter(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wants to be told; what is None does not matter."""

    tenant: str
    job_id: JobId | None = None
    run_id: RunId | None = None
    type: EventType | None = None

    def wants(self, event: Event) -> bool:
        if self.type is not None and event.type is not self.type:
            return False
        if self.run_id is not None and (event.run is None or event.run.id != self.run_id):
            return False
        return self.job_id is None or self.job_id == event.job_id


def parse_step(text: str, *, field: str) -> int:
    """The number of a step that `story` told, or Invalid."""
    if not _STEP.fullmatch(text):
        raise Invalid(
            (field, "is not the id of an event of this run: pass on what was told, as it is, or leave it out")
        )
    return int(text)


def story(run: Run, *, after: int = 0) -> list[Event]:
    """The state changes of a run so far, behind a step, as its row and its attempts tell them. Each has a number that it keeps.

    An attempt has the two numbers behind those of the one before it, and the end one that is behind all that was told while the run was
    live. An attempt that was given back before it began is told as the next one, which has its number.
    """
    steps = {1: Event(id="1", type=EventType.RUN_CREATED, at_ms=run.created_ms, run=_created(run))}
    number = 1
    for attempt in run.attempts:
        began_ms = attempt.claimed_ms if attempt.started_ms is None else attempt.started_ms
        steps[number + 1] = _began(run, number + 1, nth=attempt.attempt, at_ms=began_ms, worker=attempt.worker)
        number += 3
        steps[number - 1] = Event(
            id=f"{number - 1}",
            type=EventType.ATTEMPT_ENDED,
            at_ms=attempt.finished_ms,
            run=_after(run, attempt),
            attempt=attempt,
        )
    if run.state is RunState.RUNNING and run.claimed_ms is not None:
        began_ms = max(run.claimed_ms, run.due_ms)
        steps[number + 1] = _began(run, number + 1, nth=run.attempt, at_ms=began_ms, worker=run.worker)
    if run.state in TERMINAL and run.finished_ms is not None:
        steps[number + 3] = Event(id=f"{number + 3}", type=end_type(run.state), at_ms=run.finished_ms, run=run)
    return [event for step, event in steps.items() if step > after]


def _began(run: Run, number: int, *, nth: int, at_ms: int, worker: str | None) -> Event:
    then = _then(run, RunState.RUNNING, attempt=nth, worker=worker, started_ms=at_ms)
    return Event(id=f"{number}", type=EventType.ATTEMPT_STARTED, at_ms=at_ms, run=then, worker=worker)


def _created(run: Run) -> Run:
    """The run as it was when it was written."""
    later = max(run.scheduled_ms, run.due_ms if run.attempt == 0 else 0) > run.created_ms + limits.AHEAD_MS
    return _then(run, RunState.SCHEDULED if later else RunState.READY)


def _after(run: Run, attempt: Attempt) -> Run:
    """The run as an attempt left it: at its end, or waiting for another one."""
    is_last = attempt is run.attempts[-1] and run.state in TERMINAL
    if is_last and (run.finished_ms == attempt.finished_ms or run.state is RunState.SUCCEEDED):
        return run
    waits = RunState.READY if attempt.outcome.kind is OutcomeKind.LOST else RunState.RETRYING
    return _then(run, waits, attempt=attempt.attempt, started_ms=attempt.started_ms)


def _then(
    run: Run, state: RunState, *, attempt: int = 0, worker: str | None = None, started_ms: int | None = None
) -> Run:
    """A live run as it was at an earlier moment. When it is due is what it is by now: nobody keeps what it was."""
    return msgspec.structs.replace(
        run, state=state, attempt=attempt, worker=worker, started_ms=started_ms, finished_ms=None, reason=None
    )
