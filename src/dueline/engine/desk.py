"""The desk for workers without a connection to the store: they ask here for runs, and tell here what became of them.

What a worker beside the store decides for itself is decided here for them: overlaps, retries, what a call looks like with its values
put in and its signature. What they hold is theirs by the same tokens, and their life is kept by the same leases.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import msgspec

from dueline.domain import limits
from dueline.domain.errors import LeaseLost
from dueline.domain.ids import BootId, RunId, run_text
from dueline.domain.lanes import HTTP, TASK, is_task, serves
from dueline.domain.rates import Taken
from dueline.domain.retry import GONE
from dueline.domain.run import OutcomeKind, no_such_task
from dueline.domain.states import HeldReason
from dueline.engine.definitions import Definitions
from dueline.engine.execution.calls import PreparedCall, Unsendable, make_call
from dueline.engine.execution.deadlines import time_left_ms
from dueline.engine.execution.elsewhere import Elsewhere
from dueline.engine.execution.exchange import HttpCall
from dueline.engine.execution.gating import Gatekeeper, Works
from dueline.engine.execution.gone import GoneTargets
from dueline.engine.execution.outcomes import End, conclude
from dueline.engine.execution.overlaps import settle_overlaps
from dueline.engine.execution.preparing import Prepared, PreparedTask, Preparer
from dueline.engine.execution.reported import Reported, read_report
from dueline.engine.execution.secrets import KeysOf
from dueline.engine.execution.writing import write_ends
from dueline.engine.looks import Look
from dueline.runtime.chance import Chance
from dueline.runtime.clock import Clock, StoreTime
from dueline.runtime.log import get_log
from dueline.store.fleet import JobType, NewNode, Node
from dueline.store.protocol import Store
from dueline.store.shapes import CancelAsked, Claim, Postponed, Saved

log = get_log(__name__)

_READY = "ready/"
_NEAR_S = 0.05
"""How soon to look again where something is ready and not due yet."""
_PATIENCE_MS = 250
"""How long a run waits here for its turn at a gate before it is held there."""
_QUEUES_FRESH_S = 0.02
_NODES_FRESH_S = 0.25
"""How long all who wait share one look at the queues, and at the processes."""


class Leased(msgspec.Struct, frozen=True):
    """A run in a worker's hands. An HTTP call comes as it is to be made; `left_ms` is what the attempt may take."""

    claim: Claim
    queue: str
    prepared: Prepared
    call: HttpCall | None
    left_ms: int
    checkpoint: str | None


class GivenBack(msgspec.Struct, frozen=True):
    """A run that was not started; with a delay it is put off for that reason."""

    run_id: RunId
    token: int
    delay_ms: int | None = None
    reason: HeldReason | None = None


class DeskBeat(msgspec.Struct, frozen=True):
    now_ms: int
    drain_asked: bool
    cancels: list[CancelAsked]


class Desk:
    def __init__(
        self, store: Store, time: Callable[[], StoreTime], clock: Clock, chance: Chance, *, keys_of: KeysOf
    ) -> None:
        self._store = store
        self._time = time
        self._clock = clock
        self._chance = chance
        self._keys_of = keys_of
        self._definitions = Definitions(store)
        self._preparer = Preparer(self._definitions)
        self._gone = GoneTargets(store)
        self._gatekeeper = Gatekeeper(store, clock)
        self._elsewhere = Elsewhere(store, clock, chance)
        self._lanes = Look(store.queues, clock, fresh_s=_QUEUES_FRESH_S)
        self._nodes = Look(store.nodes, clock, fresh_s=_NODES_FRESH_S)
        self._waiting: set[asyncio.Event] = set()
        self._owed: set[Claim] = set()
        """What was claimed for workers that were not told of it."""
        self._taken: dict[BootId, Taken] = {}
        """What was handed to each worker from here, by whose it was."""
        self._turn = 0
        self._closed = False
        self._listens = False
        self.fenced_total = 0
        """Results that came too late: somebody else had the run by then."""

    @property
    def waiting(self) -> int:
        """How many questions for runs wait for an answer."""
        return len(self._waiting)

    def new_id(self) -> BootId:
        return BootId(self._chance.entropy().hex())

    async def register(self, node: NewNode, types: Sequence[JobType]) -> None:
        """Take a worker in. It must beat from now on, or its runs are given to others."""
        await self._store.register(node, lease_s=limits.LEASE_S)
        if types:
            await self._store.publish_job_types(types, keep_ms=limits.JOB_TYPES_KEPT_MS)
        log.info("worker registered", boot_id=node.boot_id, host=node.host)

    async def beat(self, boot_id: BootId, *, busy: int, rates: Mapping[str, float]) -> DeskBeat:
        """Renew a worker's lease; answers what it should know. Raises LeaseLost."""
        taken = self._taken.get(boot_id)
        told = rates if taken is None else {**taken.read(now_s=self._clock.monotonic_s()), **rates}
        beat = await self._store.beat(boot_id, lease_s=limits.LEASE_S, busy=busy, rates=told)
        await self._give_back_owed()
        return DeskBeat(beat.now_ms, beat.drain_asked, await self._store.cancels_of(boot_id))

    async def lease(
        self,
        boot_id: BootId,
        *,
        limit: int,
        wait_s: float,
        holding: Collection[RunId] | None,
        left: Callable[[], Awaitable[bool]],
    ) -> list[Leased]:
        """Due runs for a worker, waiting a while for the first of them. One that drains gets none, and hears so within a beat. Nor does
        one that has not beaten for too long. Raises LeaseLost.

        `holding` are all runs that it knows to hold: what the store says to be its besides them was lost on its way, and goes back.
        A limit of 0 asks for that alone. `left` tells whether it has gone away meanwhile; what was claimed for it goes back then.
        """
        self._nodes.forget()
        await self._node(boot_id)
        await self._give_back_owed()
        if holding is not None:
            await self._give_back_unknown(boot_id, holding)
        if limit < 1:
            return []
        since_s = self._clock.monotonic_s()
        with self._hints() as hint:
            while not await left():
                hint.clear()
                node = await self._node(boot_id)
                lanes = await self._lanes_for(node)
                leased = await self._claim(node, lanes, limit=limit, left=left) if lanes else []
                patience_s = min(wait_s, limits.BEAT_S) if node.draining else wait_s
                left_s = since_s + patience_s - self._clock.monotonic_s()
                if leased or left_s <= 0 or self._closed:
                    return leased
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left_s, _NEAR_S if lanes else limits.POLL_S)):
                        await hint.wait()
        return []

    async def report(self, boot_id: BootId, reported: Sequence[Reported]) -> set[RunId]:
        """Write what became of some runs; answers those that were still the worker's by their tokens."""
        held = await self._held(boot_id, {(one.run_id, one.token) for one in reported})
        cancels = {asked.run_id: asked.reason for asked in await self._store.cancels_of(boot_id)}
        prepared = dict(zip(held, await self._preparer.prepare(list(held.values())), strict=True))
        now_ms = self._time().now_ms()
        ends: dict[RunId, End] = {}
        for one in reported:
            claim = held.get(one.run_id)
            if claim is None or claim.token != one.token:
                continue
            work = prepared[one.run_id]
            outcome = read_report(one, work)
            if outcome.status == GONE and isinstance(work, PreparedCall):
                self._gone.add(claim)
            ends[one.run_id] = conclude(
                claim,
                work.execution,
                outcome,
                worker=boot_id,
                started_ms=claim.claimed_ms if one.started_ms is None else min(one.started_ms, now_ms),
                finished_ms=now_ms,
                doubt_ms=self._time().doubt_ms,
                chance=self._chance.fraction,
                awaited=work.awaited,
                cancel=cancels.get(one.run_id),
                leaving=one.leaving,
            )
        # First, because whoever hears that this failed reports it again, and what is written is written.
        await self._gone.step()
        accepted = await write_ends(self._store, ends.values())
        refused = {one.run_id for one in reported} - accepted
        if refused:
            self.fenced_total += len(refused)
            log.warning("results refused", boot_id=boot_id, count=len(refused), total=self.fenced_total)
        return accepted

    async def release(self, boot_id: BootId, given_back: Sequence[GivenBack]) -> set[RunId]:
        """Take back what was not started; answers what was still the worker's."""
        held = await self._held(boot_id, {(one.run_id, one.token) for one in given_back})
        now_ms = self._time().now_ms()
        put_off = [
            Postponed(one.run_id, one.token, now_ms + one.delay_ms, one.reason)
            for one in given_back
            if one.run_id in held and one.delay_ms is not None and one.reason is not None
        ]
        later = {one.run_id for one in put_off}
        at_once = [claim for run_id, claim in held.items() if run_id not in later]
        accepted = await self._store.release(at_once) if at_once else set()
        return accepted | (await self._store.postpone(put_off) if put_off else set())

    async def save(self, boot_id: BootId, saved: Sequence[Saved]) -> set[RunId]:
        """Keep what runs under way tell of themselves; answers what was still the worker's."""
        held = await self._held(boot_id, {(one.run_id, one.token) for one in saved})
        kept = [one for one in saved if one.run_id in held]
        return await self._store.save(kept) if kept else set()

    async def leave(self, boot_id: BootId) -> None:
        """Strike a worker off. What it still holds is given to others."""
        self._nodes.forget()
        await self._node(boot_id)
        await self._store.leave(boot_id)

    def close(self) -> None:
        """Let nobody wait any longer."""
        self._closed = True
        self._hint_all()

    @contextmanager
    def _hints(self) -> Iterator[asyncio.Event]:
        """Set whenever something may be ready."""
        if not self._listens:
            self._listens = True
            self._store.listen(self._wake)
        hint = asyncio.Event()
        self._waiting.add(hint)
        try:
            yield hint
        finally:
            self._waiting.discard(hint)

    def _wake(self, topic: str) -> None:
        if topic.startswith(_READY):
            self._lanes.forget()
            self._hint_all()

    def _hint_all(self) -> None:
        for hint in self._waiting:
            hint.set()

    async def _node(self, boot_id: BootId) -> Node:
        nodes = {node.boot_id: node for node in await self._nodes.take()}
        if not self._taken.keys() <= nodes.keys():
            self._taken = {known: taken for known, taken in self._taken.items() if known in nodes}
        if boot_id in nodes:
            return nodes[boot_id]
        raise LeaseLost(f"worker {boot_id} is not registered, or was declared dead: register again")

    async def _lanes_for(self, node: Node) -> list[tuple[str, str]]:
        """Queues with what is ready in them that a worker may take now."""
        if node.draining or node.expired or self._closed:
            return []
        return [pair for pair in await self._lanes.take() if _may_take(node, *pair)]

    async def _claim(
        self, node: Node, lanes: list[tuple[str, str]], *, limit: int, left: Callable[[], Awaitable[bool]]
    ) -> list[Leased]:
        """From one lane after the other, another one first each time. What cannot be handed over goes back, whatever happens here."""
        self._turn += 1
        leased: list[Leased] = []
        in_hand: set[Claim] = set()
        try:
            for index in range(len(lanes)):
                queue, lane = lanes[(index + self._turn) % len(lanes)]
                room = await self._gatekeeper.room(queue, limit - len(leased))
                if not room:
                    continue
                claimed = await self._store.claim(node.boot_id, queue, lane, ahead_ms=0, limit=room)
                in_hand.update(claimed.claims)
                await settle_overlaps(self._store, self._definitions, claimed.blocked)
                leased += await self._lease_all(node, claimed.claims, queue)
                if len(leased) >= limit:
                    break
            if not await left():
                in_hand.clear()
                self._note_taken(node.boot_id, leased)
                return leased
        finally:
            self._owed |= in_hand
        await self._give_back_owed()
        return []

    def _note_taken(self, boot_id: BootId, leased: list[Leased]) -> None:
        now_s = self._clock.monotonic_s()
        for queue in {one.queue for one in leased}:
            tenants = [one.claim.tenant for one in leased if one.queue == queue]
            self._taken.setdefault(boot_id, Taken()).add(queue, tenants, now_s=now_s)

    async def _lease_all(self, node: Node, claims: list[Claim], queue: str) -> list[Leased]:
        if not claims:
            return []
        works = await self._gatekeeper.enter(await self._known(node, claims), ahead_ms=_PATIENCE_MS)
        await self._wait_until_due(works)
        again = [claim.run_id for claim in claims if claim.begun_ms is not None]
        told = await self._store.progress_of(again) if again else {}
        now_ms = self._time().now_ms()
        keys = await self._keys_of({claim.tenant for claim in claims}, now_ms=now_ms)
        leased: list[Leased] = []
        unsendable: dict[Claim, str | None] = {}
        for claim, work in works:
            call = None
            if isinstance(work, PreparedCall):
                try:
                    call = make_call(
                        work, claim, run_text(claim.run_id), now_ms=now_ms, keys=keys.get(claim.tenant, ())
                    )
                except Unsendable as error:
                    unsendable[claim] = str(error)
                    continue
            left_ms = time_left_ms(work.execution, claim, now_ms=now_ms)
            kept = told.get(claim.run_id)
            leased.append(Leased(claim, queue, work, call, left_ms, None if kept is None else kept.checkpoint))
        await self._fail(node, unsendable)
        return leased

    async def _wait_until_due(self, works: Works) -> None:
        """Runs that get their turn in a moment: what is handed over is started at once."""
        wait_ms = max((claim.due_ms for claim, _ in works), default=0) - self._time().now_ms()
        if wait_ms > 0:
            await asyncio.sleep(wait_ms / 1000)

    async def _known(self, node: Node, claims: list[Claim]) -> Works:
        """What the worker can carry out. Tasks that others have are left to them; those that nobody has end. One that names no tasks is
        taken at its word, and gets all."""
        works = list(zip(claims, await self._preparer.prepare(claims), strict=True))
        strange = [
            (claim, work.task)
            for claim, work in works
            if node.tasks and isinstance(work, PreparedTask) and work.task not in node.tasks
        ]
        if not strange:
            return works
        had = await self._elsewhere.having({task for _, task in strange})
        now_ms = self._time().now_ms()
        put_off = [self._elsewhere.put_off(claim, now_ms=now_ms) for claim, task in strange if task in had]
        if put_off:
            await self._store.postpone(put_off)
        lacking = [(claim, task) for claim, task in strange if task not in had]
        if lacking:
            known = await self._elsewhere.tasks()
            await self._fail(node, {claim: no_such_task(task, known).error for claim, task in lacking})
        left_out = {claim.run_id for claim, _ in strange}
        return [(claim, work) for claim, work in works if claim.run_id not in left_out]

    async def _fail(self, node: Node, reasons: Mapping[Claim, str | None]) -> None:
        """End runs that cannot even be tried."""
        if reasons:
            impossible = OutcomeKind.IMPOSSIBLE
            await self.report(
                node.boot_id,
                [
                    Reported(run_id=claim.run_id, token=claim.token, kind=impossible, error=reason)
                    for claim, reason in reasons.items()
                ],
            )

    async def _held(self, boot_id: BootId, wanted: set[tuple[RunId, int]]) -> dict[RunId, Claim]:
        """Those of some runs that a worker holds by the given tokens."""
        owned = await self._store.claims_of(boot_id)
        return {claim.run_id: claim for claim in owned if (claim.run_id, claim.token) in wanted}

    async def _give_back_owed(self) -> None:
        """By their tokens: what somebody else has by now stays with them."""
        if self._owed:
            owed = list(self._owed)
            await self._store.release(owed)
            self._owed.difference_update(owed)
            log.info("runs given back", count=len(owed))

    async def _give_back_unknown(self, boot_id: BootId, holding: Collection[RunId]) -> None:
        unknown = [claim for claim in await self._store.claims_of(boot_id) if claim.run_id not in holding]
        if unknown:
            await self._store.release(unknown)
            log.info("runs given back", boot_id=boot_id, count=len(unknown))


def _may_take(node: Node, queue: str, lane: str) -> bool:
    """Whether a worker serves a queue and executes what stands in one of its lanes."""
    kind = TASK if is_task(lane) else HTTP
    return queue in (node.queues or (queue,)) and kind in node.labels and serves(lane, node.labels)
