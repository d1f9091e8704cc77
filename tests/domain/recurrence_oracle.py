"""Slow, obvious accounts of when recurrence rules fire: dateutil on the wall clock, each time then looked up in the zone; and a walk
over every minute for the rules that follow real time.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import takewhile
from zoneinfo import ZoneInfo

from dateutil.rrule import rrulestr
from hypothesis import strategies as st

from dueline.domain.localtime import DstGap, DstOverlap

DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_MINUTE = timedelta(minutes=1)


def instants(wall: datetime, zone: str, gap: DstGap, overlap: DstOverlap) -> list[int]:
    """When a time of day comes, in seconds of UTC: where the clock shows it, and else where the policies put it."""
    read = [wall.replace(tzinfo=ZoneInfo(zone), fold=fold).astimezone(UTC) for fold in (0, 1)]
    real = sorted({one for one in read if one.astimezone(ZoneInfo(zone)).replace(tzinfo=None, fold=0) == wall})
    if real:
        chosen = {DstOverlap.FIRST: real[:1], DstOverlap.SECOND: real[-1:], DstOverlap.BOTH: real}[overlap]
        return [int(one.timestamp()) for one in chosen]
    if gap is DstGap.SKIP:
        return []
    # The second reading is by the offset after the gap, and so the earlier of the two.
    after_gap = read[1]
    if gap is DstGap.RUN_AFTER:
        after_gap = after_gap.replace(second=0)
        while after_gap.astimezone(ZoneInfo(zone)).replace(tzinfo=None) < wall:
            after_gap += _MINUTE
    return [int(after_gap.timestamp())]


def walls(rule: str, start: datetime, until: datetime) -> list[datetime]:
    """What dateutil finds on the wall clock, up to a time."""
    return list(takewhile(lambda wall: wall <= until, rrulestr(rule, dtstart=start)))


def fires(rule: str, start: datetime, until: datetime, zone: str, gap: DstGap, overlap: DstOverlap) -> list[int]:
    """When a rule by days or coarser fires, in seconds of UTC, from its start on."""
    first = instants(start, zone, DstGap.SKIP, overlap)[0]
    found = {at_s for wall in walls(rule, start, until) for at_s in instants(wall, zone, gap, overlap)}
    return sorted(at_s for at_s in found if at_s >= first)


@cache
def _wall(at_s: int, zone: str) -> datetime:
    return datetime.fromtimestamp(at_s, ZoneInfo(zone))


@dataclass(frozen=True)
class Elapsed:
    """A rule by hours or minutes in real time, of which each minute can be asked whether it fires."""

    hourly: bool
    interval: int
    hours: frozenset[int]
    minutes: frozenset[int]
    weekdays: frozenset[int]

    @property
    def text(self) -> str:
        lists = {
            "BYDAY": [DAYS[weekday] for weekday in sorted(self.weekdays)],
            "BYHOUR": [str(hour) for hour in sorted(self.hours)],
            "BYMINUTE": [str(minute) for minute in sorted(self.minutes)],
        }
        parts = [f"FREQ={'HOURLY' if self.hourly else 'MINUTELY'}", f"INTERVAL={self.interval}"]
        return ";".join([*parts, *(f"{name}={','.join(items)}" for name, items in lists.items() if items)])

    def fires(self, start_s: int, at_s: int, zone: str) -> bool:
        wall = _wall(at_s, zone)
        if (
            (self.hours and wall.hour not in self.hours)
            or (self.minutes and wall.minute not in self.minutes)
            or (self.weekdays and wall.weekday() not in self.weekdays)
        ):
            return False
        if not self.hourly:
            return (at_s - start_s) // 60 % self.interval == 0
        if not self.minutes:
            return (at_s - start_s) % (self.interval * 3_600) == 0
        # Minutes are named within the hours that the interval counts, which begin as the start's does on the wall clock.
        begins_s = start_s - _wall(start_s, zone).minute * 60
        return (at_s - begins_s) // 3_600 % self.interval == 0


@st.composite
def elapsed_rules(draw: st.DrawFn) -> Elapsed:
    few = st.frozensets(st.integers(0, 23), max_size=6)
    return Elapsed(
        hourly=draw(st.booleans()),
        interval=draw(st.sampled_from([1, 1, 2, 3, 5, 7, 12, 20, 90])),
        hours=draw(few),
        minutes=draw(st.frozensets(st.integers(0, 59), max_size=5)),
        weekdays=draw(st.one_of(st.just(frozenset[int]()), st.frozensets(st.integers(0, 6), max_size=5))),
    )


def _some(numbers: st.SearchStrategy[int], most: int = 4) -> st.SearchStrategy[list[str]]:
    return st.lists(numbers, min_size=1, max_size=most, unique=True).map(
        lambda chosen: [str(number) for number in chosen]
    )


def _either_side(most: int) -> st.SearchStrategy[int]:
    return st.one_of(st.integers(1, most), st.integers(-most, -1))


_NAMED = st.lists(st.sampled_from(DAYS), min_size=1, max_size=5, unique=True)


@st.composite
def calendar_rules(draw: st.DrawFn) -> str:
    """Rules by days or coarser, of the parts on whose meaning dateutil and RFC 5545 agree.

    They do not on days with and without a number in one BYDAY, on BYWEEKNO without BYDAY, on weeks counted back to the first, nor on
    which of the last weeks the first days of a year lie in.
    """
    frequency = draw(st.sampled_from(["YEARLY", "MONTHLY", "WEEKLY", "DAILY"]))
    parts = {"FREQ": [frequency], "INTERVAL": [draw(st.sampled_from("111235"))]}
    days = {"BYMONTH": _some(st.integers(1, 12))}
    if frequency != "WEEKLY":
        days["BYMONTHDAY"] = _some(_either_side(31))
    if frequency == "YEARLY":
        days["BYYEARDAY"] = _some(_either_side(366))
        days["BYWEEKNO"] = _some(st.one_of(st.integers(1, 51), st.integers(-50, -1)))
    for name in draw(st.sets(st.sampled_from(sorted(days)), max_size=2)):
        parts[name] = draw(days[name])
    if "BYWEEKNO" in parts or draw(st.booleans()):
        parts["BYDAY"] = draw(_NAMED)
        if frequency in ("YEARLY", "MONTHLY") and "BYWEEKNO" not in parts and draw(st.booleans()):
            most = 5 if frequency == "MONTHLY" or "BYMONTH" in parts else 53
            parts["BYDAY"] = [f"{draw(_either_side(most))}{day}" for day in parts["BYDAY"]]
    for name, most in (("BYHOUR", 23), ("BYMINUTE", 59), ("BYSECOND", 59)):
        if draw(st.integers(0, 3)) == 0:
            parts[name] = draw(_some(st.integers(0, most), 3))
    # Of the week of the start dateutil takes the rest only, and so picks others from it.
    if len(parts) > 2 and frequency != "WEEKLY" and draw(st.booleans()):
        parts["BYSETPOS"] = draw(_some(_either_side(4), 3))
    if draw(st.booleans()):
        parts["WKST"] = [draw(st.sampled_from(DAYS))]
    return _text(parts)


@st.composite
def fine_rules(draw: st.DrawFn) -> str:
    """Rules by hours, minutes or seconds."""
    parts = {
        "FREQ": [draw(st.sampled_from(["HOURLY", "MINUTELY", "SECONDLY"]))],
        "INTERVAL": [str(draw(st.sampled_from([1, 1, 2, 7, 20, 45, 90])))],
    }
    lists = {
        "BYMONTHDAY": _some(_either_side(31), 20),
        "BYDAY": _NAMED,
        "BYHOUR": _some(st.integers(0, 23), 12),
        "BYMINUTE": _some(st.integers(0, 59), 8),
        "BYSECOND": _some(st.integers(0, 59), 8),
    }
    for name in draw(st.sets(st.sampled_from(sorted(lists)), max_size=3)):
        parts[name] = draw(lists[name])
    return _text(parts)


def _text(parts: dict[str, list[str]]) -> str:
    return ";".join(f"{name}={','.join(values)}" for name, values in parts.items())


def minutes_around(middle_s: int, days: int) -> range:
    return range(middle_s - days * 86_400, middle_s + days * 86_400, 60)
