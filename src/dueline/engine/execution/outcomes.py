"""From the reply of a target to the outcome of an attempt, and from there to what is written about the run."""

from __future__ import annotations

from collections.abc import Callable

from dueline.domain import limits, retry
from dueline.domain.ids import BootId
from dueline.domain.job import Delivery, Execution
from dueline.domain.run import Attempt, Outcome, OutcomeKind
from dueline.domain.states import EndReason, RunState
from dueline.domain.statuses import SUCCESSES, Statuses, holds
from dueline.engine.execution.deadlines import begun_ms, run_end_ms
from dueline.engine.execution.exchange import HttpFailure, HttpReply
from dueline.engine.execution.reclaiming import decide_reclaim
from dueline.store.shapes import Claim, Finish, Reclaim, Retry, Stray

_FAILURE_KINDS = {
    HttpFailure.TIMEOUT: OutcomeKind.TIMED_OUT,
    HttpFailure.DNS: OutcomeKind.UNREACHABLE,
    HttpFailure.CONNECT: OutcomeKind.UNREACHABLE,
    HttpFailure.TLS: OutcomeKind.UNREACHABLE,
    HttpFailure.INVALID: OutcomeKind.IMPOSSIBLE,
    HttpFailure.REFUSED_ADDRESS: OutcomeKind.IMPOSSIBLE,
    HttpFailure.CANCELLED: OutcomeKind.CANCELLED,
}
"""What is not listed broke off in the middle: its effect is unknown."""

End = Finish | Retry | Reclaim
"""What is written about a run when an attempt of it has ended."""

_END_STATES = dict.fromkeys(OutcomeKind, RunState.FAILED) | {
    OutcomeKind.SUCCEEDED: RunState.SUCCEEDED,
    OutcomeKind.CANCELLED: RunState.CANCELLED,
}
_SUCCEEDED, _LOST = OutcomeKind.SUCCEEDED, OutcomeKind.LOST
"""Asked of every attempt: in Python 3.11 it takes six times as long to find a member in its enumeration."""


def read_reply(reply: HttpReply, expected: Statuses = SUCCESSES) -> Outcome:
    """Success is a status that was expected and nothing else: redirects are not followed."""
    if reply.failure is not None:
        kind = _FAILURE_KINDS.get(reply.failure, OutcomeKind.ERRORED)
        return Outcome(kind=kind, error=f"{reply.failure}: {reply.detail}"[: limits.ERROR_LETTERS_MAX])
    status = reply.status or 0
    result = reply.body.decode(errors="replace") if reply.body else None
    if holds(expected, status):
        return Outcome(kind=OutcomeKind.SUCCEEDED, status=status, result=result, headers=reply.headers)
    return Outcome(
        kind=OutcomeKind.REFUSED,
        status=status,
        error=f"the target answered {status}",
        result=result,
        retry_after_ms=_retry_after_ms(reply.retry_after),
        headers=reply.headers,
    )


def conclude(
    claim: Claim,
    execution: Execution,
    outcome: Outcome,
    *,
    worker: BootId,
    started_ms: int,
    finished_ms: int,
    chance: Callable[[], float],
    doubt_ms: int = 0,
    awaited: bool = False,
    cancel: str | None = None,
    leaving: bool = False,
) -> End:
    """What an ended attempt means for its run. One that was to be cancelled is not tried again.

    A run ends as `gone` when its target says so, and as `run_timeout` when the next attempt would come after its time. One whose process
    died, or that its worker breaks off because it is `leaving`, is taken from it as from a worker that vanished. `awaited` says that the
    job's schedule counts from the end of its runs. By `doubt_ms` the end may have been later: the wait for the next attempt begins then.
    `chance` is drawn where a wait has to be spread.
    """
    # The store's clock stamped the claim; ours may lag behind it by a round trip.
    started_ms = max(started_ms, claim.claimed_ms, claim.due_ms)
    finished_ms = max(finished_ms, started_ms)
    if outcome.kind is _LOST:
        return decide_reclaim(
            _stray(claim, worker, cancel),
            execution,
            now_ms=finished_ms,
            chance=chance(),
            outcome=outcome,
            started_ms=started_ms,
            by_owner=True,
            leaving=leaving,
        )
    attempt = Attempt(
        attempt=claim.attempt,
        token=claim.token,
        worker=worker,
        claimed_ms=claim.claimed_ms,
        started_ms=started_ms,
        finished_ms=finished_ms,
        outcome=outcome,
    )
    succeeded = outcome.kind is _SUCCEEDED
    state, reason = _END_STATES[outcome.kind], None
    if cancel is not None and not succeeded:
        state, reason = RunState.CANCELLED, cancel
    elif not succeeded:
        due_ms = _next_due_ms(claim, execution, outcome, finished_ms=finished_ms + doubt_ms, chance=chance())
        reason = _end_reason(claim, execution, outcome, due_ms=due_ms, started_ms=started_ms)
        if due_ms is not None and reason is None:
            return Retry(claim.run_id, claim.token, due_ms, attempt, claim.gated)
    return Finish(
        claim.run_id,
        claim.token,
        state,
        claim.exclusive,
        started_ms,
        finished_ms,
        attempt,
        reason,
        awaited,
        claim.gated,
    )


def _stray(claim: Claim, worker: BootId, cancel: str | None) -> Stray:
    return Stray(
        run_id=claim.run_id,
        token=claim.token,
        job_id=claim.job_id,
        version=claim.version,
        worker=worker,
        attempt=claim.attempt,
        lost=claim.lost,
        claimed_ms=claim.claimed_ms,
        overtime=False,
        spec=claim.spec,
        cancel=cancel,
        begun_ms=claim.begun_ms,
    )


def _next_due_ms(
    claim: Claim, execution: Execution, outcome: Outcome, *, finished_ms: int, chance: float
) -> int | None:
    if execution.delivery is not Delivery.AT_LEAST_ONCE:
        return None
    delay_ms = retry.decide(
        execution.retry,
        outcome,
        attempts=claim.attempt - claim.lost,
        chance=chance,
        elapsed_ms=finished_ms - begun_ms(claim),
    )
    return None if delay_ms is None else finished_ms + delay_ms


def _end_reason(
    claim: Claim, execution: Execution, outcome: Outcome, *, due_ms: int | None, started_ms: int
) -> EndReason | None:
    """Why the run ends with this attempt, where the outcome alone does not say it."""
    if outcome.status == retry.GONE:
        return EndReason.GONE
    end_ms = run_end_ms(execution, claim)
    if end_ms is None:
        return None
    cut_off = outcome.kind is OutcomeKind.TIMED_OUT and started_ms + execution.timeout_ms > end_ms
    return EndReason.RUN_TIMEOUT if cut_off or (due_ms is not None and due_ms >= end_ms) else None


def _retry_after_ms(header: str | None) -> int | None:
    return min(int(header) * 1000, limits.RETRY_AFTER_MS_MAX) if header is not None and header.isdecimal() else None
