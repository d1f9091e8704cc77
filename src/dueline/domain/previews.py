"""What a schedule will do: its next fires, in UTC and on the wall clock, with a note where one is not what the schedule plainly says."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from dueline.domain.changes import Calendars, compiled
from dueline.domain.instants import INSTANT_MS_MAX
from dueline.domain.localtime import zone_of
from dueline.domain.notes import note_of
from dueline.domain.schedule import OnExcluded, Schedule

FIRES_MAX = 1_000
"""Fires of one preview: a screen for people, a few years of a daily job for programs."""


class Fire(msgspec.Struct, frozen=True):
    """One instant at which a job will run. `local` is what the wall clock shows then, with its offset."""

    at_ms: int
    local: str
    note: str | None = None


class Difference(msgspec.Struct, frozen=True):
    """Fires that one schedule has and another has not, over the period that both were looked at."""

    added_ms: list[int]
    removed_ms: list[int]


def preview(
    schedule: Schedule,
    calendars: Calendars,
    *,
    after_ms: int,
    count: int,
    timezone: str | None = None,
    runs_left: int | None = None,
) -> list[Fire]:
    """The next fires strictly after an instant, at most `count`, as if the schedule were written then.

    Of a schedule that counts from the end of a run only the first is known. `timezone` is the wall clock to show, the schedule's own
    unless said; `runs_left` is how many may come, as many as the schedule says unless said.
    """
    shown = schedule if timezone is None else msgspec.structs.replace(schedule, timezone=timezone)
    left = schedule.max_runs if runs_left is None else runs_left
    found: list[Fire] = []
    previous_ms: int | None = None
    for at_ms in fires(schedule, calendars, after_ms=after_ms, count=count if left is None else min(count, left)):
        note = fire_note(schedule, at_ms, previous_ms, shown=shown)
        found.append(Fire(at_ms, local_text(at_ms, shown.timezone), note))
        previous_ms = at_ms
    return found


def fire_note(schedule: Schedule, at_ms: int, previous_ms: int | None, *, shown: Schedule | None = None) -> str | None:
    """What a reader should know of one fire: that it was moved, or what the clocks do to it. `shown` has the wall clock to tell it by, if
    that is not the schedule's own."""
    shown = shown or schedule
    return _moved(schedule, at_ms, shown.timezone) or note_of(shown, at_ms, previous_ms)


def fires(schedule: Schedule, calendars: Calendars, *, after_ms: int, count: int) -> list[int]:
    """The next instants strictly after one, at most `count`, and none after the year 9999."""
    times = compiled(schedule, calendars)
    found: list[int] = []
    at_ms = times.next_fire_after(after_ms)
    while at_ms is not None and at_ms <= INSTANT_MS_MAX and len(found) < count:
        found.append(at_ms)
        at_ms = None if times.follows else times.next_fire_after(at_ms)
    return found


def difference(before_ms: Sequence[int], after_ms: Sequence[int], *, count: int) -> Difference:
    """What comes and what goes when one list of next fires becomes another. A list of fewer than `count` is all there is."""
    ends = [fires_ms[-1] for fires_ms in (before_ms, after_ms) if len(fires_ms) >= count]
    until_ms = min(ends, default=INSTANT_MS_MAX)
    old, new = frozenset(before_ms), frozenset(after_ms)
    return Difference(
        [at_ms for at_ms in after_ms if at_ms not in old and at_ms <= until_ms],
        [at_ms for at_ms in before_ms if at_ms not in new and at_ms <= until_ms],
    )


def local_text(at_ms: int, timezone: str) -> str:
    """RFC 3339 on the wall clock of a zone: `2026-03-29T03:00:00+02:00`, with milliseconds only where there are some."""
    zone = UTC if timezone == "UTC" else zone_of(timezone)
    moment = datetime.fromtimestamp(at_ms // 1000, zone).replace(microsecond=at_ms % 1000 * 1000)
    return moment.isoformat(timespec="milliseconds" if at_ms % 1000 else "seconds")


def _moved(schedule: Schedule, at_ms: int, zone: str) -> str | None:
    """From where an occurrence was moved to an instant, and by whom."""
    for one in schedule.changed:
        if one.moved_to_ms == at_ms:
            return f"moved here from {local_text(one.at_ms, zone)}"
    if schedule.calendars and schedule.on_excluded is not OnExcluded.SKIP:
        plain = compiled(msgspec.structs.replace(schedule, calendars=(), changed=()), {})
        if plain.next_after(at_ms - 1) != at_ms:
            side = "before" if schedule.on_excluded is OnExcluded.BEFORE else "after"
            return f"moved off an excluded day, to the nearest free day {side} it"
    return None
