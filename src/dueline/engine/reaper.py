"""Takes runs back from workers that vanished, and ends attempts that outlived their timeout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from dueline.domain import limits
from dueline.domain.job import Execution
from dueline.domain.rests import Rests
from dueline.engine.definitions import Definitions
from dueline.engine.execution.reclaiming import decide_reclaim
from dueline.engine.membership import Membership
from dueline.runtime.chance import Chance
from dueline.runtime.clock import Clock
from dueline.runtime.log import get_log
from dueline.store.protocol import RunStore
from dueline.store.shapes import Stray
from dueline.store.sharing import GateStore

log = get_log(__name__)

_spec = msgspec.json.Decoder(Execution)
_REST = 50
"""How many times as long as looks for strays take the next one is put off."""


class ReaperStore(RunStore, GateStore, Protocol):
    """What a reaper needs of the store."""


class Reaper:
    """Every scheduler has one, and any of them does for all. `first` tells whether it is the one that does so often."""

    def __init__(
        self,
        store: ReaperStore,
        membership: Membership,
        definitions: Definitions,
        clock: Clock,
        chance: Chance,
        *,
        first: Callable[[], bool],
    ) -> None:
        self._store = store
        self._membership = membership
        self._definitions = definitions
        self._clock = clock
        self._chance = chance
        self._first = first
        self._rests = Rests(_REST)

    def somebody_went(self) -> None:
        """Look for what it had in hand, however long that takes."""
        self._rests.forget()

    async def step(self) -> float:
        strays = await self._strays()
        if strays:
            await self._reclaim(strays)
        chores, limit = await self._store.chores(), limits.RECLAIM_BATCH
        ended = await self._store.sweep_cancelled(limit=limit) if chores.cancels else 0
        expired = await self._store.expire(limit=limit) if chores.expiries else 0
        if chores.awaiting:
            await self._store.sweep_awaiting()
        freed = await self._store.free_held(limit=limit) if chores.held else 0
        let_in = await self._store.sweep_gates(limit=limit) if chores.gates else 0
        forgotten = await self._store.forget_flows(limit=limit) if chores.flows else 0
        looked = await self._store.forget_keys(limit=limit) if chores.keys else 0
        most = max(len(strays), ended, expired, freed, let_in, forgotten, looked)
        if most >= limits.RECLAIM_BATCH:
            return 0.0
        return limits.SWEEP_S if self._first() else limits.SWEEP_OTHERS_S

    async def _strays(self) -> Sequence[Stray]:
        """A look at all that is under way. Where somebody can still see what ended long ago, it walks through all of that too: so one that
        takes long is made rarely, unless somebody went."""
        began_s = self._clock.monotonic_s()
        if not self._rests.due(began_s):
            return ()
        strays = await self._store.strays(grace_ms=limits.TIMEOUT_GRACE_MS, limit=limits.RECLAIM_BATCH)
        self._rests.looked(began_s, self._clock.monotonic_s())
        return strays

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
