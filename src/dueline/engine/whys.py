"""Why a run waits: for what, at which place, and when it may go on."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import msgspec

from dueline.domain import limits
from dueline.domain.errors import NotFound
from dueline.domain.gates import Scope
from dueline.domain.ids import RunId, run_text
from dueline.domain.instants import format_instant
from dueline.domain.lanes import serves
from dueline.domain.run import Run, as_seen
from dueline.domain.states import TERMINAL, HeldReason, RunState
from dueline.engine.fleet import Fleet, QueueLoad
from dueline.runtime.clock import StoreTime
from dueline.store.protocol import Store
from dueline.store.standings import AtGate, Standing


class WaitsFor(StrEnum):
    """What a run waits for."""

    TIME = "time"
    RETRY = "retry"
    TURN = "turn"
    """Others are before it in its line."""
    WORKER = "worker"
    """Nobody who is there serves its queue and has what it requires."""
    QUEUE = "queue"
    """Its queue is paused, or has as many under way as it may."""
    JOB = "job"
    """Its job is paused."""
    OVERLAP = "overlap"
    CONCURRENCY = "concurrency"
    RATE = "rate"
    THROTTLED = "throttled"
    TARGET = "target"
    """Its target fails, or is busy."""


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """`waits_for` is None for a run that is under way or has ended. `place` is 1 for the next, and at least that unless `counted_all`."""

    run: Run
    waits_for: WaitsFor | None
    because: str
    place: int | None = None
    counted_all: bool = True
    before: dict[str, int] = {}
    """How many runs of which tenants come first."""
    next_ms: int | None = None
    """When it may go on, where that is known."""
    gate: AtGate | None = None
    other: RunId | None = None


_PUT_OFF = {
    HeldReason.CIRCUIT: (WaitsFor.TARGET, "its target fails so often that it is left alone for a while"),
    HeldReason.HOST_BUSY: (WaitsFor.TARGET, "so many calls to its host are under way that others would go short"),
    HeldReason.CONCURRENCY: (WaitsFor.CONCURRENCY, "its worker has as many runs of its task under way as it may"),
    HeldReason.ELSEWHERE: (WaitsFor.WORKER, "a worker without its task had it; it waits for one that has the task"),
}
_ERROR_LETTERS_MAX = 300
"""As much of an error as a sentence bears; the run has all of it."""
_AT_GATE = {
    HeldReason.CONCURRENCY: WaitsFor.CONCURRENCY,
    HeldReason.RATE: WaitsFor.RATE,
    HeldReason.THROTTLED: WaitsFor.THROTTLED,
}


class Whys:
    def __init__(self, store: Store, fleet: Fleet, time: Callable[[], StoreTime]) -> None:
        self._store = store
        self._fleet = fleet
        self._time = time

    async def why(self, tenant: str, run_id: RunId) -> Why:
        standing = await self._store.standing(tenant, run_id, counted=limits.WHY_COUNTED_MAX)
        run = await self._store.run(tenant, run_id)
        if run is None:
            raise NotFound("run", run_text(run_id))
        run = as_seen(run, now_ms=self._time().now_ms())
        if run.state in TERMINAL or standing is None:
            return Why(run=run, waits_for=None, because=ended_words(run))
        match run.state:
            case RunState.RUNNING:
                since = "" if run.claimed_ms is None else f" since {format_instant(run.claimed_ms)}"
                return Why(run=run, waits_for=None, because=f"it is under way on {run.worker}{since}")
            case RunState.RETRYING:
                because = f"attempt {run.attempt} failed{error_words(run)}, and the next is due at {format_instant(run.due_ms)}"
                return Why(run=run, waits_for=WaitsFor.RETRY, because=because, next_ms=run.due_ms)
            case RunState.HELD:
                return _held(run, standing)
            case RunState.SCHEDULED:
                return _scheduled(run)
            case _:
                return await self._ready(run, standing)

    async def _ready(self, run: Run, standing: Standing) -> Why:
        queue = await self._fleet.queue(run.queue)
        place = sum(standing.before.values()) + 1
        why = Why(
            run=run,
            waits_for=WaitsFor.TURN,
            because=_turn(place, run.queue),
            place=place,
            counted_all=place <= limits.WHY_COUNTED_MAX,
            before=standing.before,
            next_ms=_expected_ms(queue, place, now_ms=standing.now_ms),
        )
        if queue.state.paused:
            note = f": {queue.state.note}" if queue.state.note else ""
            return _instead(why, WaitsFor.QUEUE, f"the queue {run.queue} is paused{note}")
        full = await self._full(run.queue)
        if full is not None:
            return _instead(why, WaitsFor.QUEUE, full)
        nodes = await self._fleet.nodes()
        if not any(
            node.takes_runs and run.queue in (node.queues or (run.queue,)) and serves(standing.lane, node.labels)
            for node in nodes
        ):
            needs = f" and has {standing.lane}" if standing.lane else ""
            return _instead(why, WaitsFor.WORKER, f"no worker that is there serves the queue {run.queue}{needs}")
        return why

    async def _full(self, queue: str) -> str | None:
        """Why its queue lets nothing through."""
        for limit in await self._store.limits():
            if limit.scope is Scope.QUEUE and limit.name == queue:
                seen, now_ms = await self._store.look_at(limit.gate)
                if not seen.has_place():
                    return f"the queue {queue} has {_runs(seen.taken)} under way, and may have {seen.most}"
                if seen.start_us(now_ms * 1000) > now_ms * 1000:
                    return f"the queue {queue} starts one run every {_seconds(seen.interval_us)} s"
        return None


_ENDS = {
    RunState.SUCCEEDED: "succeeded",
    RunState.FAILED: "failed",
    RunState.CANCELLED: "been cancelled",
    RunState.EXPIRED: "expired",
}


def ended_words(run: Run) -> str:
    """How a run ended, with its reason, and with what went wrong where it did not succeed."""
    reason = "" if run.reason is None else f" ({run.reason})"
    error = "" if run.state is RunState.SUCCEEDED else error_words(run)
    return f"it has {_ENDS.get(run.state, 'ended')}{reason}{error}"


def error_words(run: Run) -> str:
    """What the last attempt of a run came to, behind a colon: the error in words, and the status of the answer."""
    if not run.attempts:
        return ""
    outcome = run.attempts[-1].outcome
    told = " ".join((outcome.error or outcome.kind.replace("_", " ")).split())
    if outcome.status is not None and str(outcome.status) not in told:
        told = f"{told} (status {outcome.status})"
    return f": {told if len(told) <= _ERROR_LETTERS_MAX else told[: _ERROR_LETTERS_MAX - 1] + '…'}"


def _scheduled(run: Run) -> Why:
    due = format_instant(run.due_ms)
    put_off = _PUT_OFF.get(HeldReason(run.reason)) if run.reason in frozenset(HeldReason) else None
    if put_off is None:
        return Why(run=run, waits_for=WaitsFor.TIME, because=f"it is due at {due}", next_ms=run.due_ms)
    waits_for, because = put_off
    return Why(run=run, waits_for=waits_for, because=f"{because}; it is tried again at {due}", next_ms=run.due_ms)


def _held(run: Run, standing: Standing) -> Why:
    if run.reason == HeldReason.PAUSED:
        return Why(run=run, waits_for=WaitsFor.JOB, because="its job is paused; it goes on when the job is resumed")
    gate = standing.gate
    if gate is None:
        named = "another run of its job" if standing.other is None else f"{run_text(standing.other)}, of its job,"
        because = f"{named} has not ended, and they must not overlap"
        return Why(run=run, waits_for=WaitsFor.OVERLAP, because=because, other=standing.other)
    waits_for = _AT_GATE.get(HeldReason(run.reason or HeldReason.CONCURRENCY), WaitsFor.CONCURRENCY)
    return Why(
        run=run,
        waits_for=waits_for,
        because=_gate_words(gate),
        place=gate.before + 1,
        counted_all=gate.before < limits.WHY_COUNTED_MAX,
        next_ms=_token_ms(gate, now_us=standing.now_ms * 1000),
        gate=gate,
    )


def _gate_words(gate: AtGate) -> str:
    seen = gate.seen
    whose = f"its {seen.scope}" if seen.scope is Scope.JOB else f"the {seen.scope} {gate.name}"
    others = f"; {_runs(gate.before)} before it" if gate.before else ""
    if not seen.has_place() or seen.interval_us is None:
        return f"{whose} has {_runs(seen.taken)} under way, and may have {seen.most}{others}"
    return f"{whose} starts one run every {_seconds(seen.interval_us)} s{others}"


def _token_ms(gate: AtGate, *, now_us: int) -> int | None:
    """When there will be a token for it, if that is what it lacks."""
    seen = gate.seen
    if seen.interval_us is None or not seen.has_place():
        return None
    return max(max(seen.full_us, now_us) + (gate.before - seen.burst + 1) * seen.interval_us, now_us) // 1000


def _expected_ms(queue: QueueLoad, place: int, *, now_ms: int) -> int | None:
    """When it should have its turn, at the pace of the last seconds."""
    return None if queue.rate <= 0 else now_ms + int(place / queue.rate * 1000)


def _turn(place: int, queue: str) -> str:
    if place == 1:
        return f"it is the next of the queue {queue}: it waits for a free slot of a worker"
    many = "at least " if place > limits.WHY_COUNTED_MAX else ""
    return f"{many}{_runs(place - 1)} before it in the queue {queue}"


def _instead(why: Why, waits_for: WaitsFor, because: str) -> Why:
    """The same place, and more than a turn to wait for: nobody knows when."""
    return msgspec.structs.replace(why, waits_for=waits_for, because=because, next_ms=None)


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _seconds(interval_us: int | None) -> str:
    return f"{(interval_us or 0) / 1_000_000:g}"
