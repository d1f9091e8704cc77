"""The floors as contenders: each round from a clean table, with the clock on nothing but the loop."""

from __future__ import annotations

from tempfile import TemporaryDirectory

from bench.databases import fresh_database
from bench.floors.sqlite import finished_in_file, make_file
from bench.floors.tables import finished_in, make_table, noop, payload
from bench.machine import Meter
from bench.measured import Measured
from bench.ours.draining import filled
from bench.ours.runs import noop_run
from bench.programs import programs
from tests.support.postgres import PostgresServer

_PROCESSES = 2


async def drain_pg(server: PostgresServer, count: int, *, url: str | None = None) -> Measured:
    """Claim and finish, and a POST for each in between if there is a URL."""
    async with fresh_database(server) as dsn:
        await make_table(dsn, count, noop if url is None else payload)
        measured = await _drained(server, dsn, count, "bare", *(() if url is None else (url,)))
        finished = await finished_in(dsn)
    assert finished == count, f"{finished} of {count}"
    return measured


async def drain_full_pg(server: PostgresServer, count: int) -> Measured:
    """Claim and finish, by the same loop, what the product has written, in the product's tables."""
    async with fresh_database(server) as dsn, filled(dsn, count, noop_run()) as (_, look):
        measured = await _drained(server, dsn, count, "full")
        finished = await look.fetchval(
            "SELECT count(*) FROM dueline.history WHERE id NOT IN (SELECT id FROM dueline.runs)"
        )
    assert finished == count, f"{finished} of {count}"
    return measured


async def _drained(server: PostgresServer, dsn: str, count: int, *arguments: str) -> Measured:
    commands = [("bench.floors.postgres", dsn, str(number), *arguments) for number in range(_PROCESSES)]
    async with programs(*commands) as started:
        meter = Meter([program.pid for program in started], server=server.pid)
        for program in started:
            program.go()
        for program in started:
            await program.done()
        return meter.stop(count)


async def drain_sqlite(count: int, *, url: str | None = None) -> Measured:
    """The same in one file, by its only writer."""
    with TemporaryDirectory() as folder:
        path = f"{folder}/floor.db"
        make_file(path, count, noop if url is None else payload)
        async with programs(("bench.floors.sqlite", path, *(() if url is None else (url,)))) as (program,):
            meter = Meter([program.pid])
            program.go()
            await program.done()
            measured = meter.stop(count)
        finished = finished_in_file(path)
    assert finished == count, f"{finished} of {count}"
    return measured


async def enqueue_pg(server: PostgresServer, count: int, *, batch: int) -> Measured:
    async with fresh_database(server) as dsn:
        await make_table(dsn, 0)
        async with programs(("bench.floors.copying", dsn, str(count), str(batch))) as (program,):
            meter = Meter([program.pid], server=server.pid)
            program.go()
            await program.done()
            return meter.stop(count)
