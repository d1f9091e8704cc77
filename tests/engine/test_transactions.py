"""From the commit of somebody's transaction to the start of the run that was asked for in it: only the commit wakes anybody."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import pytest

from dueline import App
from dueline.domain import limits
from dueline.domain.ids import BootId
from dueline.domain.lanes import TASK
from dueline.engine.definitions import Definitions
from dueline.engine.membership import Membership
from dueline.engine.node import Node
from dueline.inbox import Inbox
from dueline.runtime.chance import SystemChance
from dueline.runtime.clock import SystemClock
from dueline.runtime.signals import Stop
from dueline.store.fleet import NewNode, Role
from dueline.store.postgres.store import PostgresStore
from dueline.worker.executors.tasks import TaskExecutor
from dueline.worker.options import WorkerOptions
from dueline.worker.worker import Worker
from tests.inbox.parties import PARTIES, Party, Sqlite

DRIVERS = [kind for kind in PARTIES if kind is not Sqlite]
FLEETS: dict[str, list[Role]] = {"one process": [Role.ALL], "two processes": [Role.SCHEDULER, Role.WORKER]}
NEVER_S = 3_600.0
PATIENCE_S = 30.0
"""Far less than anybody sleeps here, and far more than a wake-up takes."""


@asynccontextmanager
async def running(dsn: str, role: Role, app: App) -> AsyncIterator[None]:
    """A node with its own connections, as in a process of its own."""
    clock, chance, stop = SystemClock(), SystemChance(), Stop()
    store = PostgresStore(dsn)
    await store.open()

    def make_worker(membership: Membership, definitions: Definitions) -> Worker:
        options = WorkerOptions(slots=10, labels=(TASK,))
        make_crew = partial(TaskExecutor, app=app)
        return Worker(store, membership, definitions, clock, chance, options, make_crew=make_crew)

    def new_node() -> NewNode:
        return NewNode(boot_id=BootId(role), role=role, host="test", pid=1, version="1", labels=(TASK,))

    parts: list[Callable[[Membership, Definitions], Worker]] = [] if role is Role.SCHEDULER else [make_worker]
    node = Node(store, clock, chance, new_node=new_node, parts=parts)
    life = asyncio.create_task(node.run(stop))
    try:
        yield
    finally:
        stop.ask()
        await life
        await store.close()


async def listening(party: Party) -> int:
    """How many processes hear what is told. In a transaction of its own, which sees the others as they were when it first looked."""
    await party.begin()
    asked = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN %' AND datname = current_database()"
    ((count,),) = await party.fetch(asked)
    await party.rollback()
    return int(count)


@pytest.mark.parametrize("fleet", FLEETS.values(), ids=FLEETS)
@pytest.mark.parametrize("kind", DRIVERS, ids=lambda kind: kind.__name__)
async def test_a_commit_starts_the_run_that_was_asked_for_in_it(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch, kind: type[Party], fleet: list[Role]
) -> None:
    monkeypatch.setattr(limits, "POLL_S", NEVER_S)
    monkeypatch.setattr("dueline.engine.promoter._IDLE_S", NEVER_S)
    app, started = App("shop", url="http://127.0.0.1:9", api_key=""), asyncio.Queue[str]()

    @app.task(name="charge")
    async def charge(customer: str) -> None:
        started.put_nowait(customer)

    async def buy(customer: str) -> None:
        await party.begin()
        await party.ask(lambda: charge.within(party.connection).enqueue(customer))

    party: Any = kind(Inbox())
    async with AsyncExitStack() as stack, asyncio.timeout(PATIENCE_S):
        for role in fleet:
            await stack.enter_async_context(running(postgres_dsn, role, app))
        await party.open(postgres_dsn)
        stack.push_async_callback(party.close)
        while await listening(party) < len(fleet):  # noqa: ASYNC110  # What was told before, nobody would look for here.
            await asyncio.sleep(0.01)
        # Whoever has carried out the first has nothing left to do, and sleeps.
        await buy("the first")
        await party.commit()
        assert await started.get() == "the first"
        for customer in ("ada", "bob", "eve"):
            await buy("nobody")
            await party.rollback()
            await buy(customer)
            assert started.empty()
            await party.commit()
            assert await started.get() == customer
