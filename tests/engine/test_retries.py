"""Finished runs tried again by hand: which may be, by which definition, and how often."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from dueline.domain.asked_runs import AdhocRun
from dueline.domain.errors import Conflict, NotFound, OverQuota
from dueline.domain.ids import RunId, job_text
from dueline.domain.job import DEFAULT_TENANT, Definition, Execution, HttpTarget, Job
from dueline.domain.quotas import Quotas
from dueline.domain.redriving import RedriveVersion
from dueline.domain.retry import RetryPolicy
from dueline.domain.states import RunKind, RunState
from dueline.engine.retries import Retries, RetryAsked
from dueline.engine.tenants import Tenants
from dueline.runtime.clock import StoreTime
from dueline.store.shapes import Tenant
from tests.support.cluster import Cluster
from tests.support.stores import StoreUnderTest
from tests.support.target import Target

PLAIN = RetryAsked()


class Ward(Cluster):
    """A cluster whose runs are tried again."""

    def __init__(self, under_test: StoreUnderTest, target: Target) -> None:
        super().__init__(under_test)
        self._target = target
        time = StoreTime(self.clock)
        self._retries = Retries(self.store, lambda: self._synchronised(time), self.chance, self.quotas)

    def calling(self, path: str) -> Execution:
        return Execution(target=HttpTarget(url=self._target.url + path), retry=RetryPolicy(max_attempts=1))

    async def ended(self, path: str) -> RunId:
        """A run without a job that called a path."""
        (run_id,) = await self.operations.enqueue(DEFAULT_TENANT, [AdhocRun(execution=self.calling(path))])
        await self.advance(1)
        return run_id

    async def retry(self, run_id: RunId, asked: RetryAsked = PLAIN) -> RunId:
        return await self._retries.retry(DEFAULT_TENANT, run_id, asked)

    async def state(self, run_id: RunId) -> RunState:
        run = await self.store.run(DEFAULT_TENANT, run_id)
        assert run is not None
        return run.state

    async def job(self, path: str) -> Job:
        return await self.operations.create_job(
            DEFAULT_TENANT, lambda job_id, _now_ms: Definition(name=job_text(job_id), execution=self.calling(path))
        )

    async def edit(self, job: Job, path: str) -> None:
        definition = Definition(name=job.definition.name, execution=self.calling(path))
        await self.operations.edit_job(DEFAULT_TENANT, job.id, lambda _job, _now_ms: definition, expected_version=None)


@pytest.fixture
async def ward(under_test: StoreUnderTest, target: Target) -> AsyncIterator[Ward]:
    ward = Ward(under_test, target)
    await ward.add()
    yield ward
    ward.close()


async def test_a_failed_run_is_tried_again_and_is_no_dead_letter_any_more(ward: Ward) -> None:
    run_id = await ward.ended("/status/500")
    new_id = await ward.retry(run_id)
    assert await ward.store.dead_letter(DEFAULT_TENANT, run_id) is None
    await ward.advance(1)
    new = await ward.store.run(DEFAULT_TENANT, new_id)
    assert new is not None
    assert (new.kind, new.parent_id, new.state) == (RunKind.REDRIVE, run_id, RunState.FAILED)
    assert await ward.store.dead_letter(DEFAULT_TENANT, new_id) is not None


async def test_without_a_key_every_request_makes_a_run(ward: Ward) -> None:
    run_id = await ward.ended("/status/500")
    assert await ward.retry(run_id) != await ward.retry(run_id)


async def test_the_same_key_makes_one_run(ward: Ward) -> None:
    run_id = await ward.ended("/status/500")
    asked = RetryAsked(key="mine")
    first = await ward.retry(run_id, asked)
    assert await ward.retry(run_id, asked) == first
    await ward.advance(1)
    assert await ward.retry(run_id, asked) == first
    assert await ward.retry(run_id, RetryAsked(key="other")) != first


async def test_what_succeeded_is_run_once_more_only_by_force(ward: Ward) -> None:
    run_id = await ward.ended("/ok")
    with pytest.raises(Conflict, match="the run succeeded"):
        await ward.retry(run_id)
    new_id = await ward.retry(run_id, RetryAsked(force=True))
    await ward.advance(1)
    assert await ward.state(new_id) is RunState.SUCCEEDED


async def test_what_was_cancelled_is_tried_again_and_what_waits_is_not(ward: Ward) -> None:
    later = AdhocRun(execution=ward.calling("/ok"), due_ms=await ward.store.now_ms() + 60_000)
    (waiting,) = await ward.operations.enqueue(DEFAULT_TENANT, [later])
    with pytest.raises(Conflict, match="the run is scheduled"):
        await ward.retry(waiting)
    await ward.operations.cancel_run(DEFAULT_TENANT, waiting)
    new_id = await ward.retry(waiting)
    await ward.advance(1)
    assert await ward.state(new_id) is RunState.SUCCEEDED


async def test_what_is_not_there_is_not_found(ward: Ward) -> None:
    with pytest.raises(NotFound):
        await ward.retry(RunId(bytes(16)))


@pytest.mark.parametrize(
    ("choice", "ends"), [(RedriveVersion.PINNED, RunState.FAILED), (RedriveVersion.LATEST, RunState.SUCCEEDED)]
)
async def test_a_job_s_run_has_the_version_that_was_chosen(ward: Ward, choice: RedriveVersion, ends: RunState) -> None:
    job = await ward.job("/status/500")
    run_id = await ward.operations.run_job(DEFAULT_TENANT, job.id, force=True)
    await ward.advance(1)
    await ward.edit(job, "/ok")
    new_id = await ward.retry(run_id, RetryAsked(version=choice))
    await ward.advance(1)
    assert await ward.state(new_id) is ends


async def test_it_counts_as_a_run_that_somebody_asks_for(ward: Ward) -> None:
    run_id = await ward.ended("/status/500")
    tenants = Tenants(ward.store, ward.quotas)
    await tenants.put(Tenant(tenant=DEFAULT_TENANT, quotas=Quotas(run_now_per_minute=1)))
    first = await ward.retry(run_id, RetryAsked(key="mine"))
    with pytest.raises(OverQuota):
        await ward.retry(run_id)
    assert await ward.retry(run_id, RetryAsked(key="mine")) == first, "which was counted"
