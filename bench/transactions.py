"""Runs that are enqueued in somebody's own transaction: how soon after its commit a worker calls."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

import asyncpg

from bench.databases import fresh_database, shared_server
from bench.report import Result
from tests.support.dueline import DuelineProcess, processes
from tests.support.target import Target


async def commit_pg(*, quick: bool) -> list[Result]:
    """Transactions at odd moments, with a scheduler and a worker that have nothing else to do, each a process of its own."""
    count = 20 if quick else 150
    async with fresh_database(shared_server()) as dsn:
        with TemporaryDirectory() as folder, processes() as started:
            took_ms = await _measured(Path(folder), dsn, started, count)
    late = quantiles(took_ms, n=20)[-1]
    return [
        Result(
            name="dispatch_commit_pg",
            ours=late,
            unit="ms p95",
            wanted="within 50 ms",
            holds=late <= 50,
            notes={"median ms": median(took_ms), "worst ms": max(took_ms), "commits": count},
        )
    ]


async def _measured(folder: Path, dsn: str, started: list[DuelineProcess], count: int) -> list[float]:
    for role in ("api", "scheduler", "worker"):
        arguments = ("--port", "0") if role == "api" else ()
        started.append(DuelineProcess(folder, role, role, *arguments, db=dsn))
        started[-1].wait_until_running()
    async with Target() as target:
        connection = await asyncpg.connect(dsn)
        try:
            return [await _took_ms(connection, target, number) for number in range(count + 5)][5:]
        finally:
            await connection.close()


async def _took_ms(connection: asyncpg.Connection[asyncpg.Record], target: Target, number: int) -> float:
    """From the moment in which the commit is known to be there to the call's arrival."""
    path = f"/{number}"
    async with connection.transaction():
        await connection.fetchval("SELECT dueline.enqueue(url => $1)", target.url + path)
    began_s = time.monotonic()
    await target.wait_for_hits(number + 1)
    took_ms = (target.hits_on(path)[0].monotonic_s - began_s) * 1000
    # Not in step with anybody's polling.
    await asyncio.sleep(0.02 + number % 7 * 0.023)
    return took_ms
