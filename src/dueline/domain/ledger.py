"""What became of an occurrence, in a word that people see. Every due instant has exactly one verdict.

An occurrence that became a run has its verdict in the run. The others are kept as stretches of time with one verdict each: three days
of an outage are one row, not thousands.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from dueline.domain import limits
from dueline.domain.run import Run
from dueline.domain.states import EndReason, RunState


class Verdict(StrEnum):
    FIRED = "fired"
    """It started in time."""
    LATE = "late"
    """It started, and too late."""
    COALESCED = "coalesced"
    """A later occurrence that was missed too ran in its place."""
    SKIPPED = "skipped"
    """It did not run; the reason is told."""
    WAITING = "waiting"
    """Its time has come, and it has not started yet; the reason is told where there is one."""
    EXPECTED = "expected"
    """Its time has not come."""


class SkipReason(StrEnum):
    """Why an occurrence did not run."""

    MISFIRE = "misfire"
    """It was missed, and the policy is to skip what was missed."""
    WINDOW = "misfire_window"
    """It was missed longer ago than the misfire window reaches."""
    CAP = "misfire_cap"
    """More were missed than may be caught up."""
    PAUSED = "paused"
    OVERLAP = "overlap"
    CALENDAR = "calendar"
    REQUESTED = "requested"
    """Somebody asked to leave this one out."""
    MOVED = "moved"
    """Somebody moved this one to another time."""
    REPLACED = "schedule_replaced"
    """The job was paused, and got another schedule before it was resumed."""
    RECOVERY = "recovery"
    """Given up when an outage was recovered from."""
    JOB_DELETED = "job_deleted"
    JOB_CANCELLED = "job_cancelled"


class Unfired(msgspec.Struct, frozen=True):
    """The occurrences between two instants, inclusive, that became no runs, for one reason. It begins with an occurrence."""

    from_ms: int
    to_ms: int
    verdict: Verdict
    reason: SkipReason | None = None


class Occurrence(msgspec.Struct, frozen=True, kw_only=True):
    """One due instant of a job, with its verdict. One that became a run names it."""

    scheduled_ms: int
    verdict: Verdict
    reason: str | None = None
    version: int | None = None
    run: Run | None = None


_ENDED: dict[str | None, tuple[Verdict, str | None]] = {
    EndReason.OVERLAP: (Verdict.SKIPPED, SkipReason.OVERLAP),
    EndReason.SUPERSEDED: (Verdict.SKIPPED, SkipReason.OVERLAP),
    EndReason.MISFIRE: (Verdict.SKIPPED, SkipReason.MISFIRE),
    EndReason.COALESCED: (Verdict.COALESCED, None),
    EndReason.JOB_DELETED: (Verdict.SKIPPED, SkipReason.JOB_DELETED),
    EndReason.JOB_CANCELLED: (Verdict.SKIPPED, SkipReason.JOB_CANCELLED),
    EndReason.RECOVERY: (Verdict.SKIPPED, SkipReason.RECOVERY),
    EndReason.REQUESTED: (Verdict.SKIPPED, SkipReason.REQUESTED),
}
"""What a run is told to be that ended before it started, by the reason of its end."""


def judge(run: Run, *, jitter_ms: int, now_ms: int) -> Occurrence:
    """The verdict of an occurrence that became a run. `jitter_ms` of being late was asked for."""
    verdict, reason = _verdict(run, jitter_ms=jitter_ms, now_ms=now_ms)
    return Occurrence(scheduled_ms=run.scheduled_ms, verdict=verdict, reason=reason, version=run.version, run=run)


def started_ms(run: Run) -> int | None:
    """When the first attempt of a run began."""
    begun = [attempt.started_ms or attempt.claimed_ms for attempt in run.attempts]
    if run.state is RunState.RUNNING and run.claimed_ms is not None:
        begun.append(max(run.claimed_ms, run.due_ms))
    return min(begun, default=run.started_ms)


def _verdict(run: Run, *, jitter_ms: int, now_ms: int) -> tuple[Verdict, str | None]:
    if run.scheduled_ms > now_ms:
        return Verdict.EXPECTED, None
    begun_ms = started_ms(run)
    if begun_ms is not None and begun_ms <= now_ms:
        late = begun_ms > run.scheduled_ms + jitter_ms + limits.LATE_MS
        return (Verdict.LATE if late else Verdict.FIRED), None
    if run.state is RunState.CANCELLED:
        return _ENDED.get(run.reason, (Verdict.SKIPPED, run.reason))
    return Verdict.WAITING, run.reason or (RunState.SCHEDULED if run.due_ms > now_ms else run.state)
