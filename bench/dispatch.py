"""Dispatch: what fairness and limits cost, and what they give."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from functools import partial
from statistics import quantiles

import msgspec

from bench.lines import TARGET, Bench, Hands, a_run, durable_postgres, fill, make_jobs
from bench.machine import Meter
from bench.measured import FLOOR, OURS, Contender, Measured, compared, in_turns, judged
from bench.report import Result
from dueline.domain.job import DEFAULT_PRIORITY, Concurrency, Execution
from dueline.domain.run import NewRun
from dueline.store.shapes import NewJob, Tenant

_PLAIN = Execution(target=TARGET)
_LINE = "line"
_POLL_S = 0.002


async def limits_pg(*, quick: bool) -> list[Result]:
    """A drain with 1,000 tenants of different weights and a limit on every tenth job, beside one with neither."""
    total = 5_000 if quick else 80_000
    limited = Execution(target=TARGET, concurrency=Concurrency(limit=10))
    async with durable_postgres(2) as (plain, fair):
        simple = await make_jobs(plain.store, [_PLAIN] * 1_000, tenant=lambda _: "one")
        executions = [limited if number % 10 == 0 else _PLAIN for number in range(1_000)]
        jobs = await make_jobs(fair.store, executions, tenant=lambda number: f"tenant-{number}")
        for number in range(1_000):
            await fair.store.put_tenant(Tenant(tenant=f"tenant-{number}", weight=float(1 + number % 3)))
        contenders: dict[str, Contender] = {
            FLOOR: lambda: _drain(plain, simple, total),
            OURS: lambda: _drain(fair, jobs, total),
        }
        found = await in_turns(contenders, rounds=1 if quick else 5, warm_up=not quick)
    return [judged(compared("dispatch_limits_pg", found, floor_is="one tenant, no limits"), of_floor=0.85)]


async def held_pg(*, quick: bool) -> list[Result]:
    """A drain of other jobs of the same queue beside very many held runs of one job with limit 1."""
    held, total = (5_000, 5_000) if quick else (100_000, 40_000)
    async with durable_postgres(2) as (empty, crowded):
        one = Execution(target=TARGET, concurrency=Concurrency(limit=1))
        stuck = await make_jobs(crowded.store, [one], tenant=lambda _: "stuck")
        await fill(crowded.store, held, _of(stuck))
        while (await crowded.store.queue_states())[0].ready:
            await crowded.hands.take(_LINE)
        contenders: dict[str, Contender] = {
            name: partial(
                _drain_and_sweep, bench, await make_jobs(bench.store, [_PLAIN] * 1_000, tenant=lambda _: "one"), total
            )
            for name, bench in ((FLOOR, empty), (OURS, crowded))
        }
        found = await in_turns(contenders, rounds=1 if quick else 3, warm_up=not quick)
    result = judged(compared("dispatch_held_pg", found, floor_is="nobody held"), of_floor=0.95)
    return [msgspec.structs.replace(result, notes=result.notes | {"held": held})]


async def shares_pg(*, quick: bool) -> list[Result]:
    """Two tenants with weights 1 and 3 that both saturate a line: who gets what in any five seconds."""
    light, window_s = (20_000, 0.5) if quick else (200_000, 5.0)
    async with durable_postgres() as (bench,):
        await bench.store.put_tenant(Tenant(tenant="heavy", weight=3.0))
        await fill(bench.store, light, _by("light"))
        await fill(bench.store, light * 3, _by("heavy"))
        await bench.vacuum()
        ended = await _drain_told(bench.hands, _LINE, light * 3, limit=100)
    share = _worst_share(ended, "heavy", 0.75, window_s=window_s)
    off = abs(share - 0.75) / 0.75
    return [
        Result(
            name="dispatch_shares_pg",
            ours=share,
            unit="of all",
            floor=0.75,
            floor_is="what weights 1 and 3 say",
            wanted=f"within 5 % in any {window_s:g} s",
            holds=off <= 0.05,
            notes={"furthest off": off, "runs": len(ended)},
        )
    ]


async def quiet_pg(*, quick: bool) -> list[Result]:
    """A tenant with ten runs a second, alone and beside one with very many waiting; and one urgent run behind all of them."""
    waiting, count = (100_000, 10) if quick else (1_000_000, 60)
    async with durable_postgres(2) as (empty, crowded):
        await fill(crowded.store, waiting, _by("noisy", priority=1))
        for bench in (empty, crowded):
            await bench.vacuum()
        urgent = a_run(await crowded.store.now_ms(), tenant="noisy", queue=_LINE, job_id=None, priority=9)
        await crowded.store.enqueue([urgent])
        batch = await crowded.hands.take(_LINE)
        place = next((number for number, claim in enumerate(batch) if claim.run_id == urgent.id), len(batch) + 1)
        await crowded.hands.end(batch)
        alone = await _lags_ms(empty, count)
        beside = await _lags_ms(crowded, count)
        (left,) = [state.ready for state in await crowded.store.queue_states()]
    lag_ms, alone_ms = quantiles(beside, n=20)[-1], quantiles(alone, n=20)[-1]
    return [
        Result(
            name="dispatch_quiet_pg",
            ours=lag_ms,
            unit="ms p95",
            floor=alone_ms,
            floor_is="alone",
            wanted="at most 2 times as much as alone, or 250 ms",
            holds=lag_ms <= max(2 * alone_ms, 250) and left > 0,
            notes={"waiting": waiting, "still waiting at the end": left, "worst ms": max(beside)},
        ),
        Result(
            name="dispatch_urgent_pg",
            ours=float(place),
            unit="place",
            wanted="in the next batch, and the others with it",
            holds=place < len(batch) and len(batch) > 1,
            notes={"waiting": waiting, "batch": len(batch)},
        ),
    ]


def _of(jobs: list[NewJob]) -> Callable[[int, int], NewRun]:
    """Runs of jobs in turn, each of its job's tenant."""

    def make(now_ms: int, number: int) -> NewRun:
        job = jobs[number % len(jobs)]
        return a_run(now_ms, tenant=job.tenant, queue=_LINE, job_id=job.id)

    return make


def _by(tenant: str, *, priority: int = DEFAULT_PRIORITY) -> Callable[[int, int], NewRun]:
    return lambda now_ms, _: a_run(now_ms, tenant=tenant, queue=_LINE, job_id=None, priority=priority)


async def _drain(bench: Bench, jobs: list[NewJob], total: int) -> Measured:
    """What was written for it, by this process; so what that costs is the cost of the store's code, and of the hands."""
    await fill(bench.store, total, _of(jobs))
    await bench.vacuum()
    meter = Meter([os.getpid()], server=bench.server.pid)
    await bench.hands.drain(_LINE, total)
    return meter.stop(total)


async def _drain_and_sweep(bench: Bench, jobs: list[NewJob], total: int) -> Measured:
    measured = await _drain(bench, jobs, total)
    # What the sweeper does every two seconds, whoever is held.
    await bench.store.free_held(limit=500)
    await bench.store.sweep_gates(limit=500)
    return measured


async def _drain_told(hands: Hands, queue: str, total: int, *, limit: int) -> list[tuple[float, str]]:
    """When runs of whom ended."""
    ended: list[tuple[float, str]] = []

    async def work() -> None:
        while len(ended) < total:
            claims = await hands.take(queue, limit=limit)
            await hands.end(claims)
            now_s = time.perf_counter()
            ended.extend((now_s, claim.tenant) for claim in claims)

    await asyncio.gather(work(), work())
    return sorted(ended)


def _worst_share(ended: list[tuple[float, str]], tenant: str, wanted: float, *, window_s: float) -> float:
    """What a tenant got in that window in which it is furthest from what it should get."""
    worst, first, mine = wanted, 0, 0
    for last, (now_s, whose) in enumerate(ended):
        mine += whose == tenant
        while ended[first][0] < now_s - window_s:
            mine -= ended[first][1] == tenant
            first += 1
        if now_s - ended[0][0] >= window_s:
            share = mine / (last - first + 1)
            if abs(share - wanted) > abs(worst - wanted):
                worst = share
    return worst


async def _lags_ms(bench: Bench, count: int) -> list[float]:
    """How long runs of a tenant that has few wait, while a worker takes whatever comes."""
    lags: list[float] = []

    async def work() -> None:
        while len(lags) < count:
            claims = await bench.hands.take(_LINE)
            lags.extend(float(claim.claimed_ms - claim.due_ms) for claim in claims if claim.tenant == "quiet")
            if claims:
                await bench.hands.end(claims)
            else:
                await asyncio.sleep(_POLL_S)

    async def ask() -> None:
        for _ in range(count):
            now_ms = await bench.store.now_ms()
            await bench.store.enqueue([a_run(now_ms, tenant="quiet", queue=_LINE, job_id=None)])
            await asyncio.sleep(0.1)

    await asyncio.gather(ask(), work(), work())
    return lags
