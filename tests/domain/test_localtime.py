"""The zones that are known, and how their days lie in UTC."""

from itertools import pairwise

import pytest

from dueline.domain.errors import InvalidSchedule
from dueline.domain.localtime import (
    DAY_S,
    DstGap,
    DstOverlap,
    Stretch,
    check_zone,
    instants_of,
    start_of,
    stretches,
    wall_day,
    wall_time,
)
from tests.domain.cron_oracle import NIGHTS, night_s

AFTER, SKIP, BEFORE = DstGap
FIRST, SECOND, BOTH = DstOverlap


@pytest.mark.parametrize(
    "zone", ["UTC", "Europe/Berlin", "America/Argentina/ComodRivadavia", "Etc/GMT+5", "Asia/Kathmandu"]
)
def test_a_known_zone_is_taken(zone: str) -> None:
    assert check_zone(zone).key == zone


@pytest.mark.parametrize(
    "zone",
    ["", " ", "Europe", "Europe/", "Europe/Atlantis", "Berlin", "../UTC", "/etc/localtime", "Europe/../UTC", "+02:00", "UTC\x00",
     "UTC\n", "\ud800", "zone.tab", "tzdata.zi", "localtime", "posixrules", "right/Europe/Berlin", "posix/UTC", "x" * 65, "x" * 5_000],
)  # fmt: skip
def test_an_unknown_zone_is_refused_by_the_name_of_its_field(zone: str) -> None:
    with pytest.raises(InvalidSchedule, match="unknown time zone") as refused:
        check_zone(zone)
    assert refused.value.problems[0][0] == "schedule.timezone"


def test_most_days_are_one_stretch() -> None:
    midnight_s = night_s("2026-01-01T00:00")
    day = wall_day("UTC", midnight_s)
    assert stretches("UTC", day, AFTER, FIRST) == (Stretch(0, DAY_S, midnight_s),)
    assert stretches("Asia/Kathmandu", day, AFTER, FIRST) == (Stretch(0, DAY_S, midnight_s - 20_700),)


@pytest.mark.parametrize("gap", DstGap)
@pytest.mark.parametrize("night", NIGHTS, ids=" ".join)
def test_what_a_clock_shows_first_or_second_is_every_second_of_its_day_once(
    night: tuple[str, str], gap: DstGap
) -> None:
    zone, moment = night
    for day in range(wall_day(zone, night_s(moment)) - 2, wall_day(zone, night_s(moment)) + 3):
        for overlap in (FIRST, SECOND):
            parts = sorted(stretches(zone, day, gap, overlap))
            covered_s = sum(part.until_s - part.from_s for part in parts)
            assert covered_s == DAY_S if gap is not SKIP else covered_s <= DAY_S
            assert all(before.until_s <= after.from_s for before, after in pairwise(parts))


def test_a_day_that_was_left_out_lies_nowhere_or_at_the_change() -> None:
    # Samoa went from 29 to 31 December 2011.
    changed_s = night_s("2011-12-30T10:00")
    left_out = wall_day("Pacific/Apia", changed_s) - 1
    assert stretches("Pacific/Apia", left_out, SKIP, FIRST) == ()
    assert stretches("Pacific/Apia", left_out, AFTER, FIRST) == (Stretch(0, DAY_S, left_out_s(left_out), changed_s),)
    assert stretches("Pacific/Apia", left_out, BEFORE, FIRST) == (Stretch(0, DAY_S, changed_s - DAY_S),)


def left_out_s(day: int) -> int:
    """Where a collapsed stretch counts from does not matter; it is the wall clock's midnight read as UTC."""
    return (day - 719_163) * DAY_S


@pytest.mark.parametrize("gap", DstGap)
@pytest.mark.parametrize("overlap", DstOverlap)
def test_an_hour_that_is_shown_twice_lies_where_the_policy_says(gap: DstGap, overlap: DstOverlap) -> None:
    changed_s = night_s("2026-10-25T01:00")
    summer_s, winter_s = night_s("2026-10-24T22:00"), night_s("2026-10-24T23:00")
    expected = {
        FIRST: {Stretch(0, 3 * 3_600, summer_s), Stretch(3 * 3_600, DAY_S, winter_s)},
        SECOND: {Stretch(0, 2 * 3_600, summer_s), Stretch(2 * 3_600, DAY_S, winter_s)},
        BOTH: {Stretch(0, 3 * 3_600, summer_s), Stretch(2 * 3_600, DAY_S, winter_s)},
    }
    assert set(stretches("Europe/Berlin", wall_day("Europe/Berlin", changed_s), gap, overlap)) == expected[overlap]


def test_the_wall_clock_shows_a_day_and_a_second_of_it() -> None:
    day = wall_day("UTC", night_s("2026-10-25T00:30"))
    assert wall_time("UTC", night_s("2026-10-25T00:30")) == (day, 1_800)
    assert wall_time("Europe/Berlin", night_s("2026-10-25T00:30")) == (day, 9_000)
    assert wall_time("Europe/Berlin", night_s("2026-10-25T01:30")) == (day, 9_000)
    assert wall_time("Asia/Tokyo", night_s("2026-10-25T15:00")) == (day + 1, 0)


@pytest.mark.parametrize(
    ("zone", "moment", "second", "gap", "overlap", "expected"),
    [
        ("Europe/Berlin", "2026-06-01T12:00", 9_000, AFTER, FIRST, ["2026-06-01T00:30"]),
        ("Europe/Berlin", "2026-03-29T12:00", 9_000, AFTER, FIRST, ["2026-03-29T01:00"]),
        ("Europe/Berlin", "2026-03-29T12:00", 9_000, BEFORE, FIRST, ["2026-03-29T00:30"]),
        ("Europe/Berlin", "2026-03-29T12:00", 9_000, SKIP, FIRST, []),
        ("Europe/Berlin", "2026-10-25T12:00", 9_000, AFTER, FIRST, ["2026-10-25T00:30"]),
        ("Europe/Berlin", "2026-10-25T12:00", 9_000, AFTER, SECOND, ["2026-10-25T01:30"]),
        ("Europe/Berlin", "2026-10-25T12:00", 9_000, AFTER, BOTH, ["2026-10-25T00:30", "2026-10-25T01:30"]),
    ],
)
def test_a_second_of_a_day_is_one_instant_or_what_the_policies_say(
    zone: str, moment: str, second: int, gap: DstGap, overlap: DstOverlap, expected: list[str]
) -> None:
    day = wall_day(zone, night_s(moment))
    assert instants_of(zone, day, second, gap, overlap) == tuple(map(night_s, expected))


def test_a_start_is_the_first_showing_or_the_second_and_never_in_a_gap() -> None:
    twice, jumped = (wall_day("UTC", night_s(moment)) for moment in ("2026-10-25T00:00", "2026-03-29T00:00"))
    for overlap, expected in ((FIRST, "2026-10-25T00:30"), (SECOND, "2026-10-25T01:30"), (BOTH, "2026-10-25T00:30")):
        assert start_of("Europe/Berlin", twice, 9_000, overlap, field="start") == night_s(expected)
    with pytest.raises(InvalidSchedule, match="start: the start is a time that the clocks of Europe/Berlin jump over"):
        start_of("Europe/Berlin", jumped, 9_000, FIRST, field="start")
