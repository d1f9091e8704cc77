"""Takes runs back from workers that vanished, and ends attempts that outlived their timeout."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dueline.domain import limits, retry
from dueline.domain.job import Delivery, Execution
from dueline.domain.run import Attempt, Outcome, OutcomeKind
from dueline.domain.states import EndReason, RunState
from dueline.engine.definitions import Definitions
from dueline.engine.membership import Membership
from dueline.runtime.chance import Chance
from dueline.runtime.log import get_log
from dueline.store.protocol import RunStore
from dueline.store.shapes import Reclaim, Stray

log = get_log(__name__)

_spec = msgspec.json.Decoder(Execution)


class Reaper:
    def __init__(self, store: RunStore, membership: Membership, definitions: Definitions, chance: Chance) -> None:
        self._store = store
        self._membership = membership
        self._definitions = definitions
        self._chance = chance

    async def step(self) -> float:
        strays = await self._store.strays(grace_ms=limits.TIMEOUT_GRACE_MS, limit=limits.RECLAIM_BATCH)
        if strays:
            await self._reclaim(strays)
        ended = await self._store.sweep_cancelled(limit=limits.RECLAIM_BATCH)
        expired = await self._store.expire(limit=limits.RECLAIM_BATCH)
        await self._store.sweep_awaiting()
        freed = await self._store.free_held(limit=limits.RECLAIM_BATCH)
        return 0.0 if max(len(strays), ended, expired, freed) == limits.RECLAIM_BATCH else limits.SWEEP_S

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


def decide_reclaim(stray: Stray, execution: Execution, *, now_ms: int, chance: float) -> Reclaim:
    """What becomes of a run whose owner is gone, or did not end it in time.

    Lost is not failed: the run goes back at once, until it has cost too many workers. An attempt past its timeout is a failed one. A run
    that was to be cancelled ends, and so does one whose time is over.
    """
    begun_ms = stray.claimed_ms if stray.begun_ms is None else stray.begun_ms
    kind = OutcomeKind.TIMED_OUT if stray.overtime else OutcomeKind.LOST
    outcome = Outcome(
        kind=kind, error="the worker did not end the attempt in time" if stray.overtime else "the worker vanished"
    )
    state, due_ms, reason = RunState.READY, None, None
    if stray.cancel is not None:
        state, reason = RunState.CANCELLED, stray.cancel
    elif execution.delivery is Delivery.AT_MOST_ONCE:
        state, reason = RunState.FAILED, str(outcome.kind)
    elif stray.overtime:
        delay_ms = retry.decide(
            execution.retry,
            outcome,
            attempts=stray.attempt - stray.lost,
            chance=chance,
            elapsed_ms=now_ms - begun_ms,
        )
        state = RunState.FAILED if delay_ms is None else RunState.RETRYING
        due_ms = None if delay_ms is None else now_ms + delay_ms
    elif retry.is_poison(execution.retry, lost=stray.lost + 1):
        state, reason = RunState.FAILED, str(EndReason.POISON)
    goes_on = state in (RunState.READY, RunState.RETRYING)
    if goes_on and execution.run_timeout_ms is not None and (due_ms or now_ms) >= begun_ms + execution.run_timeout_ms:
        state, due_ms, reason = RunState.FAILED, None, str(EndReason.RUN_TIMEOUT)
    attempt = Attempt(
        attempt=stray.attempt,
        token=stray.token,
        worker=stray.worker,
        claimed_ms=stray.claimed_ms,
        finished_ms=max(now_ms, stray.claimed_ms),
        outcome=outcome,
    )
    return Reclaim(stray.run_id, stray.token, state, not stray.overtime, due_ms, reason, attempt)
