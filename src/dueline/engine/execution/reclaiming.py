"""Runs whose attempt ended without anybody there to say how."""

from __future__ import annotations

from dueline.domain import retry
from dueline.domain.job import Delivery, Execution
from dueline.domain.run import Attempt, Outcome, OutcomeKind
from dueline.domain.states import EndReason, RunState
from dueline.store.shapes import Reclaim, Stray

_VANISHED = Outcome(kind=OutcomeKind.LOST, error="the worker vanished")
_OVERDUE = Outcome(kind=OutcomeKind.TIMED_OUT, error="the worker did not end the attempt in time")
_POISON = (
    "this run took down {lost} workers or their processes, so it is not tried again: look for what kills the interpreter "
    "(memory, a crash in native code, an exit), correct it, then redrive the run"
)


def decide_reclaim(
    stray: Stray,
    execution: Execution,
    *,
    now_ms: int,
    chance: float,
    outcome: Outcome | None = None,
    started_ms: int | None = None,
    by_owner: bool = False,
    leaving: bool = False,
) -> Reclaim:
    """What becomes of a run whose owner is gone, or did not end it in time, or gives it up itself. `outcome` is what is known otherwise.
    An owner that gives it up because it is `leaving` says nothing against the run.

    Lost is not failed: the run goes back at once, until it has cost too many workers. An attempt past its timeout is a failed one. A run
    that was to be cancelled ends, and so does one whose time is over.
    """
    begun_ms = stray.claimed_ms if stray.begun_ms is None else stray.begun_ms
    if outcome is None:
        outcome = _OVERDUE if stray.overtime else _VANISHED
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
    elif not leaving and retry.is_poison(execution.retry, lost=stray.lost + 1):
        state, reason = RunState.FAILED, str(EndReason.POISON)
        outcome = Outcome(kind=outcome.kind, error=f"{outcome.error}: {_POISON.format(lost=stray.lost + 1)}")
    goes_on = state in (RunState.READY, RunState.RETRYING)
    if goes_on and execution.run_timeout_ms is not None and (due_ms or now_ms) >= begun_ms + execution.run_timeout_ms:
        state, due_ms, reason = RunState.FAILED, None, str(EndReason.RUN_TIMEOUT)
    attempt = Attempt(
        attempt=stray.attempt,
        token=stray.token,
        worker=stray.worker,
        claimed_ms=stray.claimed_ms,
        started_ms=started_ms,
        finished_ms=max(now_ms, stray.claimed_ms),
        outcome=outcome,
    )
    owner = stray.worker if by_owner else None
    lost = not stray.overtime and not leaving
    return Reclaim(stray.run_id, stray.token, state, lost, due_ms, reason, attempt, owner, counted=not leaving)
