"""How many places a host has, where calls wait for them."""

from collections.abc import Callable

import pytest

from dueline.worker.executors.widths import PLACES_AT_FIRST, REST_S, SILENT_S, Width

STEP_S = 0.005


def play(
    width: Width, rate_of: Callable[[int], float], *, from_s: float = 0.0, for_s: float
) -> list[tuple[float, int]]:
    """Let a host answer so many calls a second, by how many places it has; tells the places at each time."""
    seen, owed = [], 0.0
    for step in range(1, round(for_s / STEP_S) + 1):
        owed += rate_of(width.places) * STEP_S
        width.answered += int(owed)
        owed -= int(owed)
        now_s = from_s + step * STEP_S
        width.adapt(now_s)
        seen.append((now_s, width.places))
    return seen


def share_of(wanted: int, seen: list[tuple[float, int]]) -> float:
    return sum(places == wanted for _, places in seen) / len(seen)


def begun(most: int = 256) -> Width:
    width = Width(most)
    width.begin(0.0)
    return width


def test_a_host_that_hangs_has_all_places_at_once() -> None:
    seen = play(begun(), lambda _: 0, for_s=1.0)
    widened = [next(now_s for now_s, places in seen if places == wanted) for wanted in (128, 256)]
    assert widened == pytest.approx([SILENT_S, 2 * SILENT_S], abs=STEP_S)
    assert seen[-1][1] == 256


@pytest.mark.parametrize("call_s", [0.012, 0.05, 0.09, 0.5])
def test_a_host_that_takes_its_time_has_all_places_nearly_always(call_s: float) -> None:
    seen = play(begun(), lambda places: places / call_s, for_s=30.0)
    assert share_of(256, seen[100:]) > 0.9


@pytest.mark.parametrize("rate", [3_000, 8_000, 30_000])
def test_a_host_that_answers_no_more_for_more_places_has_few_nearly_always(rate: float) -> None:
    assert share_of(PLACES_AT_FIRST, play(begun(), lambda _: rate, for_s=30.0)) > 0.9


def test_a_quick_host_that_paused_is_soon_back_at_few_places() -> None:
    width = begun()
    play(width, lambda _: 0, for_s=0.1)
    assert width.places == 256
    play(width, lambda _: 8_000, from_s=0.1, for_s=0.5)
    assert width.places == PLACES_AT_FIRST


def test_a_host_that_becomes_slow_has_all_places_again() -> None:
    width = begun()
    play(width, lambda _: 8_000, for_s=1.0)
    assert width.places == PLACES_AT_FIRST
    play(width, lambda places: places / 0.05, from_s=1.0, for_s=REST_S + 0.5)
    assert width.places == 256


def test_there_are_never_more_places_than_allowed() -> None:
    for most in (1, 2, 63, 200):
        assert {places for _, places in play(begun(most), lambda _: 0, for_s=0.2)} <= {PLACES_AT_FIRST, 128, most}
