"""How a job ends because somebody says so: cancelled it stays to be seen, deleted it leaves a tombstone."""

from __future__ import annotations

from dueline.domain.changes import JobChange, JobInHand, check_version, given_up, ids_of, planned_ahead, state_of
from dueline.domain.errors import Conflict
from dueline.domain.ids import RunId
from dueline.domain.ledger import SkipReason
from dueline.domain.planning import Position
from dueline.domain.states import EndReason, JobState


def cancel(hand: JobInHand, *, note: str | None, stop_running: bool = False) -> JobChange:
    """End a job for good: nothing more is planned, unstarted runs are cancelled. Those under way end by themselves, unless they are asked
    to stop. A job that was cancelled before keeps the note that it has."""
    job, state = hand.job, state_of(hand)
    if state is JobState.FINISHED:
        raise Conflict("a finished job cannot be cancelled: nothing more of it is planned")
    return JobChange(
        state=JobState.CANCELLED,
        definition=job.definition,
        position=Position(),
        pause_note=job.pause_note if state is JobState.CANCELLED else note,
        unplan=ids_of(planned_ahead(hand)),
        cancel=_cancelled(hand, EndReason.JOB_CANCELLED),
        stop=EndReason.JOB_CANCELLED if stop_running else None,
        unfired=given_up(hand, SkipReason.JOB_CANCELLED),
    )


def delete(hand: JobInHand, *, expected_version: int | None = None) -> JobChange:
    """Leave a tombstone: nothing more is planned, unstarted runs are cancelled, running ones end."""
    job = hand.job
    check_version(job, expected_version)
    return JobChange(
        state=job.state,
        definition=job.definition,
        position=Position(),
        deleted=True,
        unplan=ids_of(planned_ahead(hand)),
        cancel=_cancelled(hand, EndReason.JOB_DELETED),
        unfired=given_up(hand, SkipReason.JOB_DELETED),
    )


def expire(hand: JobInHand, *, since_ms: int) -> JobChange:
    """Delete a job that has finished, at that instant. Conflict where somebody changed it meanwhile, or where a run of it waits."""
    if hand.job.state is not JobState.FINISHED or hand.job.updated_ms != since_ms or hand.runs:
        raise Conflict("the job is not over")
    return delete(hand)


def _cancelled(hand: JobInHand, reason: EndReason) -> tuple[tuple[RunId, str], ...]:
    """The runs that wait and whose time has come, each with the reason of its end."""
    planned = planned_ahead(hand)
    return tuple((run.id, reason) for run in hand.runs if run not in planned)
