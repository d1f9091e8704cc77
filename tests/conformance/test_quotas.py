"""Quotas in the store: what counts against them is counted from rows, exactly, however many ask at once."""

import asyncio

import pytest

from dueline.domain.errors import Conflict, OverQuota
from dueline.domain.gates import Gate, Rate, Scope
from dueline.domain.quotas import Quotas
from dueline.domain.schedule import Every
from dueline.store.postgres.store import PostgresStore
from dueline.store.protocol import Store
from dueline.store.shapes import Tenant, TenantUse
from tests.support.stores import (
    START_MS,
    TENANT,
    StoreClock,
    StoreUnderTest,
    a_finish,
    a_job,
    a_run,
    changing,
    claim,
    create,
    enqueue,
    register,
)

SIX = Gate(Scope.ASKING, TENANT, rate=Rate(6, 60_000, 6), as_of=1)


async def set_quotas(store: Store, tenant: str = TENANT, **quotas: int) -> Tenant:
    return await store.put_tenant(Tenant(tenant=tenant, quotas=Quotas(**quotas)))


async def jobs_of(store: Store, tenant: str = TENANT) -> int:
    return (await store.tenant_uses([tenant]))[tenant].jobs


async def test_what_is_set_is_read_back(store: Store) -> None:
    quotas = Quotas(jobs=1, running=2, runs_per_second=3, payload_bytes=4, run_now_per_minute=5, backfill_runs=6)
    written = await store.put_tenant(Tenant(tenant="acme", weight=2.0, quotas=quotas))
    assert written == Tenant(tenant="acme", weight=2.0, quotas=quotas, updated_ms=START_MS)
    assert await store.tenant("acme") == written
    await store.put_tenant(Tenant(tenant="free", weight=3.0))
    assert await store.tenants_with_quotas() == [written]


async def test_every_setting_has_a_time_of_its_own(store: Store, clock: StoreClock) -> None:
    times = [(await set_quotas(store, running=number)).updated_ms for number in (1, 2, 3)]
    assert times == [START_MS, START_MS + 1, START_MS + 2]
    await clock.advance(1)
    assert (await set_quotas(store, running=4)).updated_ms == START_MS + 1_000


async def test_a_change_of_what_somebody_else_changed_is_refused(store: Store) -> None:
    first = await store.put_tenant(Tenant(tenant="acme", weight=2.0), seen_ms=0)
    with pytest.raises(Conflict):
        await store.put_tenant(Tenant(tenant="acme", weight=3.0), seen_ms=0)
    second = await store.put_tenant(Tenant(tenant="acme", weight=4.0), seen_ms=first.updated_ms)
    with pytest.raises(Conflict):
        await store.put_tenant(Tenant(tenant="acme", weight=5.0), seen_ms=first.updated_ms)
    assert await store.tenant("acme") == second


async def test_exactly_as_many_jobs_as_the_quota_are_created(store: Store) -> None:
    await set_quotas(store, jobs=2)
    await create(store, a_job(tenant="other"))
    assert all(await store.create_jobs([a_job(), a_job()], jobs_max=2))
    with pytest.raises(OverQuota) as caught:
        await store.create_jobs([a_job()], jobs_max=2)
    assert (caught.value.quota, caught.value.limit, caught.value.used) == ("jobs", 2, 2)
    assert caught.value.retry_after_s is None
    assert await jobs_of(store) == 2


async def test_of_too_many_jobs_at_once_none_is_created(store: Store) -> None:
    await set_quotas(store, jobs=2)
    with pytest.raises(OverQuota) as caught:
        await store.create_jobs([a_job(), a_job(), a_job()], jobs_max=2)
    assert caught.value.used == 0
    assert await jobs_of(store) == 0
    assert await store.next_due_ms() is None


async def test_a_job_that_is_deleted_makes_room_and_one_that_is_paused_does_not(store: Store) -> None:
    await set_quotas(store, jobs=1)
    job = await create(store)
    await store.change_job(TENANT, job.id, changing(state="paused"))
    with pytest.raises(OverQuota):
        await store.create_jobs([a_job()], jobs_max=1)
    await store.change_job(TENANT, job.id, changing(deleted=True))
    assert all(await store.create_jobs([a_job()], jobs_max=1))


async def test_a_name_that_is_taken_is_told_also_where_there_is_no_room(store: Store) -> None:
    await set_quotas(store, jobs=1)
    await create(store, a_job("taken"))
    assert await store.create_jobs([a_job("taken")], jobs_max=1) == [None]
    # Only what would be created counts.
    assert (await store.create_jobs([a_job("taken"), a_job("free")], jobs_max=2))[0] is None
    assert await jobs_of(store) == 2


async def test_a_quota_below_what_there_is_refuses_more(store: Store) -> None:
    await store.create_jobs([a_job() for _ in range(3)])
    await set_quotas(store, jobs=1)
    with pytest.raises(OverQuota) as caught:
        await store.create_jobs([a_job()], jobs_max=1)
    assert (caught.value.limit, caught.value.used) == (1, 3)


async def test_jobs_that_name_calendars_count_too(store: Store) -> None:
    await set_quotas(store, jobs=1)
    schedule = Every(60_000, START_MS, calendars=("off",))
    with pytest.raises(OverQuota):
        await store.create_jobs([a_job(schedule=schedule), a_job(schedule=schedule)], jobs_max=1)
    assert await store.delete_calendar(TENANT, "off") is False


async def _create_some(store: Store) -> int:
    created = 0
    for _ in range(5):
        try:
            await store.create_jobs([a_job(), a_job()], jobs_max=13)
        except OverQuota:
            continue
        created += 2
    return created


async def test_however_many_create_at_once_it_never_is_one_more(
    under_test: StoreUnderTest, request: pytest.FixtureRequest
) -> None:
    await set_quotas(under_test.store, jobs=13)
    await create(under_test.store)
    stores = [under_test.store]
    if under_test.dialect == "postgres":
        stores += [PostgresStore(request.getfixturevalue("emptied_dsn")) for _ in range(2)]
    for other in stores[1:]:
        await other.open()
    try:
        created = await asyncio.gather(*(_create_some(one) for one in stores for _ in range(4)))
    finally:
        for other in stores[1:]:
            await other.close()
    assert sum(created) == 12
    assert await jobs_of(under_test.store) == 13


async def test_what_a_tenant_has_is_counted(store: Store) -> None:
    await create(store)
    await create(store, a_job(tenant="other"))
    worker = await register(store)
    await enqueue(store, *(a_run() for _ in range(3)), a_run(tenant="other"), a_run(due_ms=START_MS + 500))
    held = await claim(store, worker, ahead_ms=1_000)
    assert len(held) == 5
    nobody = TenantUse(jobs=0, running=0)
    assert await store.tenant_uses([TENANT, "other", "nobody"]) == {
        TENANT: TenantUse(jobs=1, running=3),
        "other": TenantUse(jobs=1, running=1),
        "nobody": nobody,
    }
    await store.finish([a_finish(one) for one in held])
    assert (await store.tenant_uses([TENANT]))[TENANT].running == 0


async def test_tokens_are_taken_all_or_none(store: Store, clock: StoreClock) -> None:
    seen, now_ms = await store.draw(SIX, 4)
    assert (seen.spent(now_ms * 1000), now_ms) == (0, START_MS)
    seen, _ = await store.draw(SIX, 3)
    assert seen.wait_us(3, now_ms * 1000) == 10_000_000
    seen, _ = await store.draw(SIX, 2)
    assert seen.wait_us(2, now_ms * 1000) == 0
    seen, _ = await store.look_at(SIX)
    assert seen.spent(now_ms * 1000) == 6
    await clock.set_ms(START_MS + 9_999)
    seen, now_ms = await store.draw(SIX, 1)
    assert seen.wait_us(1, now_ms * 1000) > 0
    await clock.set_ms(START_MS + 10_000)
    seen, now_ms = await store.draw(SIX, 1)
    assert seen.wait_us(1, now_ms * 1000) == 0


async def test_however_many_take_tokens_at_once_no_more_are_taken_than_there_are(store: Store) -> None:
    drawn = await asyncio.gather(*(store.draw(SIX, 1) for _ in range(20)))
    assert sum(seen.wait_us(1, now_ms * 1000) == 0 for seen, now_ms in drawn) == 6


async def test_a_bucket_is_not_forgotten_before_it_is_full(store: Store, clock: StoreClock) -> None:
    await store.draw(SIX, 6)
    await clock.advance(59)
    await store.sweep_gates(limit=100)
    seen, now_ms = await store.look_at(SIX)
    assert seen.spent(now_ms * 1000) == 1
    await clock.advance(2)
    await store.sweep_gates(limit=100)
    seen, now_ms = await store.look_at(SIX)
    assert seen.spent(now_ms * 1000) == 0
