"""Makes waiting runs ready: retries, delayed runs and those of crowds shortly before they are due, the earlier the more there are, and
those that get a token at their gate.

A run of a crowd whose time passed while nobody was there was missed, as if it had not been written yet: its job's policy decides, and
what is still to run is caught up at the pace of what was missed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from dueline.domain import limits
from dueline.domain.changes import compiled
from dueline.domain.crowds import SECOND_MS, ready_ahead_ms
from dueline.domain.ids import RunId
from dueline.domain.planning import why_not
from dueline.engine.definitions import Definitions
from dueline.engine.membership import Membership
from dueline.store.protocol import RunStore
from dueline.store.shapes import LapsedRun
from dueline.store.sharing import GateStore

_IDLE_S = 1.0
_COUNTED_MAX = (limits.READY_AHEAD_MS_MAX - limits.AHEAD_MS) * limits.MADE_READY_PER_S // 1000
"""Of more than these, none is made ready earlier."""


class PromoterStore(RunStore, GateStore, Protocol):
    """What a promoter needs of the store."""


class Promoter:
    """Every scheduler has one, and any of them does for all: the `first` of them when it is time, the others what it left undone."""

    def __init__(
        self,
        store: PromoterStore,
        membership: Membership,
        definitions: Definitions,
        *,
        missed_due_ms: Callable[[int], int],
        first: Callable[[], bool],
    ) -> None:
        self._store = store
        self._membership = membership
        self._definitions = definitions
        self._missed_due_ms = missed_due_ms
        self._first = first
        self._counted_ms = self._counted = 0
        self._untold: set[tuple[int, str]] = set()
        """From when runs that were made ready earlier may be claimed, and in which queues."""

    async def step(self) -> float:
        """Asked first is when there is something to do: as a rule it is nothing, once a second."""
        upcoming = await self._store.upcoming()
        now_ms = self._membership.time.now_ms()
        turn_ms = now_ms if self._first() else now_ms - limits.YIELD_MS
        waits_s = [_IDLE_S]
        if upcoming.refill_ms is not None:
            if upcoming.refill_ms <= turn_ms:
                await self._store.refill(ahead_ms=limits.AHEAD_MS, limit=limits.PROMOTE_BATCH)
                waits_s.append(0.0)
            else:
                waits_s.append((upcoming.refill_ms - turn_ms) / 1000)
        if upcoming.due_ms is not None:
            ahead_ms = await self._ahead_ms(upcoming.due_ms, now_ms)
            near_ms = upcoming.due_ms - ahead_ms
            waits_s.append((near_ms - turn_ms) / 1000 if near_ms > turn_ms else await self._promote(ahead_ms))
        if self._untold:
            waits_s.append(await self._tell(self._membership.time.now_ms()))
        return min(waits_s)

    async def _ahead_ms(self, due_ms: int, now_ms: int) -> int:
        """How long before their time those that are due next are made ready. They are counted once a second, where it may matter."""
        if not limits.AHEAD_MS < due_ms - now_ms <= limits.READY_AHEAD_MS_MAX:
            return limits.AHEAD_MS
        if now_ms >= self._counted_ms + SECOND_MS:
            waiting = await self._store.count_waiting(until_ms=due_ms + SECOND_MS, limit=_COUNTED_MAX)
            self._counted_ms, self._counted = now_ms, waiting
        return ready_ahead_ms(self._counted)

    async def _tell(self, now_ms: int) -> float:
        """Tell workers of what they may claim by now. Those who hear it together share it; whoever found it first would have most."""
        if told := {(at_ms, queue) for at_ms, queue in self._untold if at_ms <= now_ms}:
            self._untold -= told
            await self._store.tell_ready({queue for _, queue in told})
        return (min(self._untold)[0] - now_ms) / 1000 if self._untold else _IDLE_S

    async def _promote(self, ahead_ms: int) -> float:
        """Those that come near one after the other gather, unless there are more of them by now than one page has."""
        lapsed = await self._store.lapsed_runs(limit=limits.PROMOTE_BATCH)
        if lapsed:
            await self._decide(lapsed)
            return 0.0
        promoted = await self._store.promote(ahead_ms=ahead_ms, limit=limits.PROMOTE_BATCH)
        self._untold.update((due_ms - limits.AHEAD_MS, queue) for queue, due_ms in promoted.later.items())
        return 0.0 if promoted.count == limits.PROMOTE_BATCH else limits.GATHER_S

    async def _decide(self, lapsed: Sequence[LapsedRun]) -> None:
        now_ms = self._membership.time.now_ms()
        versions = await self._definitions.load({(run.job_id, run.version) for run in lapsed})
        ends: list[tuple[RunId, str]] = []
        late: list[tuple[RunId, int]] = []
        for run in lapsed:
            definition = versions[run.job_id, run.version].definition
            assert definition.schedule is not None, "an occurrence is of a schedule"
            reason = why_not(compiled(definition.schedule, {}), definition.misfire, run.scheduled_ms, now_ms=now_ms)
            if reason is None:
                late.append((run.run_id, self._missed_due_ms(now_ms)))
            else:
                ends.append((run.run_id, reason))
        await self._store.cancel_waiting(ends)
        await self._store.repace(late)
