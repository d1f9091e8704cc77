"""How fast two workers carry out what is ready: beside a large backlog, and while somebody's snapshot keeps every dead row."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import msgspec

from bench.lines import a_run, fill
from bench.report import Result, summed_up
from bench.timing.installation import APP, a_server, an_installation, running
from bench.timing.lags import starts_count, starts_s, wait_until
from dueline.domain.job import DEFAULT_QUEUE, DEFAULT_TENANT, Execution, TaskTarget
from dueline.domain.run import NewRun
from dueline.store.postgres.store import PostgresStore
from tests.support.postgres import PostgresServer

_WORKERS = 2
_EXECUTION = Execution(target=TaskTarget(task="note", args={"customer": "c-123", "cents": 500}))
_SPEC = msgspec.json.encode(_EXECUTION).decode()
_WARM_UP = 5_000
"""Runs that are started before anything is counted."""
_BEFORE = 60_000
"""Runs that there are besides those that are counted: the first worker takes some before the others are there."""
_JOIN_S = 0.3
_WAITING_MOST = 30_000
"""What is kept waiting under a steady load: enough that no worker ever lacks anything."""
_TOP_UP = 5_000
_TIMEOUT_S = 120.0


async def backlog_1m(*, quick: bool) -> list[Result]:
    """Drains of as many runs: with hardly more waiting than are counted, and with a million, in turns."""
    waiting, count, rounds = (100_000, 20_000, 1) if quick else (1_000_000, 60_000, 3)
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
    """A steady load, without and with a session that keeps a snapshot: what was started in the last of the time that it was open."""
    held_s, counted_s = (10, 5) if quick else (300, 60)
    plain_s = held_s if quick else 120
    with a_server() as (folder, server):
        rates = []
        for name, seconds, held in (("plain", plain_s, False), ("held", held_s, True)):
            own = folder / name
            own.mkdir()
            rates.append(await _steady(own, server, seconds, counted_s, held=held))
    floor, ours = rates
    return [
        Result(
            name="held_snapshot",
            ours=ours,
            unit="runs/s",
            floor=floor,
            floor_is="without a snapshot",
            wanted="at least 0.95 times as much",
            holds=ours >= 0.95 * floor,
            notes={"held for s": held_s, "counted in the last s": counted_s},
        )
    ]


async def _drain(folder: Path, server: PostgresServer, written: int, count: int) -> float:
    """Starts a second, of `count` from when all workers are there. A worker starts no more than it ends, but for its slots."""
    async with an_installation(server, folder.name) as installation:
        await fill(installation.store, written, _run)
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


async def _steady(folder: Path, server: PostgresServer, seconds: int, counted_s: int, *, held: bool) -> float:
    async with an_installation(server, folder.name) as installation:
        await fill(installation.store, _WAITING_MOST, _run)
        await installation.settle()
        with running(folder, installation.dsn) as start:
            feeding = asyncio.create_task(_feed(installation.store, folder))
            try:
                # Their registrations, leases and retired runs are cleaned up after by a scheduler, as everywhere.
                start("scheduler")
                for _ in range(_WORKERS):
                    start("worker", "--app", APP)
                await wait_until(lambda: starts_count(folder) > _WARM_UP, timeout_s=_TIMEOUT_S)
                async with _snapshot(installation.dsn, held=held):
                    await asyncio.sleep(seconds)
                    last_s = max(starts_s(folder))
            finally:
                feeding.cancel()
                await asyncio.gather(feeding, return_exceptions=True)
        return sum(start_s > last_s - counted_s for start_s in starts_s(folder)) / counted_s


async def _feed(store: PostgresStore, folder: Path) -> None:
    """Keep as much waiting as there was."""
    written = _WAITING_MOST
    while True:
        if written - starts_count(folder) <= _WAITING_MOST - _TOP_UP:
            await fill(store, _TOP_UP, _run)
            written += _TOP_UP
        else:
            await asyncio.sleep(0.02)


@asynccontextmanager
async def _snapshot(dsn: str, *, held: bool) -> AsyncIterator[None]:
    """A session that looked at something once, and did not end its transaction; or one that has nothing open."""
    connection = await asyncpg.connect(dsn)
    try:
        if held:
            await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            await connection.fetchval("SELECT count(*) FROM dueline.jobs")
        yield
    finally:
        await connection.close()


def _run(now_ms: int, _number: int) -> NewRun:
    run = a_run(now_ms, tenant=DEFAULT_TENANT, queue=DEFAULT_QUEUE, job_id=None)
    return msgspec.structs.replace(run, spec=_SPEC, lane=_EXECUTION.lane)
