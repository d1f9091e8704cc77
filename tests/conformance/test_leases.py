"""Shards: an epoch only grows, and a living owner is never robbed."""

from dueline.domain import limits
from dueline.domain.ids import BootId
from dueline.store.fleet import Role, ShardLease
from dueline.store.protocol import Store
from tests.support.stores import StoreClock, epochs_of, register, take_all


async def scheduler(store: Store, name: str = "s1") -> BootId:
    return await register(store, name, role=Role.SCHEDULER)


async def lease(store: Store, shard: int) -> ShardLease:
    return next(lease for lease in await store.shards() if lease.shard == shard)


async def test_every_shard_begins_without_an_owner(store: Store) -> None:
    assert await store.shards() == [ShardLease(shard, 0, None) for shard in range(limits.SHARDS)]


async def test_taking_answers_the_new_epochs(store: Store) -> None:
    owner = await scheduler(store)
    assert await store.take_shards(owner, {3: 0, 255: 0}) == {3: 1, 255: 1}
    assert await lease(store, 3) == ShardLease(3, 1, owner)
    assert await lease(store, 4) == ShardLease(4, 0, None)


async def test_all_shards_are_taken_in_one_call(store: Store) -> None:
    owner = await scheduler(store)
    assert await take_all(store, owner) == dict.fromkeys(range(limits.SHARDS), 1)


async def test_a_shard_seen_with_another_epoch_is_not_taken(store: Store) -> None:
    first, second = await scheduler(store, "s1"), await scheduler(store, "s2")
    await store.take_shards(first, {3: 0})
    await store.drop_shards(first, {3: 1})
    assert await store.take_shards(second, {3: 0, 4: 1, 5: 0}) == {5: 1}
    assert await lease(store, 3) == ShardLease(3, 1, None)


async def test_a_shard_of_a_living_owner_is_not_taken(store: Store) -> None:
    first, second = await scheduler(store, "s1"), await scheduler(store, "s2")
    await store.take_shards(first, {3: 0})
    assert await store.take_shards(second, {3: 1}) == {}
    assert await lease(store, 3) == ShardLease(3, 1, first)


async def test_an_expired_owner_keeps_its_shards_until_it_is_buried(store: Store, clock: StoreClock) -> None:
    first = await scheduler(store, "s1")
    await store.take_shards(first, {3: 0})
    await clock.advance(limits.LEASE_S + 1)
    second = await scheduler(store, "s2")
    assert await store.take_shards(second, {3: 1}) == {}
    await store.bury(first)
    assert await store.take_shards(second, {3: 1}) == {3: 2}


async def test_a_shard_of_an_owner_that_left_is_taken(store: Store) -> None:
    first, second = await scheduler(store, "s1"), await scheduler(store, "s2")
    await store.take_shards(first, {3: 0})
    await store.leave(first)
    assert await store.take_shards(second, {3: 1}) == {3: 2}


async def test_an_owner_does_not_take_what_it_has(store: Store) -> None:
    owner = await scheduler(store)
    await store.take_shards(owner, {3: 0})
    assert await store.take_shards(owner, {3: 1}) == {}
    assert (await lease(store, 3)).epoch == 1


async def test_one_that_is_not_registered_takes_nothing(store: Store) -> None:
    assert await store.take_shards(BootId("nobody"), {3: 0}) == {}
    assert (await lease(store, 3)).owner is None


async def test_a_draining_process_gets_no_more_shards(store: Store) -> None:
    owner = await scheduler(store)
    await store.take_shards(owner, {3: 0})
    await store.drain(owner)
    assert await store.take_shards(owner, {4: 0}) == {}
    assert (await lease(store, 3)).owner == owner


async def test_a_dropped_shard_is_free_at_once_and_its_epoch_stays(store: Store) -> None:
    first, second = await scheduler(store, "s1"), await scheduler(store, "s2")
    await store.take_shards(first, {3: 0, 4: 0})
    await store.drop_shards(first, {3: 1})
    assert await lease(store, 3) == ShardLease(3, 1, None)
    assert (await lease(store, 4)).owner == first
    assert await store.take_shards(second, {3: 1}) == {3: 2}


async def test_a_shard_is_dropped_only_by_its_owner_with_its_epoch(store: Store) -> None:
    first, second = await scheduler(store, "s1"), await scheduler(store, "s2")
    await store.take_shards(first, {3: 0})
    await store.drop_shards(second, {3: 1})
    await store.drop_shards(first, {3: 0})
    assert await lease(store, 3) == ShardLease(3, 1, first)


async def test_an_epoch_never_goes_back(store: Store) -> None:
    owner = await scheduler(store)
    for epoch in range(3):
        await store.take_shards(owner, {3: epoch})
        await store.drop_shards(owner, {3: epoch + 1})
    assert (await epochs_of(store))[3] == 3


async def test_nothing_is_asked_and_nothing_happens(store: Store) -> None:
    owner = await scheduler(store)
    assert await store.take_shards(owner, {}) == {}
    await store.drop_shards(owner, {})
    assert set((await epochs_of(store)).values()) == {0}
