"""Retry and misfire policies, as people write them: durations are ISO 8601, `15m` is read as well."""

from __future__ import annotations

import msgspec

from dueline.domain import limits
from dueline.domain.durations import format_duration
from dueline.domain.planning import Misfire, MisfirePolicy
from dueline.domain.retry import Backoff, RetryPolicy
from dueline.wire.labels import check_count, read_duration
from dueline.wire.problems import Problems

_RETRY = RetryPolicy()
_MISFIRE = Misfire()


class RetryForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a failed attempt is tried again. `max_lost` counts workers that vanished, apart from `max_attempts`."""

    max_attempts: int = _RETRY.max_attempts
    backoff: Backoff = _RETRY.backoff
    base: str = format_duration(_RETRY.base_ms)
    cap: str = format_duration(_RETRY.cap_ms)
    max_lost: int = _RETRY.max_lost


class MisfireForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What becomes of occurrences that nobody could fire in time."""

    policy: MisfirePolicy = _MISFIRE.policy
    window: str = format_duration(_MISFIRE.window_ms)
    cap: int = _MISFIRE.cap


DEFAULT_RETRY = RetryForm()
DEFAULT_MISFIRE = MisfireForm()


def to_retry(form: RetryForm, problems: Problems) -> RetryPolicy:
    if form is DEFAULT_RETRY:
        return _RETRY
    check_count(form.max_attempts, "retry.max_attempts", problems, least=1, most=limits.ATTEMPTS_MAX)
    check_count(form.max_lost, "retry.max_lost", problems, least=1, most=limits.LOST_ASKED_MAX)
    base_ms = read_duration(form.base, "retry.base", problems, least_ms=0, most_ms=limits.RETRY_CAP_MS_MAX)
    cap_ms = read_duration(form.cap, "retry.cap", problems, least_ms=0, most_ms=limits.RETRY_CAP_MS_MAX)
    if form.backoff is Backoff.EXPONENTIAL and cap_ms < base_ms and not problems.touch("retry.cap"):
        problems.add("retry.cap", "must not be shorter than retry.base")
    return RetryPolicy(
        max_attempts=form.max_attempts, backoff=form.backoff, base_ms=base_ms, cap_ms=cap_ms, max_lost=form.max_lost
    )


def retry_form(policy: RetryPolicy) -> RetryForm:
    if policy == _RETRY:
        return DEFAULT_RETRY
    return RetryForm(
        max_attempts=policy.max_attempts,
        backoff=policy.backoff,
        base=format_duration(policy.base_ms),
        cap=format_duration(policy.cap_ms),
        max_lost=policy.max_lost,
    )


def to_misfire(form: MisfireForm, problems: Problems) -> Misfire:
    if form is DEFAULT_MISFIRE:
        return _MISFIRE
    check_count(form.cap, "misfire.cap", problems, least=1, most=limits.MISFIRE_CAP_MAX)
    window_ms = read_duration(form.window, "misfire.window", problems, least_ms=0, most_ms=limits.EVERY_MS_MAX)
    return Misfire(policy=form.policy, window_ms=window_ms, cap=form.cap)


def misfire_form(misfire: Misfire) -> MisfireForm:
    if misfire == _MISFIRE:
        return DEFAULT_MISFIRE
    return MisfireForm(policy=misfire.policy, window=format_duration(misfire.window_ms), cap=misfire.cap)
