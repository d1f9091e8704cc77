"""What is to fire: the occurrences of a job that come, each with the time at which its run may start."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dueline.domain.changes import Calendars, compiled
from dueline.domain.errors import Invalid
from dueline.domain.firing import jitter_of
from dueline.domain.ids import JobId, RunId
from dueline.domain.instants import INSTANT_MS_MAX
from dueline.domain.job import Definition
from dueline.domain.previews import fire_note


class Outset(msgspec.Struct, frozen=True):
    """A job, and where its schedule stands."""

    job_id: JobId
    definition: Definition
    next_ms: int
    runs_left: int | None


class Coming(msgspec.Struct, frozen=True, kw_only=True):
    """One occurrence that is to fire. `run_id` is its run, if that is written already."""

    job_id: JobId
    definition: Definition
    scheduled_ms: int
    due_ms: int
    note: str | None = None
    run_id: RunId | None = None

    @property
    def place(self) -> tuple[int, JobId]:
        """Where it stands among others."""
        return self.scheduled_ms, self.job_id


class Patience:
    """How many occurrences may be looked at for one answer."""

    def __init__(self, left: int) -> None:
        self._left = left

    def spend(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise Invalid(("from", "so much comes before it that it cannot be counted out: take one nearer to now"))


def coming(outset: Outset, calendars: Calendars, *, from_ms: int, now_ms: int, patience: Patience) -> Iterator[Coming]:
    """The occurrences of a job that are to fire at an instant or later, in their order. What is due by now is not among them.

    Of a schedule that counts from the end of a run only the first is known.
    """
    schedule, left = outset.definition.schedule, outset.runs_left
    if schedule is None:
        return
    times = compiled(schedule, calendars)
    after_ms = max(outset.next_ms - 1, now_ms)
    if left is None and not times.follows:
        after_ms = max(after_ms, from_ms - 1)
    at_ms = outset.next_ms if times.follows and outset.next_ms > now_ms else times.next_fire_after(after_ms)
    previous_ms: int | None = None
    while at_ms is not None and at_ms <= INSTANT_MS_MAX and left != 0:
        if times.end_ms is not None and at_ms > times.end_ms:
            return
        patience.spend()
        following_ms = None if times.follows else times.next_fire_after(at_ms)
        if at_ms >= from_ms:
            due_ms = at_ms
            if schedule.jitter_ms:
                due_ms += jitter_of(outset.job_id, at_ms, jitter_ms=schedule.jitter_ms, following_ms=following_ms)
            yield Coming(
                job_id=outset.job_id,
                definition=outset.definition,
                scheduled_ms=at_ms,
                due_ms=due_ms,
                note=fire_note(schedule, at_ms, previous_ms),
            )
        previous_ms, at_ms = at_ms, following_ms
        left = None if left is None else left - 1
