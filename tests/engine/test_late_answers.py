"""Answers that are no longer true when they arrive: of claims whose run became due meanwhile, of runs in the way that ended meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, cast

from dueline.domain import limits
from dueline.domain.ids import job_text
from dueline.domain.job import DEFAULT_TENANT, Definition, Execution, HttpTarget, Job
from dueline.domain.overlap import Overlap
from dueline.domain.schedule import At
from dueline.domain.states import RunState
from dueline.store.fleet import Role
from dueline.store.protocol import Store
from dueline.store.shapes import Claim, Confirmed
from tests.support.cluster import Cluster
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Answer, Reaction, Target

DUE_MS = START_MS + 2_250
"""A quarter of a second after the claim, as nodes are ticked here."""


class SlowStore:
    """Passes every call on. While the first answer that has something to say is on its way, something happens."""

    def __init__(self, store: Store, meanwhile: Callable[[], Awaitable[object]]) -> None:
        self._store = store
        self._meanwhile = meanwhile
        self.happened = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def _answer(self) -> None:
        if not self.happened:
            self.happened = True
            await self._meanwhile()

    def as_store(self) -> Store:
        return cast(Store, self)


class SlowClaims(SlowStore):
    async def claim(self, *args: Any, **kwargs: Any) -> Any:
        claimed = await self._store.claim(*args, **kwargs)
        if claimed.claims:
            await self._answer()
        return claimed


class SlowBlocks(SlowStore):
    async def confirm(self, claims: Sequence[Claim]) -> Confirmed:
        confirmed = await self._store.confirm(claims)
        if confirmed.blocked:
            await self._answer()
        return confirmed


async def create(cluster: Cluster, target: Target) -> Job:
    return await cluster.operations.create_job(
        DEFAULT_TENANT,
        lambda job_id, _: Definition(
            name=job_text(job_id),
            execution=Execution(target=HttpTarget(url=target.url + "/ok")),
            schedule=At(DUE_MS),
            overlap=Overlap.SKIP,
        ),
    )


async def test_a_change_before_the_due_time_is_seen_although_the_answer_comes_after_it(
    under_test: StoreUnderTest, target: Target
) -> None:
    cluster = Cluster(under_test)
    job = await create(cluster, target)

    async def meanwhile() -> None:
        await cluster.operations.delete_job(DEFAULT_TENANT, job.id, expected_version=None)
        await cluster.store_clock.set_ms(DUE_MS + 10)

    slow = SlowClaims(cluster.store, meanwhile)
    await cluster.add(store=slow.as_store())
    await cluster.advance(4)
    assert slow.happened
    assert target.hits == []
    assert await cluster.runs() == []
    cluster.close()


async def test_two_runs_of_a_job_do_not_overlap_although_the_second_became_due_on_the_way(
    under_test: StoreUnderTest, target: Target
) -> None:
    """One is due when both are claimed, and takes the place; the other is due when the answer comes."""
    cluster = Cluster(under_test)
    target.on("/ok", lambda _hit: Answer(delay_s=0.2))
    job = await create(cluster, target)
    await cluster.store_clock.set_ms(DUE_MS - 500)
    scheduler = await cluster.add("scheduler", role=Role.SCHEDULER)
    for _ in range(limits.SHARDS // limits.SHARDS_TAKEN_PER_PASS + 1):
        await scheduler.tick()
    await cluster.operations.run_job(DEFAULT_TENANT, job.id, force=False)
    slow = SlowClaims(cluster.store, lambda: cluster.store_clock.set_ms(DUE_MS + 10))
    worker = await cluster.add("worker", store=slow.as_store(), role=Role.WORKER)
    await worker.tick()
    await cluster.advance(2)
    assert slow.happened
    assert sorted((run.state, run.reason) for run in await cluster.runs()) == [
        (RunState.CANCELLED, "overlap"),
        (RunState.SUCCEEDED, None),
    ]
    assert len(target.hits) == 1
    cluster.close()


async def test_a_run_starts_when_the_one_in_its_way_ended_before_it_could_be_skipped(
    under_test: StoreUnderTest, target: Target
) -> None:
    """It goes back at once and costs no attempt, instead of staying in the hands of a worker that forgot it."""
    cluster = Cluster(under_test)
    long_call: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    answers: Iterator[Reaction] = iter([long_call])
    target.on("/ok", lambda _hit: next(answers, Answer()))
    job = await create(cluster, target)
    await cluster.operations.run_job(DEFAULT_TENANT, job.id, force=False)
    await cluster.add("scheduler", role=Role.SCHEDULER)
    first = await cluster.add("first", role=Role.WORKER)
    await first.tick(calls_end=False)
    assert [run.state for run in await cluster.runs()] == [RunState.RUNNING]

    async def meanwhile() -> None:
        long_call.set_result(Answer())
        await first.tick()

    slow = SlowBlocks(cluster.store, meanwhile)
    await cluster.advance(1, calls_end=False)
    first.pause()
    await cluster.add("second", store=slow.as_store(), role=Role.WORKER)
    await cluster.advance(3, calls_end=False)
    assert slow.happened
    assert [(run.state, run.attempt) for run in await cluster.runs()] == [(RunState.SUCCEEDED, 1)] * 2
    cluster.close()
