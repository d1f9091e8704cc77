"""Claims on their way into the executors: what each is to do, whether its gates, its worker and its target let it, and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from dueline.domain import limits
from dueline.domain.ids import RunId, run_texts
from dueline.engine.definitions import Definitions
from dueline.engine.execution.calls import Unsendable, make_call
from dueline.engine.execution.deadlines import time_left_ms
from dueline.engine.execution.elsewhere import Elsewhere
from dueline.engine.execution.exchange import HttpCall
from dueline.engine.execution.gating import Gatekeeper, Works
from dueline.engine.execution.preparing import Prepared, PreparedTask, Preparer
from dueline.engine.execution.secrets import KeysOf
from dueline.engine.membership import Membership
from dueline.runtime.chance import Chance
from dueline.runtime.clock import Clock
from dueline.store.fleet import MemberStore
from dueline.store.protocol import RunStore
from dueline.store.shapes import Claim, Postponed
from dueline.worker.executors.lanes import TaskCall
from dueline.worker.flights import Flights, task_call
from dueline.worker.saves import checkpoints_of

_SPARE_S = limits.AHEAD_MS / 1000
"""How long after it was claimed a run may be due."""


class StarterStore(RunStore, MemberStore, Protocol):
    """What a starter needs of the store."""


class Starter:
    def __init__(
        self,
        store: StarterStore,
        membership: Membership,
        definitions: Definitions,
        clock: Clock,
        gatekeeper: Gatekeeper,
        chance: Chance,
        flights: Flights,
        *,
        keys_of: KeysOf,
        hold: Callable[[Claim, Prepared], None],
        withheld: Callable[[int], None],
    ) -> None:
        """`hold` gets claims that are to wait for a moment, `withheld` is told of those that are left for want of a trusted lease."""
        self._store = store
        self._membership = membership
        self._preparer = Preparer(definitions)
        self._clock = clock
        self._gatekeeper = gatekeeper
        self._elsewhere = Elsewhere(store, clock, chance)
        self._flights = flights
        self._keys_of = keys_of
        self._hold = hold
        self._withheld = withheld

    async def prepare(self, claims: list[Claim]) -> None:
        """Work out what claims are to do before it is their time, so that all of it is at hand then."""
        if not claims:
            return
        await self._preparer.prepare(claims)
        await self._gatekeeper.prepare(spare_s=_SPARE_S)
        now_ms = self._membership.time.now_ms()
        await self._keys_of({claim.tenant for claim in claims}, now_ms=now_ms, spare_s=_SPARE_S)

    async def start(self, claims: list[Claim]) -> None:
        """Hand claims to the executors, and put off those whose target is to be left alone.

        Without a trusted lease they are left to whoever takes them over.
        """
        if not claims:
            return
        works = list(zip(claims, await self._preparer.prepare(claims), strict=True))
        works = self._due(await self._gatekeeper.enter(works, ahead_ms=limits.AHEAD_MS))
        elsewhere = await self._had_elsewhere(works)
        checkpoints = await checkpoints_of(self._store, works)
        now_ms = self._membership.time.now_ms()
        keys = await self._keys_of({claim.tenant for claim, _ in works}, now_ms=now_ms)
        if not self._membership.trusted:
            self._withheld(len(works))
            return
        now_s = self._clock.monotonic_s()
        calls: list[HttpCall] = []
        tasks: list[TaskCall] = []
        unsendable: dict[RunId, str] = {}
        put_off: list[Postponed] = []
        texts = run_texts([claim.run_id for claim, _ in works])
        for (claim, work), run in zip(works, texts, strict=True):
            if isinstance(work, PreparedTask) and work.task in elsewhere:
                put_off.append(self._elsewhere.put_off(claim, now_ms=now_ms))
                continue
            postponed = self._flights.admit(claim, work, now_s=now_s, now_ms=now_ms)
            if postponed is not None and postponed.due_ms < now_ms + limits.PUT_OFF_MS_MIN:
                self._hold(msgspec.structs.replace(claim, due_ms=postponed.due_ms), work)
            elif postponed is not None:
                put_off.append(postponed)
            elif isinstance(work, PreparedTask):
                timeout_ms = time_left_ms(work.execution, claim, now_ms=now_ms)
                tasks.append(task_call(claim, work, run, checkpoints.get(claim.run_id), timeout_ms=timeout_ms))
            else:
                try:
                    calls.append(make_call(work, claim, run, now_ms=now_ms, keys=keys.get(claim.tenant, ())))
                except Unsendable as error:
                    unsendable[claim.run_id] = str(error)
        self._flights.launch(calls, tasks)
        self._flights.fail(unsendable)
        if put_off:
            await self._store.postpone(put_off)

    def _due(self, works: Works) -> Works:
        """Those that may start now; the others are held until they may."""
        now_ms = self._membership.time.now_ms()
        early = [(claim, work) for claim, work in works if claim.due_ms > now_ms]
        for claim, work in early:
            self._hold(claim, work)
        return [(claim, work) for claim, work in works if claim.due_ms <= now_ms] if early else works

    async def _had_elsewhere(self, works: Works) -> frozenset[str]:
        """Tasks that this worker does not have, and another has."""
        tasks = {work.task for _, work in works if isinstance(work, PreparedTask)}
        strange = {task for task in tasks if not self._flights.has(task)}
        return await self._elsewhere.having(strange) if strange else frozenset()
