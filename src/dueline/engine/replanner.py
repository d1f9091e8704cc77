"""Looks again at plans whose rules have changed: a calendar was edited, or the time zones have new rules. The past stays as it was."""

from __future__ import annotations

from typing import Protocol

from dueline.domain import changes, limits
from dueline.domain.errors import NotFound
from dueline.domain.localtime import tzdata_version
from dueline.engine.membership import Membership
from dueline.engine.shards import ShardKeeper
from dueline.runtime.log import get_log
from dueline.store.protocol import JobStore, PlanStore

log = get_log(__name__)

_PAUSE_S = 0.1
"""Between full batches: new rules of the time zones may concern every job, and firing goes first."""


class ReplannerStore(PlanStore, JobStore, Protocol):
    """What the replanner needs of the store."""


class Replanner:
    def __init__(self, store: ReplannerStore, membership: Membership, shards: ShardKeeper) -> None:
        self._store = store
        self._membership = membership
        self._shards = shards
        self._adopted: dict[int, int] = {}

    async def step(self) -> float:
        if not self._membership.trusted:
            return limits.POLL_S
        epochs = dict(self._shards.epochs)
        if self._adopted != epochs:
            shards = await self._store.adopt_zones(epochs, tzdata_version())
            if shards:
                log.info("rules of the time zones adopted", shards=shards, tzdata=tzdata_version())
            self._adopted = epochs
        stale = await self._store.stale_plans(epochs, limit=limits.STALE_BATCH)
        for tenant, job_id in stale:
            try:
                await self._store.change_job(tenant, job_id, changes.replan)
            except NotFound:
                continue
        return _PAUSE_S if len(stale) == limits.STALE_BATCH else limits.SWEEP_S
