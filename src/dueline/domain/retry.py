"""Whether a failed attempt is tried again, and when."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from dueline.domain import limits
from dueline.domain.run import Outcome, OutcomeKind
from dueline.domain.statuses import Statuses, holds

RETRIED_STATUSES: Statuses = ((408, 408), (425, 425), (429, 429), (500, 999))
PATIENT_STATUSES = frozenset({429, 503})
"""The target asked for room: wait at least half of the backoff, and at least its Retry-After."""
GONE = 410
"""The target says that it will never answer again. It is believed."""
PASSING_KINDS = frozenset({OutcomeKind.TIMED_OUT, OutcomeKind.UNREACHABLE, OutcomeKind.ERRORED})
"""Ends without an answer that another attempt may not have."""


class Backoff(StrEnum):
    EXPONENTIAL = "exponential"
    FIXED = "fixed"
    LIST = "list"


class Conditions(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answers by their status, and ends without an answer by their kind."""

    statuses: Statuses = ()
    kinds: tuple[OutcomeKind, ...] = ()

    def meet(self, outcome: Outcome) -> bool:
        if outcome.kind is OutcomeKind.REFUSED:
            return holds(self.statuses, outcome.status or 0)
        return outcome.kind in self.kinds


BY_DEFAULT = Conditions(RETRIED_STATUSES, tuple(sorted(PASSING_KINDS)))


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`retry_on` takes the place of the default; `never_on` is taken away from either."""

    max_attempts: int = 5
    backoff: Backoff = Backoff.EXPONENTIAL
    base_ms: int = 1_000
    cap_ms: int = 300_000
    delays_ms: tuple[int, ...] = ()
    """What `list` waits after the first failure, the second and so on; its last is repeated."""
    max_elapsed_ms: int | None = None
    """From the first start on: no attempt begins later."""
    max_lost: int = limits.LOST_MAX
    retry_on: Conditions | None = None
    never_on: Conditions | None = None


def decide(policy: RetryPolicy, outcome: Outcome, *, attempts: int, chance: float, elapsed_ms: int = 0) -> int | None:
    """Milliseconds to wait before the next attempt, or None when this was the last.

    `attempts` counts the ended ones, this one included; `chance` is a random number in [0, 1) that the caller drew; `elapsed_ms` have
    passed since the first attempt began.
    """
    if not is_retryable(policy, outcome) or attempts >= policy.max_attempts:
        return None
    delay_ms = _delay_ms(policy, outcome, attempts=attempts, chance=chance)
    if policy.max_elapsed_ms is not None and elapsed_ms + delay_ms > policy.max_elapsed_ms:
        return None
    return delay_ms


def is_retryable(policy: RetryPolicy, outcome: Outcome) -> bool:
    """By default connection errors, timeouts, 408, 425, 429 and 5xx may pass; any other answer would be the same again.

    No policy tries again what was cancelled or cannot be tried, or a target that is gone.
    """
    if outcome.status == GONE or (outcome.kind is not OutcomeKind.REFUSED and outcome.kind not in PASSING_KINDS):
        return False
    if policy.never_on is not None and policy.never_on.meet(outcome):
        return False
    return (BY_DEFAULT if policy.retry_on is None else policy.retry_on).meet(outcome)


def is_poison(policy: RetryPolicy, *, lost: int) -> bool:
    """Whether a run has taken down so many workers (`lost`, this one included) that no other may try it."""
    return lost >= policy.max_lost


def _delay_ms(policy: RetryPolicy, outcome: Outcome, *, attempts: int, chance: float) -> int:
    if outcome.kind is OutcomeKind.ERRORED and outcome.retry_after_ms is not None:
        # A task named its time itself. A target's Retry-After comes with a status, and is a least.
        return min(outcome.retry_after_ms, limits.RETRY_CAP_MS_MAX)
    ceiling_ms = _ceiling_ms(policy, attempts)
    delay_ms = int(ceiling_ms * chance) if policy.backoff is Backoff.EXPONENTIAL else ceiling_ms
    if outcome.status in PATIENT_STATUSES:
        delay_ms = max(delay_ms, ceiling_ms // 2, min(outcome.retry_after_ms or 0, limits.RETRY_AFTER_MS_MAX))
    return delay_ms


def _ceiling_ms(policy: RetryPolicy, attempts: int) -> int:
    match policy.backoff:
        case Backoff.EXPONENTIAL:
            return min(policy.cap_ms, policy.base_ms << min(attempts - 1, 40))
        case Backoff.LIST if policy.delays_ms:
            return policy.delays_ms[min(attempts, len(policy.delays_ms)) - 1]
        case _:
            return policy.base_ms
