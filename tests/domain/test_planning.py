"""Which occurrences become runs, and which comes next."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain import limits
from dueline.domain.firetimes import FireTimes, compile_schedule
from dueline.domain.ledger import SkipReason, Unfired, Verdict
from dueline.domain.planning import Misfire, MisfirePolicy, Plan, latest_occurrences, plan, why_not
from dueline.domain.schedule import After, At, Cron, Every
from dueline.domain.states import EndReason

NOW_MS = 1_767_225_600_000
GRACE_MS = limits.MISFIRE_GRACE_MS
MINUTE_MS, HOUR_MS = 60_000, 3_600_000
AHEAD_MS = limits.AHEAD_MS


class Listed:
    """Occurrences from a list, and a count of the questions asked."""

    single = follows = marked = False
    end_ms = None

    def __init__(self, *at_ms: int) -> None:
        self._at_ms = sorted(at_ms)
        self.asked = 0

    def next_after(self, at_ms: int) -> int | None:
        self.asked += 1
        return next((moment for moment in self._at_ms if moment > at_ms), None)

    next_fire_after = next_after

    def skip_reason(self, _at_ms: int) -> SkipReason | None:
        return None


class Counted:
    """The occurrences of another, and a count of the questions asked."""

    def __init__(self, times: FireTimes) -> None:
        self._times = times
        self.single, self.follows, self.marked, self.end_ms = times.single, times.follows, times.marked, times.end_ms
        self.asked = 0

    def next_after(self, at_ms: int) -> int | None:
        self.asked += 1
        return self._times.next_after(at_ms)

    def next_fire_after(self, at_ms: int) -> int | None:
        self.asked += 1
        return self._times.next_fire_after(at_ms)

    def skip_reason(self, at_ms: int) -> SkipReason | None:
        return self._times.skip_reason(at_ms)


def every(period_ms: int, anchor_ms: int = NOW_MS) -> FireTimes:
    return compile_schedule(Every(period_ms, anchor_ms % period_ms))


def plan_now(times: FireTimes, next_ms: int, misfire: Misfire | None = None) -> Plan:
    return plan(times, misfire or Misfire(), next_ms=next_ms, now_ms=NOW_MS, until_ms=NOW_MS + AHEAD_MS)


def then(missed_ms: tuple[int, ...], on_time_ms: tuple[int, ...], next_ms: int | None, *unfired: Unfired) -> Plan:
    """A plan of a schedule of which everything fires."""
    return Plan(missed_ms, on_time_ms, next_ms, next_ms, unfired)


def test_an_occurrence_is_planned_up_to_the_end_of_the_look_ahead() -> None:
    for due_ms in (NOW_MS, NOW_MS + AHEAD_MS):
        assert plan_now(Listed(due_ms, NOW_MS + HOUR_MS), due_ms) == then((), (due_ms,), NOW_MS + HOUR_MS)
    assert plan_now(Listed(NOW_MS + AHEAD_MS + 1), NOW_MS + AHEAD_MS + 1) == then((), (), NOW_MS + AHEAD_MS + 1)


def test_everything_due_is_planned_in_one_pass() -> None:
    assert plan_now(every(1_000), NOW_MS - 3_000) == then(
        (), tuple(range(NOW_MS - 3_000, NOW_MS + 1_001, 1_000)), NOW_MS + 2_000
    )


def test_a_pass_is_bounded_and_the_next_one_goes_on_where_it_ended() -> None:
    most = limits.OCCURRENCES_PER_PASS_MAX
    times = every(10)
    first = plan_now(times, NOW_MS - 5_000)
    assert first.on_time_ms == tuple(range(NOW_MS - 5_000, NOW_MS - 5_000 + most * 10, 10))
    assert first.next_ms is not None
    assert plan_now(times, first.next_ms).on_time_ms[0] == first.on_time_ms[-1] + 10


def test_an_exhausted_schedule_has_no_next() -> None:
    assert plan_now(Listed(NOW_MS), NOW_MS) == then((), (NOW_MS,), None)


@pytest.mark.parametrize("policy", MisfirePolicy)
def test_up_to_the_grace_an_occurrence_is_late_and_not_missed(policy: MisfirePolicy) -> None:
    late_ms = NOW_MS - GRACE_MS
    assert plan_now(Listed(late_ms), late_ms, Misfire(policy=policy)) == then((), (late_ms,), None)


def test_one_millisecond_past_the_grace_it_is_missed() -> None:
    missed_ms = NOW_MS - GRACE_MS - 1
    told = Unfired(missed_ms, missed_ms, Verdict.SKIPPED, SkipReason.MISFIRE)
    assert plan_now(Listed(missed_ms), missed_ms) == then((missed_ms,), (), None)
    assert plan_now(Listed(missed_ms), missed_ms, Misfire(policy=MisfirePolicy.SKIP)) == then((), (), None, told)


MISSED_MS = [NOW_MS - minutes * 60_000 for minutes in (50, 40, 30, 20, 10)]


@pytest.mark.parametrize(
    ("misfire", "missed_ms"),
    [
        (Misfire(policy=MisfirePolicy.FIRE_ONCE), MISSED_MS[-1:]),
        (Misfire(policy=MisfirePolicy.FIRE_ALL), MISSED_MS),
        (Misfire(policy=MisfirePolicy.FIRE_ALL, cap=3), MISSED_MS[-3:]),
        (Misfire(policy=MisfirePolicy.FIRE_ALL, cap=5), MISSED_MS),
        (Misfire(policy=MisfirePolicy.FIRE_ALL, cap=1), MISSED_MS[-1:]),
        (Misfire(policy=MisfirePolicy.SKIP), []),
        (Misfire(policy=MisfirePolicy.FIRE_ALL, window_ms=30 * 60_000), MISSED_MS[2:]),
        (Misfire(policy=MisfirePolicy.FIRE_ALL, window_ms=30 * 60_000 - 1), MISSED_MS[3:]),
        (Misfire(policy=MisfirePolicy.FIRE_ONCE, window_ms=10 * 60_000), MISSED_MS[-1:]),
        (Misfire(policy=MisfirePolicy.FIRE_ONCE, window_ms=10 * 60_000 - 1), []),
        (Misfire(policy=MisfirePolicy.FIRE_ALL, window_ms=0), []),
        (Misfire(policy=MisfirePolicy.FIRE_ALL, window_ms=GRACE_MS), []),
    ],
)
def test_missed_occurrences_follow_the_policy(misfire: Misfire, missed_ms: list[int]) -> None:
    times = Listed(*MISSED_MS, NOW_MS, NOW_MS + HOUR_MS)
    decided = plan_now(times, MISSED_MS[0], misfire)
    assert (decided.missed_ms, decided.on_time_ms) == (tuple(missed_ms), (NOW_MS,))
    assert (decided.next_ms, decided.due_ms, decided.runs) == (NOW_MS + HOUR_MS, NOW_MS + HOUR_MS, len(missed_ms) + 1)


def test_what_lies_before_the_first_undecided_occurrence_is_not_decided_again() -> None:
    fire_all = Misfire(policy=MisfirePolicy.FIRE_ALL)
    assert plan_now(Listed(*MISSED_MS), MISSED_MS[3], fire_all).missed_ms == tuple(MISSED_MS[3:])


@pytest.mark.parametrize("policy", MisfirePolicy)
@pytest.mark.parametrize("late_ms", [0, GRACE_MS + 1, 2 * HOUR_MS, 400 * 86_400_000])
def test_a_one_time_job_is_run_however_late(policy: MisfirePolicy, late_ms: int) -> None:
    at_ms = NOW_MS - late_ms
    times = compile_schedule(At(at_ms))
    assert plan_now(times, at_ms, Misfire(policy=policy, window_ms=0)) == then((), (at_ms,), None)


misfires = st.builds(
    Misfire,
    policy=st.sampled_from(MisfirePolicy),
    window_ms=st.integers(0, 10 * 86_400_000),
    cap=st.integers(1, limits.MISFIRE_CAP_MAX),
)


@given(misfires, st.integers(1_000, 10 * 86_400_000), st.integers(0, 1_000), st.integers(-HOUR_MS, 2_000))
def test_a_schedule_never_stops_and_never_goes_back(
    misfire: Misfire, period_ms: int, behind: int, shift_ms: int
) -> None:
    times = every(period_ms, NOW_MS + shift_ms)
    first_ms = times.next_after(NOW_MS + shift_ms - behind * period_ms)
    assert first_ms is not None
    decided = plan_now(times, first_ms, misfire)
    assert decided.next_ms is not None
    assert decided.next_ms > NOW_MS + AHEAD_MS or len(decided.on_time_ms) == limits.OCCURRENCES_PER_PASS_MAX
    together = (*decided.missed_ms, *decided.on_time_ms, decided.next_ms)
    assert list(together) == sorted(set(together))
    assert min(together) >= first_ms
    assert all(times.next_after(at_ms - 1) == at_ms for at_ms in together)
    assert all(at_ms < NOW_MS - GRACE_MS for at_ms in decided.missed_ms)
    assert all(NOW_MS - GRACE_MS <= at_ms <= NOW_MS + AHEAD_MS for at_ms in decided.on_time_ms)


def latest_by_hand(times: FireTimes, first_ms: int, last_ms: int, most: int) -> tuple[int, ...]:
    """The obvious way: all of them, then the end of the list."""
    found = []
    at_ms = times.next_after(first_ms - 1)
    while at_ms is not None and at_ms <= last_ms:
        found.append(at_ms)
        at_ms = times.next_after(at_ms)
    return tuple(found[max(len(found) - most, 0) :])


@given(
    st.lists(st.integers(0, 10_000_000), max_size=60),
    st.integers(0, 10_000_000),
    st.integers(0, 10_000_000),
    st.integers(0, 20),
)
def test_the_latest_are_those_that_an_obvious_search_finds(listed: list[int], one: int, other: int, most: int) -> None:
    times = Listed(*listed)
    first_ms, last_ms = min(one, other), max(one, other)
    expected = latest_by_hand(times, first_ms, last_ms, most)
    assert latest_occurrences(times, first_ms=first_ms, last_ms=last_ms, most=most) == expected


def test_both_ends_of_a_search_belong_to_it() -> None:
    times = Listed(100, 200, 300)
    assert latest_occurrences(times, first_ms=100, last_ms=300, most=5) == (100, 200, 300)
    assert latest_occurrences(times, first_ms=101, last_ms=299, most=5) == (200,)
    assert latest_occurrences(times, first_ms=201, last_ms=200, most=5) == ()


OUTAGE_MS = 3 * 86_400_000


@pytest.mark.parametrize(
    ("misfire", "most_asked"),
    [
        (Misfire(), 200),
        (Misfire(policy=MisfirePolicy.SKIP), 50),
        (Misfire(policy=MisfirePolicy.FIRE_ALL), 500),
        (Misfire(window_ms=OUTAGE_MS), 200),
        (Misfire(policy=MisfirePolicy.FIRE_ALL, window_ms=OUTAGE_MS, cap=limits.MISFIRE_CAP_MAX), 6_000),
    ],
)
def test_the_work_after_an_outage_does_not_grow_with_what_was_missed(misfire: Misfire, most_asked: int) -> None:
    times = Counted(every(1_000))
    decided = plan_now(times, NOW_MS - OUTAGE_MS, misfire)
    assert times.asked <= most_asked
    assert decided.next_ms == NOW_MS + AHEAD_MS + 1_000


def test_the_latest_of_a_dense_day_long_ago_are_found_in_few_steps() -> None:
    # Every second of New Year's Day, half a year later: nothing near, then far too many at once.
    times = Counted(compile_schedule(Cron("* * * 1 1 *")))
    year_ms, cap = 365 * 86_400_000, limits.MISFIRE_CAP_MAX
    now_ms = NOW_MS + year_ms // 2
    found = latest_occurrences(times, first_ms=now_ms - year_ms, last_ms=now_ms, most=cap)
    last_ms = NOW_MS + 86_399_000
    assert found == tuple(range(last_ms - 1_000 * (cap - 1), last_ms + 1, 1_000))
    assert times.asked <= 20 * cap


def test_the_work_for_a_rare_schedule_does_not_grow_with_the_window() -> None:
    times = Counted(compile_schedule(Cron("0 0 1 1 *")))
    year_ago_ms = 1_735_689_600_000
    decided = plan_now(times, year_ago_ms, Misfire(window_ms=400 * 86_400_000))
    assert decided.missed_ms == (year_ago_ms,)
    assert times.asked < 50


@pytest.mark.parametrize(
    ("policy", "minutes_ago", "reason"),
    [
        (MisfirePolicy.SKIP, 1, EndReason.MISFIRE),
        (MisfirePolicy.FIRE_ONCE, 1, None),
        (MisfirePolicy.FIRE_ONCE, 2, EndReason.COALESCED),
        (MisfirePolicy.FIRE_ALL, 3, None),
        (MisfirePolicy.FIRE_ALL, 4, EndReason.MISFIRE),
    ],
)
def test_a_missed_run_that_was_written_runs_by_the_policy(
    policy: MisfirePolicy, minutes_ago: int, reason: EndReason | None
) -> None:
    times = compile_schedule(Every(MINUTE_MS, NOW_MS - HOUR_MS))
    misfire = Misfire(policy=policy, cap=3)
    assert why_not(times, misfire, NOW_MS - minutes_ago * MINUTE_MS, now_ms=NOW_MS) is reason


def test_a_missed_run_out_of_its_window_does_not_run_and_a_one_time_one_always_does() -> None:
    misfire = Misfire(policy=MisfirePolicy.FIRE_ALL, window_ms=MINUTE_MS - 1)
    at_ms = NOW_MS - MINUTE_MS
    assert (
        why_not(compile_schedule(Every(MINUTE_MS, NOW_MS - HOUR_MS)), misfire, at_ms, now_ms=NOW_MS)
        is EndReason.MISFIRE
    )
    for schedule in (At(at_ms), After(MINUTE_MS, first_ms=at_ms)):
        assert why_not(compile_schedule(schedule), misfire, at_ms, now_ms=NOW_MS) is None
