"""Recurring jobs, very many of them due every second, from their schedules to the target: half as many as the same machine drains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec

from bench.machine import used_by, used_by_server
from bench.ours.draining import drain_http_pg
from bench.report import Result
from bench.target import Lag, Target, a_target
from bench.timing.installation import a_server, an_installation, running
from bench.timing.jobs import write_jobs
from bench.timing.lags import check_ahead, patiently, quantile, sleep_until_ms
from dueline.domain.job import Execution, HttpTarget
from dueline.domain.schedule import Cron, Every, Schedule
from tests.support.postgres import PostgresServer

RATE = 10_000
"""Occurrences a second, at least."""
_OF_DRAIN = 0.5
_DRAIN = 40_000
"""Runs of the drain that tells what the machine can do at this hour."""
_STEP = 100
_PERIOD_S = 5
"""Jobs of so many seconds of twice the rate are as many as a process keeps in memory. What the others cost is measured by growth."""
_CRON_S = 20
_WRITTEN_PER_S = 6_000
"""Jobs a second that are written at least: so much later everything begins."""
_START_S = 5.0
_LATE_S = 5.0
"""How long the last ones are waited for. What has not come by then is late by as much."""
_LAG_MS = 250.0
_LAG_OF_CRON_MS = 1_000.0
"""What the product promises for very many of one instant. Half of what is drained in a second, all due at once, takes half a second to
drain: 95 of 100 cannot be there before 475 ms."""
_GROWTH_MS = 250.0


async def http_pg(*, quick: bool) -> list[Result]:
    """Jobs of every five seconds that take turns, and then jobs of every second."""
    seconds, period_s = (3, 3) if quick else (60, _PERIOD_S)
    with a_server() as (folder, server):
        drained = await _drained_per_s(server, quick=quick)
        rate = 1_000 if quick else max(RATE, math.ceil(_OF_DRAIN * drained / _STEP) * _STEP)
        results = [await patiently(folder, partial(_fire, server, "fire_http_pg", period_s, rate, seconds))]
        if not quick:
            results.append(await patiently(folder, partial(_fire, server, "fire_http_cron_pg", None, rate, _CRON_S)))
        return [_beside(result, drained) for result in results]


async def _drained_per_s(server: PostgresServer, *, quick: bool) -> float:
    """What the machine drains at this hour, after one drain to warm up."""
    with a_target() as target:
        count = 3_000 if quick else _DRAIN
        await drain_http_pg(server, count, url=target.url)
        return (await drain_http_pg(server, count, url=target.url)).rate


def _beside(result: Result, drained: float) -> Result:
    return msgspec.structs.replace(
        result, notes=result.notes | {"drained a second": drained, "of what is drained": result.ours / drained}
    )


async def _fire(
    server: PostgresServer, name: str, period_s: int | None, rate: int, seconds: int, folder: Path, patience: float
) -> Result:
    """Without a period they are jobs of every second, by cron."""
    async with an_installation(server, name) as installation:
        with a_target(folder) as target, running(folder, installation.dsn) as start:
            count = rate * (period_s or 1)
            now_ms = await installation.store.now_ms()
            first_ms = now_ms // 1000 * 1000 + int((count / _WRITTEN_PER_S + _START_S) * patience * 1000)
            schedules = every_so_often(count, first_ms, period_s) if period_s else every_second(count, first_ms)
            execution = Execution(target=HttpTarget(url=target.url, body={"customer": "c-123", "cents": 500}))
            await write_jobs(installation.store, execution, schedules, name="job")
            await installation.settle()
            pids = [start(role).pid for role in ("scheduler", "worker", "worker")]
            check_ahead(first_ms)
            await sleep_until_ms(first_ms)
            began = (used_by(pids), *used_by_server(server), used_by([target.pid]))
            await sleep_until_ms(first_ms + seconds * 1000)
            ended = (used_by(pids), *used_by_server(server), used_by([target.pid]))
            await sleep_until_ms(first_ms + (seconds + _LATE_S) * 1000)
            result = _judged(name, target, rate, first_ms, seconds, lag_ms=_LAG_MS if period_s else _LAG_OF_CRON_MS)
    used = zip(("processes", "server, for them", "server, itself", "target"), ended, began, strict=True)
    result.notes.update({f"cores: {who}": after.since(before) / seconds for who, after, before in used})
    return result


def every_so_often(count: int, first_ms: int, period_s: int) -> Sequence[Schedule]:
    """Every so many seconds, each a bit after the one before it, so that in every millisecond as many are due as in any other."""
    period_ms = period_s * 1000
    return [Every(period_ms=period_ms, anchor_ms=first_ms + number * period_ms // count) for number in range(count)]


def every_second(count: int, first_ms: int) -> Sequence[Schedule]:
    return [Cron(expression="* * * * * *", start_ms=first_ms)] * count


def _judged(name: str, target: Target, rate: int, first_ms: int, seconds: int, *, lag_ms: float) -> Result:
    """What came of what was due in that time; what came not at all counts as late as can be."""
    last_ms = first_ms + seconds * 1000
    came = [lag for lag in target.lags() if first_ms <= lag.scheduled_ms < last_ms]
    missing = rate * seconds - len(came)
    lags_ms = [lag.lag_ms for lag in came] + [_LATE_S * 1000] * missing
    late_ms = quantile(lags_ms, 0.95)
    growth_ms = _late_ms(came, last_ms - seconds * 250, last_ms) - _late_ms(came, first_ms, first_ms + seconds * 500)
    on_time = sum(lag.scheduled_ms + lag.lag_ms < last_ms for lag in came)
    notes = {
        "due a second": rate,
        "lag p50 ms": quantile(lags_ms, 0.50),
        "lag p95 ms": late_ms,
        "lag p99 ms": quantile(lags_ms, 0.99),
        "least lag ms": min(lags_ms),
        "lag p95 in the last quarter less that of the first half, ms": growth_ms,
        f"not there after {_LATE_S:g} s": missing,
    }
    return Result(
        name=name,
        ours=on_time / seconds,
        unit="runs/s",
        floor=float(rate),
        floor_is="due",
        wanted=f"no growing lag, p95 at most {lag_ms:g} ms, none early",
        holds=late_ms <= lag_ms and growth_ms <= _GROWTH_MS and not missing and min(lags_ms) >= 0,
        notes=notes,
    )


def _late_ms(lags: list[Lag], since_ms: float, until_ms: float) -> float:
    some = [lag.lag_ms for lag in lags if since_ms <= lag.scheduled_ms < until_ms]
    return quantile(some, 0.95) if some else _LATE_S * 1000
