"""Whether a process is one that others count on."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

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
