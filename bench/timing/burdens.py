"""How fast two workers carry out what is ready: beside a large backlog, and while somebody's snapshot keeps every dead row."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

import asyncpg

from bench.lines import fill
from bench.programs import programs
from bench.report import Result, summed_up
from bench.timing.feeding import a_task
from bench.timing.installation import APP, a_server, an_installation, running
from bench.timing.lags import starts_count, starts_s, wait_until
from tests.support.postgres import PostgresServer

_WORKERS = 2
_WARM_UP = 5_000
"""Runs that are started before anything is counted."""
_BEFORE = 60_000
"""Runs that there are besides those that are counted: the first worker takes some before the others are there."""
_JOIN_S = 0.3
_WAITING_MOST = 30_000
"""What is kept waiting under a steady load: enough that no worker ever lacks anything."""
_TIMEOUT_S = 120.0


async def backlog_1m(*, quick: bool) -> list[Result]:
    """Drains of as many runs: with hardly more waiting than are counted, and with a million, in turns."""
    waiting, count, rounds = (100_000, 20_000, 1) if quick else (1_000_000, 60_000, 2)
    rates: dict[str, list[float]] = {"few": [], "many": []}
    with a_server() as (folder, server):
        for number in range(rounds):
            for name, written in (("few", _BEFORE + count), ("many", waiting)):
                own = folder / f"{name}{number}"
                own.mkdir()
                rates[name].append(await _drain(own, server, written, count))
    middle, spread = summed_up(rates["many"])
    floor, _ = summed_up(rates["few"])
    return [
        Result(
            name="backlog_1m",
            ours=middle,
            unit="runs/s",
            floor=floor,
            floor_is="with few waiting",
            spread=spread,
            wanted="at least 0.8 times as much",
            holds=middle >= 0.8 * floor,
            notes={"waiting": waiting, "counted": count},
        )
    ]


async def held_snapshot(*, quick: bool) -> list[Result]:
    """A steady load for as long without a snapshot and with one: what is started in the last of that time. What was started first is told
    too: history grows, checkpoints come, with and without a snapshot."""
    held_s, counted_s = (5, 3) if quick else (300, 30)
    with a_server() as (folder, server):
        free_first, free = await _steady(folder, server, held_s, counted_s, held=False)
        held_first, held = await _steady(folder, server, held_s, counted_s, held=True)
    return [
        Result(
            name="held_snapshot",
            ours=held,
            unit="runs/s",
            floor=free,
            floor_is="after as long without a snapshot",
            wanted="at least 0.95 times as much",
            holds=held >= 0.95 * free,
            notes={
                "held for s": held_s,
                "counted in the last s": counted_s,
                "runs/s at first, without": free_first,
                "runs/s at first, before the snapshot": held_first,
            },
        )
    ]


async def _drain(folder: Path, server: PostgresServer, written: int, count: int) -> float:
    """Starts a second, of `count` from when all workers are there. A worker starts no more than it ends, but for its slots."""
    async with an_installation(server, folder.name) as installation:
        await fill(installation.store, written, a_task)
        await installation.settle()
        with running(folder, installation.dsn) as start:
            for _ in range(_WORKERS):
                start("worker", "--app", APP)
            await asyncio.sleep(_JOIN_S)
            first = starts_count(folder)
            last = min(first + count, written) - 1
            await wait_until(lambda: starts_count(folder) > last, timeout_s=_TIMEOUT_S)
        starts = sorted(starts_s(folder))[first : last + 1]
    return len(starts) / (starts[-1] - starts[0])


async def _steady(
    folder: Path, server: PostgresServer, held_s: int, counted_s: int, *, held: bool
) -> tuple[float, float]:
    """Starts a second at first, and at the end of a time in which a snapshot was held, or none."""
    name = "held" if held else "free"
    own = folder / name
    own.mkdir()
    async with an_installation(server, name) as installation:
        await fill(installation.store, _WAITING_MOST, a_task)
        await installation.settle()
        feeder = ("bench.timing.feeding", installation.dsn, str(own), str(_WAITING_MOST))
        async with programs(feeder) as (feeding,):
            with running(own, installation.dsn) as start:
                # Their registrations, leases and retired runs are cleaned up after by a scheduler, as everywhere.
                start("scheduler")
                for _ in range(_WORKERS):
                    start("worker", "--app", APP)
                feeding.go()
                await wait_until(lambda: starts_count(own) > _WARM_UP, timeout_s=_TIMEOUT_S)
                first = await _rate(own, counted_s)
                async with _snapshot(installation.dsn) if held else nullcontext():
                    await asyncio.sleep(held_s - counted_s)
                    return first, await _rate(own, counted_s)


async def _rate(folder: Path, seconds: int) -> float:
    """Starts a second, of the next seconds."""
    first, began_s = starts_count(folder), time.monotonic()
    await asyncio.sleep(seconds)
    return (starts_count(folder) - first) / (time.monotonic() - began_s)


@asynccontextmanager
async def _snapshot(dsn: str) -> AsyncIterator[None]:
    """A session that looked at something once, and did not end its transaction."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        await connection.fetchval("SELECT count(*) FROM dueline.jobs")
        yield
    finally:
        await connection.close()
