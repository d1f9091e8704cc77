"""New rules of the time zones: the plans of zoned schedules are looked at again, once, by whoever owns their shard."""

import pytest

from dueline.domain.ids import BootId, JobId
from dueline.domain.job import Job
from dueline.domain.schedule import Cron
from dueline.domain.states import JobState
from dueline.store.fleet import Role
from dueline.store.protocol import Store
from tests.conformance.ear import listening
from tests.support.stores import ALL_SHARDS, TENANT, a_definition, a_job, changing, create, register, take_all

BERLIN = Cron("0 9 * * *", timezone="Europe/Berlin")


async def in_berlin(store: Store, shard: int = 3) -> Job:
    return await create(store, a_job(schedule=BERLIN, shard=shard))


async def owning(store: Store, name: str = "s1") -> dict[int, int]:
    return await take_all(store, await register(store, name, role=Role.SCHEDULER))


async def stale(store: Store) -> set[JobId]:
    return {job_id for _, job_id in await store.stale_plans(ALL_SHARDS, limit=100)}


async def test_plans_of_zoned_schedules_are_made_stale_and_others_are_not(store: Store) -> None:
    zoned = await in_berlin(store)
    await create(store, a_job(schedule=Cron("0 9 * * *"), shard=3))
    epochs = await owning(store)
    assert await store.adopt_zones(epochs, "2026a") == len(ALL_SHARDS)
    assert await stale(store) == {zoned.id}


async def test_the_same_and_older_rules_are_not_adopted_again(store: Store) -> None:
    zoned = await in_berlin(store)
    epochs = await owning(store)
    await store.adopt_zones(epochs, "2026b")
    await store.change_job(TENANT, zoned.id, changing())
    for tzdata in ("2026b", "2026a", "2025z", ""):
        assert await store.adopt_zones(epochs, tzdata) == 0
    assert await stale(store) == set()
    assert await store.adopt_zones(epochs, "2026c") == len(ALL_SHARDS)
    assert await stale(store) == {zoned.id}


async def test_versions_of_the_rules_are_compared_letter_by_letter(store: Store) -> None:
    epochs = await owning(store)
    assert await store.adopt_zones(epochs, "2026B") == len(ALL_SHARDS)
    assert await store.adopt_zones(epochs, "2026a") == len(ALL_SHARDS), "small letters come behind capitals"
    assert await store.adopt_zones(epochs, "2026C") == 0


async def test_only_shards_that_are_still_the_callers_are_looked_at(store: Store) -> None:
    lost, kept, unasked = await in_berlin(store, 3), await in_berlin(store, 4), await in_berlin(store, 5)
    epochs = await owning(store)
    await store.drop_shards(BootId("s1"), {3: epochs[3]})
    await store.take_shards(await register(store, "s2", role=Role.SCHEDULER), {3: epochs[3]})
    assert await store.adopt_zones({3: epochs[3], 4: epochs[4]}, "2026a") == 1
    assert await stale(store) == {kept.id}
    assert await store.adopt_zones({3: epochs[3] + 1, 5: epochs[5]}, "2026a") == 2
    assert await stale(store) == {lost.id, kept.id, unasked.id}


async def test_a_plan_that_got_or_lost_its_zone_is_treated_so(store: Store) -> None:
    was, became = await in_berlin(store), await create(store, a_job(shard=3))
    await store.change_job(TENANT, was.id, changing(definition=a_definition("was")))
    await store.change_job(TENANT, became.id, changing(definition=a_definition("became", schedule=BERLIN)))
    await store.adopt_zones(await owning(store), "2026a")
    assert await stale(store) == {became.id}


async def test_a_paused_job_is_looked_at_too_and_a_finished_one_is_not(store: Store) -> None:
    paused, finished = await in_berlin(store), await in_berlin(store)
    await store.change_job(TENANT, paused.id, changing(state=JobState.PAUSED))
    await store.change_job(TENANT, finished.id, changing(state=JobState.FINISHED, next_ms=None))
    await store.adopt_zones(await owning(store), "2026a")
    assert await stale(store) == {paused.id}


async def test_new_rules_wake_whoever_looks_again(store: Store) -> None:
    await in_berlin(store)
    epochs = await owning(store)
    ear = await listening(store)
    await store.adopt_zones(epochs, "2026a")
    await ear.hears("stale")


async def test_all_plans_are_looked_at_however_many_there_are(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dueline.store.postgres.plans._ZONED_PAGE", 2)
    zoned = {(await in_berlin(store, shard)).id for shard in (1, 2, 3, 3, 4)}
    for shard in (1, 3, 4, 5):
        await create(store, a_job(shard=shard))
    assert await store.adopt_zones(await owning(store), "2026a") == len(ALL_SHARDS)
    assert await stale(store) == zoned


async def test_nobodys_shards_adopt_nothing(store: Store) -> None:
    assert await store.adopt_zones({}, "2026a") == 0
