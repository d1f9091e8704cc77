"""Every occurrence that is decided has exactly one verdict: it runs, or one stretch of the ledger tells of it."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain import limits
from dueline.domain.calendars import Calendar
from dueline.domain.firetimes import FireTimes, compile_schedule
from dueline.domain.ledger import SkipReason, Unfired, Verdict
from dueline.domain.planning import Misfire, MisfirePolicy, Plan, plan, position_at
from dueline.domain.schedule import After, At, ChangedOccurrence, Cron, Every, Schedule
from tests.domain.shaped import DAY_MS, HOUR_MS, MINUTE_MS, NIGHT_MS, schedules

GRACE_MS, AHEAD_MS = limits.MISFIRE_GRACE_MS, limits.AHEAD_MS
NOW_MS = NIGHT_MS
FIRE_ONCE, FIRE_ALL, SKIP = MisfirePolicy.FIRE_ONCE, MisfirePolicy.FIRE_ALL, MisfirePolicy.SKIP
SKIPPED, COALESCED = Verdict.SKIPPED, Verdict.COALESCED

misfires = st.builds(
    Misfire,
    policy=st.sampled_from(MisfirePolicy),
    window_ms=st.sampled_from([0, HOUR_MS, DAY_MS, 30 * DAY_MS]) | st.integers(0, 6 * DAY_MS),
    cap=st.integers(1, 6) | st.just(limits.MISFIRE_CAP_MAX),
)


def plan_now(
    times: FireTimes, next_ms: int, misfire: Misfire, *, now_ms: int = NOW_MS, runs_left: int | None = None
) -> Plan:
    return plan(times, misfire, next_ms=next_ms, now_ms=now_ms, until_ms=now_ms + AHEAD_MS, runs_left=runs_left)


def occurrences(times: FireTimes, from_ms: int, to_ms: int) -> list[int]:
    found = []
    at_ms = times.next_after(from_ms - 1)
    while at_ms is not None and at_ms <= to_ms:
        found.append(at_ms)
        at_ms = times.next_after(at_ms)
    return found


def reason_of(times: FireTimes, misfire: Misfire, at_ms: int, now_ms: int) -> tuple[Verdict, SkipReason | None]:
    """What is to be told of an occurrence that became no run."""
    own = times.skip_reason(at_ms)
    if own is not None:
        return SKIPPED, own
    if misfire.policy is SKIP:
        return SKIPPED, SkipReason.MISFIRE
    if at_ms < now_ms - misfire.window_ms:
        return SKIPPED, SkipReason.WINDOW
    return (COALESCED, None) if misfire.policy is FIRE_ONCE else (SKIPPED, SkipReason.CAP)


@given(
    schedules(),
    misfires,
    st.integers(-4 * DAY_MS, 4 * DAY_MS),
    st.sampled_from([0, 1_000, GRACE_MS, HOUR_MS, DAY_MS]) | st.integers(0, 4 * DAY_MS),
    st.none() | st.integers(1, 5) | st.just(10_000),
)
def test_what_runs_what_is_told_and_what_is_left_are_all_occurrences_each_once(
    shaped: tuple[Schedule, tuple[Calendar, ...]],
    misfire: Misfire,
    shift_ms: int,
    behind_ms: int,
    runs_left: int | None,
) -> None:
    times, now_ms = compile_schedule(*shaped), NIGHT_MS + shift_ms
    next_ms = times.next_after(now_ms - behind_ms)
    if next_ms is None or times.next_fire_after(next_ms - 1) is None:
        return
    decided = plan_now(times, next_ms, misfire, now_ms=now_ms, runs_left=runs_left)
    ran = Counter([*decided.missed_ms, *decided.on_time_ms])
    spent = runs_left is not None and decided.runs == runs_left
    stream = occurrences(times, next_ms, now_ms + AHEAD_MS)
    assert set(ran) <= set(stream)
    for at_ms in stream:
        told = [stretch for stretch in decided.unfired if stretch.from_ms <= at_ms <= stretch.to_ms]
        verdicts = ran[at_ms] + len(told)
        if decided.next_ms is not None and at_ms >= decided.next_ms:
            assert verdicts == 0, "it is left for the next pass"
        elif spent and at_ms > max(ran) and at_ms >= now_ms - GRACE_MS:
            assert ran[at_ms] == 0, "the job has had its runs"
        else:
            assert verdicts == 1
        assert {(stretch.verdict, stretch.reason) for stretch in told} <= {reason_of(times, misfire, at_ms, now_ms)}


@given(schedules(), misfires, st.integers(0, 4 * DAY_MS), st.none() | st.integers(1, 5))
def test_stretches_are_in_order_apart_and_begin_with_an_occurrence(
    shaped: tuple[Schedule, tuple[Calendar, ...]], misfire: Misfire, behind_ms: int, runs_left: int | None
) -> None:
    times = compile_schedule(*shaped)
    next_ms = times.next_after(NOW_MS - behind_ms)
    if next_ms is None:
        return
    decided = plan_now(times, next_ms, misfire, runs_left=runs_left)
    last_ms = next_ms - 1
    for stretch in decided.unfired:
        assert last_ms < stretch.from_ms <= stretch.to_ms
        assert times.next_after(stretch.from_ms - 1) == stretch.from_ms
        last_ms = stretch.to_ms
    assert decided.next_ms is None or last_ms < decided.next_ms
    assert all(times.skip_reason(at_ms) is None for at_ms in (*decided.missed_ms, *decided.on_time_ms))


@given(schedules(), misfires, st.integers(0, 4 * DAY_MS), st.integers(1, 8))
def test_no_more_runs_are_made_than_are_left_and_the_last_one_ends_the_schedule(
    shaped: tuple[Schedule, tuple[Calendar, ...]], misfire: Misfire, behind_ms: int, runs_left: int
) -> None:
    times = compile_schedule(*shaped)
    next_ms = times.next_after(NOW_MS - behind_ms)
    if next_ms is None:
        return
    decided = plan_now(times, next_ms, misfire, runs_left=runs_left)
    unlimited = plan_now(times, next_ms, misfire)
    assert decided.runs == min(runs_left, unlimited.runs)
    if decided.runs == runs_left:
        assert (decided.next_ms, decided.due_ms) == (None, None)
    else:
        assert decided == unlimited


@given(schedules(), misfires, st.integers(0, 4 * DAY_MS))
def test_the_due_time_is_that_of_the_first_undecided_occurrence_that_fires(
    shaped: tuple[Schedule, tuple[Calendar, ...]], misfire: Misfire, behind_ms: int
) -> None:
    times = compile_schedule(*shaped)
    next_ms = times.next_after(NOW_MS - behind_ms)
    if next_ms is None:
        return
    decided = plan_now(times, next_ms, misfire)
    assert (decided.next_ms is None) == (decided.due_ms is None)
    if decided.next_ms is not None:
        fires_ms = times.next_fire_after(decided.next_ms - 1)
        # Where nothing fires, what is skipped is told in its time, or at the latest a year after.
        latest_ms = decided.next_ms + 366 * DAY_MS
        assert decided.due_ms == fires_ms or (
            fires_ms is None and decided.due_ms is not None and decided.next_ms <= decided.due_ms <= latest_ms
        )
        position = position_at(times, decided.next_ms, runs_left=7)
        assert (position.next_ms, position.due_ms, position.runs_left) == (decided.next_ms, decided.due_ms, 7)


EVERY_MINUTE = compile_schedule(Every(MINUTE_MS, NOW_MS - 30 * DAY_MS))
LAST_MISSED_MS = NOW_MS - GRACE_MS - 1


def told(misfire: Misfire, *, behind_ms: int, because: SkipReason | None = None) -> list[Unfired]:
    """What is told of the minutes since some time ago."""
    decided = plan(
        EVERY_MINUTE,
        misfire,
        next_ms=NOW_MS - behind_ms,
        now_ms=NOW_MS,
        until_ms=NOW_MS + AHEAD_MS,
        because=because,
    )
    return list(decided.unfired)


def test_three_days_of_an_outage_are_two_rows_and_not_thousands() -> None:
    since_ms, window_ms = NOW_MS - 3 * DAY_MS, NOW_MS - HOUR_MS
    assert told(Misfire(), behind_ms=3 * DAY_MS) == [
        Unfired(since_ms, window_ms - 1, SKIPPED, SkipReason.WINDOW),
        Unfired(window_ms, NOW_MS - MINUTE_MS - 1, COALESCED),
    ]
    assert told(Misfire(policy=SKIP), behind_ms=3 * DAY_MS) == [
        Unfired(since_ms, LAST_MISSED_MS, SKIPPED, SkipReason.MISFIRE)
    ]
    assert told(Misfire(policy=FIRE_ALL, cap=10), behind_ms=3 * DAY_MS) == [
        Unfired(since_ms, window_ms - 1, SKIPPED, SkipReason.WINDOW),
        Unfired(window_ms, NOW_MS - 10 * MINUTE_MS - 1, SKIPPED, SkipReason.CAP),
    ]


@pytest.mark.parametrize("policy", MisfirePolicy)
def test_what_passed_during_a_pause_is_told_as_paused_unless_a_later_one_stands_for_it(policy: MisfirePolicy) -> None:
    found = told(Misfire(policy=policy, cap=10), behind_ms=3 * DAY_MS, because=SkipReason.PAUSED)
    reasons = {(stretch.verdict, stretch.reason) for stretch in found}
    paused = (SKIPPED, SkipReason.PAUSED)
    assert reasons == ({paused, (COALESCED, None)} if policy is FIRE_ONCE else {paused})


def test_nothing_is_told_when_nothing_was_missed_or_everything_is_caught_up() -> None:
    assert told(Misfire(), behind_ms=0) == []
    assert told(Misfire(), behind_ms=MINUTE_MS) == []
    assert told(Misfire(policy=FIRE_ALL), behind_ms=HOUR_MS) == []


def test_a_window_and_a_cap_are_told_apart_at_the_millisecond() -> None:
    found = told(Misfire(policy=FIRE_ALL, window_ms=30 * MINUTE_MS, cap=10), behind_ms=HOUR_MS)
    edge_ms = NOW_MS - 30 * MINUTE_MS
    assert [(stretch.from_ms, stretch.to_ms) for stretch in found] == [
        (NOW_MS - HOUR_MS, edge_ms - 1),
        (edge_ms, NOW_MS - 10 * MINUTE_MS - 1),
    ]


def test_reasons_of_its_own_are_told_among_those_of_a_misfire() -> None:
    gone_ms = NOW_MS - 5 * MINUTE_MS
    times = compile_schedule(Every(MINUTE_MS, NOW_MS - DAY_MS, changed=(ChangedOccurrence(gone_ms),)))
    decided = plan_now(times, NOW_MS - 8 * MINUTE_MS, Misfire())
    assert decided.missed_ms == (NOW_MS - MINUTE_MS,)
    assert decided.unfired == (
        Unfired(NOW_MS - 8 * MINUTE_MS, NOW_MS - 6 * MINUTE_MS, COALESCED),
        Unfired(gone_ms, gone_ms, SKIPPED, SkipReason.REQUESTED),
        Unfired(NOW_MS - 4 * MINUTE_MS, NOW_MS - 2 * MINUTE_MS, COALESCED),
    )


def test_one_that_is_left_out_among_those_that_are_caught_up_has_a_row_of_its_own() -> None:
    gone_ms = NOW_MS - 2 * MINUTE_MS
    times = compile_schedule(Every(MINUTE_MS, NOW_MS - DAY_MS, changed=(ChangedOccurrence(gone_ms),)))
    decided = plan_now(times, NOW_MS - 3 * MINUTE_MS, Misfire(policy=FIRE_ALL))
    assert decided.missed_ms == (NOW_MS - 3 * MINUTE_MS, NOW_MS - MINUTE_MS)
    assert decided.unfired == (Unfired(gone_ms, gone_ms, SKIPPED, SkipReason.REQUESTED),)


def test_however_many_were_missed_one_that_is_left_out_among_those_caught_up_is_told() -> None:
    # More than are looked at one by one.
    gone_ms = NOW_MS - 60_000
    times = compile_schedule(Every(1_000, NOW_MS - DAY_MS, changed=(ChangedOccurrence(gone_ms),)))
    decided = plan_now(times, NOW_MS - DAY_MS, Misfire(policy=FIRE_ALL))
    assert decided.missed_ms[0] < gone_ms < decided.missed_ms[-1]
    assert [stretch.reason for stretch in decided.unfired if stretch.from_ms <= gone_ms <= stretch.to_ms] == [
        SkipReason.REQUESTED
    ]


def test_excluded_days_in_a_row_are_one_stretch() -> None:
    # Until Monday; the 29th of March 2026 is a Sunday.
    times = compile_schedule(Cron("0 * * * *"), (Calendar(weekdays=(5, 6)),))
    friday_ms = NIGHT_MS - 26 * HOUR_MS
    decided = plan_now(times, friday_ms, Misfire(policy=FIRE_ALL, window_ms=7 * DAY_MS), now_ms=NIGHT_MS + DAY_MS)
    assert decided.missed_ms == (friday_ms, NIGHT_MS + 23 * HOUR_MS)
    assert decided.unfired == (Unfired(friday_ms + HOUR_MS, NIGHT_MS + 22 * HOUR_MS, SKIPPED, SkipReason.CALENDAR),)


def test_a_schedule_of_which_nothing_fires_any_more_tells_of_the_rest_in_its_time_and_ends() -> None:
    gone_ms, end_ms = NOW_MS + HOUR_MS, NOW_MS + 2 * HOUR_MS - 1
    times = compile_schedule(Every(HOUR_MS, NOW_MS, end_ms=end_ms, changed=(ChangedOccurrence(gone_ms),)))
    decided = plan_now(times, NOW_MS, Misfire())
    assert decided == Plan((), (NOW_MS,), gone_ms, gone_ms)
    decided = plan_now(times, gone_ms, Misfire(), now_ms=gone_ms)
    assert decided == Plan((), (), None, None, (Unfired(gone_ms, gone_ms, SKIPPED, SkipReason.REQUESTED),))


def test_a_single_occurrence_that_is_left_out_ends_its_schedule_and_is_told() -> None:
    times = compile_schedule(At(NOW_MS, changed=(ChangedOccurrence(NOW_MS),)))
    decided = plan_now(times, NOW_MS, Misfire())
    assert (decided.runs, decided.next_ms, decided.due_ms) == (0, None, None)
    assert [(stretch.from_ms, stretch.reason) for stretch in decided.unfired] == [(NOW_MS, SkipReason.REQUESTED)]


def test_an_occurrence_behind_the_end_of_a_delay_is_none() -> None:
    times = compile_schedule(After(MINUTE_MS, NOW_MS - HOUR_MS, end_ms=NOW_MS))
    assert plan_now(times, NOW_MS, Misfire()).on_time_ms == (NOW_MS,)
    assert plan_now(times, NOW_MS + 1, Misfire()) == Plan((), (), None, None)
