"""What it takes to keep things and to be there: bytes on disk and of the log, memory and connections of processes at rest."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncpg

from bench.growth.costs import Watch
from bench.growth.hotpath import HotPath
from bench.growth.subjects import write_scattered_jobs
from bench.lines import Bench, a_run, durable_postgres, fill, make_jobs
from bench.ours.runs import http_body, http_run
from bench.timing.installation import running
from dueline.domain.job import DEFAULT_TENANT, Execution, HttpTarget
from tests.support.dueline import DuelineProcess, processes
from tests.support.processes import resident_bytes

_PAGES = 8
_MB = 1_000_000
REST = " at rest"
LOG = "bytes of the log a run, {}, {}"
_ROLES = ("api", "scheduler", "worker", "serve")
_EXECUTION = Execution(target=HttpTarget(url="http://127.0.0.1:9/", body=http_body(1)))
_SIZES = """
SELECT
    pg_total_relation_size('dueline.jobs') AS jobs,
    pg_total_relation_size('dueline.plans') AS plans,
    pg_total_relation_size('dueline.runs') AS runs,
    (SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree('dueline.history')) AS history
"""


async def measure(*, quick: bool) -> dict[str, float]:
    count = 2_000 if quick else 100_000
    async with durable_postgres(3) as (kept, logged, idle):
        return {
            **await _bytes_kept(kept, count),
            **await _bytes_logged(logged, count, pages=1 if quick else _PAGES),
            **await _at_rest(idle, settle_s=0.5 if quick else 5.0),
        }


def show(needed: Mapping[str, float]) -> None:
    for name, value in needed.items():
        print(f"    {name:58} {value:>10,.1f}")


async def _bytes_kept(bench: Bench, count: int) -> dict[str, float]:
    """Of many that are alike, with their indexes, after a vacuum."""
    before = await _sizes(bench)
    await write_scattered_jobs(bench, count, _EXECUTION)
    (job,) = await make_jobs(bench.store, [_EXECUTION], tenant=lambda _: DEFAULT_TENANT)
    jobs = await _sizes(bench)
    await fill(bench.store, count, lambda now_ms, _: a_run(now_ms, tenant=DEFAULT_TENANT, queue="jobs", job_id=job.id))
    of_jobs = await _sizes(bench)
    await fill(bench.store, count, http_run("http://127.0.0.1:9/"))
    adhoc = await _sizes(bench)
    await bench.hands.drain("jobs", count)
    ended_of_jobs = await _sizes(bench)
    await bench.hands.drain("default", count)
    ended_adhoc = await _sizes(bench)
    return {
        "bytes a job, with its plan": (jobs["jobs"] + jobs["plans"] - before["jobs"] - before["plans"]) / count,
        "bytes a waiting run of a job": (of_jobs["runs"] - jobs["runs"]) / count,
        "bytes a waiting run with a payload of its own": (adhoc["runs"] - of_jobs["runs"]) / count,
        "bytes a finished run of a job": (ended_of_jobs["history"] - adhoc["history"]) / count,
        "bytes a finished run with a payload of its own": (ended_adhoc["history"] - ended_of_jobs["history"]) / count,
    }


async def _bytes_logged(bench: Bench, count: int, *, pages: int) -> dict[str, float]:
    """Right after a checkpoint, when every page is logged whole that is written for the first time, and then again."""
    await write_scattered_jobs(bench, count, _EXECUTION)
    path = HotPath(bench)
    await path.begin()
    found: dict[str, float] = {}
    for when in ("right after a checkpoint", "between checkpoints"):
        watch = Watch(bench.server.pid)
        marks = [await _logged(bench)]
        fired = sum([await path.fire(watch) for _ in range(pages)])
        marks.append(await _logged(bench))
        await path.drain(watch, fired)
        marks.append(await _logged(bench))
        written = sum([await path.enqueue(watch) for _ in range(pages)])
        marks.append(await _logged(bench))
        await path.drain(watch, written)
        for number, (what, runs) in enumerate((("fire", fired), ("claim and finish", fired), ("enqueue", written))):
            found[LOG.format(what, when)] = float(marks[number + 1] - marks[number]) / runs
    return found


async def _at_rest(bench: Bench, *, settle_s: float) -> dict[str, float]:
    """Processes with nothing to do, each alone, when they have done what there is to do at a start."""
    found: dict[str, float] = {}
    with TemporaryDirectory(prefix="dueline-bench-") as folder:
        for role in _ROLES:
            before = await _connected(bench)
            with running(Path(folder), bench.dsn) as start:
                options = ("--port", "0") if role in ("api", "serve") else ()
                process = start(role, *options)
                await asyncio.sleep(settle_s)
                found[f"MB of {role}{REST}"] = resident_bytes(process.pid) / _MB
                found[f"connections of {role}{REST}"] = float(len(await _connected(bench) - before))
        with processes() as started:
            started.append(
                DuelineProcess(Path(folder), "embedded", "serve", "--port", "0", db=str(Path(folder) / "embedded.db"))
            )
            started[0].wait_until_running()
            await asyncio.sleep(settle_s)
            found[f"MB of serve on SQLite{REST}"] = resident_bytes(started[0].pid) / _MB
    return found


async def _sizes(bench: Bench) -> dict[str, int]:
    await bench.vacuum()
    (row,) = await _ask(bench, _SIZES)
    return {name: int(size) for name, size in row.items()}


async def _logged(bench: Bench) -> int:
    """How far the log is."""
    ((position,),) = await _ask(bench, "SELECT pg_current_wal_insert_lsn() - '0/0'")
    return int(position)


async def _connected(bench: Bench) -> set[int]:
    rows = await _ask(bench, "SELECT pid FROM pg_stat_activity WHERE application_name = 'dueline'")
    return {row[0] for row in rows}


async def _ask(bench: Bench, question: str) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(bench.dsn)
    try:
        return await connection.fetch(question)
    finally:
        await connection.close()
