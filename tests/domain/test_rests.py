"""When it is time to look again, after looks that took long."""

import pytest

from dueline.domain.rests import MOST_S, Rests


def look(rests: Rests, began_s: float, *, took_s: float) -> None:
    rests.looked(began_s, began_s + took_s)


def test_the_first_look_is_due_at_once() -> None:
    assert Rests(50).due(0.0)


def test_looks_that_take_long_are_put_off_by_so_many_times_as_long() -> None:
    rests = Rests(50)
    look(rests, 0.0, took_s=0.25)
    look(rests, 1.0, took_s=0.5)
    assert not rests.due(13.4)
    assert rests.due(13.5), "from when it began, by the quicker of the two"


@pytest.mark.parametrize("took_s", [(100.0, 0.0), (0.0, 100.0)])
def test_one_look_that_had_to_wait_puts_none_off(took_s: tuple[float, float]) -> None:
    rests = Rests(50)
    for one_s in took_s:
        look(rests, 0.0, took_s=one_s)
        assert rests.due(0.0)


def test_however_long_they_take_the_next_one_comes() -> None:
    rests = Rests(50)
    look(rests, 0.0, took_s=1_000.0)
    look(rests, 1_000.0, took_s=1_000.0)
    assert not rests.due(1_000.0 + MOST_S - 0.001)
    assert rests.due(1_000.0 + MOST_S)


def test_quick_looks_may_have_a_rest_too() -> None:
    rests = Rests(20, least_s=10.0)
    look(rests, 5.0, took_s=0.0)
    assert not rests.due(14.999)
    assert rests.due(15.0)


def test_a_look_that_is_asked_for_is_due_however_long_they_take() -> None:
    rests = Rests(50, least_s=10.0)
    for _ in range(2):
        look(rests, 0.0, took_s=100.0)
    rests.forget()
    assert rests.due(0.0)
