"""`RateLimit` and `RateLimit-Policy`: what is left of the quota that a request counted against."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dueline.domain.quotas import Allowance
from dueline.engine.quotas import ASKING, Asking


@contextmanager
def asking() -> Iterator[Asking]:
    """Learn what a request hears of its quota while it is carried out."""
    told = Asking()
    token = ASKING.set(told)
    try:
        yield told
    finally:
        ASKING.reset(token)


def rate_limit_headers(allowance: Allowance) -> dict[str, str]:
    """As structured fields."""
    name = f'"{allowance.quota}"'
    return {
        "ratelimit-policy": f"{name};q={allowance.limit};w={allowance.window_s}",
        "ratelimit": f"{name};r={allowance.left};t={allowance.full_s}",
    }
