"""Retry and misfire policies, as people write them: durations are ISO 8601, `15m` is read as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from dueline.domain import limits
from dueline.domain.durations import format_duration
from dueline.domain.planning import Misfire, MisfirePolicy
from dueline.domain.retry import GONE, Backoff, Conditions, RetryPolicy
from dueline.domain.run import OutcomeKind
from dueline.domain.statuses import Statuses, read_status, write_statuses
from dueline.wire.labels import check_count, read_duration
from dueline.wire.problems import Problems

_RETRY = RetryPolicy()
_MISFIRE = Misfire()
_KINDS = {"timeout": OutcomeKind.TIMED_OUT, "connection": OutcomeKind.UNREACHABLE, "error": OutcomeKind.ERRORED}
_WORDS = {kind: word for word, kind in _KINDS.items()}
_A_STATUS = 'a status such as 503, "5xx" or "500-504"'


class RetryForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, repr_omit_defaults=True):
    """When a failed attempt is tried again. `max_lost` counts workers that vanished, apart from `max_attempts`.

    `retry_on` and `never_on` name statuses, and ends without an answer: `timeout`, `connection`, `error`.
    """

    max_attempts: int = _RETRY.max_attempts
    backoff: Backoff = _RETRY.backoff
    base: str = format_duration(_RETRY.base_ms)
    cap: str = format_duration(_RETRY.cap_ms)
    delays: list[str] = []
    max_elapsed: str | None = None
    max_lost: int = _RETRY.max_lost
    retry_on: list[int | str] | None = None
    never_on: list[int | str] = []


class MisfireForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, repr_omit_defaults=True):
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
    max_elapsed_ms = None
    if form.max_elapsed is not None:
        max_elapsed_ms = read_duration(
            form.max_elapsed, "retry.max_elapsed", problems, least_ms=0, most_ms=limits.RETRY_ELAPSED_MS_MAX
        )
    return RetryPolicy(
        max_attempts=form.max_attempts,
        backoff=form.backoff,
        base_ms=base_ms,
        cap_ms=cap_ms,
        delays_ms=_read_delays(form, problems),
        max_elapsed_ms=max_elapsed_ms,
        max_lost=form.max_lost,
        retry_on=None if form.retry_on is None else _read_conditions(form.retry_on, "retry.retry_on", problems),
        never_on=_read_conditions(form.never_on, "retry.never_on", problems) if form.never_on else None,
    )


def retry_form(policy: RetryPolicy) -> RetryForm:
    if policy == _RETRY:
        return DEFAULT_RETRY
    return RetryForm(
        max_attempts=policy.max_attempts,
        backoff=policy.backoff,
        base=format_duration(policy.base_ms),
        cap=format_duration(policy.cap_ms),
        delays=[format_duration(delay_ms) for delay_ms in policy.delays_ms],
        max_elapsed=None if policy.max_elapsed_ms is None else format_duration(policy.max_elapsed_ms),
        max_lost=policy.max_lost,
        retry_on=None if policy.retry_on is None else _write_conditions(policy.retry_on),
        never_on=[] if policy.never_on is None else _write_conditions(policy.never_on),
    )


def read_statuses(terms: Sequence[int | str], field: str, problems: Problems) -> Statuses:
    """Statuses as ranges; a term that names none is told by its place."""
    return _read_terms(terms, field, problems, otherwise=f"must be {_A_STATUS}").statuses


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


def _read_delays(form: RetryForm, problems: Problems) -> tuple[int, ...]:
    if form.backoff is not Backoff.LIST:
        if form.delays:
            problems.add("retry.delays", "is for the backoff list only")
        return ()
    if not 1 <= len(form.delays) <= limits.ATTEMPTS_MAX:
        problems.add("retry.delays", f"must be 1 to {limits.ATTEMPTS_MAX} durations, for the backoff list")
        return ()
    return tuple(
        read_duration(delay, f"retry.delays[{index}]", problems, least_ms=0, most_ms=limits.RETRY_CAP_MS_MAX)
        for index, delay in enumerate(form.delays)
    )


def _read_conditions(terms: Sequence[int | str], field: str, problems: Problems) -> Conditions:
    otherwise = f"must be {_A_STATUS}, or one of {', '.join(_KINDS)}"
    return _read_terms(terms, field, problems, otherwise=otherwise, words=_KINDS)


def _read_terms(
    terms: Sequence[int | str],
    field: str,
    problems: Problems,
    *,
    otherwise: str,
    words: Mapping[str, OutcomeKind] = MappingProxyType({}),
) -> Conditions:
    if len(terms) > limits.STATUSES_MAX:
        problems.add(field, f"must be at most {limits.STATUSES_MAX}")
        return Conditions()
    statuses, kinds = [], []
    for index, term in enumerate(terms):
        status = read_status(term)
        if words and status == (GONE, GONE) and field.endswith("retry_on"):
            problems.add(f"{field}[{index}]", "410 is never tried again: the target says that it is gone for good")
        elif status is not None:
            statuses.append(status)
        elif term in words:
            kinds.append(words[str(term)])
        elif term == "lost" and words:
            problems.add(f"{field}[{index}]", "lost is for max_lost to decide")
        else:
            problems.add(f"{field}[{index}]", otherwise)
    return Conditions(tuple(statuses), tuple(kinds))


def _write_conditions(conditions: Conditions) -> list[int | str]:
    return [*write_statuses(conditions.statuses), *[_WORDS[kind] for kind in conditions.kinds]]
