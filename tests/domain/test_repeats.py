"""ISO 8601 repeating intervals: read, written, and when they come."""

from calendar import monthrange
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dueline.domain import repeats
from dueline.domain.errors import InvalidSchedule
from dueline.domain.localtime import DstGap, DstOverlap, instants_of
from dueline.domain.repeats import RepeatTimes, format_repeat, parse_repeat
from dueline.domain.schedule import Repeat
from tests.domain.cron_oracle import NIGHTS, night_s
from tests.domain.recurrence_oracle import instants
from tests.domain.rule_times import after, between, millis, shown

AFTER, SKIP, BEFORE = DstGap
FIRST, SECOND, BOTH = DstOverlap
DAY_MS = 86_400_000


def repeat_of(text: str, zone: str = "UTC", gap: DstGap = AFTER, overlap: DstOverlap = FIRST) -> Repeat:
    return parse_repeat(text, field="schedule.every", timezone=zone, dst_gap=gap, dst_overlap=overlap)


def dates(text: str, count: int, zone: str = "UTC", gap: DstGap = AFTER, overlap: DstOverlap = FIRST) -> list[str]:
    times = RepeatTimes(repeat_of(text, zone, gap, overlap))
    return [shown(at_ms, zone) for at_ms in after(times, 0, count)]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("R5/2026-01-31T00:00:00Z/P1M", "R5/2026-01-31T00:00:00Z/P1M"),
        ("R/2026-01-31T00:00Z/P1M", "R/2026-01-31T00:00:00Z/P1M"),
        (" R1/2026-01-31/P1Y ", "R1/2026-01-31T00:00:00Z/P1Y"),
        ("R/2026-01-31T02:00:00+02:00/P14M", "R/2026-01-31T00:00:00Z/P1Y2M"),
        ("R/2026-01-31T00:00:00.250Z/P2W", "R/2026-01-31T00:00:00.250Z/P14D"),
        ("R/2026-01-31T00:00Z/P1Y2M3W4DT5H6M7.5S", "R/2026-01-31T00:00:00Z/P1Y2M25DT5H6M7.5S"),
        ("R/2026-01-31T00:00Z/PT36H", "R/2026-01-31T00:00:00Z/PT36H"),
        ("R/2026-01-31T00:00Z/PT90S", "R/2026-01-31T00:00:00Z/PT1M30S"),
        ("R5/2026-01-31T00:00Z/2026-02-01T12:00Z", "R5/2026-01-31T00:00:00Z/PT36H"),
    ],
)
def test_a_text_has_a_canonical_form_that_reads_back(text: str, canonical: str) -> None:
    assert format_repeat(repeat_of(text)) == canonical
    assert repeat_of(canonical) == repeat_of(text)


def test_a_start_without_an_offset_is_on_the_wall_clock_of_the_zone() -> None:
    assert repeat_of("R/2026-07-01T09:00/P1D", "Europe/Berlin").anchor_ms == millis("2026-07-01T07:00+00:00")
    assert repeat_of("R/2026-10-25T02:30/P1D", "Europe/Berlin").anchor_ms == millis("2026-10-25T00:30+00:00")
    assert repeat_of("R/2026-10-25T02:30/P1D", "Europe/Berlin", overlap=SECOND).anchor_ms == millis(
        "2026-10-25T01:30+00:00"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "has 1 parts"),
        ("P1M", "has 1 parts"),
        ("R5/P1M", "has 2 parts"),
        ("R5/2026-01-31T00:00Z/P1M/P1M", "has 4 parts"),
        ("R5/P1M/2026-01-31T00:00Z", "the start must be given before it"),
        ("R0/2026-01-31T00:00Z/P1M", "'R0' is not between R1 and"),
        ("R-1/2026-01-31T00:00Z/P1M", "'R-1' is no number of repetitions: write R5 for five times, R for ever"),
        ("5/2026-01-31T00:00Z/P1M", "'5' is no number of repetitions"),
        ("R9999999999/2026-01-31T00:00Z/P1M", "is not between R1 and"),
        ("R5/2026-02-30T00:00Z/P1M", "'2026-02-30T00:00Z' is no start"),
        ("R5/tomorrow/P1M", "'tomorrow' is no start"),
        ("R5/2026-01-31T00:00Z/soon", "'soon' is no end"),
        ("R5/1969-12-31T00:00Z/P1M", "between the years 1970"),
        ("R5/1969-12-31T00:00/P1M", "between the years 1970"),
        ("R5/2026-01-31T00:00Z/2026-01-31T00:00Z", "does not lie after the start"),
        ("R5/2026-01-31T00:00Z/P", "'P' is no period"),
        ("R5/2026-01-31T00:00Z/PT", "'PT' is no period"),
        ("R5/2026-01-31T00:00Z/P1H", "'P1H' is no period"),
        ("R5/2026-01-31T00:00Z/P1.5M", "a fraction in the seconds at most"),
        ("R5/2026-01-31T00:00Z/P0D", "shorter than a second"),
        ("R5/2026-01-31T00:00Z/PT0.5S", "shorter than a second"),
        ("R5/2026-01-31T00:00Z/P101Y", "longer than 100 years"),
        ("R5/2026-01-31T00:00Z/PT999999999H", "longer than 100 years"),
        ("R5/2026-03-29T02:30/P1D", "jump over"),
        ("R" * 300, "longer than 256 letters"),
    ],
)
def test_what_is_no_repeating_interval_is_refused_with_the_part_and_what_would_be_right(text: str, reason: str) -> None:
    with pytest.raises(InvalidSchedule) as refused:
        repeat_of(text, "Europe/Berlin")
    assert refused.value.problems[0][0] == "schedule.every"
    assert reason in refused.value.problems[0][1]


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(InvalidSchedule, match="unknown time zone"):
        repeat_of("R/2026-01-31T00:00Z/P1D", "Europe/Atlantis")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("R5/2026-01-31T00:00Z/P1M", "2026-01-31 2026-02-28 2026-03-31 2026-04-30 2026-05-31"),
        ("R3/2027-11-30T00:00Z/P3M", "2027-11-30 2028-02-29 2028-05-30"),
        ("R3/2024-02-29T00:00Z/P1Y", "2024-02-29 2025-02-28 2026-02-28"),
        ("R2/2026-01-31T00:00Z/P1M1D", "2026-01-31 2026-03-01"),
        ("R3/2026-01-01T00:00Z/P1W", "2026-01-01 2026-01-08 2026-01-15"),
        ("R3/2026-01-01T00:00Z/PT24H", "2026-01-01 2026-01-02 2026-01-03"),
        ("R1/2026-01-01T00:00Z/P1D", "2026-01-01"),
    ],
)
def test_occurrences_are_counted_from_the_start_and_never_drift(text: str, expected: str) -> None:
    assert [time[:10] for time in dates(text, 9)] == expected.split()


def test_hours_of_a_mixed_period_add_up_in_real_time() -> None:
    assert dates("R/2026-01-31T00:00Z/P1MT12H", 4) == [
        "2026-01-31T00:00:00+00:00",
        "2026-02-28T12:00:00+00:00",
        "2026-04-01T00:00:00+00:00",
        "2026-05-01T12:00:00+00:00",
    ]


@pytest.mark.parametrize(
    ("zone", "start", "gap", "expected"),
    [
        ("Europe/Berlin", "2026-03-28T02:30", AFTER, "2026-03-29T03:00:00+02:00"),
        ("Europe/Berlin", "2026-03-28T02:30", BEFORE, "2026-03-29T01:30:00+01:00"),
        ("Europe/Berlin", "2026-03-28T02:30", SKIP, "2026-03-30T02:30:00+02:00"),
        ("America/New_York", "2026-03-07T02:30", AFTER, "2026-03-08T03:00:00-04:00"),
        ("Australia/Lord_Howe", "2026-10-03T02:15", AFTER, "2026-10-04T02:30:00+11:00"),
        ("Australia/Lord_Howe", "2026-10-03T02:15", BEFORE, "2026-10-04T01:45:00+10:30"),
        ("Africa/Cairo", "2026-04-23T00:30", AFTER, "2026-04-24T01:00:00+03:00"),
        ("America/Sao_Paulo", "2018-11-03T00:30", AFTER, "2018-11-04T01:00:00-02:00"),
        ("America/Sao_Paulo", "2018-11-03T00:30", BEFORE, "2018-11-03T23:30:00-03:00"),
        ("Pacific/Apia", "2011-12-29T10:00", AFTER, "2011-12-31T00:00:00+14:00"),
        ("Pacific/Apia", "2011-12-29T10:00", SKIP, "2011-12-31T10:00:00+14:00"),
    ],
)
def test_a_time_that_the_clocks_jump_over_comes_as_the_policy_says(
    zone: str, start: str, gap: DstGap, expected: str
) -> None:
    assert dates(f"R/{start}/P1D", 2, zone, gap)[1] == expected


@pytest.mark.parametrize(
    ("zone", "start", "overlap", "expected"),
    [
        ("Europe/Berlin", "2026-10-24T02:30", FIRST, "2026-10-25T02:30:00+02:00"),
        ("Europe/Berlin", "2026-10-24T02:30", SECOND, "2026-10-25T02:30:00+01:00"),
        ("Europe/Berlin", "2026-10-24T02:30", BOTH, "2026-10-25T02:30:00+02:00 2026-10-25T02:30:00+01:00"),
        ("Australia/Lord_Howe", "2026-04-04T01:45", BOTH, "2026-04-05T01:45:00+11:00 2026-04-05T01:45:00+10:30"),
        ("America/Sao_Paulo", "2018-02-16T23:30", SECOND, "2018-02-17T23:30:00-03:00"),
        ("Africa/Cairo", "2026-10-28T23:30", BOTH, "2026-10-29T23:30:00+03:00 2026-10-29T23:30:00+02:00"),
    ],
)
def test_a_time_that_the_clocks_show_twice_comes_as_the_policy_says(
    zone: str, start: str, overlap: DstOverlap, expected: str
) -> None:
    times = expected.split()
    assert dates(f"R/{start}/P1D", 1 + len(times), zone, overlap=overlap)[1:] == times


def test_real_time_does_not_care_for_clocks() -> None:
    assert dates("R/2026-03-28T12:00/PT24H", 2, "Europe/Berlin") == [
        "2026-03-28T12:00:00+01:00",
        "2026-03-29T13:00:00+02:00",
    ]


def test_a_repetition_that_is_left_out_counts_and_one_shown_twice_counts_once() -> None:
    assert len(dates("R3/2026-03-28T02:30/P1D", 9, "Europe/Berlin", SKIP)) == 2
    assert len(dates("R3/2026-10-24T02:30/P1D", 9, "Europe/Berlin", overlap=BOTH)) == 4


def test_the_first_is_the_start_itself_though_the_policy_would_mean_the_other() -> None:
    assert dates("R1/2026-10-25T02:30:00+01:00/P1D", 9, "Europe/Berlin") == ["2026-10-25T02:30:00+01:00"]


def test_an_answer_a_thousand_years_on_costs_a_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def counted(zone: str, day: int, second: int, gap: DstGap, overlap: DstOverlap) -> tuple[int, ...]:
        seen.append(day)
        return instants_of(zone, day, second, gap, overlap)

    monkeypatch.setattr(repeats, "instants_of", counted)
    for period in ("P1D", "P1M", "P1Y", "P1MT12H", "P3M2DT1S"):
        seen.clear()
        times = RepeatTimes(repeat_of(f"R/2000-02-29T00:00Z/{period}", "Europe/Berlin"))
        assert times.next_after(millis("3026-01-01T00:00+00:00")) is not None
        assert len(seen) < 12, period


@pytest.mark.parametrize("period", ["P1D", "P1M", "P100Y", "PT1S"])
def test_past_the_end_of_the_calendar_there_is_none(period: str) -> None:
    times = RepeatTimes(repeat_of(f"R/2026-01-31T00:00Z/{period}"))
    assert times.next_after(millis("9999-12-31T23:59:59+00:00") + 999) is None
    assert times.next_after(2**62) is None


PERIODS = st.tuples(
    st.sampled_from([0, 0, 1, 1, 3, 12]),
    st.sampled_from([0, 1, 1, 7, 30]),
    st.sampled_from([0, 0, 1_000, 12 * 3_600_000]),
).filter(any)


@settings(max_examples=300)
@given(
    period=PERIODS,
    night=st.sampled_from([night for night in NIGHTS if night_s(night[1]) > 0]),
    before_s=st.integers(0, 40 * 86_400),
    times=st.one_of(st.none(), st.integers(1, 50)),
    policies=st.tuples(st.sampled_from(DstGap), st.sampled_from(DstOverlap)),
    data=st.data(),
)
def test_a_repeat_comes_when_an_obvious_walk_from_its_start_does(
    period: tuple[int, int, int],
    night: tuple[str, str],
    before_s: int,
    times: int | None,
    policies: tuple[DstGap, DstOverlap],
    data: st.DataObject,
) -> None:
    months, days, clock_ms = period
    zone, moment = night
    # Seconds are too many for an obvious walk over forty days.
    assume(months or days or clock_ms > 1_000)
    start_ms = (night_s(moment) - before_s) * 1000
    repeat = Repeat(start_ms, months, days, clock_ms, times, policies[0], policies[1], timezone=zone)
    until_ms = start_ms + 60 * DAY_MS
    found = between(RepeatTimes(repeat), 0, until_ms)
    assert found == obvious(repeat, until_ms)
    for earlier, later in pairwise(found):
        assert RepeatTimes(repeat).next_after(data.draw(st.integers(earlier, later - 1))) == later


def obvious(repeat: Repeat, until_ms: int) -> list[int]:
    start = datetime.fromtimestamp(shown_s(repeat), UTC).replace(tzinfo=None)
    found = {repeat.anchor_ms}
    for number in range(1, min(repeat.times or 200, 200)):
        months = start.month - 1 + number * repeat.months
        year, month = start.year + months // 12, months % 12 + 1
        wall = start.replace(year=year, month=month, day=min(start.day, monthrange(year, month)[1]))
        wall += timedelta(days=number * repeat.days)
        if not repeat.months and not repeat.days:
            found.add(repeat.anchor_ms + number * repeat.clock_ms)
        else:
            real = instants(wall, repeat.timezone, repeat.dst_gap, repeat.dst_overlap)
            found.update(at_s * 1000 + number * repeat.clock_ms for at_s in real)
    return sorted(at_ms for at_ms in found if repeat.anchor_ms <= at_ms <= until_ms)


def shown_s(repeat: Repeat) -> int:
    """The start as its wall clock shows it, read as UTC."""
    text = shown(repeat.anchor_ms, repeat.timezone)
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())
