"""Which shards a scheduler owns: it takes its own, and hands over what belongs to others (D5, D6)."""

from collections.abc import Mapping
from typing import cast

import pytest
from structlog.testing import capture_logs

from dueline.domain import limits
from dueline.domain.errors import StoreUnavailable
from dueline.domain.ids import BootId
from dueline.domain.sharding import shards_of
from dueline.engine.roster import Roster
from dueline.engine.shards import ShardKeeper
from dueline.store.fleet import ShardLease

A, B = BootId("a"), BootId("b")
PER_PASS = limits.SHARDS_TAKEN_PER_PASS
ALL = range(limits.SHARDS)


class FakeRoster:
    def __init__(self, *schedulers: BootId) -> None:
        self.schedulers = frozenset(schedulers)
        self.registered = frozenset(schedulers)


class FakeStore:
    """Shards with owners and epochs, by the rules of the real ones: a compare-and-set on the epoch, owners that are registered."""

    def __init__(self, roster: FakeRoster) -> None:
        self._roster = roster
        self.epochs = dict.fromkeys(ALL, 0)
        self.owners: dict[int, BootId | None] = dict.fromkeys(ALL)
        self.asked: set[int] = set()
        self.away: list[str] = []
        self.keepers: dict[BootId, ShardKeeper] = {}

    async def shards(self) -> list[ShardLease]:
        return [ShardLease(shard, self.epochs[shard], self.owners[shard]) for shard in ALL]

    async def take_shards(self, owner: BootId, seen: Mapping[int, int]) -> dict[int, int]:
        trouble = self._trouble("take")
        self.asked |= seen.keys()
        taken = {}
        for shard, epoch in seen.items():
            if self.epochs[shard] == epoch and self.owners[shard] not in self._roster.registered:
                self.epochs[shard] += 1
                self.owners[shard] = owner
                taken[shard] = self.epochs[shard]
        if trouble:
            raise StoreUnavailable("the answer was lost")
        return taken

    async def drop_shards(self, owner: BootId, epochs: Mapping[int, int]) -> None:
        # Nothing may be fired for a shard that others may already own.
        assert not epochs.keys() & self.keepers[owner].epochs.keys()
        self._trouble("drop")
        for shard, epoch in epochs.items():
            if self.epochs[shard] == epoch and self.owners[shard] == owner:
                self.owners[shard] = None

    def _trouble(self, method: str) -> bool:
        """Away as told: `… before` raises before anything is written, `… after` is left to the caller."""
        if not self.away or not self.away[0].startswith(method):
            return False
        if self.away.pop(0).endswith("before"):
            raise StoreUnavailable("away")
        return True


class Cluster:
    def __init__(self, *schedulers: BootId) -> None:
        self.roster = FakeRoster(*schedulers)
        self.store = FakeStore(self.roster)
        self.taken = 0
        for boot_id in (A, B):
            keeper = ShardKeeper(self.store, cast(Roster, self.roster), boot_id, taken=self._taken)
            self.store.keepers[boot_id] = keeper

    def _taken(self) -> None:
        self.taken += 1

    def keeper(self, boot_id: BootId) -> ShardKeeper:
        return self.store.keepers[boot_id]

    def joined(self, *schedulers: BootId, registered: tuple[BootId, ...] = ()) -> None:
        self.roster.schedulers = frozenset(schedulers)
        self.roster.registered = frozenset(schedulers + registered)

    async def settle(self, *boot_ids: BootId, steps: int = 10) -> None:
        with capture_logs():
            for _ in range(steps):
                for boot_id in boot_ids:
                    await self.keeper(boot_id).step()

    def owned(self, boot_id: BootId) -> set[int]:
        """By the store's account, which the keeper must share, epochs included."""
        owned = {shard for shard in ALL if self.store.owners[shard] == boot_id}
        assert self.keeper(boot_id).epochs == {shard: self.store.epochs[shard] for shard in owned}
        return owned


async def test_alone_it_takes_everything_in_bounded_passes() -> None:
    cluster = Cluster(A)
    keeper, delays, counts = cluster.keeper(A), [], []
    with capture_logs():
        for _ in range(5):
            delays.append(await keeper.step())
            counts.append(len(keeper.epochs))
    assert counts == [PER_PASS, 2 * PER_PASS, 3 * PER_PASS, limits.SHARDS, limits.SHARDS]
    assert [delay == 0.0 for delay in delays] == [True, True, True, False, False]
    assert cluster.taken == 4
    assert set(keeper.epochs.values()) == {1}


async def test_it_takes_only_what_belongs_to_it() -> None:
    cluster = Cluster(A, B)
    await cluster.settle(A)
    assert cluster.owned(A) == shards_of(A, {A, B})
    await cluster.settle(B)
    assert cluster.owned(B) == shards_of(B, {A, B})
    assert cluster.owned(A) | cluster.owned(B) == set(ALL)


async def test_it_does_nothing_before_it_is_in_the_roster() -> None:
    cluster = Cluster(B)
    await cluster.settle(A)
    assert cluster.owned(A) == set()


async def test_it_takes_nothing_from_a_registered_owner() -> None:
    cluster = Cluster(A)
    cluster.joined(A, registered=(B,))
    cluster.store.owners[7] = B
    await cluster.settle(A)
    assert cluster.owned(A) == cluster.store.asked == set(ALL) - {7}
    cluster.joined(A)
    await cluster.settle(A)
    assert cluster.owned(A) == set(ALL)


async def test_when_another_joins_it_hands_over_and_keeps_the_rest() -> None:
    cluster = Cluster(A)
    await cluster.settle(A)
    before = dict(cluster.keeper(A).epochs)
    cluster.joined(A, B)
    await cluster.settle(B)
    assert cluster.owned(B) == set()
    await cluster.settle(A, B)
    assert cluster.owned(A) == shards_of(A, {A, B})
    assert cluster.owned(B) == shards_of(B, {A, B})
    after = cluster.keeper(A).epochs
    assert after == {shard: before[shard] for shard in after}
    assert set(cluster.keeper(B).epochs.values()) == {2}


async def test_handing_over_is_bounded_per_pass() -> None:
    cluster = Cluster(A)
    await cluster.settle(A)
    cluster.joined(A, B)
    foreign = len(shards_of(B, {A, B}))
    assert foreign > PER_PASS
    with capture_logs():
        assert await cluster.keeper(A).step() == 0.0
    assert len(cluster.keeper(A).epochs) == limits.SHARDS - PER_PASS


async def test_when_the_other_is_gone_it_takes_everything_with_higher_epochs() -> None:
    cluster = Cluster(A, B)
    await cluster.settle(A, B)
    orphans = cluster.owned(B)
    cluster.joined(A)
    await cluster.settle(A)
    assert cluster.owned(A) == set(ALL)
    assert {cluster.keeper(A).epochs[shard] for shard in orphans} == {2}


async def test_what_others_took_is_forgotten() -> None:
    cluster = Cluster(A)
    await cluster.settle(A)
    cluster.joined(A, registered=(B,))
    cluster.store.owners[3], cluster.store.epochs[3] = B, 2
    with capture_logs() as logs:
        await cluster.keeper(A).step()
    assert cluster.owned(A) == set(ALL) - {3}
    assert [(log["event"], log["count"]) for log in logs] == [("shards lost", 1)]


async def test_an_epoch_that_moved_on_is_not_ours_though_the_owner_is() -> None:
    cluster = Cluster(A)
    await cluster.settle(A)
    cluster.keeper(A).epochs[3] = 0
    with capture_logs():
        await cluster.keeper(A).step()
    assert cluster.keeper(A).epochs.get(3) != 0


async def test_on_the_way_out_it_gives_everything_up() -> None:
    cluster = Cluster(A)
    await cluster.settle(A)
    with capture_logs():
        await cluster.keeper(A).hand_over()
        await cluster.keeper(A).hand_over()
    assert cluster.keeper(A).epochs == {}
    assert set(cluster.store.owners.values()) == {None}


async def test_it_drops_everything_also_when_the_store_does_not_hear_of_it() -> None:
    cluster = Cluster(A)
    await cluster.settle(A)
    cluster.store.away = ["drop before"]
    with pytest.raises(StoreUnavailable), capture_logs():
        await cluster.keeper(A).hand_over()
    assert cluster.keeper(A).epochs == {}


async def test_taking_is_told_only_when_something_was_taken() -> None:
    cluster = Cluster(A)
    await cluster.settle(A)
    told = cluster.taken
    await cluster.settle(A)
    assert cluster.taken == told


# The store has it as ours, so nobody else may take it, and nothing here looks for what is ours but not in our hands.
async def test_a_hand_over_that_the_store_did_not_hear_of_is_made_again() -> None:
    cluster = Cluster(A)
    await cluster.settle(A)
    cluster.joined(A, B)
    cluster.store.away = ["drop before"]
    with pytest.raises(StoreUnavailable), capture_logs():
        await cluster.keeper(A).step()
    await cluster.settle(A, B)
    assert cluster.owned(A) == shards_of(A, {A, B})
    assert cluster.owned(B) == shards_of(B, {A, B})


async def test_shards_that_were_taken_while_the_answer_was_lost_are_fired_for() -> None:
    cluster = Cluster(A)
    cluster.store.away = ["take after"]
    with pytest.raises(StoreUnavailable), capture_logs():
        await cluster.keeper(A).step()
    await cluster.settle(A)
    assert cluster.owned(A) == set(ALL)
