"""A sleep that can be cut short."""

import asyncio

import pytest

from dueline.runtime.wakeup import Wakeup

LONG_S = 3_600.0


async def asleep(wakeup: Wakeup, delay_s: float = LONG_S) -> asyncio.Task[None]:
    """A task that has fallen asleep."""
    task = asyncio.create_task(wakeup.sleep(delay_s))
    for _ in range(3):
        await asyncio.sleep(0)
    assert not task.done()
    return task


async def test_a_call_before_the_sleep_is_not_lost() -> None:
    wakeup = Wakeup()
    wakeup.wake()
    async with asyncio.timeout(1):
        await wakeup.sleep(LONG_S)


async def test_a_call_cuts_one_sleep_short_and_not_the_next() -> None:
    wakeup = Wakeup()
    wakeup.wake()
    wakeup.wake()
    await wakeup.sleep(LONG_S)
    task = await asleep(wakeup)
    wakeup.wake()
    async with asyncio.timeout(1):
        await task


async def test_a_sleep_ends_with_the_call() -> None:
    wakeup = Wakeup()
    task = await asleep(wakeup)
    wakeup.wake()
    wakeup.wake()
    async with asyncio.timeout(1):
        await task
    await (await asleep(wakeup, 0.001))


async def test_a_sleep_ends_by_itself_and_leaves_no_call_behind() -> None:
    wakeup = Wakeup()
    await wakeup.sleep(0.001)
    task = await asleep(wakeup)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_call_during_the_sleeps_last_moment_is_for_the_step_that_follows() -> None:
    # Whoever wakes us after the timer rang need not ring again: we are about to look anyway.
    wakeup = Wakeup()
    task = await asleep(wakeup)
    wakeup.wake()
    wakeup.wake()
    await task
    later = await asleep(wakeup)
    wakeup.wake()
    await later


@pytest.mark.parametrize("delay_s", [0.0, -1.0])
async def test_no_sleep_at_all_still_gives_way_to_others(delay_s: float) -> None:
    seen: list[str] = []
    other = asyncio.create_task(_note(seen, "other"))
    await Wakeup().sleep(delay_s)
    seen.append("we")
    await other
    assert seen == ["other", "we"]


async def test_a_sleep_that_was_called_before_it_began_gives_way_too() -> None:
    seen: list[str] = []
    wakeup = Wakeup()
    wakeup.wake()
    other = asyncio.create_task(_note(seen, "other"))
    await wakeup.sleep(LONG_S)
    seen.append("we")
    await other
    assert seen == ["other", "we"]


async def test_a_call_while_giving_way_is_for_the_next_sleep() -> None:
    wakeup = Wakeup()
    asyncio.get_running_loop().call_soon(wakeup.wake)
    await wakeup.sleep(0)
    async with asyncio.timeout(1):
        await wakeup.sleep(LONG_S)


async def test_a_cancelled_sleep_leaves_it_usable() -> None:
    wakeup = Wakeup()
    task = await asleep(wakeup)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    again = await asleep(wakeup)
    wakeup.wake()
    async with asyncio.timeout(1):
        await again


async def _note(seen: list[str], word: str) -> None:
    seen.append(word)
