"""Single calls to one API process on PostgreSQL, over connections that are kept: creates and reads."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg
import msgspec

from bench.programs import programs
from bench.report import Result, summed_up
from bench.surfaces.caller import Asked, Told
from bench.timing.installation import Installation, a_server, an_installation, running
from dueline.sdk.client import PlainClient
from tests.support.keys import ADMIN_KEY, AUTHORIZED

CONNECTIONS = 16
_CREATES_WANTED, _READS_WANTED = 2_500.0, 5_000.0
P99_MS_WANTED = 50.0
_JOB = '{"name": "job-{n}", "target": {"url": "http://127.0.0.1:9/", "body": {"customer": "c-123"}}, "schedule": {"every": "P30D"}}'
_BARE_TABLE = """
CREATE TABLE bare_jobs (id uuid PRIMARY KEY, tenant text NOT NULL, name text NOT NULL, definition text NOT NULL);
CREATE UNIQUE INDEX ON bare_jobs (tenant, name);
CREATE TABLE bare_plans (job_id uuid PRIMARY KEY, due_ms bigint NOT NULL);
CREATE INDEX ON bare_plans (due_ms);
"""
_BARE_WRITE = """
WITH job AS (INSERT INTO bare_jobs VALUES (gen_random_uuid(), 'default', $1, $2) RETURNING id)
INSERT INTO bare_plans SELECT id, $3 FROM job RETURNING job_id
"""
_BARE_READ = "SELECT j.*, p.due_ms FROM bare_jobs AS j JOIN bare_plans AS p ON p.job_id = j.id WHERE j.id = $1"


async def api_calls(*, quick: bool) -> list[Result]:
    """Floor, statements and ours in turns. How long calls take is told at half of the rate that is wanted."""
    seconds, rounds = (1.0, 1) if quick else (6.0, 3)
    rates: dict[str, list[float]] = {}
    late_ms: dict[str, float] = {}
    with a_server() as (folder, server), bare_server() as bare_port:
        async with an_installation(server, "surfaces") as installation:
            with running(folder, installation.dsn) as start:
                url = start("api", "--port", "0").wait_until_running()
                assert url is not None
                port = int(url.rsplit(":", 1)[1])
                with PlainClient(url, api_key=ADMIN_KEY) as client:
                    job_id = client.jobs.create(**msgspec.json.decode(_JOB))["id"]
                ways = {"create": ("POST", "/v1/jobs", _JOB), "get": ("GET", f"/v1/jobs/{job_id}", "")}
                for number in range(rounds):
                    for what, (method, path, body) in ways.items():
                        # Names are taken once.
                        named = body.replace("job-", f"job-{what}-{number}-")
                        call = Asked(
                            host="127.0.0.1",
                            port=bare_port,
                            method=method,
                            path=path,
                            body=named,
                            headers=AUTHORIZED,
                            connections=CONNECTIONS,
                            seconds=seconds,
                        )
                        _add(rates, f"{what} bare", await called(call))
                        rates.setdefault(f"{what} statements", []).append(
                            await _statements(installation, what, seconds)
                        )
                        _add(rates, f"{what} ours", await called(msgspec.structs.replace(call, port=port)))
                for what, (method, path, body) in ways.items():
                    wanted = _CREATES_WANTED if what == "create" else _READS_WANTED
                    told = await called(
                        Asked(
                            host="127.0.0.1",
                            port=port,
                            method=method,
                            path=path,
                            body=body.replace("job-", "job-timed-"),
                            headers=AUTHORIZED,
                            connections=CONNECTIONS,
                            seconds=seconds,
                            per_second=wanted / 2,
                        )
                    )
                    late_ms[what] = told.p99_ms
    return [
        _result("api_create", "create", rates, late_ms, _CREATES_WANTED),
        _result("api_get", "get", rates, late_ms, _READS_WANTED),
    ]


def _result(name: str, what: str, rates: dict[str, list[float]], late_ms: dict[str, float], wanted: float) -> Result:
    ours, spread = summed_up(rates[f"{what} ours"])
    bare, _ = summed_up(rates[f"{what} bare"])
    statements, _ = summed_up(rates[f"{what} statements"])
    return Result(
        name=name,
        ours=ours,
        unit="calls/s",
        floor=bare,
        floor_is="a handler that does nothing",
        spread=spread,
        peers={"statements": statements},
        wanted=f"at least {wanted:,.0f} calls/s, and p99 under {P99_MS_WANTED:g} ms at half of that",
        holds=ours >= wanted and late_ms[what] < P99_MS_WANTED,
        notes={"p99 at half the rate, ms": late_ms[what]},
    )


async def called(asked: Asked) -> Told:
    async with programs(("bench.surfaces.caller", msgspec.json.encode(asked).decode())) as (caller,):
        caller.go()
        told = msgspec.convert(await caller.done(), Told)
    assert told.failed == 0, f"{told.failed} of {told.calls} calls failed"
    return told


def _add(rates: dict[str, list[float]], who: str, told: Told) -> None:
    rates.setdefault(who, []).append(told.calls / told.took_s)


async def _statements(installation: Installation, what: str, seconds: float) -> float:
    """The least that could be asked of PostgreSQL for it, over as many connections."""
    pool = await asyncpg.create_pool(installation.dsn, min_size=CONNECTIONS, max_size=CONNECTIONS)
    try:
        await pool.execute("DROP TABLE IF EXISTS bare_jobs, bare_plans")
        await pool.execute(_BARE_TABLE)
        first = await pool.fetchval(_BARE_WRITE, "first", _JOB, 0)
        until_s = time.perf_counter() + seconds

        async def ask(connection_number: int) -> int:
            done = 0
            async with pool.acquire() as connection:
                while time.perf_counter() < until_s:
                    if what == "create":
                        await connection.fetchval(_BARE_WRITE, f"{connection_number}-{done}", _JOB, done)
                    else:
                        await connection.fetchrow(_BARE_READ, first)
                    done += 1
            return done

        return sum(await asyncio.gather(*(ask(number) for number in range(CONNECTIONS)))) / seconds
    finally:
        await pool.close()


@contextmanager
def bare_server() -> Iterator[int]:
    command = [sys.executable, "-m", "bench.surfaces.bare"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.write("\n")
            process.stdin.flush()
            process.wait(20)
