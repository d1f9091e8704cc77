"""One look at the store for all who have the same question."""

import asyncio

import pytest

from dueline.domain.errors import StoreUnavailable
from dueline.engine.looks import Look
from dueline.runtime.clock import ManualClock

FRESH_S = 2.0


class Asked:
    """Answers the number of the question, when it is let go on."""

    def __init__(self) -> None:
        self.count = 0
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.away = False

    async def __call__(self) -> int:
        self.count += 1
        number = self.count
        await self.go_on.wait()
        if self.away:
            raise StoreUnavailable("away")
        return number


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


async def test_an_answer_is_good_for_a_while(clock: ManualClock) -> None:
    look = Look(Asked(), clock, fresh_s=FRESH_S)
    assert await look.take() == 1
    clock.advance(FRESH_S)
    assert await look.take() == 1
    clock.advance(0.001)
    assert await look.take() == 2


async def test_all_who_come_meanwhile_share_the_answer(clock: ManualClock) -> None:
    asked = Asked()
    asked.go_on.clear()
    look = Look(asked, clock, fresh_s=FRESH_S)
    takes = [asyncio.create_task(look.take()) for _ in range(10)]
    await asyncio.sleep(0)
    asked.go_on.set()
    assert await asyncio.gather(*takes) == [1] * 10


async def test_what_is_forgotten_while_it_is_asked_for_is_asked_for_again(clock: ManualClock) -> None:
    asked = Asked()
    look = Look(asked, clock, fresh_s=FRESH_S)
    await look.take()
    look.forget()
    asked.go_on.clear()
    first = asyncio.create_task(look.take())
    await asyncio.sleep(0)
    look.forget()
    later = asyncio.create_task(look.take())
    asked.go_on.set()
    assert (await first, await later) == (2, 3)


async def test_a_failure_is_nobody_elses_answer(clock: ManualClock) -> None:
    asked = Asked()
    look = Look(asked, clock, fresh_s=FRESH_S)
    asked.away = True
    with pytest.raises(StoreUnavailable):
        await look.take()
    asked.away = False
    assert await look.take() == 2
