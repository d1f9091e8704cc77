"""A tenant over its quota: its runs wait and say so, none is dropped, and nobody else waits with them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import closing

import pytest

from dueline.domain.asked_runs import AdhocRun
from dueline.domain.job import Execution, HttpTarget
from dueline.domain.quotas import Quotas
from dueline.domain.run import Run
from dueline.domain.states import HeldReason, RunState
from dueline.store.shapes import RunFilter, Tenant
from tests.support.cluster import Cluster
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Answer, Hit, Target

BUSY, QUIET = "busy", "quiet"


class Throttled(Cluster):
    """A cluster whose target knows who calls it, when, and how many of each are under way. Closed, it answers nobody."""

    def __init__(self, under_test: StoreUnderTest, target: Target) -> None:
        super().__init__(under_test)
        self._target = target
        self.arrived_ms: dict[str, list[int]] = {BUSY: [], QUIET: []}
        self.most: Counter[str] = Counter()
        self.closed = False
        self._under_way: Counter[str] = Counter()
        self._kept: list[tuple[str, asyncio.Future[Answer]]] = []
        for tenant in (BUSY, QUIET):
            target.on(f"/{tenant}", self._receive)

    async def quotas_of_busy(self, **quotas: int) -> None:
        await self.store.put_tenant(Tenant(tenant=BUSY, quotas=Quotas(**quotas)))

    async def ask(self, tenant: str, count: int) -> None:
        execution = Execution(target=HttpTarget(url=f"{self._target.url}/{tenant}"))
        await self.operations.enqueue(tenant, [AdhocRun(execution=execution)] * count)

    async def states(self, tenant: str) -> Counter[str]:
        """How many of its runs are in which state, or wait for which reason."""
        runs: list[Run] = await self.store.runs_page(RunFilter(tenant=tenant), before=None, limit=1_000)
        return Counter(str(run.reason) if run.state is RunState.HELD else str(run.state) for run in runs)

    def open(self) -> None:
        """Answer those who wait, and from now on everybody at once."""
        self.closed = False
        for tenant, answer in self._kept:
            self._under_way[tenant] -= 1
            answer.set_result(Answer())
        self._kept.clear()

    def _receive(self, hit: Hit) -> Answer | asyncio.Future[Answer]:
        tenant = hit.path.strip("/")
        self.arrived_ms[tenant].append(self.store_clock.now_ms)
        self.most[tenant] = max(self.most[tenant], self._under_way[tenant] + 1)
        if not self.closed:
            return Answer()
        self._under_way[tenant] += 1
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._kept.append((tenant, answer))
        return answer


@pytest.fixture
async def cluster(under_test: StoreUnderTest, target: Target) -> AsyncIterator[Throttled]:
    with closing(Throttled(under_test, target)) as cluster:
        for name in ("one", "two"):
            await cluster.add(name)
        yield cluster


async def test_no_more_are_under_way_than_the_quota_and_others_pass_by(cluster: Throttled, target: Target) -> None:
    await cluster.quotas_of_busy(running=2)
    cluster.closed = True
    await cluster.ask(BUSY, 8)
    await cluster.ask(QUIET, 5)
    await cluster.advance(2, calls_end=False)
    await target.wait_for_hits(7)
    assert await cluster.states(BUSY) == {RunState.RUNNING: 2, HeldReason.THROTTLED: 6}
    assert await cluster.states(QUIET) == {RunState.RUNNING: 5}
    assert cluster.most == {BUSY: 2, QUIET: 5}
    cluster.open()
    await cluster.advance(4)
    assert await cluster.states(BUSY) == {RunState.SUCCEEDED: 8}
    assert await cluster.states(QUIET) == {RunState.SUCCEEDED: 5}
    assert cluster.most[BUSY] == 2


async def test_no_more_start_in_a_second_than_the_quota_and_others_start_at_once(cluster: Throttled) -> None:
    await cluster.quotas_of_busy(runs_per_second=4)
    await cluster.ask(BUSY, 20)
    await cluster.ask(QUIET, 5)
    await cluster.advance(0.25)
    assert cluster.arrived_ms[QUIET] == [START_MS + 250] * 5
    assert (await cluster.states(BUSY))[HeldReason.THROTTLED] >= 11
    await cluster.advance(8)
    assert await cluster.states(BUSY) == {RunState.SUCCEEDED: 20}
    assert await cluster.states(QUIET) == {RunState.SUCCEEDED: 5}
    for number, at_ms in enumerate(cluster.arrived_ms[BUSY]):
        assert at_ms >= START_MS + (number - 3) * 250


async def test_a_quota_that_is_lifted_lets_everybody_go_on(cluster: Throttled, target: Target) -> None:
    await cluster.quotas_of_busy(running=1)
    cluster.closed = True
    await cluster.ask(BUSY, 6)
    await cluster.advance(1, calls_end=False)
    await target.wait_for_hits(1)
    assert await cluster.states(BUSY) == {RunState.RUNNING: 1, HeldReason.THROTTLED: 5}
    await cluster.quotas_of_busy()
    await cluster.advance(5, calls_end=False)
    await target.wait_for_hits(6)
    assert await cluster.states(BUSY) == {RunState.RUNNING: 6}
    cluster.open()
    await cluster.advance(1)
    assert await cluster.states(BUSY) == {RunState.SUCCEEDED: 6}


async def test_what_is_under_way_when_a_quota_is_set_counts(cluster: Throttled, target: Target) -> None:
    cluster.closed = True
    await cluster.ask(BUSY, 3)
    await cluster.advance(1, calls_end=False)
    await target.wait_for_hits(3)
    await cluster.quotas_of_busy(running=2)
    await cluster.advance(5, calls_end=False)
    await cluster.ask(BUSY, 2)
    await cluster.advance(1, calls_end=False)
    assert await cluster.states(BUSY) == {RunState.RUNNING: 3, HeldReason.THROTTLED: 2}
    cluster.open()
    await cluster.advance(3)
    assert await cluster.states(BUSY) == {RunState.SUCCEEDED: 5}
