"""The one loop: it survives a store that is away and a step that breaks; only a lost lease ends it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from structlog.testing import capture_logs

from dueline.domain.errors import LeaseLost, StoreUnavailable
from dueline.runtime.loop import AWAY_S, BROKEN_S, Loop
from dueline.runtime.wakeup import Wakeup

Part = float | BaseException | Callable[[], Awaitable[float]]


class Steps:
    """A step that does what a list says, one part a call; behind the end it sleeps for long."""

    def __init__(self, *parts: Part) -> None:
        self._parts = list(parts)
        self.calls = 0

    async def __call__(self) -> float:
        self.calls += 1
        part = self._parts.pop(0) if self._parts else 3_600.0
        if isinstance(part, BaseException):
            raise part
        return part if isinstance(part, int | float) else await part()


class Noted(Wakeup):
    """Notes how long it was told to sleep, and does not; asleep for long, it stops the loop."""

    def __init__(self) -> None:
        super().__init__()
        self.slept_s: list[float] = []
        self.loop: Loop | None = None

    async def sleep(self, delay_s: float) -> None:
        if delay_s >= 3_600 and self.loop is not None:
            self.loop.stop()
        else:
            self.slept_s.append(delay_s)
        await asyncio.sleep(0)


def noted_loop(*parts: Part) -> tuple[Loop, Steps, Noted]:
    steps, noted = Steps(*parts), Noted()
    noted.loop = Loop("noted", steps, noted)
    return noted.loop, steps, noted


async def test_it_sleeps_as_long_as_each_step_says() -> None:
    loop, steps, noted = noted_loop(0.0, 1.5, 0.25)
    await loop.run()
    assert noted.slept_s == [0.0, 1.5, 0.25]
    assert steps.calls == 4
    assert loop.ended.is_set()


async def test_it_survives_a_store_that_is_away_and_says_so_once() -> None:
    loop, _, noted = noted_loop(StoreUnavailable("gone"), StoreUnavailable("gone"), 0.1, StoreUnavailable("gone"), 0.2)
    with capture_logs() as logs:
        await loop.run()
    assert noted.slept_s == [AWAY_S, AWAY_S, 0.1, AWAY_S, 0.2]
    assert [(log["event"], log["loop"]) for log in logs] == [
        ("store away", "noted"),
        ("store back", "noted"),
        ("store away", "noted"),
        ("store back", "noted"),
    ]


@pytest.mark.parametrize("bug", [ValueError("a bug"), KeyError("x"), AssertionError(), TimeoutError()])
async def test_it_survives_a_bug_without_becoming_a_busy_loop(bug: Exception) -> None:
    loop, _, noted = noted_loop(bug, bug, 0.1)
    with capture_logs() as logs:
        await loop.run()
    assert noted.slept_s == [BROKEN_S, BROKEN_S, 0.1]
    assert [log["event"] for log in logs] == ["step broke", "step broke"]
    assert all(log["exc_info"] for log in logs)


async def test_a_lost_lease_ends_it() -> None:
    loop, steps, _ = noted_loop(0.0, LeaseLost("declared dead"))
    with pytest.raises(LeaseLost):
        await loop.run()
    assert loop.ended.is_set()
    assert steps.calls == 2


async def test_it_stops_before_the_first_step_when_it_was_told_so() -> None:
    steps = Steps(0.0)
    loop = Loop("stopped", steps)
    loop.stop()
    await loop.run()
    assert steps.calls == 0
    assert loop.ended.is_set()


async def test_told_to_stop_it_ends_after_the_current_step() -> None:
    begun, go_on, finished = asyncio.Event(), asyncio.Event(), []

    async def slow() -> float:
        begun.set()
        await go_on.wait()
        finished.append(True)
        return 3_600.0

    steps = Steps(slow)
    loop = Loop("slow", steps)
    task = asyncio.create_task(loop.run())
    await begun.wait()
    loop.stop()
    await asyncio.sleep(0)
    assert not loop.ended.is_set()
    go_on.set()
    async with asyncio.timeout(1):
        await task
    assert finished == [True]
    assert steps.calls == 1


async def test_told_to_stop_it_does_not_sleep_on() -> None:
    steps = Steps()
    loop = Loop("sleeping", steps)
    task = asyncio.create_task(loop.run())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert steps.calls == 1
    loop.stop()
    async with asyncio.timeout(1):
        await task
    assert steps.calls == 1


async def test_a_wake_up_brings_the_next_step_at_once_also_one_that_came_during_a_step() -> None:
    async def woken_meanwhile() -> float:
        loop.wakeup.wake()
        return 3_600.0

    async def last() -> float:
        loop.stop()
        return 3_600.0

    steps = Steps(woken_meanwhile, last)
    loop = Loop("woken", steps)
    async with asyncio.timeout(1):
        await loop.run()
    assert steps.calls == 2


async def test_cancelled_it_ends_and_says_so() -> None:
    loop = Loop("cancelled", Steps())
    task = asyncio.create_task(loop.run())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert loop.ended.is_set()


async def test_a_step_by_hand_is_guarded_as_in_the_loop() -> None:
    loop = Loop("by hand", Steps(0.5, StoreUnavailable("gone"), ValueError("a bug"), LeaseLost("dead")))
    with capture_logs():
        assert [await loop.step() for _ in range(3)] == [0.5, AWAY_S, BROKEN_S]
        with pytest.raises(LeaseLost):
            await loop.step()


async def test_it_makes_its_own_wake_up_or_takes_one() -> None:
    own = Wakeup()
    assert Loop("given", Steps(), own).wakeup is own
    assert Loop("a", Steps()).wakeup is not Loop("b", Steps()).wakeup
