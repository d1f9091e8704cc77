"""Clocks: the machine's, one that is moved by hand, and the store's as this process knows it (C11)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.runtime.clock import ManualClock, StoreTime, SystemClock

OFFSET_MS = 1_767_225_600_000
delays_us = st.integers(0, 300_000)
trips = st.lists(st.tuples(st.integers(0, 5_000_000), delays_us, delays_us), min_size=1, max_size=40)


class World:
    """A store and a process with clocks of their own; time is whole microseconds, and an answer takes its way there and back."""

    def __init__(self, *, start_us: int = 123_456_789, offset_us: int = OFFSET_MS * 1000 + 321) -> None:
        self._now_us = start_us
        self.offset_us = offset_us
        self.time = StoreTime(self)

    def wall_ms(self) -> int:
        raise AssertionError("a process never asks its own wall clock")

    def monotonic_s(self) -> float:
        return self._now_us / 1_000_000

    @property
    def store_ms(self) -> float:
        return (self._now_us + self.offset_us) / 1000

    def pass_us(self, microseconds: int) -> None:
        self._now_us += microseconds

    def ask(self, there_us: int, back_us: int) -> None:
        sent_s = self.monotonic_s()
        self.pass_us(there_us)
        answer_ms = int(self.store_ms)
        self.pass_us(back_us)
        self.time.measured(answer_ms, sent_s=sent_s)


# Floats hold these times to better than a microsecond.
ROUNDING_MS = 0.001


@given(trips)
def test_the_known_time_is_never_ahead_of_the_store(trips: list[tuple[int, int, int]]) -> None:
    world = World()
    for pause_us, there_us, back_us in trips:
        world.ask(there_us, back_us)
        assert world.time.now_ms() <= world.store_ms + ROUNDING_MS
        world.pass_us(pause_us)
        assert world.time.now_ms() <= world.store_ms + ROUNDING_MS


@given(trips)
def test_it_is_behind_by_no_more_than_the_quickest_of_the_recent_ways_back(trips: list[tuple[int, int, int]]) -> None:
    world = World()
    for number, (pause_us, there_us, back_us) in enumerate(trips):
        world.ask(there_us, back_us)
        quickest_ms = min(back for _, _, back in trips[max(0, number - 15) : number + 1]) / 1000
        # A millisecond for the store, which answers in whole ones, and one for ours.
        assert world.store_ms - world.time.now_ms() <= quickest_ms + 2 + ROUNDING_MS
        world.pass_us(pause_us)


@given(trips, st.integers(1_000, 10**10), delays_us, delays_us)
def test_a_store_that_is_set_back_is_followed_up_to_the_round_trip(
    trips: list[tuple[int, int, int]], back_ms: int, there_us: int, back_us: int
) -> None:
    world = World()
    for _, there, back in trips:
        world.ask(there, back)
    world.offset_us -= back_ms * 1000
    world.ask(there_us, back_us)
    assert world.time.now_ms() <= world.store_ms + (there_us + back_us) / 1000 + 1 + ROUNDING_MS


def test_after_a_set_back_the_old_measurements_are_forgotten_at_once() -> None:
    world = World()
    for _ in range(5):
        world.ask(100, 100)
    world.offset_us -= 10_000_000
    world.ask(100, 100)
    assert world.store_ms - 2 <= world.time.now_ms() <= world.store_ms


def test_a_small_set_back_is_followed_when_the_old_measurements_have_gone() -> None:
    # Smaller than the doubt that a slow round trip leaves: nothing proves it.
    world = World()
    world.ask(0, 0)
    world.offset_us -= 50_000
    for _ in range(15):
        world.ask(100_000, 0)
    assert world.time.now_ms() > world.store_ms
    world.ask(100_000, 0)
    assert world.store_ms - 2 <= world.time.now_ms() <= world.store_ms


def test_a_set_back_is_seen_by_a_time_that_comes_with_another_answer() -> None:
    clock = ManualClock()
    time = StoreTime(clock)
    now_ms, sent_s = clock.wall_ms(), clock.monotonic_s()
    time.measured(now_ms, sent_s=sent_s)
    clock.advance(1)
    time.seen(now_ms + 800, sent_s=clock.monotonic_s())
    assert time.now_ms() == now_ms + 800


def test_a_time_that_was_long_on_its_way_with_another_answer_tells_nothing() -> None:
    clock = ManualClock()
    time = StoreTime(clock)
    now_ms, sent_s = clock.wall_ms(), clock.monotonic_s()
    time.measured(now_ms, sent_s=sent_s)
    clock.advance(1)
    time.seen(now_ms, sent_s=sent_s)
    assert time.now_ms() == now_ms + 1_000


def test_a_store_that_is_set_forth_is_followed_at_once() -> None:
    world = World()
    world.ask(0, 0)
    world.offset_us += 3_600_000_000
    world.ask(2_000, 2_000)
    assert world.store_ms - 4 <= world.time.now_ms() <= world.store_ms


def test_a_slow_answer_does_not_spoil_what_quick_ones_told() -> None:
    world = World()
    world.ask(200, 200)
    for _ in range(15):
        world.ask(0, 250_000)
    assert world.store_ms - world.time.now_ms() < 3
    world.ask(0, 250_000)
    assert world.store_ms - world.time.now_ms() >= 250


@given(trips)
def test_the_store_is_ahead_by_no_more_than_the_doubt(trips: list[tuple[int, int, int]]) -> None:
    world = World()
    for pause_us, there_us, back_us in trips:
        world.ask(there_us, back_us)
        # A millisecond for the store, which answers in whole ones, one for ours, and one for the doubt.
        assert world.store_ms <= world.time.now_ms() + world.time.doubt_ms + 3 + ROUNDING_MS
        assert world.time.doubt_ms <= (there_us + back_us) / 1000 + ROUNDING_MS
        world.pass_us(pause_us)


def test_a_wait_that_is_counted_beyond_the_doubt_does_not_end_early() -> None:
    """The answers came slowly when it began, and quickly when it ended: it was the clock of a target that asked for two seconds."""
    world = World()
    world.ask(2_000, 80_000)
    began_ms = world.store_ms
    until_ms = world.time.now_ms() + world.time.doubt_ms + 2_000
    world.pass_us(1_000_000)
    world.ask(0, 0)
    world.pass_us(int(world.time.until_s(until_ms) * 1_000_000))
    assert world.store_ms >= began_ms + 2_000 - 3


@pytest.mark.parametrize("jump_us", [-3_600_000_000, 3_600_000_000])
def test_a_store_that_was_set_leaves_no_more_doubt_than_the_last_answer(jump_us: int) -> None:
    world = World()
    world.ask(0, 0)
    world.offset_us += jump_us
    world.ask(1_000, 2_000)
    assert 1 <= world.time.doubt_ms <= 3


def test_a_moment_of_the_past_is_read_on_the_same_scale() -> None:
    world = World()
    world.ask(0, 0)
    then_s, then_ms = world.monotonic_s(), world.time.now_ms()
    world.pass_us(5_000_000)
    assert world.time.at_ms(then_s) == then_ms
    assert world.time.now_ms() == then_ms + 5_000


def test_before_the_first_answer_there_is_no_time() -> None:
    time = StoreTime(ManualClock())
    assert not time.known
    with pytest.raises(AssertionError, match="not asked"):
        time.now_ms()
    time.measured(5, sent_s=0.0)
    assert time.known


def test_a_manual_clock_moves_when_told_to() -> None:
    clock = ManualClock(1_000)
    assert (clock.wall_ms(), clock.monotonic_s()) == (1_000, 1.0)
    clock.advance(0.25)
    assert (clock.wall_ms(), clock.monotonic_s()) == (1_250, 1.25)


def test_the_machines_clocks_go_on() -> None:
    clock = SystemClock()
    first_s, first_ms = clock.monotonic_s(), clock.wall_ms()
    assert clock.monotonic_s() >= first_s
    assert first_ms > OFFSET_MS - 365 * 86_400_000
