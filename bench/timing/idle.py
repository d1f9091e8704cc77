"""A system that has next to nothing to do: how soon it does what little there is, and what it costs to wait."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.machine import used_by, used_by_server
from bench.report import Result
from bench.target import Target, a_target
from bench.timing.installation import a_server, an_installation, running
from bench.timing.jobs import FAR_JOBS, with_far_jobs, write_jobs
from bench.timing.lags import quantile, sleep_until_ms, wait_until
from dueline.domain.instants import format_instant
from dueline.domain.job import Execution, HttpTarget
from dueline.domain.schedule import At
from dueline.runtime.clock import SystemClock
from dueline.sdk.client import PlainClient
from dueline.sdk.retries import NEVER
from dueline.store.opening import make_store
from tests.support.keys import ADMIN_KEY
from tests.support.postgres import PostgresServer

_FAR_MS = 30 * 86_400_000
_EXECUTION = Execution(target=HttpTarget(url="http://127.0.0.1:9/", body={"customer": "c-123", "cents": 500}))
_SETTLE_S = 3.0
"""From the start of a process to the moment when it has done what there is to do at a start."""
_WARM_UP = 5
_GAP_MS = 53
"""Between single jobs: not in step with anybody's polling."""
_TIMEOUT_S = 10.0


async def latency(*, quick: bool) -> list[Result]:
    """Single runs that somebody asks for, and single one-time jobs, with `dueline serve`."""
    count = 10 if quick else 200
    with a_server() as (folder, server):
        async with an_installation(server, "idle") as installation:
            with a_target(folder) as target, running(folder, installation.dsn) as start:
                url = start("serve", "--port", "0").wait_until_running()
                assert url is not None
                with PlainClient(url, api_key=ADMIN_KEY, retry=NEVER) as client:
                    asked_ms = [await _asked_ms(client, target, number) for number in range(_WARM_UP + count)]
                    timed_ms = await _timed_ms(client, target, count)
    late_ms, timed_late_ms = quantile(asked_ms[_WARM_UP:], 0.99), quantile(timed_ms, 0.99)
    return [
        Result(
            name="latency_idle",
            ours=late_ms,
            unit="ms p99",
            wanted="from the API call to the target at most 25 ms",
            holds=late_ms <= 25,
            notes={"p50 ms": quantile(asked_ms, 0.5), "worst ms": max(asked_ms[_WARM_UP:]), "runs": count},
        ),
        Result(
            name="latency_idle_timed",
            ours=timed_late_ms,
            unit="ms p99",
            wanted="from the time of a one-time job to the target at most 5 ms, none early",
            holds=timed_late_ms <= 5 and min(timed_ms) >= 0 and len(timed_ms) == count,
            notes={
                "p50 ms": quantile(timed_ms, 0.5),
                "least ms": min(timed_ms),
                "worst ms": max(timed_ms),
                "jobs": len(timed_ms),
            },
        ),
    ]


async def cpu(*, quick: bool) -> list[Result]:
    """`dueline serve` with jobs for later only."""
    seconds, jobs = (2, 10_000) if quick else (20, 1_000_000)
    with a_server() as (folder, server):
        results = [await _waiting_on_postgres(folder, server, jobs, seconds)]
    if not quick:
        with TemporaryDirectory(prefix="dueline-bench-") as own:
            results.append(await _waiting_on_sqlite(Path(own), seconds))
    return results


async def _asked_ms(client: PlainClient, target: Target, number: int) -> float:
    """From the moment in which somebody calls the API to the arrival of the call."""
    before = target.count()
    began_s = time.time()
    client.runs.enqueue({"target": {"url": target.url, "body": {"customer": "c-123", "cents": 500}}})
    assert await wait_until(lambda: target.count() > before, timeout_s=_TIMEOUT_S, poll_s=0.01)
    took_ms = (target.arrived_s()[-1] - began_s) * 1000
    await asyncio.sleep(0.02 + number % 7 * 0.023)
    return took_ms


async def _timed_ms(client: PlainClient, target: Target, count: int) -> list[float]:
    """How late single jobs are that were created some seconds before."""
    before = target.count()
    first_ms = int(time.time() * 1000) + 3_000
    times_ms = [first_ms + number * _GAP_MS for number in range(count)]
    client.jobs.create_many(
        [
            {
                "name": f"single-{number}",
                "schedule": {"at": format_instant(at_ms)},
                "target": {"url": target.url, "body": {"customer": "c-123", "cents": 500}},
            }
            for number, at_ms in enumerate(times_ms)
        ]
    )
    await sleep_until_ms(times_ms[-1])
    await wait_until(lambda: target.count() >= before + count, timeout_s=_TIMEOUT_S)
    return [lag.lag_ms for lag in target.lags()[before:]]


async def _waiting_on_postgres(folder: Path, server: PostgresServer, jobs: int, seconds: int) -> Result:
    await with_far_jobs(server, jobs)
    async with an_installation(server, "idle", like=FAR_JOBS) as installation:
        await installation.settle()
        with running(folder, installation.dsn) as start:
            pid = start("serve", "--port", "0").pid
            await asyncio.sleep(_SETTLE_S)
            began = (used_by([pid]), *used_by_server(server))
            await asyncio.sleep(seconds)
            ended = (used_by([pid]), *used_by_server(server))
    ours, theirs, itself = (after.since(before) / seconds * 100 for after, before in zip(ended, began, strict=True))
    return _cpu_result("idle_cpu", ours, jobs, theirs=theirs, itself=itself)


async def _waiting_on_sqlite(folder: Path, seconds: int) -> Result:
    jobs = 10_000
    db = str(folder / "dueline.db")
    store = make_store(db, SystemClock())
    await store.open()
    try:
        await store.migrate()
        far_ms = await store.now_ms() + _FAR_MS
        schedules = [At(at_ms=far_ms + number * 1_000) for number in range(jobs)]
        await write_jobs(store, _EXECUTION, schedules, name="other")
    finally:
        await store.close()
    with running(folder, db) as start:
        pid = start("serve", "--port", "0").pid
        await asyncio.sleep(_SETTLE_S)
        began = used_by([pid])
        await asyncio.sleep(seconds)
        ours = used_by([pid]).since(began) / seconds * 100
    return _cpu_result("idle_cpu_sqlite", ours, jobs)


def _cpu_result(name: str, ours: float, jobs: int, *, theirs: float = 0.0, itself: float = 0.0) -> Result:
    """Whatever is spent for us counts, wherever it is; what a server does by itself is told."""
    return Result(
        name=name,
        ours=ours + theirs,
        unit="% core",
        wanted="at most 1 % of a core",
        holds=ours + theirs <= 1,
        notes={"jobs": jobs, "the process": ours, "the server, for it": theirs, "the server, itself": itself},
    )
