"""What is said of fires on the nights when clocks change."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dueline.domain.cron import next_second_after
from dueline.domain.localtime import DstGap, DstOverlap
from dueline.domain.notes import note_of
from dueline.domain.schedule import After, At, Cron, Every, Repeat, Rule, Schedule
from tests.domain.cron_times import seconds

AFTER, SKIP, BEFORE = DstGap.RUN_AFTER, DstGap.SKIP, DstGap.RUN_BEFORE
FIRST, SECOND, BOTH = DstOverlap.FIRST, DstOverlap.SECOND, DstOverlap.BOTH


def walk(schedule: Cron, since: str, count: int) -> list[str | None]:
    """The notes on the fires that follow a moment."""
    at_ms = seconds(since, schedule.timezone) * 1000
    previous_ms, notes = None, []
    for _ in range(count):
        found_ms = next_second_after(
            schedule.concrete, schedule.timezone, schedule.dst_gap, schedule.dst_overlap, at_ms // 1000
        )
        assert found_ms is not None
        notes.append(note_of(schedule, found_ms, previous_ms))
        at_ms = previous_ms = found_ms
    return notes


@pytest.mark.parametrize(
    ("expression", "zone", "since", "gap", "notes"),
    [
        ("30 2 * * *", "Europe/Berlin", "2026-03-27T12:00:00", AFTER,
         [None, "02:30 does not exist on this day: comes at 03:00", None]),
        ("30 2 * * *", "Europe/Berlin", "2026-03-27T12:00:00", BEFORE,
         [None, "02:30 does not exist on this day: comes at 01:30", None]),
        ("30 2 * * *", "Europe/Berlin", "2026-03-27T12:00:00", SKIP, [None, None]),
        ("0,30 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00", AFTER,
         ["02:00 and 02:30 do not exist on this day: both come at 03:00", None]),
        ("*/10 2 * * *", "Europe/Berlin", "2026-03-29T00:00:00", AFTER,
         ["02:00 to 02:50 do not exist on this day: all 6 come at 03:00", None]),
        ("15,45 2 * * *", "Europe/Berlin", "2026-03-29T00:00:00", BEFORE,
         ["02:15 does not exist on this day: comes at 01:15", "02:45 does not exist on this day: comes at 01:45"]),
        ("30 2 30 3 *", "Europe/Berlin", "2026-03-29T00:00:00", AFTER, [None]),
        ("0 3 * * *", "Europe/Berlin", "2026-03-28T12:00:00", AFTER, [None]),
        # Half an hour, and two hours.
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-04T00:00:00", AFTER,
         ["02:15 does not exist on this day: comes at 02:30"]),
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-04T00:00:00", BEFORE,
         ["02:15 does not exist on this day: comes at 01:45"]),
        ("59 1 * * *", "Antarctica/Troll", "2026-03-29T00:00:00", AFTER,
         ["01:59 does not exist on this day: comes at 03:00"]),
        ("59 2 * * *", "Antarctica/Troll", "2026-03-29T00:00:00", AFTER,
         ["02:59 does not exist on this day: comes at 03:00"]),
        # Over midnight.
        ("0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00", AFTER,
         ["00:00 does not exist on this day: comes at 01:00"]),
        ("0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00", BEFORE,
         ["00:00 does not exist on 4 November 2018: comes at 3 November 2018 23:00"]),
        # A whole day.
        ("0 9 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00", AFTER,
         ["30 December 2011 does not exist in Pacific/Apia: comes at 31 December 2011 00:00", None]),
        ("0 9 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00", BEFORE,
         ["30 December 2011 does not exist in Pacific/Apia: comes at 29 December 2011 09:00", None]),
        ("0 9 * * *", "Pacific/Apia", "2011-12-29T00:00:00", AFTER,
         [None, "30 December 2011 does not exist in Pacific/Apia: comes at 31 December 2011 00:00", None]),
    ],
)  # fmt: skip
def test_times_that_the_clocks_jump_over(
    expression: str, zone: str, since: str, gap: DstGap, notes: list[str | None]
) -> None:
    assert walk(Cron(expression, timezone=zone, dst_gap=gap), since, len(notes)) == notes


@pytest.mark.parametrize(
    ("expression", "zone", "since", "overlap", "notes"),
    [
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T00:00:00", FIRST,
         [None, "02:30 is shown twice on this day: this is the first", None]),
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T00:00:00", SECOND,
         [None, "02:30 is shown twice on this day: this is the second", None]),
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00", BOTH,
         ["02:30 is shown twice on this day: this is the first",
          "02:30 is shown twice on this day: this is the second", None]),
        ("0 3 * * *", "Europe/Berlin", "2026-10-24T12:00:00", BOTH, [None]),
        ("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00", FIRST,
         ["01:45 is shown twice on this day: this is the first"]),
        ("15 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00", FIRST, [None]),
        ("59 23 * * *", "America/St_Johns", "2006-10-28T12:00:00", BOTH,
         ["23:59 is shown twice on this day: this is the first",
          "23:59 is shown twice on this day: this is the second"]),
    ],
)  # fmt: skip
def test_times_that_the_clocks_show_twice(
    expression: str, zone: str, since: str, overlap: DstOverlap, notes: list[str | None]
) -> None:
    assert walk(Cron(expression, timezone=zone, dst_overlap=overlap), since, len(notes)) == notes


@pytest.mark.parametrize(
    ("expression", "zone", "since", "notes"),
    [
        ("0 */2 * * *", "Europe/Berlin", "2026-03-28T23:00:00",
         [None, "clocks went forward by 1 hour since the last fire", None]),
        ("0 */2 * * *", "Europe/Berlin", "2026-10-24T23:00:00",
         [None, None, "clocks went back by 1 hour since the last fire", None]),
        ("*/30 * * * *", "Australia/Lord_Howe", "2026-10-04T01:00:00",
         [None, "clocks went forward by 30 minutes since the last fire", None]),
        ("0 * * * *", "Antarctica/Troll", "2026-03-29T00:00:00",
         ["clocks went forward by 2 hours since the last fire"]),
        ("0 * * * *", "Pacific/Apia", "2011-12-29T22:30:00",
         [None, "clocks went forward by 1 day since the last fire", None]),
    ],
)  # fmt: skip
def test_what_follows_real_time_tells_that_the_clocks_were_put(
    expression: str, zone: str, since: str, notes: list[str | None]
) -> None:
    schedule = Cron(expression, timezone=zone)
    if len(notes) > 1:
        assert walk(schedule, since, len(notes)) == notes
        return
    at_s = seconds(since, zone)
    [after] = notes
    at_ms = next_second_after(expression, zone, AFTER, FIRST, at_s)
    assert at_ms is not None
    assert note_of(schedule, at_ms, at_s * 1000) == after


def ms(text: str, zone: str = "UTC") -> int:
    return seconds(text, zone) * 1000


BERLIN = "Europe/Berlin"
FORWARD = "clocks went forward by 1 hour since the last fire"


@pytest.mark.parametrize(
    ("schedule", "at", "previous", "note"),
    [
        (Every(3_600_000, 0, timezone=BERLIN), "2026-03-29T01:00:00", "2026-03-29T00:00:00", FORWARD),
        (Every(3_600_000, 0, timezone=BERLIN), "2026-03-29T02:00:00", "2026-03-29T01:00:00", None),
        (Every(3_600_000, 0, timezone=BERLIN), "2026-03-29T01:00:00", None, None),
        (Every(3_600_000, 0), "2026-03-29T01:00:00", "2026-03-29T00:00:00", None),
        (After(3_600_000, 0, timezone=BERLIN), "2026-03-29T01:00:00", "2026-03-29T00:00:00", FORWARD),
        (At(ms("2026-10-25T01:30:00"), timezone=BERLIN), "2026-10-25T01:30:00", None,
         "02:30 is shown twice on this day: this is the second"),
        (At(ms("2026-10-24T01:30:00"), timezone=BERLIN), "2026-10-24T01:30:00", None, None),
        # Calendar steps from 02:30, and real steps.
        (Repeat(ms("2026-02-28T01:30:00"), days=1, timezone=BERLIN), "2026-03-29T01:00:00", None,
         "02:30 does not exist on this day: comes at 03:00"),
        (Repeat(ms("2026-02-28T01:30:00"), days=1, timezone=BERLIN), "2026-03-28T01:30:00", None, None),
        (Repeat(ms("2026-02-28T01:30:00"), days=1, timezone=BERLIN), "2026-10-25T00:30:00", None,
         "02:30 is shown twice on this day: this is the first"),
        (Repeat(0, clock_ms=3_600_000, timezone=BERLIN), "2026-03-29T01:00:00", "2026-03-29T00:00:00", FORWARD),
        (Rule("FREQ=DAILY", ms("2026-02-28T01:30:00"), timezone=BERLIN), "2026-03-29T01:00:00", None,
         "02:30 does not exist on this day: comes at 03:00"),
        (Rule("FREQ=DAILY;BYHOUR=2;BYMINUTE=0,30", ms("2026-02-28T08:00:00"), timezone=BERLIN), "2026-03-29T01:00:00", None,
         "02:00 and 02:30 do not exist on this day: both come at 03:00"),
        (Rule("FREQ=HOURLY", ms("2026-02-28T01:30:00"), timezone=BERLIN), "2026-03-29T01:30:00", "2026-03-29T00:30:00", FORWARD),
    ],
)  # fmt: skip
def test_the_other_kinds(schedule: Schedule, at: str, previous: str | None, note: str | None) -> None:
    assert note_of(schedule, ms(at), None if previous is None else ms(previous)) == note


@settings(max_examples=500)
@given(
    st.sampled_from(["30 2 * * *", "*/15 0-3 * * *", "0 0 * * *", "0 */2 * * *", "* * * * * *", "59 23 L * *"]),
    st.sampled_from(["Europe/Berlin", "Pacific/Apia", "Australia/Lord_Howe", "America/St_Johns", "Antarctica/Troll"]),
    st.sampled_from(DstGap),
    st.sampled_from(DstOverlap),
    st.integers(0, 4_000_000_000),
)
def test_a_note_says_only_what_the_clocks_do(
    expression: str, zone: str, gap: DstGap, overlap: DstOverlap, at_s: int
) -> None:
    schedule = Cron(expression, timezone=zone, dst_gap=gap, dst_overlap=overlap)
    at_ms = next_second_after(expression, zone, gap, overlap, at_s)
    assert at_ms is not None
    note = note_of(schedule, at_ms, at_s * 1000)
    # In the middle of a season there is nothing to say.
    quiet = len({offset(zone, at_ms // 1000 + hours * 3_600) for hours in range(-49, 50)}) == 1
    if quiet and offset(zone, at_s) == offset(zone, at_ms // 1000):
        assert note is None


def offset(zone: str, at_s: int) -> object:
    return datetime.fromtimestamp(at_s, ZoneInfo(zone)).utcoffset()
