"""Takes runs back from workers that vanished, and ends attempts that outlived their timeout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from dueline.domain import limits
from dueline.domain.job import Execution
from dueline.engine.definitions import Definitions
from dueline.engine.execution.reclaiming import decide_reclaim
from dueline.engine.membership import Membership
from dueline.runtime.chance import Chance
from dueline.runtime.log import get_log
from dueline.store.protocol import RunStore
from dueline.store.shapes import Stray
from dueline.store.sharing import GateStore

log = get_log(__name__)

_spec = msgspec.json.Decoder(Execution)


class ReaperStore(RunStore, GateStore, Protocol):
    """What a reaper needs of the store."""


class Reaper:
    def __init__(self, store: ReaperStore, membership: Membership, definitions: Definitions, chance: Chance) -> None:
        self._store = store
        self._membership = membership
        self._definitions = definitions
        self._chance = chance

    async def step(self) -> float:
        strays = await self._store.strays(grace_ms=limits.TIMEOUT_GRACE_MS, limit=limits.RECLAIM_BATCH)
        if strays:
            await self._reclaim(strays)
        ended = await self._store.sweep_cancelled(limit=limits.RECLAIM_BATCH)
        expired = await self._store.expire(limit=limits.RECLAIM_BATCH)
        await self._store.sweep_awaiting()
        freed = await self._store.free_held(limit=limits.RECLAIM_BATCH)
        let_in = await self._store.sweep_gates(limit=limits.RECLAIM_BATCH)
        forgotten = await self._store.forget_flows(limit=limits.RECLAIM_BATCH)
        looked = await self._store.forget_keys(limit=limits.RECLAIM_BATCH)
        most = max(len(strays), ended, expired, freed, let_in, forgotten, looked)
        return 0.0 if most >= limits.RECLAIM_BATCH else limits.SWEEP_S

    async def _reclaim(self, strays: Sequence[Stray]) -> None:
        keys = {
            (stray.job_id, stray.version) for stray in strays if stray.job_id is not None and stray.version is not None
        }
        versions = await self._definitions.load(keys)
        now_ms = self._membership.time.now_ms()
        reclaims = []
        for stray in strays:
            if stray.spec is not None:
                execution = _spec.decode(stray.spec)
            else:
                assert stray.job_id is not None
                assert stray.version is not None
                execution = versions[stray.job_id, stray.version].definition.execution
            reclaims.append(decide_reclaim(stray, execution, now_ms=now_ms, chance=self._chance.fraction()))
        taken = await self._store.reclaim(reclaims)
        log.warning("runs reclaimed", count=len(taken), refused=len(reclaims) - len(taken))
