"""Schedules of every shape, around the night in which Berlin's clocks change, for properties of streams and plans."""

from typing import Any

from hypothesis import strategies as st

from dueline.domain.calendars import Calendar
from dueline.domain.firetimes import FireTimes, compile_schedule
from dueline.domain.schedule import ChangedOccurrence, Cron, Every, OnExcluded, Schedule

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
NIGHT_MS = 1_774_746_000_000
"""2026-03-29 01:00 UTC, when it becomes 03:00 in Berlin."""
_NIGHT_DAY = 739_704
"""The same day, as an ordinal."""
_ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo", "Australia/Lord_Howe"]
_EXPRESSIONS = ["*/20 * * * *", "30 2 * * *", "0 */5 * * *", "0 9 * * MON", "15 0,23 * * SAT,SUN", "0 0 29 * *"]

days = st.integers(_NIGHT_DAY - 6, _NIGHT_DAY + 6)
calendars = st.builds(
    Calendar,
    weekdays=st.sets(st.integers(0, 6), max_size=3).map(lambda found: tuple(sorted(found))),
    ranges=st.lists(st.tuples(days, st.integers(0, 3)).map(lambda found: (found[0], sum(found))), max_size=2).map(
        tuple
    ),
)
moments = st.integers(NIGHT_MS - 5 * DAY_MS, NIGHT_MS + 5 * DAY_MS)
bounds = st.none() | moments
periods = st.sampled_from([17 * MINUTE_MS, HOUR_MS, 5 * HOUR_MS, DAY_MS, 25 * HOUR_MS])


@st.composite
def schedules(draw: st.DrawFn) -> tuple[Schedule, tuple[Calendar, ...]]:
    """A schedule with the calendars that it names. What is changed are occurrences, or might have been."""
    shape: dict[str, Any] = {
        "timezone": draw(st.sampled_from(_ZONES)),
        "start_ms": draw(st.none() | st.integers(NIGHT_MS - 5 * DAY_MS, NIGHT_MS)),
        "end_ms": draw(st.none() | st.integers(NIGHT_MS, NIGHT_MS + 5 * DAY_MS)),
        "on_excluded": draw(st.sampled_from(OnExcluded)),
    }
    named = tuple(draw(st.lists(calendars, max_size=2)))
    shape["calendars"] = tuple(f"calendar-{number}" for number, _ in enumerate(named))
    plain: Schedule = Cron(draw(st.sampled_from(_EXPRESSIONS)), **shape)
    if draw(st.booleans()):
        plain = Every(draw(periods), NIGHT_MS + draw(st.integers(-HOUR_MS, HOUR_MS)), **shape)
    changed = [draw(changes(compile_schedule(plain, named))) for _ in range(draw(st.integers(0, 3)))]
    shape["changed"] = tuple({change.at_ms: change for change in changed}.values())
    if isinstance(plain, Cron):
        return Cron(plain.expression, **shape), named
    assert isinstance(plain, Every)
    return Every(plain.period_ms, plain.anchor_ms, **shape), named


@st.composite
def changes(draw: st.DrawFn, times: FireTimes) -> ChangedOccurrence:
    at_ms = draw(moments)
    return ChangedOccurrence(times.next_after(at_ms) or at_ms, draw(st.none() | moments))
