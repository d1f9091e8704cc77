"""What there may be more of: for each, databases that differ in that alone, side by side, measured in turns."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

from bench.growth.costs import Cost
from bench.growth.curves import Curve, Growth, curves_of, measured_curve
from bench.growth.finished import ask_for_runs, write_finished
from bench.growth.hotpath import QUEUE, HotPath
from bench.growth.lists import PAGE_MS_MOST, ask_for_jobs, scheduler_mb, write_rare
from bench.lines import TARGET, Bench, a_run, durable_postgres, fill
from bench.timing.jobs import write_jobs, write_likenesses
from dueline.domain.job import DEFAULT_TENANT, Execution
from dueline.domain.run import NewRun
from dueline.domain.schedule import Cron, Every, Schedule
from dueline.store.shapes import Tenant

_DAY_MS = 86_400_000
_WINDOW_MS = 600_000
"""How long it takes until every job was due once, whatever their number."""
_MANY = 10_000
"""Jobs and waiting runs where their number is not what is looked at."""
_FEW = 1_000
"""The same, where it is enough to see that everything works."""
_EXECUTION = Execution(target=TARGET)
_PAGES = 8
_ROUNDS = 5

Fill = Callable[[Bench, int], Awaitable[None]]
Ask = Callable[[Bench], Awaitable[Mapping[str, float]]]
"""Figures that are taken once, each with its name and its unit: `page of jobs, ms`."""


async def jobs(*, quick: bool) -> Growth:
    sizes = (1_000, 3_000) if quick else (1_000, 10_000, 100_000, 1_000_000, 10_000_000)

    async def write(bench: Bench, count: int) -> None:
        await write_rare(bench.store)
        await write_scattered_jobs(bench, count)

    async def ask(bench: Bench) -> dict[str, float]:
        return {
            **await ask_for_jobs(bench.store),
            "scheduler, MB": await scheduler_mb(bench.dsn, settle_s=0.5 if quick else 3.0),
        }

    return await _grow("jobs", "jobs with a schedule", sizes, write, quick=quick, ask=ask)


async def backlog(*, quick: bool) -> Growth:
    sizes = (1_000, 3_000) if quick else (1_000, 10_000, 100_000, 1_000_000)

    async def write(bench: Bench, count: int) -> None:
        await write_scattered_jobs(bench, _FEW if quick else _MANY)
        await fill(bench.store, count, _run)

    return await _grow("backlog", "runs that wait in the line", sizes, write, quick=quick)


async def history(*, quick: bool) -> Growth:
    sizes = (1_000, 3_000) if quick else (10_000, 100_000, 1_000_000, 10_000_000)

    async def write(bench: Bench, count: int) -> None:
        await write_scattered_jobs(bench, _FEW if quick else _MANY)
        await write_finished(bench, count)

    return await _grow("history", "finished runs of this day", sizes, write, quick=quick, ask=ask_for_runs)


async def tenants(*, quick: bool) -> Growth:
    sizes = (1, 100) if quick else (1, 10, 100, 1_000, 10_000)
    each = _FEW if quick else _MANY

    async def write(bench: Bench, count: int) -> None:
        def tenant(number: int) -> str:
            return f"tenant-{number % count}"

        for number in range(min(count, 1_000)):
            await bench.store.put_tenant(Tenant(tenant=tenant(number), weight=float(1 + number % 3)))
        at_ms = await bench.store.now_ms() + _DAY_MS
        schedules = [
            Every(period_ms=_WINDOW_MS, anchor_ms=at_ms + number * _WINDOW_MS // each) for number in range(each)
        ]
        await write_jobs(bench.store, _EXECUTION, schedules, name="job", tenant=tenant)
        await fill(
            bench.store,
            each,
            lambda now_ms, number: a_run(now_ms, tenant=tenant(number), queue=QUEUE, job_id=None),
        )

    return await _grow("tenants", "tenants that stand in line and have jobs, in turn", sizes, write, quick=quick)


async def schedules(*, quick: bool) -> Growth:
    sizes = (1, 100) if quick else (1, 10, 100, 1_000, 10_000, 100_000)
    each = _FEW if quick else _MANY

    async def write(bench: Bench, count: int) -> None:
        distinct = [Cron(expression=_time_of_day(number), timezone="Europe/Berlin") for number in range(count)]
        some: list[Schedule] = [distinct[number % count] for number in range(max(each, count))]
        await write_jobs(bench.store, _EXECUTION, some, name="job")

    of = f"distinct cron expressions of {each:,} jobs, or of as many as there are expressions"
    # Each of these jobs fires before anything is counted, as in a process that has run for a while. Where there are more of them, nobody
    # would keep what all of their expressions mean.
    return await _grow("schedules", of, sizes, write, quick=quick, warm_up=each // 700)


async def _grow(
    name: str,
    of: str,
    sizes: Sequence[int],
    write: Fill,
    *,
    quick: bool,
    ask: Ask | None = None,
    warm_up: int = _PAGES,
) -> Growth:
    began_s = time.monotonic()
    pages, rounds = (1, 1) if quick else (_PAGES, _ROUNDS)
    found: dict[int, list[dict[str, Cost]]] = {size: [] for size in sizes}
    asked: dict[int, Mapping[str, float]] = {}
    async with durable_postgres(len(sizes)) as benches:
        paths: dict[int, HotPath] = {}
        for size, bench in zip(sizes, benches, strict=True):
            await write(bench, size)
            paths[size] = HotPath(bench)
            await paths[size].begin()
            await paths[size].round(1 if quick else warm_up)
            print(f"    {name}: {size:,} after {time.monotonic() - began_s:.0f} s", flush=True)
        for _ in range(rounds):
            for size, path in paths.items():
                found[size].append(await path.round(pages))
        if ask is not None:
            asked = {size: await ask(path.bench) for size, path in paths.items()}
    curves = (*curves_of(found), *_asked_curves(asked))
    return Growth(name=name, of=of, curves=curves, seconds=time.monotonic() - began_s)


def _asked_curves(asked: Mapping[int, Mapping[str, float]]) -> list[Curve]:
    curves = []
    for name in next(iter(asked.values()), {}):
        what, unit = name.rsplit(", ", 1)
        values = {size: figures[name] for size, figures in asked.items()}
        curves.append(measured_curve(what, unit, values, most=PAGE_MS_MOST if unit == "ms" else None))
    return curves


async def write_scattered_jobs(bench: Bench, count: int, execution: Execution = _EXECUTION) -> None:
    """As many in every moment as in any other; which ones, nobody can tell from where they lie."""
    first = Every(period_ms=_WINDOW_MS, anchor_ms=await bench.store.now_ms() + _DAY_MS)
    await write_likenesses(
        bench.dsn,
        bench.store,
        execution,
        first,
        count,
        name="other",
        step_ms=_WINDOW_MS / count,
        scattered=True,
    )


def _run(now_ms: int, _number: int) -> NewRun:
    return a_run(now_ms, tenant=DEFAULT_TENANT, queue=QUEUE, job_id=None)


def _time_of_day(number: int) -> str:
    """No two the same: every second of all days, and then of working days."""
    days = "*" if number < 86_400 else "1-5"
    return f"{number % 60} {number // 60 % 60} {number // 3_600 % 24} * * {days}"
