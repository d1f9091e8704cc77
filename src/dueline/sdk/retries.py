"""When a call is tried again, and how long to wait before.

The rule is kept here alone. What does no harm when it is done twice may be repeated whatever became of it: a read, a call whose route says
so, and a POST with an `Idempotency-Key`, which the server carries out once however often it comes. Anything else is repeated only when it
is certain that it had no effect: it never arrived (nobody took the connection), or the server refused it by a quota and said when there
is room. After another failure, a 503 included, it may have taken effect: a second one could undo what somebody did in between, or be told
as NotFound of what the first one deleted.
"""

from __future__ import annotations

import msgspec

from dueline.sdk.errors import ApiError, Unreachable

IN_PROGRESS = "urn:dueline:problem:in-progress"
"""The same request, with the same key, is being carried out."""
_PASSING = frozenset({502, 503, 504})
"""What a server, or something before it, answers while it starts, stops or has no store."""
_OVER_QUOTA = 429


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How often, and how far apart: a random wait between nothing and a bound that doubles from `base_s` up to `cap_s`. The time of
    the call bounds all of it."""

    attempts_max: int = 7
    base_s: float = 0.2
    cap_s: float = 5.0


NEVER = RetryPolicy(attempts_max=1)


def may_repeat(error: ApiError | Unreachable, *, harmless: bool) -> bool:
    """Whether another try can do no harm, and may help. `harmless`: done twice, it comes to the same."""
    if isinstance(error, Unreachable):
        return harmless or not error.sent
    if error.status == _OVER_QUOTA:
        return error.retry_after_s is not None
    return harmless and (error.status in _PASSING or error.type == IN_PROGRESS)


def wait_s(policy: RetryPolicy, error: ApiError | Unreachable, *, attempt: int, fraction: float) -> float:
    """How long to wait after an attempt, at least as long as the server asks for. `fraction` is random, in [0, 1)."""
    # Bounded before it is raised: a policy of thousands of attempts must not overflow.
    bound_s = min(policy.cap_s, policy.base_s * 2.0 ** min(attempt - 1, 32))
    asked_s = error.retry_after_s if isinstance(error, ApiError) else None
    return max(fraction * bound_s, asked_s or 0.0)
