"""A claim whose answer is under way while the run becomes due: the store decided when the time had not come yet, so it is asked again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

from dueline.domain import limits
from dueline.domain.ids import job_text
from dueline.domain.job import DEFAULT_TENANT, Definition, Execution, HttpTarget, Job
from dueline.domain.overlap import Overlap
from dueline.domain.schedule import At
from dueline.domain.states import RunState
from dueline.store.fleet import Role
from dueline.store.protocol import Store
from tests.support.cluster import Cluster
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Answer, Target

DUE_MS = START_MS + 2_250
"""A quarter of a second after the claim, as nodes are ticked here."""


class SlowClaims:
    """Passes every call on. While the first answer with claims is on its way, something happens."""

    def __init__(self, store: Store, meanwhile: Callable[[], Awaitable[object]]) -> None:
        self._store = store
        self._meanwhile = meanwhile
        self.happened = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def claim(self, *args: Any, **kwargs: Any) -> Any:
        claimed = await self._store.claim(*args, **kwargs)
        if claimed.claims and not self.happened:
            self.happened = True
            await self._meanwhile()
        return claimed


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
    await cluster.add(store=cast(Store, slow))
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
    worker = await cluster.add("worker", store=cast(Store, slow), role=Role.WORKER)
    await worker.tick()
    await cluster.advance(2)
    assert slow.happened
    assert sorted((run.state, run.reason) for run in await cluster.runs()) == [
        (RunState.CANCELLED, "overlap"),
        (RunState.SUCCEEDED, None),
    ]
    assert len(target.hits) == 1
    cluster.close()
