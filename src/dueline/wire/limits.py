"""Limits, as people write them: how many runs may be under way at once, and how many may start in a time. Of jobs, runs, queues, hosts."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from dueline.domain import limits
from dueline.domain.durations import format_duration
from dueline.domain.gates import Limit, Rate, Scope
from dueline.domain.instants import format_instant
from dueline.domain.job import Concurrency, Execution, StartRate
from dueline.domain.keys import key_problems
from dueline.domain.limiting import payload_of
from dueline.domain.texts import CONTROL
from dueline.domain.urls import authority, url_problem
from dueline.wire.labels import check_count, check_queue, read_duration
from dueline.wire.problems import Problems
from dueline.wire.reading import WHOLE

SCOPES = (Scope.HOST, Scope.QUEUE)
"""What limits are set for by themselves."""


class ConcurrencyForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many runs may be under way at once: of the job, or of all with the same key."""

    limit: int | UnsetType
    key: str | None = None


class RateForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many runs may start in a time, and how many of them at once; without `burst` all of them."""

    limit: int | UnsetType
    per: str = "PT1S"
    burst: int | None = None


class StartRateForm(RateForm, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rate of the job's runs, or of all with the same key."""

    key: str | None = None


class LimitInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a queue or a host may have: one of both at least."""

    concurrency: int | None = None
    rate: RateForm | None = None


class LimitView(msgspec.Struct, frozen=True, kw_only=True):
    """What is set for a queue or a host, and how many runs have a place there now."""

    scope: Scope
    name: str
    concurrency: int | None
    rate: RateForm | None
    running: int
    updated_at: str


def with_limits(
    execution: Execution,
    concurrency: ConcurrencyForm | int | None,
    rate: StartRateForm | None,
    problems: Problems,
    *,
    has_job: bool,
) -> Execution:
    """An execution with the limits that were asked for."""
    if concurrency is None and rate is None:
        return execution
    limited = msgspec.structs.replace(
        execution,
        concurrency=None if concurrency is None else _to_concurrency(concurrency, problems),
        rate=None if rate is None else StartRate(rate=_to_rate(rate, problems), key=rate.key),
    )
    if not problems.touch("target"):
        check_keys(limited, problems, has_job=has_job)
    return limited


def check_keys(execution: Execution, problems: Problems, *, has_job: bool) -> None:
    """Tell which keys cannot be filled from the payload."""
    of, payload = payload_of(execution)
    for field, asked in (("concurrency.key", execution.concurrency), ("rate.key", execution.rate)):
        if asked is None:
            continue
        if asked.key is None:
            if not has_job and not problems.touch(field):
                problems.add(field, "is required for a run without a job: runs with the same key share the limit")
        elif CONTROL.search(asked.key):
            problems.add(field, "must not hold control characters")
        else:
            for reason in key_problems(asked.key, payload=payload, of=of, has_job=has_job):
                problems.add(field, reason)


def concurrency_form(concurrency: Concurrency | None) -> ConcurrencyForm | None:
    return None if concurrency is None else ConcurrencyForm(limit=concurrency.limit, key=concurrency.key)


def start_rate_form(asked: StartRate | None) -> StartRateForm | None:
    if asked is None:
        return None
    rate = asked.rate
    return StartRateForm(limit=rate.count, per=format_duration(rate.period_ms), burst=rate.burst, key=asked.key)


def to_limit(scope: Scope, name: str, asked: LimitInput, problems: Problems) -> Limit:
    """The limit that was asked for. What is wrong is told to `problems`, and the caller must not go on before it has looked there."""
    if scope is Scope.HOST:
        name = name.lower()
        if reason := _host_problem(name):
            problems.add("name", reason)
    else:
        check_queue(name, problems, field="name")
    if asked.concurrency is None and asked.rate is None and not problems.found:
        problems.add(WHOLE, "must have concurrency, rate, or both")
    if asked.concurrency is not None:
        check_count(asked.concurrency, "concurrency", problems, least=1, most=limits.CONCURRENCY_MAX)
    rate = None if asked.rate is None else _to_rate(asked.rate, problems)
    return Limit(scope=scope, name=name, most=asked.concurrency, rate=rate)


def limit_view(limit: Limit, *, running: int) -> LimitView:
    rate = limit.rate
    return LimitView(
        scope=limit.scope,
        name=limit.name,
        concurrency=limit.most,
        rate=None
        if rate is None
        else RateForm(limit=rate.count, per=format_duration(rate.period_ms), burst=rate.burst),
        running=running,
        updated_at=format_instant(limit.updated_ms),
    )


def _to_concurrency(asked: ConcurrencyForm | int, problems: Problems) -> Concurrency:
    if isinstance(asked, int):
        check_count(asked, "concurrency", problems, least=1, most=limits.CONCURRENCY_MAX)
        return Concurrency(limit=asked)
    limit = 1 if asked.limit is UNSET else asked.limit
    check_count(limit, "concurrency.limit", problems, least=1, most=limits.CONCURRENCY_MAX)
    return Concurrency(limit=limit, key=asked.key)


def _to_rate(asked: RateForm, problems: Problems) -> Rate:
    limit = 1 if asked.limit is UNSET else asked.limit
    burst = limit if asked.burst is None else asked.burst
    check_count(limit, "rate.limit", problems, least=1, most=limits.RATE_LIMIT_MAX)
    if asked.burst is not None:
        check_count(burst, "rate.burst", problems, least=1, most=limits.RATE_LIMIT_MAX)
    period_ms = read_duration(
        asked.per, "rate.per", problems, least_ms=limits.RATE_PER_MS_MIN, most_ms=limits.RATE_PER_MS_MAX
    )
    if limit > period_ms * 1_000 and not problems.touch("rate"):
        problems.add("rate.limit", "must not be more than one in a microsecond")
    return Rate(limit, period_ms, burst)


def _host_problem(name: str) -> str | None:
    url = f"http://{name}/"
    if authority(url) != name:
        return "must be a host as it stands in URLs, with its port if it stands there too: api.example.com:8443"
    return url_problem(url)
