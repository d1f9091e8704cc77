"""The worker: claims runs up to its free slots, holds them until they are due, executes them, reports what became of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import msgspec

from dueline.domain import limits
from dueline.domain.circuits import DEFAULT_POLICY, CircuitPolicy
from dueline.domain.errors import StoreUnavailable
from dueline.domain.ids import RunId
from dueline.domain.job import Execution
from dueline.domain.lanes import PLAIN, TASK, serves
from dueline.domain.overlap import OverlapVerdict, decide
from dueline.domain.retry import GONE
from dueline.domain.schedule import After
from dueline.domain.states import EndReason
from dueline.engine.definitions import Definitions, Key
from dueline.engine.membership import Membership
from dueline.runtime.chance import Chance
from dueline.runtime.clock import Clock
from dueline.runtime.log import get_log
from dueline.runtime.loop import Loop
from dueline.store.protocol import JobStore, RunStore
from dueline.store.shapes import Blocked, Claim, Finish, Retry
from dueline.worker.admission import Admission
from dueline.worker.calls import PreparedCall, Unsendable, make_call, prepare_call
from dueline.worker.executors.exchange import HttpCall, HttpFailure, HttpReply
from dueline.worker.executors.http import HttpExecutor
from dueline.worker.gone import GoneTargets
from dueline.worker.holding import Holding
from dueline.worker.outcomes import conclude, read_reply
from dueline.worker.reports import Reports
from dueline.worker.secrets import KeysOf, unsigned

log = get_log(__name__)

_IDLE_S = 60.0
_ABANDON_S = 1.0
_READY = "ready/"
_spec = msgspec.json.Decoder(Execution)


class WorkerStore(RunStore, JobStore, Protocol):
    """What a worker needs of the store."""


class Executor(Protocol):
    """Performs calls. Every one that is submitted gets exactly one reply, on the loop."""

    def open(self, loop: asyncio.AbstractEventLoop) -> None: ...

    def submit(self, calls: Sequence[HttpCall]) -> None: ...

    def cancel(self, keys: Iterable[RunId]) -> None: ...

    def close(self) -> None: ...


class MakeExecutor(Protocol):
    def __call__(self, *, deliver: Callable[[list[HttpReply]], None], monotonic: Callable[[], float]) -> Executor: ...


class WorkerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`queues` empty: all of them. `host_share` is the part of the slots that one host may take before it has answered anything."""

    queues: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    """What this worker has, for runs that require it."""
    slots: int = limits.SLOTS_DEFAULT
    drain_s: float = limits.DRAIN_S
    host_share: float = limits.HOST_SHARE
    circuit: CircuitPolicy = DEFAULT_POLICY


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
        keys_of: KeysOf = unsigned,
    ) -> None:
        self._store = store
        self._membership = membership
        self._definitions = definitions
        self._clock = clock
        self._chance = chance
        self._options = options
        self._keys_of = keys_of
        self._admission = Admission(chance, slots=options.slots, host_share=options.host_share, policy=options.circuit)
        self._worthwhile = max(1, min(options.slots // 8, limits.CLAIM_BATCH // 8))
        self._executor = make_executor(deliver=self._ended, monotonic=clock.monotonic_s)
        self._executor.open(asyncio.get_running_loop())
        self._holding = Holding()
        self._flights: dict[RunId, tuple[Claim, PreparedCall]] = {}
        self._prepared: dict[Key, PreparedCall] = {}
        self._starting: set[RunId] = set()
        self._hinted: set[str] = set()
        self._lanes: dict[str, set[str]] = {}
        self._usual_lanes = {PLAIN, TASK} if TASK in options.labels else {PLAIN}
        membership.busy = lambda: len(self._flights)
        self._look_at_s = 0.0
        self._unsure = False
        self._cancels: dict[RunId, str] = {}
        self._gone = GoneTargets(store)
        self._reports = Reports(store, written=self._slots_freed)
        self._claim_loop = Loop("claims", self.claim_step)
        self._hold_loop = Loop("holding", self.hold_step)
        self._cancel_loop = Loop("cancels", self.cancel_step)
        self._gone_loop = Loop("gone targets", self._gone.step, self._gone.wakeup)
        self._report_loop = Loop("reports", self._reports.step, self._reports.wakeup)
        self._idle = asyncio.Event()

    def loops(self) -> Sequence[Loop]:
        return [self._claim_loop, self._hold_loop, self._cancel_loop, self._gone_loop, self._report_loop]

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
        queue = topic.removeprefix(_READY)
        if topic.startswith(_READY) and (not self._options.queues or queue in self._options.queues):
            self._hinted.add(queue)
            self._claim_loop.wakeup.wake()

    async def claim_step(self) -> float:
        """Claim from every queue that may have something, as far as there are free slots."""
        if not self._membership.trusted:
            return limits.POLL_S
        if self._unsure:
            await self._give_back_unknown()
        for queue in await self._queues():
            for lane in sorted(self._usual_lanes | self._lanes.get(queue, set())):
                limit = min(self._free_slots(), limits.CLAIM_BATCH)
                if limit < self._worthwhile or await self._claim(queue, lane, limit) == limit:
                    self._hinted.add(queue)
        return 0.0 if self._hinted and self._free_slots() >= self._worthwhile else limits.POLL_S

    async def hold_step(self) -> float:
        """Start what has become due, after asking whether it is still ours: the job may have been changed meanwhile."""
        claims = self._holding.take_due(self._membership.time.now_ms(), limit=limits.CLAIM_BATCH)
        if claims:
            self._starting = {claim.run_id for claim in claims}
            try:
                confirmed = await self._store.confirm(claims)
                await self._start([claim for claim in claims if confirmed.tokens.get(claim.run_id) == claim.token])
                await self._settle_overlaps(confirmed.blocked)
            except StoreUnavailable:
                self._unsure = True
                raise
            finally:
                self._starting = set()
        next_ms = self._holding.next_due_ms()
        return _IDLE_S if next_ms is None else max((next_ms - self._membership.time.now_ms()) / 1000, 0.0)

    async def cancel_step(self) -> float:
        """End calls whose runs somebody asked to end."""
        if self._flights:
            for asked in await self._store.cancels_of(self._membership.boot_id):
                flight = self._flights.get(asked.run_id)
                if flight is not None and flight[0].token == asked.token and asked.run_id not in self._cancels:
                    self._cancels[asked.run_id] = asked.reason
                    self._executor.cancel([asked.run_id])
        return limits.SWEEP_S

    async def drain(self, forced: asyncio.Event) -> None:
        """Claim nothing more, give unstarted runs back, wait for the calls under way, write what is left to write."""
        self._claim_loop.stop()
        self._hold_loop.stop()
        await asyncio.gather(self._claim_loop.ended.wait(), self._hold_loop.ended.wait())
        self._holding.clear()
        try:
            await self._give_back_unknown()
            await self._settle(forced, wait_s=self._options.drain_s)
        except StoreUnavailable as error:
            log.warning("left without telling the store", reason=str(error), unreported=len(self._reports))

    async def abandon(self) -> None:
        """What was started cannot be unsent, so its outcome is still offered; the store takes it unless somebody took the run."""
        self._claim_loop.stop()
        self._hold_loop.stop()
        await self._settle(asyncio.Event(), wait_s=_ABANDON_S)

    def close(self) -> None:
        self._executor.close()

    async def _queues(self) -> list[str]:
        """Queues we heard of; now and then all of them, because a hint may be lost."""
        queues, self._hinted = self._hinted, set()
        now_s = self._clock.monotonic_s()
        if now_s >= self._look_at_s:
            self._lanes = {}
            for queue, lane in await self._store.queues():
                if serves(lane, self._options.labels) and queue in (self._options.queues or (queue,)):
                    self._lanes.setdefault(queue, set()).add(lane)
            queues.update(self._lanes)
            self._look_at_s = now_s + limits.POLL_S
        return sorted(queues)

    def _free_slots(self) -> int:
        return self._options.slots - len(self._flights) - len(self._holding) - len(self._reports)

    async def _claim(self, queue: str, lane: str, limit: int) -> int:
        try:
            claimed = await self._store.claim(
                self._membership.boot_id, queue, lane, ahead_ms=limits.AHEAD_MS, limit=limit
            )
            now_ms = self._membership.time.now_ms()
            due = [claim for claim in claimed.claims if claim.due_ms <= now_ms]
            if len(due) < len(claimed.claims):
                self._holding.add([claim for claim in claimed.claims if claim.due_ms > now_ms])
                self._hold_loop.wakeup.wake()
            await self._start(due)
            await self._settle_overlaps(claimed.blocked)
        except StoreUnavailable:
            self._unsure = True
            raise
        return len(claimed.claims) + len(claimed.blocked)

    async def _start(self, claims: list[Claim]) -> None:
        """Hand claims to the executor, and put off those whose target is to be left alone.

        Without a trusted lease they are left to whoever takes them over.
        """
        if not claims:
            return
        prepared = await self._prepare(claims)
        now_ms = self._membership.time.now_ms()
        keys = await self._keys_of({claim.tenant for claim in claims}, now_ms=now_ms)
        if not self._membership.trusted:
            self._unsure = True
            log.warning("lease not trusted, runs not started", count=len(claims))
            return
        now_s = self._clock.monotonic_s()
        calls, unsent, put_off = [], [], []
        for claim, call in zip(claims, prepared, strict=True):
            postponed = self._admission.ask(claim, call.host, now_s=now_s, now_ms=now_ms)
            if postponed is not None:
                put_off.append(postponed)
                continue
            self._flights[claim.run_id] = (claim, call)
            try:
                calls.append(make_call(call, claim, now_ms=now_ms, keys=keys.get(claim.tenant, ())))
            except Unsendable as error:
                unsent.append(
                    HttpReply(claim.run_id, None, HttpFailure.INVALID, str(error), None, b"", False, now_s, now_s)
                )
        self._executor.submit(calls)
        self._ended(unsent)
        if put_off:
            await self._store.postpone(put_off)

    async def _prepare(self, claims: list[Claim]) -> list[PreparedCall]:
        known = self._prepared
        keys = {
            (claim.job_id, claim.version) for claim in claims if claim.job_id is not None and claim.version is not None
        }
        missing = keys - known.keys()
        if missing:
            if len(known) > limits.DEFINITIONS_KEPT:
                known.clear()
                missing = keys
            for key, version in (await self._definitions.load(missing)).items():
                definition = version.definition
                awaited = isinstance(definition.schedule, After)
                known[key] = prepare_call(definition.execution, awaited=awaited, job_name=definition.name)
        prepared = []
        for claim in claims:
            if claim.spec is not None:
                # It has no job, or what its job says was corrected for this one run.
                prepared.append(prepare_call(_spec.decode(claim.spec)))
            else:
                assert claim.job_id is not None
                assert claim.version is not None
                prepared.append(known[claim.job_id, claim.version])
        return prepared

    def _ended(self, replies: list[HttpReply]) -> None:
        """Replies of the executor, on the loop."""
        time, worker = self._membership.time, self._membership.boot_id
        ends: list[Finish | Retry] = []
        for reply in replies:
            claim, prepared = self._flights.pop(reply.key)
            cancel = self._cancels.pop(claim.run_id, None)
            closed = reply.failure is HttpFailure.CLOSED
            outcome = None if closed else read_reply(reply, prepared.expected)
            self._admission.ended(
                claim, prepared.host, outcome, started_s=reply.started_s, now_s=self._clock.monotonic_s()
            )
            if outcome is None:
                # Broken off by force: the effect is unknown, and whoever reclaims the run will say so.
                continue
            if outcome.status == GONE:
                self._gone.add(claim)
            ends.append(
                conclude(
                    claim,
                    prepared,
                    outcome,
                    worker=worker,
                    started_ms=time.at_ms(reply.started_s),
                    finished_ms=time.at_ms(reply.finished_s),
                    chance=self._chance.fraction(),
                    cancel=cancel,
                )
            )
        if ends:
            self._reports.add(ends)

    async def _settle_overlaps(self, blocked: list[Blocked]) -> None:
        if not blocked:
            return
        versions = await self._definitions.load({(run.job_id, run.version) for run in blocked})
        hold, skip, displace = [], [], []
        held_now: dict[bytes, int] = {}
        for run in blocked:
            policy = run.overlap or versions[run.job_id, run.version].definition.overlap
            held = run.held + held_now.get(run.job_id, 0)
            match decide(policy, occupied=True, held=held):
                case OverlapVerdict.HOLD:
                    held_now[run.job_id] = held_now.get(run.job_id, 0) + 1
                    hold.append(run)
                case OverlapVerdict.DISPLACE:
                    displace.append(run)
                case _:
                    skip.append(run)
        if hold:
            await self._store.hold_blocked(hold)
        if displace:
            await self._store.displace_blocked(displace, reason=EndReason.SUPERSEDED)
        if skip:
            await self._store.skip_blocked(skip, reason=EndReason.OVERLAP)

    async def _give_back_unknown(self) -> None:
        """Give back what is ours by the store's account but not in our hands: claims whose answer was lost on the way."""
        held = self._holding.run_ids() | self._starting | self._flights.keys() | self._reports.run_ids()
        owned = await self._store.claims_of(self._membership.boot_id)
        unknown = [claim for claim in owned if claim.run_id not in held]
        if unknown:
            await self._store.release(unknown)
            log.info("runs given back", count=len(unknown))
        self._unsure = False

    async def _settle(self, forced: asyncio.Event, *, wait_s: float) -> None:
        """Wait until nothing is under way and everything is written, for a bounded time."""
        forcing = asyncio.create_task(forced.wait())
        try:
            async with asyncio.timeout(wait_s):
                while (self._flights or self._reports) and not forcing.done():
                    self._idle.clear()
                    waiting = asyncio.create_task(self._idle.wait())
                    await asyncio.wait([forcing, waiting], return_when=asyncio.FIRST_COMPLETED)
                    waiting.cancel()
        except TimeoutError:
            log.warning("drain ran out of time", in_flight=len(self._flights))
        finally:
            forcing.cancel()

    def _slots_freed(self, _count: int) -> None:
        self._idle.set()
        if self._hinted and self._free_slots() >= self._worthwhile:
            self._claim_loop.wakeup.wake()
