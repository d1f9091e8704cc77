"""A worker that asks a server for runs, and tells it what became of them.

It starts nothing without a trusted lease: when its heartbeats do not get through it stops by itself, before the server gives its runs
to others. What it has started it ends, and offers the result; the server takes it unless somebody else has the run by then.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dueline.domain import limits
from dueline.domain.errors import LeaseLost, StoreUnavailable
from dueline.domain.ids import RunId
from dueline.domain.rates import Rates
from dueline.domain.run import OutcomeKind
from dueline.engine.execution.exchange import HttpCall
from dueline.engine.membership import Membership
from dueline.engine.tallies import Tallies
from dueline.runtime.chance import Chance
from dueline.runtime.clock import Clock
from dueline.runtime.log import get_log
from dueline.runtime.loop import Loop
from dueline.runtime.signals import Stop
from dueline.store.fleet import NewNode
from dueline.store.shapes import Claim
from dueline.tasks.context import Report
from dueline.worker.executors.http import HttpExecutor
from dueline.worker.executors.lanes import TaskCall
from dueline.worker.flights import Ended, Flights, MakeCrew, MakeExecutor
from dueline.worker.options import WorkerOptions
from dueline.worker.remote.client import DeskClient
from dueline.worker.remote.runs import RemoteEnd, read_run, tell_end
from dueline.worker.reports import Reports
from dueline.worker.saves import Saves
from dueline.worker.settling import settle

log = get_log(__name__)

_ABANDON_S = 1.0
_AWAY_S = 1.0
_INTERRUPT_S = 0.1


class RemoteNode:
    """Runs lives one after the other until asked to stop: one that the server declared dead begins anew, under another id."""

    def __init__(
        self,
        make_client: Callable[[], DeskClient],
        clock: Clock,
        chance: Chance,
        options: WorkerOptions,
        *,
        new_node: Callable[[], NewNode],
        make_executor: MakeExecutor = HttpExecutor,
        make_crew: MakeCrew | None = None,
    ) -> None:
        self._make_client = make_client
        self._clock = clock
        self._chance = chance
        self._options = options
        self._new_node = new_node
        self._make_executor = make_executor
        self._make_crew = make_crew
        self._worker: RemoteWorker | None = None
        """Of the life that there is now, or was last."""
        self._leases_lost = 0

    @property
    def trusted(self) -> bool:
        """Whether it is registered with a server, and its lease holds."""
        return self._worker is not None and self._worker.trusted

    def tallies(self) -> Tallies:
        worker = self._worker
        return Tallies(
            fenced=worker.fenced_total if worker else 0,
            leases_lost=self._leases_lost,
            attempts=worker.attempts_total if worker else {},
        )

    async def run(self, stop: Stop) -> None:
        while not stop.asked.is_set():
            client = self._make_client()
            try:
                await self._live(client, stop)
            except LeaseLost:
                self._leases_lost += 1
                log.warning("declared dead by others; starting again")
            except StoreUnavailable as error:
                log.warning("cannot join", reason=str(error))
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.asked.wait(), _AWAY_S)
            finally:
                client.close()

    async def _live(self, client: DeskClient, stop: Stop) -> None:
        membership = Membership(client, self._clock, self._new_node())
        await membership.join()
        self._worker = worker = RemoteWorker(
            client,
            membership,
            self._clock,
            self._chance,
            self._options,
            make_executor=self._make_executor,
            make_crew=self._make_crew,
        )
        try:
            await worker.last(stop)
        finally:
            worker.close()


class RemoteWorker:
    """One life, under one id that the server gave."""

    def __init__(
        self,
        client: DeskClient,
        membership: Membership,
        clock: Clock,
        chance: Chance,
        options: WorkerOptions,
        *,
        make_executor: MakeExecutor = HttpExecutor,
        make_crew: MakeCrew | None = None,
    ) -> None:
        """`membership` is that of the client, and has joined."""
        self._client = client
        self._membership = membership
        self._clock = clock
        self._options = options
        self._carries_tasks = make_crew is not None
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
        self._rates = Rates()
        membership.busy = lambda: len(self._flights)
        membership.rates = lambda: self._rates.read(now_s=clock.monotonic_s())
        self._saves = Saves(client.save, monotonic=clock.monotonic_s)
        self._reports: Reports[RemoteEnd] = Reports(
            write=lambda ends: client.report([end.told for end in ends]),
            letters=lambda end: end.letters,
            written=self._slots_freed,
            before=self._saves.flush,
        )
        self._unsure = False
        self._draining = False
        self._idle = asyncio.Event()
        self._beat_loop = Loop("heartbeat", self._beat_step)
        self._lease_loop = Loop("leases", self.lease_step)
        self._loops = [
            self._beat_loop,
            self._lease_loop,
            Loop("saves", self._saves.step, self._saves.wakeup),
            Loop("reports", self._reports.step, self._reports.wakeup),
        ]
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def trusted(self) -> bool:
        return self._membership.trusted

    @property
    def fenced_total(self) -> int:
        """Results that came too late: somebody else had the run by then."""
        return self._reports.fenced_total

    async def last(self, stop: Stop) -> None:
        """Live until asked to stop, by a signal or through the server, then end in order; raises LeaseLost when others ended it."""
        log.info("joined", slots=self._options.slots)
        self._tasks = [asyncio.create_task(loop.run()) for loop in self._loops]
        asked = asyncio.create_task(stop.asked.wait())
        drain = asyncio.create_task(self._membership.drain_asked.wait())
        try:
            done, _ = await asyncio.wait([asked, drain, *self._tasks], return_when=asyncio.FIRST_COMPLETED)
            for task in done - {asked, drain}:
                task.result()
            stop.asked.set()
            await self._drain(stop.forced)
        except LeaseLost:
            self._lease_loop.stop()
            await self._settle(asyncio.Event(), wait_s=_ABANDON_S)
            raise
        finally:
            for each in (asked, drain, *self._tasks):
                each.cancel()
            await asyncio.gather(asked, drain, *self._tasks, return_exceptions=True)

    def close(self) -> None:
        self._flights.close()

    async def lease_step(self) -> float:
        """Ask for as many runs as there is room for, and start them."""
        room = self._room()
        if not self._membership.trusted or room < 1:
            return limits.POLL_S
        holding = self._held() if self._unsure else None
        sure, self._unsure, asked_s = False, False, self._clock.monotonic_s()
        try:
            told = await self._client.lease(limit=room, holding=holding)
            sure = not told or await self._start(told)
        except StoreUnavailable:
            if self._draining:
                return 0.0
            raise
        finally:
            # Otherwise an answer may be on its way with runs that nobody knows of.
            self._unsure = self._unsure or not sure
        if not told and self._clock.monotonic_s() - asked_s < limits.POLL_S:
            # The server waits for runs, unless it is to stop or we are: the next beat tells.
            self._beat_loop.wakeup.wake()
            return limits.POLL_S
        return 0.0

    def _held(self) -> set[RunId]:
        return self._flights.run_ids() | self._reports.run_ids()

    def _room(self) -> int:
        free = min(self._options.slots - len(self._flights) - len(self._reports), limits.CLAIM_BATCH)
        places = self._flights.room_for_tasks() if self._carries_tasks else None
        return free if places is None else min(free, places)

    async def _start(self, told: list[dict[str, Any]]) -> bool:
        """Hand runs to the executors, and put off those whose target is to be left alone. Answers whether all were dealt with."""
        if self._draining:
            return False
        now_ms, now_s = self._membership.time.now_ms(), self._clock.monotonic_s()
        if not self._membership.trusted:
            self._withheld(len(told))
            return False
        runs = [read_run(one, now_ms=now_ms) for one in told]
        calls: list[HttpCall] = []
        tasks: list[TaskCall] = []
        put_off = []
        for run, one in zip(runs, told, strict=True):
            self._rates.add(str(one["queue"]), 1, now_s=now_s)
            postponed = self._flights.admit(run.claim, run.prepared, now_s=now_s, now_ms=now_ms)
            if postponed is not None:
                put_off.append(postponed)
            elif isinstance(run.call, HttpCall):
                calls.append(run.call)
            else:
                tasks.append(run.call)
        self._flights.launch(calls, tasks)
        if put_off:
            await self._client.postpone(put_off, now_ms=now_ms)
        return True

    async def _beat_step(self) -> float:
        delay_s = await self._membership.step()
        for asked in self._client.cancels:
            self._flights.cancel(asked.run_id, asked.token, asked.reason)
        return delay_s

    def _told(self, claim: Claim, report: Report) -> None:
        self._saves.add(claim.run_id, claim.token, report)

    def _ended(self, ended: list[Ended]) -> None:
        self.attempts_total.update(one.outcome.kind for one in ended)
        self._reports.add([self._tell(one) for one in ended])

    def _tell(self, one: Ended, *, leaving: bool = False) -> RemoteEnd:
        return tell_end(one, started_ms=self._membership.time.at_ms(one.started_s), leaving=leaving)

    def _withheld(self, count: int) -> None:
        """Runs that are ours and were not started, for want of a trusted lease: they go back if the lease turns out to hold."""
        log.warning("lease not trusted, runs not started", count=count)
        self._unsure = True
        self._idle.set()

    async def _drain(self, forced: asyncio.Event) -> None:
        """Ask for nothing more, give back what came meanwhile, wait for what is under way, write what is left to write."""
        self._draining = True
        self._lease_loop.stop()
        while not self._lease_loop.ended.is_set() and not forced.is_set():
            # A question that is only about to be asked is not broken off yet.
            self._client.interrupt()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._lease_loop.ended.wait(), _INTERRUPT_S)
        await self._give_back()
        await self._settle(forced, wait_s=self._options.drain_s)
        await self._give_back()
        try:
            await self._saves.flush(self._flights.run_ids())
            left = [self._tell(one, leaving=True).told for one in self._flights.close()]
            if left:
                await self._client.report(left)
            await self._membership.leave()
        except (StoreUnavailable, LeaseLost) as error:
            log.warning("left without telling the server", reason=str(error), unreported=len(self._reports))

    async def _give_back(self) -> None:
        """Let others have what is ours by the server's account and was not started: what a question that was broken off still brings."""
        if not self._unsure:
            return
        try:
            await self._client.lease(limit=0, holding=self._held())
        except (StoreUnavailable, LeaseLost) as error:
            log.warning("runs not given back", reason=str(error))

    async def _settle(self, forced: asyncio.Event, *, wait_s: float) -> None:
        await settle(lambda: len(self._flights), lambda: len(self._reports), self._idle, forced, wait_s=wait_s)

    def _slots_freed(self, _count: int) -> None:
        self._idle.set()
        self._lease_loop.wakeup.wake()
