"""Wall time to UTC, over the nights on which clocks change: the days of a zone, cut into stretches that one offset holds for."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

import tzdata  # type: ignore[import-untyped]  # it is data, and has no types

from dueline.domain.errors import InvalidSchedule

DAY_S = 86_400
_EDITION = files("tzdata").joinpath("zoneinfo")
EPOCH_DAY = datetime(1970, 1, 1).toordinal()
_OFFSET_S_MAX = 16 * 3_600
"""No zone ever was further from UTC: Manila had 15:56 until it changed sides."""
_PROBE_S = 4 * 3_600
"""Clocks do not change twice within this time."""


class DstGap(StrEnum):
    """When a time of day that the clocks jump over comes."""

    RUN_AFTER = "run_after"
    SKIP = "skip"
    RUN_BEFORE = "run_before"


class DstOverlap(StrEnum):
    """Which one of the two is meant by a time of day that the clocks show twice."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"


class Stretch(NamedTuple):
    """A part of a day on the wall clock, from one second of the day to before another, and where it lies in UTC.

    The second `w` of the day is the instant `midnight_s + w`; where `at_s` is given, all of them are that one instant.
    """

    from_s: int
    until_s: int
    midnight_s: int
    at_s: int | None = None


class Segment(NamedTuple):
    """A span of UTC, from a second to before another, in which a zone keeps one offset."""

    from_s: int
    until_s: int
    offset_s: int


def tzdata_version() -> str:
    """Which edition of the zones counts: `2026b`. Later ones sort behind earlier ones."""
    return str(tzdata.IANA_VERSION)


def check_zone(name: str) -> ZoneInfo:
    if name not in _zone_names():
        raise InvalidSchedule(
            "schedule.timezone", f"unknown time zone {name[:64]!r}: use an IANA name such as Europe/Berlin"
        )
    return zone_of(name)


@lru_cache(maxsize=1_024)
def zone_of(name: str) -> ZoneInfo:
    """A zone as the edition that we ship has it: the same on every machine, whatever its system has, and known by its name."""
    with _EDITION.joinpath(*name.split("/")).open("rb") as rules:
        return ZoneInfo.from_file(rules, key=name)


@lru_cache(maxsize=1)
def _zone_names() -> frozenset[str]:
    return frozenset(files("tzdata").joinpath("zones").read_text().split())


def wall_day(zone_name: str, at_s: int) -> int:
    """The day, as an ordinal, that the wall clock shows at an instant."""
    return wall_time(zone_name, at_s)[0]


def wall_time(zone_name: str, at_s: int) -> tuple[int, int]:
    """The day, as an ordinal, and the second of that day that the wall clock shows at an instant."""
    day, second = divmod(at_s + _offset_s(_zone(zone_name), at_s), DAY_S)
    return day + EPOCH_DAY, second


def instants_of(zone_name: str, day: int, second: int, gap: DstGap, overlap: DstOverlap) -> tuple[int, ...]:
    """The seconds of UTC, ascending, that a second of a wall clock's day is: mostly one; none or two where the policies say so."""
    found = {
        part.midnight_s + second if part.at_s is None else part.at_s
        for part in stretches(zone_name, day, gap, overlap)
        if part.from_s <= second < part.until_s
    }
    return tuple(sorted(found))


def start_of(zone_name: str, day: int, second: int, overlap: DstOverlap, *, field: str) -> int:
    """The second of UTC at which a schedule starts that was given on the wall clock. Of a time shown twice it is the first, unless the
    second is asked for.

    A time that the clocks jump over is refused: the schedule would ever after keep a time of day that nobody wrote.
    """
    found = instants_of(zone_name, day, second, DstGap.SKIP, overlap)
    if not found:
        raise InvalidSchedule(
            field, f"the start is a time that the clocks of {zone_name} jump over: use one that they show"
        )
    return found[0]


@lru_cache(maxsize=16_384)
def stretches(zone_name: str, day: int, gap: DstGap, overlap: DstOverlap) -> tuple[Stretch, ...]:
    """Where the seconds of a wall clock's day lie in UTC. On most days this is one stretch.

    A second in a gap is the first instant after the gap, or none, or what the offset after the gap makes of it: earlier by the gap's
    length than the offset before would have it.

    With `skip` and `both` it is what the wall clock really shows: seconds that are jumped over lie nowhere, repeated ones twice.
    """
    wall_s = (day - EPOCH_DAY) * DAY_S
    found = []
    segments = _segments(_zone(zone_name), wall_s - _OFFSET_S_MAX, wall_s + DAY_S + _OFFSET_S_MAX)
    shown = [[segment.from_s + segment.offset_s, segment.until_s + segment.offset_s] for segment in segments]
    for after, (ends, begins) in zip(segments[1:], pairwise(shown), strict=True):
        left_s, reached_s = ends[1], begins[0]
        if left_s < reached_s and gap is DstGap.RUN_AFTER:
            found.append(Stretch(left_s, reached_s, 0, after.from_s))
        elif left_s < reached_s and gap is DstGap.RUN_BEFORE:
            found.append(Stretch(left_s, reached_s, -after.offset_s))
        elif left_s > reached_s and overlap is DstOverlap.FIRST:
            begins[0] = left_s
        elif left_s > reached_s and overlap is DstOverlap.SECOND:
            ends[1] = reached_s
    for segment, (from_s, until_s) in zip(segments, shown, strict=True):
        found.append(Stretch(from_s, until_s, -segment.offset_s))
    return tuple(
        Stretch(max(0, part.from_s - wall_s), min(DAY_S, part.until_s - wall_s), part.midnight_s + wall_s, part.at_s)
        for part in found
        if part.from_s < part.until_s and part.from_s < wall_s + DAY_S and part.until_s > wall_s
    )


def _segments(zone: tzinfo, from_s: int, until_s: int) -> list[Segment]:
    begins_s, offset_s, probed_s = from_s, _offset_s(zone, from_s), from_s
    found = []
    for probe_s in (*range(from_s + _PROBE_S, until_s, _PROBE_S), until_s):
        if _offset_s(zone, probe_s) != offset_s:
            changed_s = _change_s(zone, probed_s, probe_s)
            found.append(Segment(begins_s, changed_s, offset_s))
            begins_s, offset_s = changed_s, _offset_s(zone, changed_s)
        probed_s = probe_s
    return [*found, Segment(begins_s, until_s, offset_s)]


def _change_s(zone: tzinfo, before_s: int, after_s: int) -> int:
    """The second in which the offset of `before_s` ends, given that it has ended by `after_s`."""
    offset_s = _offset_s(zone, before_s)
    while after_s - before_s > 1:
        middle_s = (before_s + after_s) // 2
        if _offset_s(zone, middle_s) == offset_s:
            before_s = middle_s
        else:
            after_s = middle_s
    return after_s


def _zone(name: str) -> tzinfo:
    return UTC if name == "UTC" else zone_of(name)


def _offset_s(zone: tzinfo, at_s: int) -> int:
    offset = datetime.fromtimestamp(at_s, zone).utcoffset()
    assert offset is not None, "a zone has an offset"
    return int(offset.total_seconds())
