"""The loop on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextvars import Context
from typing import Any

import pytest

from tests.simulation.loop import OWNER, Ready, Standstill, VirtualLoop


class Machine:
    def __init__(self) -> None:
        self.paused = False
        self.frozen: list[Ready] = []
        self.tasks: list[asyncio.Task[Any]] = []
        self.context = Context()
        self.context.run(OWNER.set, self)


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    yield loop
    loop.close()


def test_time_jumps_to_the_next_timer(loop: VirtualLoop) -> None:
    loop.run_until_complete(asyncio.sleep(86_400))

    assert loop.time() == 86_400


def test_what_belongs_to_a_paused_machine_waits_until_it_goes_on(loop: VirtualLoop) -> None:
    machine, seen = Machine(), list[float]()

    async def tick() -> None:
        for _ in range(3):
            await asyncio.sleep(1)
            seen.append(loop.time())

    task = loop.create_task(tick(), context=machine.context)
    loop.call_later(1.5, setattr, machine, "paused", True)
    loop.call_later(10, loop.thaw, machine)
    loop.run_until_complete(task)

    assert seen == [1, 10, 11]
    assert machine.tasks == [task]


def test_a_loop_on_which_nothing_will_ever_happen_says_so(loop: VirtualLoop) -> None:
    future = loop.create_future()

    with pytest.raises(Standstill):
        loop.run_until_complete(future)
