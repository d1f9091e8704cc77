"""Whether a process is one that others count on."""

import asyncio
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pytest

from dueline.domain import limits
from dueline.domain.ids import BootId
from dueline.engine.definitions import Definitions
from dueline.engine.membership import Membership
from dueline.engine.node import Node
from dueline.runtime.chance import SystemChance
from dueline.runtime.loop import Loop
from dueline.runtime.signals import Stop
from dueline.store.fleet import NewNode, Role
from tests.support.stores import SqliteClock, sqlite_under_test

WAIT_S_MAX = 10.0


def new_node() -> NewNode:
    return NewNode(boot_id=BootId("n"), role=Role.WORKER, host="here", pid=1, version="1")


class Bell:
    """A part of a node that rings when its loops run."""

    rung = asyncio.Event()

    def __init__(self, _membership: Membership, _definitions: Definitions) -> None:
        self._loop = Loop("bell", self._ring)

    def loops(self) -> Sequence[Loop]:
        return [self._loop]

    def wake(self, topic: str) -> None: ...

    async def drain(self, forced: asyncio.Event) -> None: ...

    async def abandon(self) -> None: ...

    def close(self) -> None: ...

    async def _ring(self) -> float:
        self.rung.set()
        return WAIT_S_MAX


async def test_a_process_is_trusted_from_when_it_joined_while_its_lease_holds(tmp_path: Path) -> None:
    async with sqlite_under_test(tmp_path / "dueline.db") as under_test:
        assert isinstance(under_test.clock, SqliteClock)
        clock, stop = under_test.clock.manual, Stop()
        node = Node(under_test.store, clock, SystemChance(), new_node=new_node, parts=[Bell])
        seen = [node.trusted]
        running = asyncio.create_task(node.run(stop))
        async with asyncio.timeout(WAIT_S_MAX):
            await Bell.rung.wait()
        seen.append(node.trusted)
        clock.advance(limits.LEASE_S - limits.LEASE_MARGIN_S)
        seen.append(node.trusted)
        stop.ask()
        await running
        assert [*seen, node.trusted] == [False, True, False, False]
        assert node.leases_lost == 0


async def test_a_process_that_is_declared_dead_before_its_first_beat_starts_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when it is paused right after it joined."""
    async with sqlite_under_test(tmp_path / "dueline.db") as under_test:
        assert isinstance(under_test.clock, SqliteClock)
        store, clock, stop, numbers = under_test.store, under_test.clock.manual, Stop(), count(1)
        register = store.register

        async def register_and_pause(node: NewNode, *, lease_s: float) -> None:
            await register(node, lease_s=lease_s)
            if node.boot_id == "n1":
                clock.advance(limits.LEASE_S + 1)
                assert await store.bury(node.boot_id)

        monkeypatch.setattr(store, "register", register_and_pause)
        monkeypatch.setattr(Bell, "rung", asyncio.Event())

        def next_node() -> NewNode:
            return NewNode(boot_id=BootId(f"n{next(numbers)}"), role=Role.WORKER, host="here", pid=1, version="1")

        node = Node(store, clock, SystemChance(), new_node=next_node, parts=[Bell])
        running = asyncio.create_task(node.run(stop))
        async with asyncio.timeout(WAIT_S_MAX):
            await Bell.rung.wait()
        stop.ask()
        await running
        assert node.leases_lost == 1
