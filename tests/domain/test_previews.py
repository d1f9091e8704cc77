"""Previews: the next fires of a schedule, and what one schedule has that another has not."""

import pytest

from dueline.domain.calendars import Calendar
from dueline.domain.instants import INSTANT_MS_MAX
from dueline.domain.previews import difference, fires, local_text, preview
from dueline.domain.schedule import After, At, ChangedOccurrence, Cron, Every, OnExcluded

NOW_MS = 1_767_225_600_000
"""2026-01-01T00:00:00Z, a Thursday."""
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
WEEKEND = {"weekend": Calendar(weekdays=(5, 6))}


def test_fires_come_strictly_after_and_no_more_than_there_are() -> None:
    hourly = Every(HOUR_MS, NOW_MS)
    assert fires(hourly, {}, after_ms=NOW_MS, count=2) == [NOW_MS + HOUR_MS, NOW_MS + 2 * HOUR_MS]
    assert fires(At(NOW_MS), {}, after_ms=NOW_MS, count=2) == []
    assert fires(At(NOW_MS), {}, after_ms=NOW_MS - 1, count=2) == [NOW_MS]
    assert fires(After(HOUR_MS, NOW_MS + 5), {}, after_ms=NOW_MS, count=2) == [NOW_MS + 5]
    assert len(preview(Every(HOUR_MS, NOW_MS, max_runs=3), {}, after_ms=NOW_MS, count=9)) == 3
    assert len(preview(Every(HOUR_MS, NOW_MS, max_runs=3), {}, after_ms=NOW_MS, count=9, runs_left=1)) == 1
    assert fires(hourly, {}, after_ms=INSTANT_MS_MAX - HOUR_MS + 1, count=5) == []


def test_what_was_moved_says_from_where() -> None:
    changed = (ChangedOccurrence(NOW_MS + HOUR_MS, NOW_MS + 90 * 60_000), ChangedOccurrence(NOW_MS + 2 * HOUR_MS))
    found = preview(Every(HOUR_MS, NOW_MS, changed=changed), {}, after_ms=NOW_MS, count=2, timezone="Europe/Berlin")
    assert [(fire.at_ms - NOW_MS) // 60_000 for fire in found] == [90, 180]
    assert [fire.note for fire in found] == ["moved here from 2026-01-01T02:00:00+01:00", None]


@pytest.mark.parametrize(
    ("on_excluded", "day", "noted"),
    [(OnExcluded.SKIP, 34, False), (OnExcluded.BEFORE, 2, True), (OnExcluded.AFTER, 5, True)],
)
def test_what_a_calendar_moved_says_so(on_excluded: OnExcluded, day: int, noted: bool) -> None:
    third = Cron("0 0 3 * *", calendars=("weekend",), on_excluded=on_excluded)
    first, _ = preview(third, WEEKEND, after_ms=NOW_MS, count=2)
    # 3 January 2026 is a Saturday; 3 February is a Tuesday.
    assert (first.at_ms - NOW_MS) // DAY_MS + 1 == day
    assert (first.note is not None) == noted


def test_a_wall_clock_is_shown_with_its_offset() -> None:
    assert local_text(NOW_MS, "UTC") == "2026-01-01T00:00:00+00:00"
    assert local_text(NOW_MS + 5, "Asia/Kathmandu") == "2026-01-01T05:45:00.005+05:45"


def test_an_interval_tells_when_the_clocks_were_put() -> None:
    night_ms = 1_774_742_400_000
    found = preview(Every(HOUR_MS, night_ms), {}, after_ms=night_ms, count=3, timezone="Europe/Berlin")
    assert [fire.local[11:] for fire in found] == ["03:00:00+02:00", "04:00:00+02:00", "05:00:00+02:00"]
    changes = preview(Every(HOUR_MS, night_ms), {}, after_ms=night_ms - 1, count=2, timezone="Europe/Berlin")
    assert [fire.note is not None for fire in changes] == [False, True]


def test_a_difference_counts_over_the_period_that_both_cover() -> None:
    found = difference([1, 2, 3, 4], [2, 4, 6, 8], count=4)
    assert (found.added_ms, found.removed_ms) == ([], [1, 3])
    ended = difference([1, 2], [2, 4, 6, 8], count=4)
    assert (ended.added_ms, ended.removed_ms) == ([4, 6, 8], [1])
    assert difference([], [5], count=4).added_ms == [5]
