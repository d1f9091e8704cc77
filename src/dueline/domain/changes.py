"""What a change of a job does to its plan and to its runs. The store locks the job, asks here, and writes the answer."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from dueline.domain import limits
from dueline.domain.errors import Conflict, VersionMismatch
from dueline.domain.firetimes import compile_schedule
from dueline.domain.firing import make_runs
from dueline.domain.ids import RunId
from dueline.domain.job import Definition, Job, JobVersion
from dueline.domain.planning import MisfirePolicy, choose_missed, plan
from dueline.domain.run import NewRun
from dueline.domain.schedule import At, Schedule
from dueline.domain.states import EndReason, HeldReason, JobState, RunKind, RunState


class LiveRun(msgspec.Struct, frozen=True, kw_only=True):
    """What a change of a job must know of one of its unstarted runs."""

    id: RunId
    kind: RunKind
    state: RunState
    scheduled_ms: int
    due_ms: int
    attempt: int
    reason: str | None


class JobInHand(msgspec.Struct, frozen=True, kw_only=True):
    """A job locked for a change, at one moment of the store's clock, with those of its runs that have not started.

    A run that is claimed but not yet due counts as not started: it is held by its worker, which asks again before it starts.
    """

    job: Job
    now_ms: int
    runs: tuple[LiveRun, ...]


class JobChange(msgspec.Struct, frozen=True, kw_only=True):
    """The change to make, decided from a JobInHand. Runs not named stay as they are."""

    state: JobState
    definition: Definition
    next_ms: int | None
    pause_note: str | None = None
    deleted: bool = False
    unplan: tuple[RunId, ...] = ()
    """Runs whose time has not come: they vanish, their occurrences are planned again."""
    hold: tuple[RunId, ...] = ()
    free: tuple[RunId, ...] = ()
    cancel: tuple[tuple[RunId, str], ...] = ()
    """Runs to end as cancelled, each with its reason."""
    runs: tuple[NewRun, ...] = ()
    """Runs to write: what was due by the schedule that goes. The store puts their tokens into the new generation."""


DecideChange = Callable[[JobInHand], JobChange]


def first_occurrence(schedule: Schedule | None, *, now_ms: int) -> int | None:
    """The first occurrence of a new schedule. A one-time job whose instant has just passed runs at once."""
    if schedule is None:
        return None
    return schedule.at_ms if isinstance(schedule, At) else compile_schedule(schedule).next_after(now_ms)


def edit(hand: JobInHand, definition: Definition, *, expected_version: int | None = None) -> JobChange:
    """Replace the definition. What is due keeps the old version; what is not yet due is planned again by the new one."""
    job = hand.job
    check_version(job, expected_version)
    state, next_ms = _state(hand), _undecided_ms(hand)
    runs: tuple[NewRun, ...] = ()
    if definition.schedule != job.definition.schedule:
        # A new schedule begins now; what was due by the old one before now is decided by the old one, here.
        runs = _overdue_runs(hand) if state is JobState.ACTIVE else ()
        next_ms = first_occurrence(definition.schedule, now_ms=hand.now_ms)
    if state in (JobState.ACTIVE, JobState.FINISHED):
        exhausted = definition.schedule is not None and next_ms is None
        state = JobState.FINISHED if exhausted else JobState.ACTIVE
    return JobChange(
        state=state,
        definition=definition,
        next_ms=next_ms,
        pause_note=job.pause_note,
        unplan=_ids(_planned_ahead(hand)),
        runs=runs,
    )


def pause(hand: JobInHand, *, note: str | None) -> JobChange:
    """Stop planning and starting. Runs under way end by themselves; runs that wait are held."""
    job = hand.job
    if _state(hand) not in (JobState.ACTIVE, JobState.PAUSED):
        raise Conflict(f"a {job.state} job cannot be paused")
    planned = _planned_ahead(hand)
    waiting = [run for run in hand.runs if run not in planned and run.reason != HeldReason.PAUSED]
    return JobChange(
        state=JobState.PAUSED,
        definition=job.definition,
        next_ms=_undecided_ms(hand),
        pause_note=note,
        unplan=_ids(planned),
        hold=_ids(waiting),
    )


def resume(hand: JobInHand) -> JobChange:
    """Go on. What was held or missed meanwhile follows the misfire policy."""
    job = hand.job
    if job.state not in (JobState.ACTIVE, JobState.PAUSED):
        raise Conflict(f"a {job.state} job cannot be resumed")
    held = [run for run in hand.runs if run.state is RunState.HELD and run.reason == HeldReason.PAUSED]
    dropped = _dropped_on_resume(hand, held)
    return JobChange(
        state=JobState.ACTIVE,
        definition=job.definition,
        next_ms=job.next_ms,
        free=tuple(run.id for run in held if run.id not in dropped),
        cancel=tuple(dropped.items()),
    )


def delete(hand: JobInHand, *, expected_version: int | None = None) -> JobChange:
    """Leave a tombstone: nothing more is planned, unstarted runs are cancelled, running ones end."""
    job = hand.job
    check_version(job, expected_version)
    planned = _planned_ahead(hand)
    return JobChange(
        state=job.state,
        definition=job.definition,
        next_ms=None,
        deleted=True,
        unplan=_ids(planned),
        cancel=tuple((run.id, EndReason.JOB_DELETED) for run in hand.runs if run not in planned),
    )


def changed_job(hand: JobInHand, change: JobChange) -> Job:
    """The job after the change. Another definition is a new version."""
    job = hand.job
    return msgspec.structs.replace(
        job,
        state=change.state,
        version=job.version + (change.definition != job.definition),
        definition=change.definition,
        next_ms=None if change.deleted else change.next_ms,
        pause_note=change.pause_note,
        updated_ms=hand.now_ms,
    )


def check_version(job: Job, expected_version: int | None) -> None:
    if expected_version is not None and expected_version != job.version:
        raise VersionMismatch(expected=expected_version, actual=job.version)


def _state(hand: JobInHand) -> JobState:
    """The job's state, once the runs planned ahead are taken back: a schedule that is exhausted by them is not."""
    return JobState.ACTIVE if hand.job.state is JobState.FINISHED and _planned_ahead(hand) else hand.job.state


def _planned_ahead(hand: JobInHand) -> list[LiveRun]:
    """Runs written ahead of their time: plans still, not yet history."""
    return [run for run in hand.runs if run.kind is RunKind.SCHEDULED and run.scheduled_ms > hand.now_ms]


def _undecided_ms(hand: JobInHand) -> int | None:
    """The first occurrence nobody has decided about, once the runs planned ahead are taken back."""
    undecided = [run.scheduled_ms for run in _planned_ahead(hand)]
    if hand.job.next_ms is not None:
        undecided.append(hand.job.next_ms)
    return min(undecided, default=None)


def _overdue_runs(hand: JobInHand) -> tuple[NewRun, ...]:
    """The runs of occurrences that are due and that the scheduler has not come to yet."""
    job, schedule = hand.job, hand.job.definition.schedule
    if schedule is None or job.next_ms is None or job.next_ms > hand.now_ms:
        return ()
    decided = plan(
        compile_schedule(schedule),
        job.definition.misfire,
        next_ms=job.next_ms,
        now_ms=hand.now_ms,
        until_ms=hand.now_ms,
    )
    version = JobVersion(job.id, job.version, job.tenant, job.definition)
    return make_runs(version, decided, now_ms=hand.now_ms, token=0)


def _dropped_on_resume(hand: JobInHand, held: list[LiveRun]) -> dict[RunId, str]:
    """Held runs that the misfire policy does not start any more, each with its reason."""
    job, misfire = hand.job, hand.job.definition.misfire
    if isinstance(job.definition.schedule, At):
        return {}
    missed_before_ms = hand.now_ms - limits.MISFIRE_GRACE_MS
    missed = [
        run
        for run in held
        if run.kind is RunKind.SCHEDULED and run.attempt == 0 and run.scheduled_ms < missed_before_ms
    ]
    kept = [run for run in missed if run.scheduled_ms >= hand.now_ms - misfire.window_ms]
    reason = EndReason.MISFIRE
    if misfire.policy is MisfirePolicy.SKIP:
        kept = []
    elif misfire.policy is MisfirePolicy.FIRE_ALL:
        kept = kept[-misfire.cap :]
    else:
        # A later occurrence that was missed too stands for all of them; the scheduler will fire it.
        followed = _fires_missed(job, before_ms=missed_before_ms, now_ms=hand.now_ms)
        kept = [] if followed else kept[-1:]
        if kept or followed:
            reason = EndReason.COALESCED
    return {run.id: reason for run in missed if run not in kept}


def _fires_missed(job: Job, *, before_ms: int, now_ms: int) -> bool:
    """Whether a job that goes on now fires one of the occurrences that it missed."""
    schedule, misfire = job.definition.schedule, job.definition.misfire
    if schedule is None or job.next_ms is None or job.next_ms >= before_ms:
        return False
    times = compile_schedule(schedule)
    return bool(choose_missed(times, misfire, first_ms=job.next_ms, last_ms=before_ms - 1, now_ms=now_ms))


def _ids(runs: list[LiveRun]) -> tuple[RunId, ...]:
    return tuple(run.id for run in runs)
