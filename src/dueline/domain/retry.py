"""Whether a failed attempt is tried again, and when."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from dueline.domain import limits
from dueline.domain.run import Outcome, OutcomeKind

RETRIED_STATUSES = frozenset({408, 425, 429})
PATIENT_STATUSES = frozenset({429, 503})
"""The target asked for room: wait at least half of the backoff, and at least its Retry-After."""


class Backoff(StrEnum):
    EXPONENTIAL = "exponential"
    FIXED = "fixed"


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    max_attempts: int = 5
    backoff: Backoff = Backoff.EXPONENTIAL
    base_ms: int = 1_000
    cap_ms: int = 300_000
    max_lost: int = limits.LOST_MAX


def decide(policy: RetryPolicy, outcome: Outcome, *, attempts: int, chance: float) -> int | None:
    """Milliseconds to wait before the next attempt, or None when this was the last.

    `attempts` counts the ended ones, this one included; `chance` is a random number in [0, 1) that the caller drew.
    """
    if not is_retryable(outcome) or attempts >= policy.max_attempts:
        return None
    if outcome.kind is OutcomeKind.ERRORED and outcome.retry_after_ms is not None:
        # A task named its time itself. A target's Retry-After comes with a status, and is a least.
        return min(outcome.retry_after_ms, limits.RETRY_CAP_MS_MAX)
    ceiling_ms = policy.base_ms
    if policy.backoff is Backoff.EXPONENTIAL:
        ceiling_ms = min(policy.cap_ms, policy.base_ms << min(attempts - 1, 40))
    delay_ms = int(ceiling_ms * chance) if policy.backoff is Backoff.EXPONENTIAL else ceiling_ms
    if outcome.status in PATIENT_STATUSES:
        delay_ms = max(delay_ms, ceiling_ms // 2, min(outcome.retry_after_ms or 0, limits.RETRY_AFTER_MS_MAX))
    return delay_ms


def is_retryable(outcome: Outcome) -> bool:
    """Connection errors, timeouts, 408, 425, 429 and 5xx may pass; any other answer would be the same again."""
    match outcome.kind:
        case OutcomeKind.TIMED_OUT | OutcomeKind.UNREACHABLE | OutcomeKind.ERRORED:
            return True
        case OutcomeKind.REFUSED:
            status = outcome.status or 0
            return status in RETRIED_STATUSES or status >= 500
        case _:
            return False


def is_poison(policy: RetryPolicy, *, lost: int) -> bool:
    """Whether a run has taken down so many workers (`lost`, this one included) that no other may try it."""
    return lost >= policy.max_lost
