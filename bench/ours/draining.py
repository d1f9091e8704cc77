"""Drains of PostgreSQL by real worker processes: filled and paused, all of them there, then resumed.

Settings are the defaults, but that the one target may be on this machine and have all slots.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import asyncpg

from bench.databases import fresh_database
from bench.lines import fill
from bench.machine import Meter
from bench.measured import Measured
from bench.ours.runs import MakeRun, http_run, noop_run, task_run
from dueline.domain import limits
from dueline.domain.job import DEFAULT_QUEUE
from dueline.store.postgres.store import PostgresStore
from tests.support.dueline import DuelineProcess, processes
from tests.support.postgres import PostgresServer

_PROCESSES = 2
_JOIN_S_MAX = 30.0
_DRAIN_S_MAX = 120.0
_POLL_S = 0.02
_POLL_AT_END_S = 0.003
_LAST = "SELECT id FROM dueline.runs WHERE state = 'ready' ORDER BY queue DESC, lane DESC, rank DESC, id DESC LIMIT 1"
_WAITS = "SELECT 1 FROM dueline.runs WHERE id = $1 AND state = 'ready'"
_LEFT = "SELECT id FROM dueline.runs"
_STAYS = "SELECT id FROM dueline.runs WHERE id = ANY($1) LIMIT 1"
_ENDED = """
SELECT
    count(*) AS ended, count(*) FILTER (WHERE state = 'succeeded') AS succeeded,
    percentile_disc(0.5) WITHIN GROUP (ORDER BY finished_ms - claimed_ms) AS p50_ms,
    percentile_disc(0.99) WITHIN GROUP (ORDER BY finished_ms - claimed_ms) AS p99_ms
FROM dueline.history
"""

Look: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
StartWorker = Callable[[Path, str, str], DuelineProcess]
"""Gets a folder, a name and the address of the database."""


async def drain_noop_pg(server: PostgresServer, count: int) -> Measured:
    """Runs that end at once."""
    return await _drain(server, count, noop_run(), _noop_worker)


async def drain_http_pg(server: PostgresServer, count: int, *, url: str) -> Measured:
    return await _drain(server, count, http_run(url), _worker)


async def drain_task_pg(server: PostgresServer, count: int) -> Measured:
    return await _drain(server, count, task_run(), _worker_with_tasks)


def _noop_worker(folder: Path, name: str, dsn: str) -> DuelineProcess:
    return DuelineProcess(folder, name, "worker", _free_port(), db=dsn, module="bench.ours.noop")


def _worker(folder: Path, name: str, dsn: str) -> DuelineProcess:
    return DuelineProcess(folder, name, "worker", "--health-port", _free_port(), db=dsn)


def _worker_with_tasks(folder: Path, name: str, dsn: str) -> DuelineProcess:
    arguments = ("--app", "bench.ours.task_app:app", "--health-port", _free_port())
    return DuelineProcess(folder, name, "worker", *arguments, db=dsn)


async def _drain(server: PostgresServer, count: int, make: MakeRun, start: StartWorker) -> Measured:
    async with fresh_database(server) as dsn, filled(dsn, count, make) as (store, look):
        await store.pause_queue(DEFAULT_QUEUE, note=None)
        with TemporaryDirectory() as folder, processes() as started:
            started += [start(Path(folder), f"worker-{number}", dsn) for number in range(_PROCESSES)]
            await _joined(look, started)
            meter = Meter([process.pid for process in started], server=server.pid)
            await store.resume_queue(DEFAULT_QUEUE)
            await _drained(look)
            measured = meter.stop(count)
        ended = await look.fetchrow(_ENDED)
    assert ended is not None
    assert ended["succeeded"] == count, f"{ended['succeeded']} of {count} succeeded, {ended['ended']} ended"
    return measured.noting({"claim to finish p50 ms": ended["p50_ms"], "claim to finish p99 ms": ended["p99_ms"]})


@asynccontextmanager
async def migrated_store(dsn: str) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(dsn)
    await store.open()
    try:
        await store.migrate()
        await store.prepare_history(days_ahead=limits.HISTORY_DAYS_AHEAD)
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def filled(dsn: str, count: int, make: MakeRun) -> AsyncIterator[tuple[PostgresStore, Look]]:
    """A store with so many ready runs, as clean as it can be, and a connection to look into it."""
    async with migrated_store(dsn) as store:
        await fill(store, count, make)
        look = await asyncpg.connect(dsn)
        try:
            await look.execute("VACUUM ANALYZE")
            await look.execute("CHECKPOINT")
            yield store, look
        finally:
            await look.close()


async def _joined(look: Look, started: Sequence[DuelineProcess]) -> None:
    """Wait until all of them are members, and have had a first look at what there is to do."""
    for process in started:
        await asyncio.to_thread(process.wait_until_running)
    deadline_s = time.monotonic() + _JOIN_S_MAX
    while await look.fetchval("SELECT count(*) FROM dueline.nodes") < len(started):
        assert time.monotonic() < deadline_s, "the workers do not join"
        await asyncio.sleep(_POLL_S)


async def _drained(look: Look) -> None:
    """Wait until the last run has ended for good.

    Runs that are gone leave entries behind, and who walks through them again and again takes from the processors what is measured. So what
    is asked often is about runs that were there: about the last in line, and then about those that are left when it was taken.
    """
    deadline_s = time.monotonic() + _DRAIN_S_MAX
    waits, stays = await look.prepare(_WAITS), await look.prepare(_STAYS)
    last = await look.fetchval(_LAST)
    while await waits.fetchval(last):
        await _pause(_POLL_S, deadline_s)
    while left := [row["id"] for row in await look.fetch(_LEFT)]:
        while await stays.fetchval(left):
            await _pause(_POLL_AT_END_S, deadline_s)


async def _pause(seconds: float, deadline_s: float) -> None:
    assert time.monotonic() < deadline_s, "the drain does not end"
    await asyncio.sleep(seconds)


def _free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])
