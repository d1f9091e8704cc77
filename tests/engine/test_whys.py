"""Why runs wait, told from what there is: by real nodes, real limits, real queues."""

from __future__ import annotations

import asyncio

import pytest

from dueline.domain.asked_runs import AdhocRun
from dueline.domain.errors import NotFound
from dueline.domain.gates import Limit, Rate, Scope
from dueline.domain.ids import RunId
from dueline.domain.job import DEFAULT_QUEUE, DEFAULT_TENANT, Concurrency, Execution, HttpTarget, StartRate
from dueline.domain.states import RunState
from dueline.engine.whys import WaitsFor, Why
from dueline.store.shapes import Tenant
from tests.support.cluster import Cluster
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Answer, Target


def a_run(target: Target, **fields: object) -> AdhocRun:
    return AdhocRun(execution=Execution(target=HttpTarget(url=f"{target.url}/slow"), **fields))  # type: ignore[arg-type]


async def why(cluster: Cluster, run_id: RunId) -> Why:
    return await cluster.whys.why(DEFAULT_TENANT, run_id)


@pytest.fixture
async def cluster(under_test: StoreUnderTest, target: Target) -> Cluster:
    """Calls to /slow end when the loop does."""
    cluster = Cluster(under_test)
    target.on("/slow", lambda _hit: asyncio.get_running_loop().create_future())
    target.on("/down", lambda _hit: Answer(status=503))
    return cluster


async def test_without_a_worker_that_is_what_it_waits_for(cluster: Cluster, target: Target) -> None:
    first, second = await cluster.operations.enqueue(DEFAULT_TENANT, [a_run(target), a_run(target)])
    told = await why(cluster, second)
    assert (told.waits_for, told.place, told.before) == (WaitsFor.WORKER, 2, {DEFAULT_TENANT: 1})
    assert told.because == "no worker that is there serves the queue default"
    (picky,) = await cluster.operations.enqueue(DEFAULT_TENANT, [a_run(target, requires=("gpu",))])
    await cluster.add()
    assert (await why(cluster, picky)).because == "no worker that is there serves the queue default and has gpu"
    assert (await why(cluster, first)).waits_for is WaitsFor.TURN
    cluster.close()


async def test_a_paused_queue_is_named_with_its_note(cluster: Cluster, target: Target) -> None:
    await cluster.add()
    await cluster.fleet.pause_queue(DEFAULT_QUEUE, note="maintenance")
    (mine,) = await cluster.operations.enqueue(DEFAULT_TENANT, [a_run(target)])
    told = await why(cluster, mine)
    assert (told.waits_for, told.because) == (WaitsFor.QUEUE, "the queue default is paused: maintenance")
    assert told.next_ms is None
    cluster.close()


async def test_a_queue_at_its_limit_is_named(cluster: Cluster, target: Target) -> None:
    await cluster.store.put_limit(Limit(scope=Scope.QUEUE, name=DEFAULT_QUEUE, most=1))
    await cluster.add()
    _, second = await cluster.operations.enqueue(DEFAULT_TENANT, [a_run(target), a_run(target)])
    await cluster.advance(1, calls_end=False)
    told = await why(cluster, second)
    assert told.waits_for is WaitsFor.QUEUE
    assert told.because == "the queue default has 1 run under way, and may have 1"
    cluster.close()


async def test_one_that_is_due_later_and_one_that_is_under_way(cluster: Cluster, target: Target) -> None:
    await cluster.add()
    later = AdhocRun(execution=a_run(target).execution, due_ms=START_MS + 60_000)
    now, then = await cluster.operations.enqueue(DEFAULT_TENANT, [a_run(target), later])
    await cluster.advance(1, calls_end=False)
    told = await why(cluster, then)
    assert (told.waits_for, told.next_ms) == (WaitsFor.TIME, START_MS + 60_000)
    told = await why(cluster, now)
    assert (told.waits_for, told.run.state) == (None, RunState.RUNNING)
    assert told.because.startswith("it is under way on node since 2026-01-01T")
    cluster.close()


async def test_a_limit_tells_who_is_in_and_how_many_come_first(cluster: Cluster, target: Target) -> None:
    await cluster.add()
    limited = a_run(target, concurrency=Concurrency(limit=1, key="acme"))
    first, *others = await cluster.operations.enqueue(DEFAULT_TENANT, [limited] * 4)
    await cluster.advance(1, calls_end=False)
    told = await why(cluster, others[-1])
    assert (told.waits_for, told.place) == (WaitsFor.CONCURRENCY, 3)
    assert told.because == "the key acme has 1 run under way, and may have 1; 2 runs before it"
    assert told.gate is not None
    assert told.gate.under_way == (first,)
    cluster.close()


async def test_a_rate_tells_when_its_token_comes(cluster: Cluster, target: Target) -> None:
    await cluster.add()
    rated = a_run(target, rate=StartRate(rate=Rate(1, 10_000), key="slowly"))
    runs = await cluster.operations.enqueue(DEFAULT_TENANT, [rated] * 4)
    await cluster.advance(0.5, calls_end=False)
    told = await why(cluster, runs[3])
    assert (told.waits_for, told.place) == (WaitsFor.RATE, 3)
    assert told.because == "the key slowly starts one run every 10 s; 2 runs before it"
    started_ms = (await why(cluster, runs[0])).run.claimed_ms
    assert started_ms is not None
    assert told.next_ms == started_ms + 30_000
    cluster.close()


async def test_what_has_ended_says_how(cluster: Cluster, target: Target) -> None:
    (mine,) = await cluster.operations.enqueue(DEFAULT_TENANT, [a_run(target)])
    await cluster.operations.cancel_run(DEFAULT_TENANT, mine)
    told = await why(cluster, mine)
    assert (told.waits_for, told.because) == (None, "it has been cancelled (requested)")
    with pytest.raises(NotFound):
        await cluster.whys.why("somebody", mine)


async def test_shares_tell_who_got_what_and_who_waits_for_whom(cluster: Cluster, target: Target) -> None:
    await cluster.store.put_tenant(Tenant(tenant="heavy", weight=3.0))
    await cluster.operations.enqueue("noisy", [a_run(target)] * 30)
    await cluster.add(slots=30)
    await cluster.advance(2.5, calls_end=False)
    await cluster.operations.enqueue("heavy", [a_run(target)] * 5)
    shares = {share.tenant: share for share in await cluster.shares.of_queue(DEFAULT_QUEUE)}
    assert list(shares) == ["noisy", "heavy"]
    assert (shares["noisy"].used, shares["noisy"].entitled, shares["noisy"].ready) == (1.0, 0.25, 0)
    assert (shares["heavy"].used, shares["heavy"].entitled, shares["heavy"].ready) == (0.0, 0.75, 5)
    assert shares["heavy"].delayed_by == {"noisy": 1.0}
    assert shares["noisy"].delayed_by == {}
    cluster.close()
