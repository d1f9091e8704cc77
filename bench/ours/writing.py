"""Runs that are written in bulk: through the store by one process, and through the API by callers that have nothing else to do."""

from __future__ import annotations

import asyncio
import urllib.request
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from bench.databases import fresh_database
from bench.machine import Meter
from bench.measured import Measured
from bench.ours.draining import migrated_store
from bench.ours.runs import http_body
from bench.programs import programs
from tests.support.dueline import DuelineProcess, processes
from tests.support.keys import AUTHORIZED
from tests.support.postgres import PostgresServer

_API_PROCESSES = 2
_CALLS_AT_ONCE = 4


async def enqueue_store_pg(server: PostgresServer, count: int, *, batch: int) -> Measured:
    async with fresh_database(server) as dsn:
        async with migrated_store(dsn):
            pass
        async with programs(("bench.ours.enqueuing", dsn, str(count), str(batch))) as (program,):
            meter = Meter([program.pid], server=server.pid)
            program.go()
            await program.done()
            return meter.stop(count)


async def enqueue_api_pg(server: PostgresServer, count: int, *, batch: int) -> Measured:
    """Two processes that serve the API, and several calls at once."""
    bodies = [_body(start, min(batch, count - start)) for start in range(0, count, batch)]
    async with fresh_database(server) as dsn:
        with TemporaryDirectory() as folder, processes() as started:
            for number in range(_API_PROCESSES):
                started.append(DuelineProcess(Path(folder), f"api-{number}", "api", "--port", "0", db=dsn))
            urls = cycle([process.wait_until_running() for process in started])
            meter = Meter([process.pid for process in started], server=server.pid)

            async def call() -> int:
                created = 0
                while bodies:
                    created += await asyncio.to_thread(_post, f"{next(urls)}/v1/runs/bulk", bodies.pop())
                return created

            created = await asyncio.gather(*(call() for _ in range(_CALLS_AT_ONCE)))
            measured = meter.stop(count)
    assert sum(created) == count, f"{sum(created)} of {count} were created"
    return measured


def _body(start: int, count: int) -> bytes:
    numbers = range(start, start + count)
    runs = [{"target": {"url": "http://127.0.0.1:9/", "body": http_body(number)}} for number in numbers]
    return msgspec.json.encode({"runs": runs})


class _Answer(msgspec.Struct):
    created: int


def _post(url: str, body: bytes) -> int:
    request = urllib.request.Request(url, body, {"Content-Type": "application/json", **AUTHORIZED})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return msgspec.json.decode(answer.read(), type=_Answer).created
