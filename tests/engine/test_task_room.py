"""How many tasks a worker takes: as many as it can begin, and of a limited task no more than its limit."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from dueline.domain.ids import RunId
from dueline.domain.states import RunState
from tests.support.cluster import HandNode
from tests.support.stores import StoreUnderTest
from tests.support.target import Target
from tests.support.task_cluster import MODES, Gate, TaskCluster, named

MANY = 50


@pytest.fixture
async def cluster(under_test: StoreUnderTest) -> AsyncIterator[TaskCluster]:
    cluster = TaskCluster(under_test)
    yield cluster
    cluster.close()


async def claimed(cluster: TaskCluster, node: HandNode) -> list[RunId]:
    return [claim.run_id for claim in await cluster.store.claims_of(node.boot_id)]


@pytest.mark.parametrize("mode", ["threads", "processes"])
async def test_a_worker_takes_no_more_tasks_than_it_has_places(cluster: TaskCluster, mode: str, gate: Gate) -> None:
    """What it leaves stays ready, for workers that have room."""
    node = await cluster.add_crew(**MODES[mode])
    ids = await cluster.enqueue_many("stubborn", [gate.args] * MANY)
    for _ in range(8):
        await cluster.advance(0.25, calls_end=False)
        assert len(await claimed(cluster, node)) <= 2
    assert len(await claimed(cluster, node)) == 2
    gate.open()
    await cluster.add_crew("other", threads=16)
    await cluster.advance(MANY / 4)
    runs = [await cluster.run(run_id) for run_id in ids]
    assert {(run.state, run.attempt) for run in runs} == {(RunState.SUCCEEDED, 1)}
    workers = Counter(run.worker for run in runs)
    assert workers["other"] > workers["crew"] >= 2


async def test_tasks_that_are_held_for_their_time_count(cluster: TaskCluster, gate: Gate) -> None:
    """They come due together, while others are ready: then too there is a thread for each that was taken."""
    node = await cluster.add_crew()
    for _ in range(2):
        await cluster.enqueue_later("stubborn", gate.args, in_ms=1_500)
    await cluster.advance(1)
    assert len(await claimed(cluster, node)) == 2
    await cluster.enqueue_many("stubborn", [gate.args] * MANY)
    assert node.worker is not None
    claims, holding = node.worker.loops()[:2]
    for _ in range(8):
        await cluster.store_clock.advance(0.25)
        await node.life.membership.step()
        await asyncio.gather(holding.step(), claims.step())
        assert len(await claimed(cluster, node)) == 2


async def test_a_full_worker_still_makes_calls(cluster: TaskCluster, target: Target, gate: Gate) -> None:
    await cluster.add_crew(threads=1)
    await cluster.enqueue_many("stubborn", [gate.args] * 3)
    await cluster.advance(1, calls_end=False)
    await cluster.enqueue_call(target.url + "/ok")
    await cluster.advance(1, calls_end=False)
    await target.wait_for_hits(1)


@pytest.mark.parametrize("mode", ["loop", "threads"])
async def test_a_limited_task_is_put_off_without_an_attempt_until_it_is_its_turn(
    cluster: TaskCluster, mode: str, gate: Gate
) -> None:
    node = await cluster.add_crew(threads=8)
    ids = await cluster.enqueue_many(named("limited", mode), [gate.args] * 10)
    await cluster.advance(0.25, calls_end=False)
    runs = [await cluster.run(run_id) for run_id in ids]
    put_off = [run for run in runs if run.reason == "concurrency"]
    assert put_off
    assert {(run.state, run.attempt, run.attempts) for run in put_off} == {(RunState.SCHEDULED, 0, ())}
    other = await cluster.enqueue(named("add", mode), {"a": 1})
    for _ in range(8):
        await cluster.advance(0.5, calls_end=False)
        assert node.worker is not None
        assert 2 <= node.worker.under_way <= 3
    assert (await cluster.run(other)).state is RunState.SUCCEEDED, "tasks without a limit go by"
    gate.open()
    await cluster.advance(20)
    runs = [await cluster.run(run_id) for run_id in ids]
    assert {(run.state, run.attempt, run.reason) for run in runs} == {(RunState.SUCCEEDED, 1, None)}


async def test_a_limit_is_each_workers_own(cluster: TaskCluster, gate: Gate) -> None:
    first, second = await cluster.add_crew("first", threads=8), await cluster.add_crew("second", threads=8)
    await cluster.enqueue_many("limited", [gate.args] * 10)
    await cluster.advance(4, calls_end=False)
    assert [node.worker.under_way for node in (first, second) if node.worker is not None] == [2, 2]
