"""From the reply of a target to the outcome of an attempt, and from there to what is written about the run."""

from __future__ import annotations

from dueline.domain import limits, retry
from dueline.domain.job import Delivery
from dueline.domain.run import Attempt, Outcome, OutcomeKind
from dueline.domain.states import RunState
from dueline.store.shapes import Claim, Finish, Retry
from dueline.worker.calls import PreparedCall
from dueline.worker.executors.http import HttpFailure, HttpReply

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

_END_STATES = {OutcomeKind.SUCCEEDED: RunState.SUCCEEDED, OutcomeKind.CANCELLED: RunState.CANCELLED}


def read_reply(reply: HttpReply) -> Outcome:
    """Success is 2xx and nothing else: redirects are not followed."""
    if reply.failure is not None:
        kind = _FAILURE_KINDS.get(reply.failure, OutcomeKind.ERRORED)
        return Outcome(kind=kind, error=f"{reply.failure}: {reply.detail}"[: limits.ERROR_LETTERS_MAX])
    status = reply.status or 0
    result = reply.body.decode(errors="replace") if reply.body else None
    if 200 <= status < 300:
        return Outcome(kind=OutcomeKind.SUCCEEDED, status=status, result=result)
    return Outcome(
        kind=OutcomeKind.REFUSED,
        status=status,
        error=f"the target answered {status}",
        result=result,
        retry_after_ms=_retry_after_ms(reply.retry_after),
    )


def conclude(
    claim: Claim,
    prepared: PreparedCall,
    outcome: Outcome,
    *,
    worker: str,
    started_ms: int,
    finished_ms: int,
    chance: float,
    cancel: str | None = None,
) -> Finish | Retry:
    """What an ended attempt means for its run. One that was to be cancelled is not tried again."""
    execution = prepared.execution
    # The store's clock stamped the claim; ours may lag behind it by a round trip.
    started_ms = max(started_ms, claim.claimed_ms, claim.due_ms)
    finished_ms = max(finished_ms, started_ms)
    attempt = Attempt(
        attempt=claim.attempt,
        token=claim.token,
        worker=worker,
        claimed_ms=claim.claimed_ms,
        started_ms=started_ms,
        finished_ms=finished_ms,
        outcome=outcome,
    )
    succeeded = outcome.kind is OutcomeKind.SUCCEEDED
    if not succeeded and cancel is None and execution.delivery is Delivery.AT_LEAST_ONCE:
        delay_ms = retry.decide(execution.retry, outcome, attempts=claim.attempt - claim.lost, chance=chance)
        if delay_ms is not None:
            return Retry(claim.run_id, claim.token, finished_ms + delay_ms, attempt)
    state = _END_STATES.get(outcome.kind, RunState.FAILED)
    reason = None
    if cancel is not None and not succeeded:
        state, reason = RunState.CANCELLED, cancel
    return Finish(
        claim.run_id, claim.token, state, claim.exclusive, started_ms, finished_ms, attempt, reason, prepared.awaited
    )


def _retry_after_ms(header: str | None) -> int | None:
    return min(int(header) * 1000, limits.RETRY_AFTER_MS_MAX) if header is not None and header.isdecimal() else None
