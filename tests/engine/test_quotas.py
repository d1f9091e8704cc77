"""Quotas, as processes know them: in effect everywhere within seconds, where they were set at once."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import msgspec
import pytest

from dueline.domain import limits
from dueline.domain.asked_runs import AdhocRun
from dueline.domain.errors import Conflict, Invalid, OverQuota
from dueline.domain.ids import JobId
from dueline.domain.job import DEFAULT_TENANT, Definition, Execution, HttpTarget, Job
from dueline.domain.quotas import Quotas
from dueline.engine.operations import Operations
from dueline.engine.quotas import QuotaKeeper
from dueline.engine.tenants import Tenants
from dueline.runtime.clock import StoreTime
from dueline.store.protocol import Store
from dueline.store.shapes import RunFilter, Tenant
from tests.support.cluster import Cluster, NodeClock
from tests.support.stores import StoreUnderTest

SMALL, LARGE = HttpTarget(url="http://t/", body="x" * 10), HttpTarget(url="http://t/", body="x" * 11)


class Office(Cluster):
    """What one process of the API has; `elsewhere` is another one."""

    def __init__(self, under_test: StoreUnderTest) -> None:
        super().__init__(under_test)
        self.tenants = Tenants(self.store, self.quotas)
        time = StoreTime(self.clock)
        keeper = QuotaKeeper(self.store, NodeClock(under_test.clock))
        self.elsewhere = Operations(self.store, lambda: self._synchronised(time), self.chance, keeper)

    async def set(self, **quotas: int) -> None:
        await self.tenants.put(Tenant(tenant=DEFAULT_TENANT, quotas=Quotas(**quotas)))


@pytest.fixture
def office(under_test: StoreUnderTest) -> Office:
    return Office(under_test)


async def create(operations: Operations, name: str, target: HttpTarget = SMALL) -> Job:
    def define(_job_id: JobId, _now_ms: int) -> Definition:
        return Definition(name=name, execution=Execution(target=target), schedule=None)

    return await operations.create_job(DEFAULT_TENANT, define)


async def enqueue(operations: Operations, count: int = 1, target: HttpTarget = SMALL) -> None:
    await operations.enqueue(DEFAULT_TENANT, [AdhocRun(execution=Execution(target=target))] * count)


async def test_a_quota_is_in_effect_at_once_here_and_soon_elsewhere(office: Office) -> None:
    await create(office.operations, "one")
    await create(office.elsewhere, "two")
    await office.set(jobs=2)
    with pytest.raises(OverQuota):
        await create(office.operations, "three")
    await office.store_clock.advance(limits.LIMITS_FRESH_S)
    await create(office.elsewhere, "three")
    await office.store_clock.advance(0.001)
    with pytest.raises(OverQuota) as caught:
        await create(office.elsewhere, "four")
    assert (caught.value.limit, caught.value.used) == (2, 3)
    await office.set()
    await create(office.operations, "four")
    await office.store_clock.advance(limits.LIMITS_FRESH_S + 0.001)
    await create(office.elsewhere, "five")


async def test_all_processes_take_from_one_bucket(office: Office) -> None:
    await office.set(run_now_per_minute=4)
    await enqueue(office.operations, 2)
    await enqueue(office.elsewhere, 2)
    for operations in (office.operations, office.elsewhere):
        with pytest.raises(OverQuota) as caught:
            await enqueue(operations)
        assert (caught.value.used, caught.value.retry_after_s) == (4, 15)
    await office.store_clock.advance(14.999)
    with pytest.raises(OverQuota):
        await enqueue(office.elsewhere)
    await office.store_clock.advance(0.001)
    await enqueue(office.elsewhere)
    with pytest.raises(OverQuota):
        await enqueue(office.operations)
    state = await office.tenants.get(DEFAULT_TENANT)
    assert state.asked == 4


async def test_of_many_who_ask_at_once_as_many_as_may_get_a_run(office: Office) -> None:
    await office.set(run_now_per_minute=7)
    asked = [enqueue(one) for one in (office.operations, office.elsewhere) for _ in range(10)]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(answer is None for answer in answers) == 7
    assert all(answer is None or isinstance(answer, OverQuota) for answer in answers)
    runs = await office.store.runs_page(RunFilter(tenant=DEFAULT_TENANT), before=None, limit=100)
    assert len(runs) == 7


async def test_a_payload_that_was_there_before_does_not_keep_its_job_from_being_changed(office: Office) -> None:
    job = await create(office.operations, "large", LARGE)
    await office.set(payload_bytes=10)

    async def edit(target: HttpTarget, name: str) -> Job:
        def define(found: Job, _now_ms: int) -> Definition:
            execution = msgspec.structs.replace(found.definition.execution, target=target)
            return msgspec.structs.replace(found.definition, execution=execution, name=name)

        return await office.operations.edit_job(DEFAULT_TENANT, job.id, define, expected_version=None)

    assert (await edit(LARGE, "renamed")).definition.name == "renamed"
    await edit(SMALL, "small")
    with pytest.raises(Invalid, match="payload_bytes"):
        await edit(LARGE, "large again")
    with pytest.raises(Invalid, match=r"target\.body"):
        await enqueue(office.operations, target=LARGE)


async def test_changes_of_a_tenant_at_once_all_take_effect(office: Office) -> None:
    async def change(quota: str) -> None:
        def decide(before: Tenant) -> Tenant:
            return msgspec.structs.replace(before, quotas=msgspec.structs.replace(before.quotas, **{quota: 5}))

        await office.tenants.edit("acme", decide)

    await asyncio.gather(*(change(quota) for quota in ("jobs", "running", "payload_bytes")))
    assert (await office.store.tenant("acme")).quotas == Quotas(jobs=5, running=5, payload_bytes=5)


class Overtaken:
    """A store in which somebody else sets something whenever a tenant was looked at."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def tenant(self, tenant: str) -> Tenant:
        found = await self._store.tenant(tenant)
        await self._store.put_tenant(msgspec.structs.replace(found, weight=found.weight + 1))
        return found


async def test_a_change_that_others_always_come_before_is_given_up(office: Office) -> None:
    tenants = Tenants(cast(Store, Overtaken(office.store)), office.quotas)
    with pytest.raises(Conflict):
        await tenants.edit("acme", lambda before: msgspec.structs.replace(before, weight=50.0))
    assert (await office.store.tenant("acme")).weight == 4.0
