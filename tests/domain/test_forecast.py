"""The load to come: counted as it will be, the hottest minutes first, and changes that really lower the peak."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain.calendars import Calendar
from dueline.domain.changes import Calendars, compiled
from dueline.domain.forecast import MINUTE_MS, Forecast
from dueline.domain.schedule import After, At, ChangedOccurrence, Cron, Every, Schedule

NOW_MS = 1_767_225_600_000
"""2026-01-01 00:00 UTC, a Thursday."""
HOUR_MS = 60 * MINUTE_MS
HOURLY = Cron("0 * * * *")


def a_forecast(
    *schedules: Schedule, hours: int = 3, from_ms: int = NOW_MS, calendars: Calendars | None = None
) -> Forecast:
    forecast = Forecast(from_ms=from_ms, minutes=hours * 60)
    for number, schedule in enumerate(schedules):
        forecast.add(schedule, f"job-{number}", runs_left=schedule.max_runs)
    forecast.count(calendars or {})
    return forecast


def loads(forecast: Forecast) -> dict[int, float]:
    """Minutes that bring something."""
    return {minute: load for minute, load in enumerate(forecast.loads) if load}


def test_every_minute_has_what_comes_in_it() -> None:
    forecast = a_forecast(HOURLY, HOURLY, Cron("30 1 * * *"), At(NOW_MS + 90 * MINUTE_MS + 59_999))
    assert loads(forecast) == {0: 2, 60: 2, 90: 2, 120: 2}
    assert forecast.jobs == 4


def test_it_begins_with_the_minute_of_now_and_ends_before_its_end() -> None:
    forecast = a_forecast(Cron("* * * * *"), hours=1, from_ms=NOW_MS + 30_500)
    assert (forecast.from_ms, loads(forecast)) == (NOW_MS, dict.fromkeys(range(60), 1))


def test_nothing_to_come() -> None:
    forecast = a_forecast()
    assert (loads(forecast), forecast.hottest(), forecast.proposals()) == ({}, [], [])
    assert loads(a_forecast(At(NOW_MS - 1), At(NOW_MS + 4 * HOUR_MS))) == {}


@pytest.mark.parametrize(
    ("schedule", "per_minute"),
    [(Cron("*/10 * * * * *"), 6), (Cron("* * * * * *"), 60), (Every(15_000, NOW_MS), 4), (Every(1_000, NOW_MS), 60)],
)
def test_many_in_a_minute_are_counted_together(schedule: Schedule, per_minute: int) -> None:
    assert loads(a_forecast(schedule, hours=1)) == dict.fromkeys(range(60), per_minute)


def test_jitter_spreads_a_run_over_its_minutes() -> None:
    forecast = a_forecast(Cron("0 1 * * *", jitter_ms=4 * MINUTE_MS))
    assert loads(forecast) == {60: 0.25, 61: 0.25, 62: 0.25, 63: 0.25}


def test_a_limit_of_runs_bounds_the_load() -> None:
    assert loads(a_forecast(Cron("* * * * *", max_runs=2))) == {0: 1, 1: 1}
    assert loads(a_forecast(Every(10_000, NOW_MS, max_runs=8))) == {0: 6, 1: 2}


def test_jobs_of_one_schedule_with_different_limits_are_told_apart() -> None:
    forecast = Forecast(from_ms=NOW_MS, minutes=180)
    forecast.add(HOURLY, "one", runs_left=1)
    forecast.add(HOURLY, "two", runs_left=2)
    forecast.count({})
    assert loads(forecast) == {0: 2, 60: 1}


def test_bounds_calendars_and_changes_are_kept() -> None:
    off = Cron("0 * * * *", calendars=("off",))
    assert loads(a_forecast(off, calendars={"off": Calendar(weekdays=(3,))})) == {}
    assert loads(a_forecast(off)) == {0: 1, 60: 1, 120: 1}, "one that does not exist excludes nothing"
    bounded = Cron("0 * * * *", start_ms=NOW_MS + 1, end_ms=NOW_MS + HOUR_MS)
    assert loads(a_forecast(bounded)) == {60: 1}
    moved = Cron("0 * * * *", changed=(ChangedOccurrence(NOW_MS + HOUR_MS, NOW_MS + 61 * MINUTE_MS),))
    assert loads(a_forecast(moved)) == {0: 1, 61: 1, 120: 1}


def test_a_fixed_delay_is_taken_to_be_short() -> None:
    assert loads(a_forecast(After(HOUR_MS, NOW_MS + 5 * MINUTE_MS))) == {5: 1, 65: 1, 125: 1}


def test_the_hottest_minutes_with_who_brings_them() -> None:
    forecast = a_forecast(*[HOURLY] * 5, *[Cron("0 2 * * *")] * 3, Cron("30 * * * *"))
    first, second = forecast.hottest()[:2]
    assert (first.at_ms, first.runs) == (NOW_MS + 2 * HOUR_MS, 8)
    assert [(share.schedule, share.jobs, share.runs) for share in first.shares] == [
        (HOURLY, 5, 5),
        (Cron("0 2 * * *"), 3, 3),
    ]
    assert first.shares[0].names == ("job-0", "job-1", "job-2"), "a few of them"
    assert (second.at_ms, second.runs) == (NOW_MS, 5), "of equal ones the earlier"


def test_only_minutes_that_bring_something_are_hot() -> None:
    assert [hot.at_ms for hot in a_forecast(HOURLY).hottest()] == [NOW_MS + hour * HOUR_MS for hour in range(3)]
    assert len(a_forecast(Cron("* * * * *")).hottest()) == 10


def test_rates_that_are_the_same_to_the_minute_are_one_group() -> None:
    anchors = [NOW_MS - HOUR_MS * hour - second * 1000 for hour in range(3) for second in (1, 20, 59)]
    forecast = a_forecast(*[Every(HOUR_MS, anchor_ms) for anchor_ms in anchors])
    (share,) = forecast.hottest()[0].shares
    assert (share.jobs, share.runs) == (9, 9)
    assert loads(forecast) == {59: 9, 119: 9, 179: 9}


def test_a_change_is_proposed_that_lowers_the_peak() -> None:
    forecast = a_forecast(*[HOURLY] * 60, *[Cron("0 1 * * *")] * 30)
    first, second = forecast.proposals()
    assert (first.schedule, first.jobs, first.change) == (HOURLY, 60, "H * * * *")
    assert first.peak_before == 90
    assert first.peak_after == pytest.approx(31)
    assert (second.schedule, second.change) == (Cron("0 1 * * *"), "H 1 * * *")
    assert second.peak_before == first.peak_after
    assert second.peak_after == pytest.approx(1.5)


def test_a_fixed_rate_is_spread_by_jitter() -> None:
    (proposal,) = a_forecast(*[Every(HOUR_MS, NOW_MS)] * 20).proposals()
    assert (proposal.change, proposal.peak_before, proposal.peak_after) == ("jitter PT10M", 20, 2)


@pytest.mark.parametrize(
    "schedule",
    [
        At(NOW_MS),
        After(HOUR_MS, NOW_MS),
        Cron("* * * * *"),
        Cron("*/5 * * * *"),
        Cron("0 * * * *", jitter_ms=MINUTE_MS),
        Every(5 * MINUTE_MS, NOW_MS),
    ],
)
def test_nothing_is_proposed_that_would_change_what_was_meant(schedule: Schedule) -> None:
    assert a_forecast(*[schedule] * 20).proposals() == []


def test_nothing_is_proposed_for_one_job_or_for_nothing() -> None:
    assert a_forecast(HOURLY, Cron("0 1 * * *")).proposals() == []


def test_seconds_are_spread_too() -> None:
    (proposal,) = a_forecast(*[Cron("0 0 * * * *")] * 20).proposals()
    assert proposal.change == "H H * * * *"


SCHEDULES = st.one_of(
    st.sampled_from(["* * * * *", "0 * * * *", "7,9 */2 * * *", "30 3 * * *"]).map(Cron),
    st.builds(Every, st.sampled_from([MINUTE_MS, 7 * MINUTE_MS, HOUR_MS]), st.integers(NOW_MS - HOUR_MS, NOW_MS)),
    st.builds(At, st.integers(NOW_MS, NOW_MS + 5 * HOUR_MS)),
)


@given(st.lists(SCHEDULES, max_size=12))
def test_the_load_is_what_really_comes(schedules: list[Schedule]) -> None:
    forecast = a_forecast(*schedules, hours=5)
    end_ms = NOW_MS + 5 * HOUR_MS
    total = 0
    for schedule in schedules:
        at_ms = compiled(schedule, {}).next_fire_after(NOW_MS - 1)
        while at_ms is not None and at_ms < end_ms:
            total += 1
            at_ms = compiled(schedule, {}).next_fire_after(at_ms)
    assert sum(forecast.loads) == pytest.approx(total)
    for proposal in forecast.proposals():
        assert proposal.peak_after < proposal.peak_before
