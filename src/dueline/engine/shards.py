"""Which shards this scheduler owns: takes those that belong to it, hands over those that do not."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from dueline.domain import limits
from dueline.domain.ids import BootId
from dueline.domain.sharding import shards_of
from dueline.engine.roster import Roster
from dueline.runtime.log import get_log
from dueline.store.fleet import LeaseStore, ShardLease

log = get_log(__name__)

_SETTLED_S = 2.0

Seen = tuple[list[ShardLease], frozenset[BootId], frozenset[BootId], dict[int, int]]
"""The shards, who schedules, who is registered, and the epochs of our own."""


class ShardKeeper:
    """`epochs` are the shards to fire for, with the epochs that prove it. The store refuses any other."""

    def __init__(self, store: LeaseStore, roster: Roster, boot_id: BootId, *, taken: Callable[[], None]) -> None:
        self._store = store
        self._roster = roster
        self._boot_id = boot_id
        self._taken = taken
        self._wanted: tuple[frozenset[BootId], frozenset[int]] = (frozenset(), frozenset())
        self._settled: Seen | None = None
        """What was seen when there was nothing to do about it."""
        self.epochs: dict[int, int] = {}

    async def step(self) -> float:
        schedulers = self._roster.schedulers
        if self._boot_id not in schedulers:
            return _SETTLED_S
        if self._wanted[0] != schedulers:
            self._wanted = (schedulers, shards_of(self._boot_id, schedulers))
        wanted = self._wanted[1]
        leases = await self._store.shards()
        if self._settled == (leases, schedulers, self._roster.registered, self.epochs):
            return _SETTLED_S
        self._adjust({lease.shard: lease.epoch for lease in leases if lease.owner == self._boot_id})
        foreign = [shard for shard in self.epochs if shard not in wanted]
        if foreign:
            await self._drop(foreign[: limits.SHARDS_TAKEN_PER_PASS])
        free = {
            lease.shard: lease.epoch
            for lease in leases
            if lease.shard in wanted and lease.shard not in self.epochs and lease.owner not in self._roster.registered
        }
        if free:
            await self._take(dict(islice(free.items(), limits.SHARDS_TAKEN_PER_PASS)))
        if not foreign and not free:
            self._settled = (leases, schedulers, self._roster.registered, dict(self.epochs))
        full = max(len(foreign), len(free)) > limits.SHARDS_TAKEN_PER_PASS
        return 0.0 if full else _SETTLED_S

    async def hand_over(self) -> None:
        """Give every shard up, on the way out."""
        if self.epochs:
            await self._drop(list(self.epochs))

    def _adjust(self, owned: dict[int, int]) -> None:
        """Follow the store: forget what others took, and keep what is ours though the answer that said so was lost."""
        lost = [shard for shard, epoch in self.epochs.items() if owned.get(shard) != epoch]
        for shard in lost:
            del self.epochs[shard]
        if lost:
            log.warning("shards lost", count=len(lost))
        if owned.keys() > self.epochs.keys():
            self.epochs.update(owned)
            self._taken()

    async def _drop(self, shards: list[int]) -> None:
        # First out of our own hands: nothing may be fired for a shard that others may already own.
        dropped = {shard: self.epochs.pop(shard) for shard in shards}
        await self._store.drop_shards(self._boot_id, dropped)
        log.info("shards handed over", count=len(dropped))

    async def _take(self, seen: dict[int, int]) -> None:
        taken = await self._store.take_shards(self._boot_id, seen)
        self.epochs.update(taken)
        if taken:
            log.info("shards taken", count=len(taken), owned=len(self.epochs))
            self._taken()
