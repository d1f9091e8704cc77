"""Dispatch: what fairness and limits cost, and what they give."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from statistics import quantiles

from bench.lines import TARGET, Bench, Hands, a_run, durable_postgres, fill, make_jobs
from bench.report import Result, summed_up
from dueline.domain.job import Concurrency, Execution
from dueline.domain.run import NewRun
from dueline.store.shapes import NewJob, Tenant

_PLAIN = Execution(target=TARGET)
_POLL_S = 0.002


async def limits_pg(*, quick: bool) -> list[Result]:
    """A drain with 1,000 tenants of different weights and a limit on every tenth job, beside one with neither."""
    total, rounds = (5_000, 2) if quick else (20_000, 9)
    limited = Execution(target=TARGET, concurrency=Concurrency(limit=10))
    async with durable_postgres() as (bench,):
        store = bench.store
        plain = await make_jobs(store, [_PLAIN] * 1_000, tenant=lambda _: "one")
        executions = [limited if number % 10 == 0 else _PLAIN for number in range(1_000)]
        jobs = await make_jobs(store, executions, tenant=lambda number: f"tenant-{number}")
        for number in range(1_000):
            await store.put_tenant(Tenant(tenant=f"tenant-{number}", weight=float(1 + number % 3)))
        rates: dict[str, list[float]] = {"floor": [], "ours": []}
        for round_number in range(rounds + 1):
            for name, some in (("floor", plain), ("ours", jobs)):
                rates[name].append(await _rate(bench, f"{name}-{round_number}", some, total))
    return [_compared("dispatch_limits_pg", rates, floor_is="one tenant, no limits", least=0.85)]


async def held_pg(*, quick: bool) -> list[Result]:
    """A drain of other jobs of the same queue beside very many held runs of one job with limit 1."""
    held, total, rounds = (5_000, 5_000, 2) if quick else (100_000, 20_000, 9)
    async with durable_postgres(2) as (empty, crowded):
        jobs = {
            name: await make_jobs(bench.store, [_PLAIN] * 1_000, tenant=lambda _: "one")
            for name, bench in (("floor", empty), ("ours", crowded))
        }
        one = Execution(target=TARGET, concurrency=Concurrency(limit=1))
        stuck = await make_jobs(crowded.store, [one], tenant=lambda _: "stuck")
        await fill(crowded.store, held, _of(stuck, "line"))
        while (await crowded.store.queue_states())[0].ready:
            await crowded.hands.take("line")
        rates: dict[str, list[float]] = {"floor": [], "ours": []}
        for _ in range(rounds + 1):
            for name, bench in (("floor", empty), ("ours", crowded)):
                rates[name].append(await _rate(bench, "line", jobs[name], total))
                # What the sweeper does every two seconds, whoever is held.
                await bench.store.free_held(limit=500)
                await bench.store.sweep_gates(limit=500)
    return [_compared("dispatch_held_pg", rates, floor_is="nobody held", least=0.95, notes={"held": held})]


async def shares_pg(*, quick: bool) -> list[Result]:
    """Two tenants with weights 1 and 3 that both saturate a line: who gets what in any five seconds."""
    light, window_s = (20_000, 0.5) if quick else (250_000, 5.0)
    async with durable_postgres() as (bench,):
        await bench.store.put_tenant(Tenant(tenant="heavy", weight=3.0))
        await fill(bench.store, light, _by("light", "line"))
        await fill(bench.store, light * 3, _by("heavy", "line"))
        await bench.vacuum()
        ended = await _drain_told(bench.hands, "line", light * 3, limit=100)
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
    waiting, count = (100_000, 10) if quick else (1_000_000, 100)
    async with durable_postgres(2) as (empty, crowded):
        await fill(crowded.store, waiting, _by("noisy", "line", priority=1))
        for bench in (empty, crowded):
            await bench.vacuum()
        urgent = a_run(await crowded.store.now_ms(), tenant="noisy", queue="line", job_id=None, priority=9)
        await crowded.store.enqueue([urgent])
        batch = await crowded.hands.take("line")
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


def _of(jobs: list[NewJob], queue: str) -> Callable[[int, int], NewRun]:
    """Runs of jobs in turn, each of its job's tenant."""

    def make(now_ms: int, number: int) -> NewRun:
        job = jobs[number % len(jobs)]
        return a_run(now_ms, tenant=job.tenant, queue=queue, job_id=job.id)

    return make


def _by(tenant: str, queue: str, *, priority: int = 5) -> Callable[[int, int], NewRun]:
    return lambda now_ms, _: a_run(now_ms, tenant=tenant, queue=queue, job_id=None, priority=priority)


async def _rate(bench: Bench, queue: str, jobs: list[NewJob], total: int) -> float:
    """Runs a second of one drain, of what was written for it."""
    await fill(bench.store, total, _of(jobs, queue))
    await bench.vacuum()
    began_s = time.perf_counter()
    await bench.hands.drain(queue, total)
    return total / (time.perf_counter() - began_s)


def _compared(
    name: str, rates: dict[str, list[float]], *, floor_is: str, least: float, notes: dict[str, float] | None = None
) -> Result:
    """Rounds of both, one after the other; the first is for warming up."""
    middle, spread = summed_up(rates["ours"][1:])
    floor, _ = summed_up(rates["floor"][1:])
    return Result(
        name=name,
        ours=middle,
        unit="runs/s",
        floor=floor,
        floor_is=floor_is,
        spread=spread,
        wanted=f"at least {least:.2f}",
        holds=middle >= least * floor,
        notes=notes or {},
    )


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
            claims = await bench.hands.take("line")
            lags.extend(float(claim.claimed_ms - claim.due_ms) for claim in claims if claim.tenant == "quiet")
            if claims:
                await bench.hands.end(claims)
            else:
                await asyncio.sleep(_POLL_S)

    async def ask() -> None:
        for _ in range(count):
            now_ms = await bench.store.now_ms()
            await bench.store.enqueue([a_run(now_ms, tenant="quiet", queue="line", job_id=None)])
            await asyncio.sleep(0.1)

    await asyncio.gather(ask(), work(), work())
    return lags
