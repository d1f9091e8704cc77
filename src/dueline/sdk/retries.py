"""When a call is tried again, and how long to wait before.

The rule is kept here alone. A read may be repeated whatever became of it. A write is repeated only when it is certain that it had no
effect: it never arrived (nobody answered the connection), or the server refused it by a quota and said when there is room. After
anything else, a 503 included, it may have taken effect, and repeating it could do it twice.

Every POST carries an `Idempotency-Key`, by which a server can tell a repetition from a second wish. One that does so says
`Idempotency: supported` in its answers, and a write that carries a key is repeated like a read while the last answer of the server said
so. That header is between Dueline's own programs; others rely on the reference of the API.
"""

from __future__ import annotations

import msgspec

from dueline.sdk.answers import Answer
from dueline.sdk.errors import ApiError, Unreachable

ANNOUNCED_IN = "idempotency"
ANNOUNCED_AS = "supported"
_PASSING = frozenset({502, 503, 504})
"""What a server, or something before it, answers while it starts, stops or has no store."""
_OVER_QUOTA = 429


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How often, and how far apart: a random wait between nothing and a bound that doubles from `base_s` up to `cap_s`. The time of
    the call bounds all of it."""

    attempts_max: int = 5
    base_s: float = 0.2
    cap_s: float = 5.0


NEVER = RetryPolicy(attempts_max=1)


def knows_keys(answer: Answer, *, before: bool) -> bool:
    """Whether a server knows repetitions by their keys, as an answer says. Where something else may have answered in its place, it is
    as it was before."""
    is_said = answer.headers.get(ANNOUNCED_IN, "").strip().lower() == ANNOUNCED_AS
    return is_said or (before and answer.status in _PASSING)


def may_repeat(error: ApiError | Unreachable, *, method: str, knows: bool) -> bool:
    """Whether another try can do no harm, and may help."""
    if isinstance(error, Unreachable):
        return not error.sent or _is_harmless(method, knows=knows)
    if error.status == _OVER_QUOTA:
        return error.retry_after_s is not None
    return error.status in _PASSING and _is_harmless(method, knows=knows)


def wait_s(policy: RetryPolicy, error: ApiError | Unreachable, *, attempt: int, fraction: float) -> float:
    """How long to wait after an attempt, at least as long as the server asks for. `fraction` is random, in [0, 1)."""
    # Bounded before it is raised: a policy of thousands of attempts must not overflow.
    bound_s = min(policy.cap_s, policy.base_s * 2.0 ** min(attempt - 1, 32))
    asked_s = error.retry_after_s if isinstance(error, ApiError) else None
    return max(fraction * bound_s, asked_s or 0.0)


def _is_harmless(method: str, *, knows: bool) -> bool:
    return method == "GET" or (method == "POST" and knows)
