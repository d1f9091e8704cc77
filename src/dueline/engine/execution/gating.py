"""Which gates runs pass before they start, and how many a queue lets through."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from dueline.domain import limits
from dueline.domain.gates import Gate, Scope, Wish
from dueline.engine.execution.calls import PreparedCall
from dueline.engine.execution.preparing import Prepared
from dueline.engine.looks import Look
from dueline.runtime.clock import Clock
from dueline.store.shapes import Claim
from dueline.store.sharing import GateStore

Works = list[tuple[Claim, Prepared]]


class Gatekeeper:
    """Knows what is set for queues, hosts and tenants, as of some seconds ago; the gates themselves are in the store."""

    def __init__(self, store: GateStore, clock: Clock) -> None:
        self._store = store
        self._set = Look(self._read, clock, fresh_s=limits.LIMITS_FRESH_S)

    async def prepare(self, *, spare_s: float) -> None:
        """Know for so much longer what is set."""
        await self._set.take(spare_s=spare_s)

    async def room(self, queue: str, limit: int) -> int:
        """How many of a queue's runs may be claimed, of so many."""
        gate = (await self._set.take()).get((Scope.QUEUE, queue))
        if gate is None:
            return limit
        seen, now_ms = await self._store.look_at(gate)
        room = seen.room(now_us=now_ms * 1000, until_us=(now_ms + limits.AHEAD_MS) * 1000)
        return limit if room is None else min(limit, room)

    async def enter(self, works: Works, *, ahead_ms: int) -> Works:
        """Those of some runs that may start now, or within `ahead_ms`: then that is when their claims say that they are due. The others are
        in other hands by now."""
        known = await self._set.take()
        wishes = []
        for claim, work in works:
            if known or work.gates:
                gates = _gates(claim, work, known)
                if gates and not claim.gated:
                    wishes.append(Wish(claim.run_id, claim.token, gates))
        if not wishes:
            return works
        starts = await self._store.enter(wishes, ahead_ms=ahead_ms)
        asked = {wish.run_id for wish in wishes}
        entered: Works = []
        for claim, work in works:
            if claim.run_id in starts:
                due_ms = max(starts[claim.run_id], claim.due_ms)
                entered.append((msgspec.structs.replace(claim, due_ms=due_ms, gated=True), work))
            elif claim.run_id not in asked:
                entered.append((claim, work))
        return entered

    async def _read(self) -> Mapping[tuple[Scope, str], Gate]:
        return {(limit.scope, limit.name): limit.gate for limit in await self._store.limits()}


def _gates(claim: Claim, work: Prepared, known: Mapping[tuple[Scope, str], Gate]) -> tuple[Gate, ...]:
    """What others set counts always, what the run's own job says not for one that was forced."""
    own = () if claim.forced else work.gates
    if not known:
        return own
    places = [(Scope.QUEUE, claim.queue), (Scope.TENANT, claim.tenant)]
    if isinstance(work, PreparedCall):
        places.append((Scope.HOST, work.host))
    return (*own, *(known[place] for place in places if place in known))
