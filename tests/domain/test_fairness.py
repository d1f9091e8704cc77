"""The rank of a ready run: lowest first."""

from hypothesis import given
from hypothesis import strategies as st

from dueline.domain.fairness import HEAD_START_MS, MISSED_PENALTY_MS, rank
from dueline.domain.job import DEFAULT_PRIORITY, PRIORITIES

dues = st.integers(0, 4_102_444_800_000)
priorities = st.sampled_from(PRIORITIES)


def test_an_ordinary_run_ranks_by_its_due_time() -> None:
    assert rank(due_ms=1_767_225_600_000, priority=DEFAULT_PRIORITY) == 1_767_225_600_000


@given(dues, dues, priorities, st.booleans())
def test_among_equals_the_earlier_one_goes_first(one_ms: int, other_ms: int, priority: int, missed: bool) -> None:
    ranks = [rank(due_ms=due_ms, priority=priority, missed=missed) for due_ms in (one_ms, other_ms)]
    assert (ranks[0] < ranks[1]) == (one_ms < other_ms)


@given(dues, st.sampled_from(PRIORITIES[:-1]), st.booleans())
def test_a_step_of_priority_overtakes_less_than_a_minute(due_ms: int, priority: int, missed: bool) -> None:
    lower = rank(due_ms=due_ms, priority=priority, missed=missed)
    assert rank(due_ms=due_ms + HEAD_START_MS - 1, priority=priority + 1, missed=missed) < lower
    assert rank(due_ms=due_ms + HEAD_START_MS, priority=priority + 1, missed=missed) == lower


@given(dues, priorities)
def test_a_missed_run_stands_behind_those_that_become_due_in_the_ten_minutes_after_it(
    due_ms: int, priority: int
) -> None:
    missed = rank(due_ms=due_ms, priority=priority, missed=True)
    assert rank(due_ms=due_ms + MISSED_PENALTY_MS - 1, priority=priority) < missed
    assert rank(due_ms=due_ms + MISSED_PENALTY_MS + 1, priority=priority) > missed


@given(dues, priorities, priorities, st.booleans(), st.booleans())
def test_nothing_starves(due_ms: int, priority: int, other: int, missed: bool, other_missed: bool) -> None:
    # Whatever becomes due twenty minutes later stands behind, however important it is.
    worst_ms = (len(PRIORITIES) - 1) * HEAD_START_MS + MISSED_PENALTY_MS
    assert worst_ms < 20 * 60_000
    waiting = rank(due_ms=due_ms, priority=priority, missed=missed)
    assert rank(due_ms=due_ms + worst_ms + 1, priority=other, missed=other_missed) > waiting
