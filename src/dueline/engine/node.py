"""One process's life: what starts in which order, what stops in which order, and the new life after a lost lease.

Start: join (so that others see us) → heartbeat → roster → shards → scheduler, replanner, promoter, reaper, cleaner, historian, expirer
→ parts from above (a worker). A part may rely on everything started before it.
Stop: say that we drain (nobody gives us shards) → scheduler (nothing more is fired) → hand the shards over (the successor
fires at once) → parts from above (a worker gives unstarted runs back and ends what it runs) → the other loops → leave.
The heartbeat is the last to end: until then we keep what we hold.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from dueline.domain.errors import LeaseLost, StoreMoved, StoreUnavailable
from dueline.engine.cleaner import Cleaner
from dueline.engine.definitions import Definitions
from dueline.engine.expirer import Expirer
from dueline.engine.historian import Historian
from dueline.engine.membership import Membership
from dueline.engine.notifier import Notifier
from dueline.engine.promoter import Promoter
from dueline.engine.reaper import Reaper
from dueline.engine.replanner import Replanner
from dueline.engine.roster import Roster
from dueline.engine.scheduler import Scheduler, SchedulerOptions
from dueline.engine.shards import ShardKeeper
from dueline.runtime.chance import Chance
from dueline.runtime.clock import Clock
from dueline.runtime.log import get_log
from dueline.runtime.loop import Loop
from dueline.runtime.signals import Stop
from dueline.store.fleet import NewNode, Role
from dueline.store.protocol import Store

log = get_log(__name__)

_SCHEDULING = SchedulerOptions()
_LONG_REST_S = 600.0


class Part(Protocol):
    """Something a node carries besides the engine's own loops."""

    def loops(self) -> Sequence[Loop]: ...

    def wake(self, topic: str) -> None: ...

    async def drain(self, forced: asyncio.Event) -> None:
        """Stop taking work, give back what has not started, end what has. Hurry when forced."""

    async def abandon(self) -> None:
        """Others declared this process dead: start nothing more, and offer what is known of what was started."""

    def close(self) -> None: ...


MakePart = Callable[[Membership, Definitions], Part]


class Node:
    """Runs lives one after the other until asked to stop, or until the store was moved elsewhere."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        chance: Chance,
        *,
        new_node: Callable[[], NewNode],
        parts: Sequence[MakePart] = (),
        scheduling: SchedulerOptions = _SCHEDULING,
    ) -> None:
        self._store = store
        self._clock = clock
        self._chance = chance
        self._new_node = new_node
        self._parts = parts
        self._scheduling = scheduling
        self._life: Life | None = None
        self.leases_lost = 0
        """How often others declared this process dead."""
        store.listen(self._wake)

    async def run(self, stop: Stop) -> None:
        while not stop.asked.is_set():
            node = self._new_node()
            life = Life(self._store, self._clock, self._chance, node, self._parts, self._scheduling)
            try:
                await life.begin()
            except StoreMoved:
                raise
            except StoreUnavailable as error:
                log.warning("cannot join", reason=str(error))
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.asked.wait(), 1.0)
                continue
            except LeaseLost:
                # It was paused between joining and its first beat, for so long that others declared it dead.
                self._lost(node)
                continue
            self._life = life
            log.info("joined", boot_id=node.boot_id, role=node.role)
            try:
                await life.last(stop)
            except LeaseLost:
                self._lost(node)
            finally:
                self._life = None

    @property
    def trusted(self) -> bool:
        """Whether it is a member whose lease holds: neither before it joined, nor while others may declare it dead."""
        return self._life is not None and self._life.membership.trusted

    def _lost(self, node: NewNode) -> None:
        self.leases_lost += 1
        log.warning("declared dead by others; starting again", boot_id=node.boot_id)

    def _wake(self, topic: str) -> None:
        if self._life is not None:
            self._life.wake(topic)


class Life:
    """Everything under one boot id."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        chance: Chance,
        node: NewNode,
        parts: Sequence[MakePart],
        scheduling: SchedulerOptions = _SCHEDULING,
    ) -> None:
        self._store = store
        self._clock = clock
        self.membership = Membership(store, clock, node)
        definitions = Definitions(store)
        self._heartbeat = Loop("heartbeat", self.membership.step)
        self._roster = Roster(store, clock, changed=self._roster_changed)
        self._roster_loop = Loop("roster", self._roster.step)
        self._shards = ShardKeeper(store, self._roster, node.boot_id, taken=self._shards_taken)
        self._shards_loop = Loop("shards", self._shards.step)
        self._scheduler = Scheduler(store, self.membership, self._shards, definitions, scheduling, fenced=self._fenced)
        self._scheduler_loop = Loop("scheduler", self._scheduler.step)
        self._replanner_loop = Loop("replanner", Replanner(store, self.membership, self._shards).step)
        self._promoter = Promoter(
            store, self.membership, definitions, missed_due_ms=self._scheduler.missed_due_ms, first=self._is_first
        )
        self._promoter_loop = Loop("promoter", self._promoter.step)
        self._reaper = Reaper(store, self.membership, definitions, clock, chance, first=self._is_first)
        self._reaper_loop = Loop("reaper", self._reaper.step)
        notifier = Notifier(store, self.membership, definitions, first=self._is_first)
        self._notifier_loop = Loop("notifier", notifier.step)
        self._cleaner_loop = Loop("cleaner", Cleaner(store, clock, first=self._is_first).step)
        self._historian_loop = Loop("historian", Historian(store, keep_days=scheduling.history_days).step)
        self._expirer_loop = Loop("expirer", Expirer(store, keep_days=scheduling.finished_job_days).step)
        self._schedules = node.role is not Role.WORKER
        self._parts = [make(self.membership, definitions) for make in parts]
        self._loops = [self._heartbeat]
        if self._schedules:
            self._loops += [self._roster_loop, self._shards_loop, self._scheduler_loop]
            self._loops += [self._replanner_loop, self._promoter_loop, self._reaper_loop]
            self._loops += [self._notifier_loop, self._cleaner_loop, self._historian_loop, self._expirer_loop]
        for part in self._parts:
            self._loops += part.loops()
        self._tasks: list[asyncio.Task[None]] = []
        self._resting_s: dict[Loop, float] = {}
        """Until when loops rest, where the life is driven by hand."""

    async def begin(self) -> None:
        await self.membership.join()
        self._tasks = [asyncio.create_task(loop.run()) for loop in self._loops]

    async def tick(self) -> float:
        """Do one step of every loop, in the order of their start, and answer how soon one of them wants the next. Those that look after
        what is old asked for a long rest, and have it: a tick would be theirs for the most part.

        For a life that is driven by hand instead of `begin` and `last`: time moves between the ticks only.
        """
        now_s, delays_s = self._clock.monotonic_s(), [_LONG_REST_S]
        for loop in self._loops:
            if self._resting_s.get(loop, now_s) <= now_s:
                delay_s = await loop.step()
                delays_s.append(delay_s)
                if delay_s >= _LONG_REST_S:
                    self._resting_s[loop] = now_s + delay_s
        return min(delays_s)

    async def stir(self) -> bool:
        """Do a step of those loops that want one at once; answers whether there were any. For a life driven by hand."""
        eager = [loop for loop in self._loops if loop.take_wish()]
        for loop in eager:
            await loop.step()
        return bool(eager)

    async def last(self, stop: Stop) -> None:
        """Live until asked to stop, by a signal or by somebody elsewhere, then end in order; raises LeaseLost when others ended it."""
        asked = asyncio.create_task(stop.asked.wait())
        drain = asyncio.create_task(self.membership.drain_asked.wait())
        try:
            done, _ = await asyncio.wait([asked, drain, *self._tasks], return_when=asyncio.FIRST_COMPLETED)
            for task in done - {asked, drain}:
                task.result()
            stop.asked.set()
            await self._end(stop.forced)
        except LeaseLost:
            for part in self._parts:
                await part.abandon()
            raise
        finally:
            for task in (asked, drain, *self._tasks):
                task.cancel()
            await asyncio.gather(asked, drain, *self._tasks, return_exceptions=True)
            for part in self._parts:
                part.close()

    def wake(self, topic: str) -> None:
        if topic == "plans":
            self._scheduler_loop.wakeup.wake()
        elif topic == "stale":
            self._replanner_loop.wakeup.wake()
        elif topic == "waiting":
            self._promoter_loop.wakeup.wake()
        elif topic == "shards":
            # Whoever hands shards over is leaving, or somebody came: look who is there first.
            self._roster_loop.wakeup.wake()
            self._shards_loop.wakeup.wake()
        elif topic == "notices":
            self._notifier_loop.wakeup.wake()
        elif topic == "drain":
            self._heartbeat.wakeup.wake()
        else:
            for part in self._parts:
                part.wake(topic)

    async def _end(self, forced: asyncio.Event) -> None:
        with suppress(StoreUnavailable):
            if self._schedules:
                await self.membership.drain()
                self._scheduler_loop.stop()
                self._shards_loop.stop()
                await self._shards_loop.ended.wait()
                await self._shards.hand_over()
        for part in self._parts:
            await part.drain(forced)
        with suppress(StoreUnavailable):
            await self.membership.leave()

    def _roster_changed(self) -> None:
        self._shards_loop.wakeup.wake()
        self._reaper.somebody_went()
        self._reaper_loop.wakeup.wake()
        self._notifier_loop.wakeup.wake()

    def _is_first(self) -> bool:
        return self._roster.is_first(self.membership.boot_id)

    def _shards_taken(self) -> None:
        self._scheduler.scan_everything()
        self._scheduler_loop.wakeup.wake()
        self._replanner_loop.wakeup.wake()

    def _fenced(self, count: int) -> None:
        log.warning("firings refused", count=count)
        self._shards_loop.wakeup.wake()
