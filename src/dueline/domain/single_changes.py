"""One coming occurrence of a job, left out, moved to another time, or put back where the schedule has it."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from dueline.domain import limits
from dueline.domain.changes import JobInHand, check_open, compiled
from dueline.domain.errors import Conflict, Invalid
from dueline.domain.firetimes import FireTimes
from dueline.domain.instants import format_instant
from dueline.domain.schedule import After, ChangedOccurrence, Schedule


class ChangeKind(StrEnum):
    SKIP = "skip"
    MOVE = "move"
    RESTORE = "restore"


class OccurrenceChange(msgspec.Struct, frozen=True):
    """`to_ms` is where a moved one goes."""

    kind: ChangeKind
    to_ms: int | None = None


def change_occurrence(hand: JobInHand, at_ms: int, change: OccurrenceChange) -> Schedule:
    """The schedule with one occurrence changed, or the reason why that cannot be."""
    check_open(hand.job.state)
    schedule = hand.job.definition.schedule
    if schedule is None or isinstance(schedule, After):
        raise Conflict("the job has no schedule that says beforehand when it comes")
    changed = {one.at_ms: one for one in schedule.changed}
    if at_ms <= hand.now_ms:
        raise Invalid(("at", f"{format_instant(at_ms)} is past"))
    # One that was moved is known by both of its times.
    meant_ms = next((one.at_ms for one in schedule.changed if one.moved_to_ms == at_ms), at_ms)
    known = changed.get(meant_ms)
    if known is not None and known.moved_to_ms is not None and known.moved_to_ms <= hand.now_ms:
        raise Invalid(("at", f"the occurrence was moved to {format_instant(known.moved_to_ms)}, and has come then"))
    if change.kind is ChangeKind.RESTORE:
        if changed.pop(meant_ms, None) is None:
            raise Invalid(("at", f"the occurrence at {format_instant(at_ms)} is not changed"))
    else:
        times = compiled(schedule, hand.calendars)
        if meant_ms not in changed and times.next_fire_after(at_ms - 1) != at_ms:
            raise Invalid(("at", _no_occurrence(at_ms, times.next_fire_after(hand.now_ms))))
        if change.to_ms is not None:
            _check_free(times, change.to_ms, now_ms=hand.now_ms)
        changed[meant_ms] = ChangedOccurrence(meant_ms, change.to_ms)
    return msgspec.structs.replace(schedule, changed=_bounded(changed, now_ms=hand.now_ms))


def _check_free(times: FireTimes, to_ms: int, *, now_ms: int) -> None:
    if to_ms <= now_ms:
        raise Invalid(("to", f"{format_instant(to_ms)} is past"))
    if times.next_fire_after(to_ms - 1) == to_ms:
        raise Invalid(("to", f"the job has an occurrence at {format_instant(to_ms)} already: skip one of them instead"))


def _no_occurrence(at_ms: int, next_ms: int | None) -> str:
    comes = "none comes any more" if next_ms is None else f"the next one is {format_instant(next_ms)}"
    return f"the job has no occurrence at {format_instant(at_ms)}; {comes}"


def _bounded(changed: dict[int, ChangedOccurrence], *, now_ms: int) -> tuple[ChangedOccurrence, ...]:
    """Changes in order. Those long past make room for new ones."""
    kept = sorted(changed.values(), key=lambda one: one.at_ms)
    while len(kept) > limits.CHANGED_MAX and max(kept[0].at_ms, kept[0].moved_to_ms or 0) < now_ms:
        kept.pop(0)
    if len(kept) > limits.CHANGED_MAX:
        raise Conflict(f"the job has {limits.CHANGED_MAX} changed occurrences to come: edit its schedule instead")
    return tuple(kept)
