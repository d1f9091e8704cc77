"""Which workers may execute a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain.lanes import PLAIN, TASK, lane_of, serves

labels = st.sets(st.text("abcxyz0-", min_size=1, max_size=4), max_size=5)


def test_a_run_that_requires_nothing_stands_in_the_plain_lane() -> None:
    assert lane_of((), task=False) == PLAIN


def test_a_task_requires_a_worker_with_an_application() -> None:
    assert lane_of((), task=True) == TASK
    assert not serves(TASK, ())
    assert serves(TASK, (TASK,))


@pytest.mark.parametrize("requires", [("gpu", "eu"), ("eu", "gpu"), ("eu", "gpu", "eu")])
def test_what_requires_the_same_stands_in_one_lane(requires: tuple[str, ...]) -> None:
    assert lane_of(requires, task=False) == "eu,gpu"
    assert lane_of((*requires, TASK), task=False) == lane_of(requires, task=True) == "eu,gpu,task"


def test_anybody_serves_the_plain_lane() -> None:
    assert serves(PLAIN, ())
    assert serves(PLAIN, ("gpu",))


def test_a_worker_needs_every_label_and_may_have_more() -> None:
    assert not serves("eu,gpu", ("gpu",))
    assert serves("eu,gpu", ("eu", "gpu", "large"))


def test_a_part_of_a_label_is_not_the_label() -> None:
    assert not serves("gpu", ("gpu-a100",))
    assert not serves("gpu-a100", ("gpu",))


@given(requires=labels, has=labels)
def test_a_lane_is_served_by_those_who_have_what_it_was_made_of(requires: set[str], has: set[str]) -> None:
    assert serves(lane_of(requires, task=False), has) == (requires <= has)
    assert serves(lane_of(requires, task=True), has) == (requires | {TASK} <= has)
