"""Drains of SQLite by a real `serve`: filled and paused, then resumed through its API, and watched from outside."""

from __future__ import annotations

import asyncio
import time
import urllib.request
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from bench.lines import fill
from bench.machine import Meter
from bench.measured import Measured
from bench.ours.runs import MakeRun, http_run, noop_run
from dueline.domain.job import DEFAULT_QUEUE
from dueline.runtime.clock import SystemClock
from dueline.store.sqlite.store import SqliteStore
from tests.support.dueline import DuelineProcess, processes
from tests.support.keys import AUTHORIZED

_DRAIN_S_MAX = 120.0
_POLL_S = 0.01
_UNSETTLED = "SELECT 1 FROM shards WHERE tzdata = '' LIMIT 1"
"""The first owner of a file adopts the rules of the time zones, shard by shard; each is a commit."""
_LEFT = "SELECT 1 FROM runs LIMIT 1"


async def drain_noop_sqlite(count: int) -> Measured:
    return await _drain(count, noop_run(), module="bench.ours.noop", arguments=("serve", "0"))


async def drain_http_sqlite(count: int, *, url: str) -> Measured:
    return await _drain(count, http_run(url), module="dueline", arguments=("serve", "--port", "0"))


async def _drain(count: int, make: MakeRun, *, module: str, arguments: tuple[str, ...]) -> Measured:
    with TemporaryDirectory() as folder, processes() as started:
        path = Path(folder) / "ours.db"
        await _fill(path, count, make)
        started.append(DuelineProcess(Path(folder), "serve", *arguments, db=str(path), module=module))
        url = await asyncio.to_thread(started[0].wait_until_running)
        look = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        await _none(look, _UNSETTLED, "the process does not settle")
        meter = Meter([started[0].pid])
        await asyncio.to_thread(_resume, f"{url}/v1/queues/{DEFAULT_QUEUE}/resume")
        await _none(look, _LEFT, "the drain does not end")
        measured = meter.stop(count)
        (ended,) = look.execute("SELECT count(*) FROM history WHERE state = 'succeeded'").fetchall()
        look.close()
    assert ended == (count,), f"{ended[0]} of {count} succeeded"
    return measured


async def _fill(path: Path, count: int, make: MakeRun) -> None:
    store = SqliteStore(path, SystemClock())
    await store.open()
    try:
        await store.migrate()
        await fill(store, count, make)
        await store.pause_queue(DEFAULT_QUEUE, note=None)
    finally:
        await store.close()


def _resume(url: str) -> None:
    request = urllib.request.Request(url, b"", AUTHORIZED)
    with urllib.request.urlopen(request, timeout=30) as answer:
        answer.read()


async def _none(look: apsw.Connection, question: str, otherwise: str) -> None:
    """Wait until there is none. Another process may read the file while its owner writes: it waits for nobody, and nobody for it."""
    deadline_s = time.monotonic() + _DRAIN_S_MAX
    while look.execute(question).fetchall():
        assert time.monotonic() < deadline_s, otherwise
        await asyncio.sleep(_POLL_S)
