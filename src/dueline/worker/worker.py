"""The worker: claims runs up to its free slots, holds them until they are due, executes them, reports what became of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Protocol

from dueline.domain import limits
from dueline.domain.errors import StoreUnavailable
from dueline.domain.ids import RunId
from dueline.domain.lanes import is_task
from dueline.domain.rates import Taken
from dueline.domain.retry import GONE
from dueline.domain.run import OutcomeKind
from dueline.engine.definitions import Definitions
from dueline.engine.execution.gating import Gatekeeper
from dueline.engine.execution.gone import GoneTargets
from dueline.engine.execution.outcomes import End, conclude
from dueline.engine.execution.overlaps import settle_overlaps
from dueline.engine.execution.preparing import Prepared, PreparedTask
from dueline.engine.execution.secrets import KeysOf, unsigned
from dueline.engine.execution.writing import letters_of, write_ends
from dueline.engine.membership import Membership
from dueline.runtime.chance import Chance
from dueline.runtime.clock import Clock
from dueline.runtime.log import get_log
from dueline.runtime.loop import Loop
from dueline.store.fleet import MemberStore
from dueline.store.protocol import JobStore, RunStore
from dueline.store.shapes import Claim
from dueline.store.sharing import GateStore
from dueline.tasks.context import Report
from dueline.worker.executors.http import HttpExecutor
from dueline.worker.flights import Ended, Flights, MakeCrew, MakeExecutor
from dueline.worker.hints import Hints
from dueline.worker.holding import Holding
from dueline.worker.offers import Offers
from dueline.worker.options import WorkerOptions
from dueline.worker.reports import Reports
from dueline.worker.saves import Saves
from dueline.worker.settling import settle
from dueline.worker.starting import Starter

log = get_log(__name__)

_IDLE_S = 60.0
_ABANDON_S = 1.0
_READY = "ready/"
_FULL_WAIT_S = 0.05
"""For so long a worker that is full waits for many slots to become free before it claims for them, or starts what it holds: few at a time
cost as much as many."""


class WorkerStore(RunStore, GateStore, JobStore, MemberStore, Protocol):
    """What a worker needs of the store."""


class Worker:
    """A part of a node. It starts nothing without a trusted lease, and nothing early."""

    def __init__(
        self,
        store: WorkerStore,
        membership: Membership,
        definitions: Definitions,
        clock: Clock,
        chance: Chance,
        options: WorkerOptions,
        *,
        make_executor: MakeExecutor = HttpExecutor,
        make_crew: MakeCrew | None = None,
        keys_of: KeysOf = unsigned,
        offers: Offers | None = None,
    ) -> None:
        """With `make_crew` it carries out tasks besides HTTP calls; its labels must say so, and `offers` tells which."""
        self._store = store
        self._membership = membership
        self._definitions = definitions
        self._clock = clock
        self._chance = chance
        self._options = options
        self._worthwhile = max(1, min(options.slots // 4, limits.CLAIM_BATCH // 2))
        self._claimed_s = clock.monotonic_s() - _FULL_WAIT_S
        self._flights = Flights(
            ended=self._ended,
            told=self._told,
            trusted=lambda: membership.trusted,
            withheld=self._withheld,
            monotonic=clock.monotonic_s,
            chance=chance,
            options=options,
            make_executor=make_executor,
            make_crew=make_crew,
        )
        self.attempts_total: Counter[OutcomeKind] = Counter()
        """Attempts that ended here, by how they ended."""
        self._holding = Holding()
        self._gatekeeper = Gatekeeper(store, clock)
        self._starter = Starter(
            store,
            membership,
            definitions,
            clock,
            self._gatekeeper,
            chance,
            self._flights,
            keys_of=keys_of,
            hold=self._hold,
            withheld=self._withheld,
        )
        self._taken = Taken()
        self._starting: set[RunId] = set()
        self._hints = Hints(store, clock, options)
        self._full: set[str] = set()
        """Lanes that had no room left for what may be waiting."""
        membership.busy = lambda: len(self._flights)
        membership.rates = lambda: self._taken.read(now_s=clock.monotonic_s())
        self._unsure = False
        self._gone = GoneTargets(store)
        self._saves = Saves(store.save, monotonic=clock.monotonic_s)
        self._reports: Reports[End] = Reports(
            write=partial(write_ends, store), letters=letters_of, written=self._slots_freed, before=self._saves.flush
        )
        self._claim_loop = Loop("claims", self.claim_step)
        self._hold_loop = Loop("holding", self.hold_step)
        self._cancel_loop = Loop("cancels", self.cancel_step)
        self._save_loop = Loop("saves", self._saves.step, self._saves.wakeup)
        self._report_loop = Loop("reports", self._reports.step, self._reports.wakeup)
        self._offer_loops = [] if offers is None else [Loop("offers", offers.step)]
        self._idle = asyncio.Event()

    def loops(self) -> Sequence[Loop]:
        loops = [self._claim_loop, self._hold_loop, self._cancel_loop]
        gone_loop = Loop("gone targets", self._gone.step, self._gone.wakeup)
        return [*loops, gone_loop, *self._offer_loops, self._save_loop, self._report_loop]

    @property
    def under_way(self) -> int:
        """Runs that were started and whose calls have not ended."""
        return len(self._flights)

    @property
    def next_held_ms(self) -> int | None:
        """When the next of the runs that are held for their time is due."""
        return self._holding.next_due_ms()

    @property
    def fenced_total(self) -> int:
        """Results that came too late: somebody else had the run by then."""
        return self._reports.fenced_total

    def wake(self, topic: str) -> None:
        """Hear that a queue got something ready, or that a run is to be ended."""
        if topic == "cancel":
            self._cancel_loop.wakeup.wake()
        if topic.startswith(_READY) and self._hints.add(topic.removeprefix(_READY)):
            self._claim_loop.wakeup.wake()

    async def claim_step(self) -> float:
        """Claim from every queue that may have something, as far as there are free slots."""
        if not self._membership.trusted:
            return limits.POLL_S
        if self._unsure:
            await self._give_back_unknown()
        self._full.clear()
        again = False
        for queue, lane in await self._hints.take():
            limit = self._room(lane)
            if not self._pays(limit, lane):
                self._full.add(lane)
                self._hints.add(queue, lane)
                continue
            limit = await self._gatekeeper.room(queue, limit)
            if limit and await self._claim(queue, lane, limit) == limit:
                self._hints.add(queue, lane)
                if self._pays(self._room(lane), lane):
                    again = True
                else:
                    self._full.add(lane)
        return 0.0 if again else _FULL_WAIT_S if self._full else limits.POLL_S

    async def hold_step(self) -> float:
        """Start what has become due, as far as there are free slots."""
        free = self._free_slots()
        now_ms = self._membership.time.now_ms()
        if free > 0:
            claims = self._holding.take_due(now_ms, limit=min(free, limits.CLAIM_BATCH))
            await self._off_hand(claims, self._start_held)
        else:
            too_many = self._holding.too_many(self._clock.monotonic_s())
            claims = self._holding.take_due(now_ms - limits.HELD_LATE_MS, limit=too_many)
            await self._off_hand(claims, self._store.release)
        next_ms = self._holding.next_due_ms()
        if next_ms is None:
            return _IDLE_S
        if self._free_slots() < self._worthwhile and next_ms <= now_ms:
            return _FULL_WAIT_S
        least_s = limits.START_GROUP_S if limits.START_GROUP_MIN <= len(claims) < limits.CLAIM_BATCH else 0.0
        return max(self._membership.time.until_s(next_ms), least_s)

    async def cancel_step(self) -> float:
        """End calls whose runs somebody asked to end."""
        if self._flights:
            for asked in await self._store.cancels_of(self._membership.boot_id):
                self._flights.cancel(asked.run_id, asked.token, asked.reason)
        return limits.SWEEP_S

    async def drain(self, forced: asyncio.Event) -> None:
        """Claim nothing more, give unstarted runs back, wait for the calls under way, write what is left to write.

        What did not end is broken off, and goes on elsewhere, from its last checkpoint.
        """
        self._claim_loop.stop()
        self._hold_loop.stop()
        await asyncio.gather(self._claim_loop.ended.wait(), self._hold_loop.ended.wait())
        self._holding.clear()
        self._unsure = True
        await self._give_back_if_unsure()
        await self._settle(forced, wait_s=self._options.drain_s)
        await self._give_back_if_unsure()
        try:
            await self._saves.flush(self._flights.run_ids())
            left = self._flights.close()
            if left:
                await write_ends(self._store, self._conclude(left, leaving=True))
        except StoreUnavailable as error:
            log.warning("left without telling the store", reason=str(error), unreported=len(self._reports))

    async def abandon(self) -> None:
        """What was started cannot be unsent, so its outcome is still offered; the store takes it unless somebody took the run."""
        self._claim_loop.stop()
        self._hold_loop.stop()
        await self._settle(asyncio.Event(), wait_s=_ABANDON_S)

    def close(self) -> None:
        self._flights.close()

    def _free_slots(self) -> int:
        return self._options.slots - len(self._flights) - len(self._starting) - len(self._reports)

    def _room(self, lane: str) -> int:
        """How many runs of a lane may be claimed at once: all of them may be due already."""
        free = self._free_slots()
        room = min(free, free * limits.HELD_PER_SLOT - len(self._holding), limits.CLAIM_BATCH)
        places = self._flights.room_for_tasks() if is_task(lane) else None
        return room if places is None else min(room, places - self._holding.tasks)

    def _pays(self, room: int, lane: str) -> bool:
        """Whether there is room for so many that asking the store for them pays, or nobody asked for a while; tasks are few, and long."""
        if is_task(lane) or self._clock.monotonic_s() - self._claimed_s >= _FULL_WAIT_S:
            return room > 0
        return room >= self._worthwhile

    async def _claim(self, queue: str, lane: str, limit: int) -> int:
        self._claimed_s = self._clock.monotonic_s()
        try:
            claimed = await self._store.claim(
                self._membership.boot_id, queue, lane, ahead_ms=limits.AHEAD_MS, limit=limit
            )
            for claim in claimed.claims[:1]:
                self._membership.time.seen(claim.claimed_ms, sent_s=self._claimed_s)
            now_ms = self._membership.time.now_ms()
            # What became due while the answer was on its way was claimed ahead: it has no place yet, and its job may have changed.
            due: list[Claim] = []
            ahead: list[Claim] = []
            for claim in claimed.claims:
                (due if claim.due_ms <= now_ms and claim.due_ms <= claim.claimed_ms else ahead).append(claim)
            # Held runs may have taken slots while the answer was on its way: what finds none waits for one beside them.
            free = max(self._free_slots(), 0)
            ahead += due[free:]
            del due[free:]
            if ahead:
                self._holding.add(ahead, tasks=is_task(lane))
                self._hold_loop.wakeup.wake()
            if claimed.claims:
                tenants = [claim.tenant for claim in claimed.claims]
                self._taken.add(queue, tenants, now_s=self._clock.monotonic_s())
            with self._taken_up(due):
                await self._starter.start(due)
            await settle_overlaps(self._store, self._definitions, claimed.blocked)
            await self._starter.prepare(ahead)
        except StoreUnavailable:
            self._unsure = True
            raise
        return len(claimed.claims) + len(claimed.blocked)

    async def _off_hand(self, claims: list[Claim], do: Callable[[list[Claim]], Awaitable[object]]) -> None:
        """What is done with claims that were held, and are neither held nor under way until it is done."""
        if not claims:
            return
        try:
            with self._taken_up(claims):
                await do(claims)
        except StoreUnavailable:
            self._unsure = True
            raise
        finally:
            self._holding.started()

    @contextmanager
    def _taken_up(self, claims: list[Claim]) -> Iterator[None]:
        """Claims that are neither held nor under way have their slots all the same."""
        run_ids = {claim.run_id for claim in claims}
        self._starting |= run_ids
        try:
            yield
        finally:
            self._starting -= run_ids

    async def _start_held(self, claims: list[Claim]) -> None:
        """After asking whether they are still ours: the job may have been changed meanwhile."""
        confirmed = await self._store.confirm(claims)
        await self._starter.start([claim for claim in claims if confirmed.tokens.get(claim.run_id) == claim.token])
        unsettled = {one.run_id for one in await settle_overlaps(self._store, self._definitions, confirmed.blocked)}
        settled = confirmed.tokens.keys() | {one.run_id for one in confirmed.blocked} - unsettled
        if left := [claim for claim in claims if claim.run_id not in settled]:
            # Those that are still claimed are in nobody's hands: whoever claims them again finds the place free, or that it is their time.
            await self._store.release(left)

    def _hold(self, claim: Claim, work: Prepared) -> None:
        self._holding.add([claim], tasks=isinstance(work, PreparedTask))
        self._hold_loop.wakeup.wake()

    def _told(self, claim: Claim, report: Report) -> None:
        """What a task says while it is under way, on the loop."""
        self._saves.add(claim.run_id, claim.token, report)

    def _ended(self, ended: list[Ended]) -> None:
        """Attempts that have ended, on the loop."""
        self.attempts_total.update(one.outcome.kind for one in ended)
        for one in ended:
            if one.outcome.status == GONE:
                self._gone.add(one.claim)
        self._reports.add(self._conclude(ended))

    def _conclude(self, ended: list[Ended], *, leaving: bool = False) -> list[End]:
        time, worker = self._membership.time, self._membership.boot_id
        doubt_ms = time.doubt_ms
        started = time.all_at_ms([one.started_s for one in ended])
        finished = time.all_at_ms([one.finished_s for one in ended])
        return [
            conclude(
                one.claim,
                one.prepared.execution,
                one.outcome,
                worker=worker,
                started_ms=started_ms,
                finished_ms=finished_ms,
                doubt_ms=doubt_ms,
                chance=self._chance.fraction,
                awaited=one.prepared.awaited,
                cancel=one.cancel,
                leaving=leaving,
            )
            for one, started_ms, finished_ms in zip(ended, started, finished, strict=True)
        ]

    def _withheld(self, count: int) -> None:
        """Runs that are ours and were not started, for want of a trusted lease: they go back if the lease turns out to hold."""
        log.warning("lease not trusted, runs not started", count=count)
        self._unsure = True
        self._idle.set()

    async def _give_back_unknown(self) -> None:
        """Give back what is ours by the store's account but not in our hands: claims whose answer was lost on the way."""
        self._unsure = False
        held = self._holding.run_ids() | self._starting | self._flights.run_ids() | self._reports.run_ids()
        try:
            owned = await self._store.claims_of(self._membership.boot_id)
            unknown = [claim for claim in owned if claim.run_id not in held]
            if unknown:
                await self._store.release(unknown)
                log.info("runs given back", count=len(unknown))
        except StoreUnavailable:
            self._unsure = True
            raise

    async def _give_back_if_unsure(self) -> None:
        """As the worker drains: a store that is away must not cost the calls under way their end, and is asked again later."""
        if self._unsure:
            try:
                await self._give_back_unknown()
            except StoreUnavailable as error:
                log.warning("runs not given back", reason=str(error), unreported=len(self._reports))

    async def _settle(self, forced: asyncio.Event, *, wait_s: float) -> None:
        await settle(lambda: len(self._flights), lambda: len(self._reports), self._idle, forced, wait_s=wait_s)

    def _slots_freed(self, count: int) -> None:
        self._holding.slots_freed(count, now_s=self._clock.monotonic_s())
        self._idle.set()
        held_ms = self._holding.next_due_ms()
        if held_ms is not None and held_ms <= self._membership.time.now_ms() and self._free_slots() >= self._worthwhile:
            self._hold_loop.wakeup.wake()
        if any(self._pays(self._room(lane), lane) for lane in self._full):
            self._claim_loop.wakeup.wake()
