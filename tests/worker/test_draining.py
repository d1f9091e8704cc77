"""A worker that ends in order: what becomes of what it holds, and of its calls when the store is away just then."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from dueline.domain import limits
from dueline.domain.ids import BootId
from dueline.domain.job import Execution, HttpTarget
from dueline.domain.states import RunState
from dueline.engine.definitions import Definitions
from dueline.engine.membership import Membership
from dueline.engine.node import Node
from dueline.runtime.chance import SystemChance
from dueline.runtime.clock import ManualClock, SystemClock
from dueline.runtime.signals import Stop
from dueline.store.fleet import NewNode, Role
from dueline.store.sqlite.store import SqliteStore
from dueline.worker.options import WorkerOptions
from dueline.worker.worker import Worker
from tests.support.failing import FailingStore, Fault
from tests.support.stores import a_run, enqueue, states_of, the_run
from tests.support.target import Target

CLAIMED_LOOKS_MAX = 2_000
NODE = NewNode(boot_id=BootId("w1"), role=Role.ALL, host="here", pid=1, version="1")


@pytest.mark.parametrize("fault", Fault)
async def test_a_store_that_is_away_as_a_worker_drains_costs_no_call_its_end(tmp_path: Path, fault: Fault) -> None:
    clock, chance, stop = SystemClock(), SystemChance(), Stop()
    store = SqliteStore(tmp_path / "dueline.db", clock)
    await store.open()
    await store.migrate()
    failing = FailingStore(store, "claims_of", 1, fault, kill=False)

    def make_worker(membership: Membership, definitions: Definitions) -> Worker:
        return Worker(failing.as_store(), membership, definitions, clock, chance, WorkerOptions())

    node = Node(failing.as_store(), clock, chance, new_node=lambda: NODE, parts=[make_worker])
    async with Target() as target:
        living = asyncio.create_task(node.run(stop))
        spec = msgspec.json.encode(Execution(target=HttpTarget(url=f"{target.url}/slow/0.3"))).decode()
        run_ids = await enqueue(store, a_run(spec=spec, due_ms=clock.wall_ms()))
        await target.wait_for_hits(1)
        stop.ask()
        await living
    assert failing.struck
    assert await states_of(store, run_ids) == [RunState.SUCCEEDED]
    assert await store.nodes() == []
    await store.close()


async def test_what_was_claimed_ahead_goes_back_as_if_it_had_never_been_claimed(tmp_path: Path) -> None:
    clock, chance, stop = ManualClock(), SystemChance(), Stop()
    store = SqliteStore(tmp_path / "dueline.db", clock)
    await store.open()
    await store.migrate()

    def make_worker(membership: Membership, definitions: Definitions) -> Worker:
        return Worker(store, membership, definitions, clock, chance, WorkerOptions())

    node = Node(store, clock, chance, new_node=lambda: NODE, parts=[make_worker])
    living = asyncio.create_task(node.run(stop))
    spec = msgspec.json.encode(Execution(target=HttpTarget(url="http://127.0.0.1:1/"))).decode()
    (run_id,) = await enqueue(store, a_run(spec=spec, due_ms=clock.wall_ms() + limits.AHEAD_MS // 2))
    for _ in range(CLAIMED_LOOKS_MAX):
        if await store.claims_of(NODE.boot_id):
            break
        await asyncio.sleep(0.01)
    stop.ask()
    await living
    run = await the_run(store, run_id)
    assert (run.state, run.attempt, run.attempts) == (RunState.READY, 0, ())
    assert await store.nodes() == []
    await store.close()
