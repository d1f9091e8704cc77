"""Processes are killed and paused in the middle of ten thousand jobs; the target's own log is the witness."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from dueline.domain.ids import job_text, new_job_id, parse_job_id, run_text
from dueline.domain.instants import parse_instant
from dueline.domain.job import DEFAULT_TENANT, Definition, Execution, HttpTarget
from dueline.domain.planning import Position
from dueline.domain.retry import PASSING_KINDS
from dueline.domain.run import OutcomeKind, Run
from dueline.domain.schedule import At
from dueline.runtime.chance import SystemChance
from dueline.runtime.clock import SystemClock
from dueline.store.opening import make_store
from dueline.store.postgres.store import PostgresStore
from dueline.store.protocol import Store
from dueline.store.shapes import NewJob
from tests.faults.scenes import outcomes, succeeded
from tests.support.dueline import DuelineProcess, Witness, processes, witness

JOBS = 10_000
SPREAD_S = 10.0
CALL_MS = 500
LEAD_S = 5.0
PAUSE_S = 9.0
"""Past the lease."""
TAKE_OVER_S_MAX = 60.0
DRAIN_S_MAX = 120.0
EARLY_S = 0.005


async def create_jobs(store: Store, url: str) -> int:
    """One-time jobs, evenly due within ten seconds, each call taking a moment; answers when the first is due."""
    chance = SystemChance()
    first_ms = await store.now_ms() + int(LEAD_S * 1000)
    jobs = []
    for number in range(JOBS):
        due_ms = first_ms + int(number * SPREAD_S * 1000 / JOBS)
        job_id = new_job_id(first_ms, chance.entropy())
        definition = Definition(
            name=job_text(job_id),
            execution=Execution(target=HttpTarget(url=f"{url}/slow/{CALL_MS / 1000}")),
            schedule=At(due_ms),
        )
        position = Position(next_ms=due_ms, due_ms=due_ms)
        jobs.append(NewJob(id=job_id, tenant=DEFAULT_TENANT, definition=definition, position=position))
    for start in range(0, JOBS, 1000):
        assert None not in await store.create_jobs(jobs[start : start + 1000])
    return first_ms


async def wait_until_busy(store: Store, pid: int) -> None:
    """Until a worker is in the middle of many calls."""
    deadline = time.monotonic() + TAKE_OVER_S_MAX
    (boot_id,) = (node.boot_id for node in await store.nodes() if node.pid == pid)
    while True:
        now_ms = await store.now_ms()
        if (
            sum(
                claim.due_ms + CALL_MS / 4 < now_ms < claim.due_ms + CALL_MS / 2
                for claim in await store.claims_of(boot_id)
            )
            > 20
        ):
            return
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def wait_until_taken_over(store: Store, pids: set[int]) -> None:
    """Until those processes are declared dead and nothing is left in their hands."""
    deadline = time.monotonic() + TAKE_OVER_S_MAX
    while pids & {node.pid for node in await store.nodes()} or await store.strays(grace_ms=0, limit=1):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.1)


def check(runs: list[Run], target: Witness, *, lost_max: int) -> None:
    """Every job ran, none was scheduled twice, duplicates are explained, nothing was early, tokens only grew."""
    assert len(runs) == JOBS
    assert len({run.job_id for run in runs}) == JOBS
    hits = target.hits_per_run()
    assert hits.keys() == {run_text(run.id) for run in runs}
    lost_total = 0
    for run in runs:
        lost = outcomes(run).count(OutcomeKind.LOST)
        lost_total += lost
        *before, last = outcomes(run)
        assert last is OutcomeKind.SUCCEEDED, run
        # A process that slept may wake to a call whose time is over: that is a failed attempt, and as good a reason.
        assert set(before) <= {OutcomeKind.LOST, *PASSING_KINDS}, run
        assert hits[run_text(run.id)] <= len(run.attempts), run
        tokens = [attempt.token for attempt in run.attempts]
        assert tokens == sorted(set(tokens)), run
    assert lost_total <= lost_max
    for hit in target.hits():
        parse_job_id(hit["dueline-job"])
        assert hit["t"] >= parse_instant(hit["dueline-scheduled-at"], field="hit") / 1000 - EARLY_S
    deliveries = [(hit["dueline-run"], hit["dueline-token"]) for hit in target.hits()]
    assert len(deliveries) == len(set(deliveries)), "one hit per run and token"


async def test_killed_and_paused_processes_lose_nothing_on_postgres(
    postgres_store: PostgresStore, postgres_dsn: str, tmp_path: Path
) -> None:
    store = postgres_store
    with witness(tmp_path) as target, processes() as fleet:

        def start(role: str, number: int) -> DuelineProcess:
            process = DuelineProcess(tmp_path, f"{role}-{number}", role, db=postgres_dsn)
            fleet.append(process)
            return process

        schedulers = [start("scheduler", 1), start("scheduler", 2)]
        workers = [start("worker", 1), start("worker", 2)]
        for process in fleet:
            process.wait_until_running()
        first_ms = await create_jobs(store, target.url)
        await asyncio.sleep((first_ms - await store.now_ms()) / 1000 + SPREAD_S * 0.3)
        for process in (schedulers[0], workers[0]):
            process.kill()
        await wait_until_busy(store, workers[1].pid)
        for process in (schedulers[1], workers[1]):
            process.pause()
        start("scheduler", 3)
        start("worker", 3)
        await wait_until_taken_over(store, {process.pid for process in fleet[:4]})
        for process in (schedulers[1], workers[1]):
            process.resume()
        runs = await succeeded(store, count=JOBS, within_s=DRAIN_S_MAX)
        await asyncio.sleep(2)
        refused = sum(process.counted("results refused") + process.counted("firings refused") for process in fleet)
        assert refused > 0, "somebody must have tried to write with an old token or epoch"
        assert workers[1].counted("declared dead by others; starting again") == 1
        assert schedulers[1].counted("declared dead by others; starting again") == 1
        for process in (schedulers[1], workers[1], *fleet[4:]):
            assert process.stop() == 0
        check(runs, target, lost_max=4_000)
        assert await store.nodes() == []


async def test_a_killed_and_a_paused_server_lose_nothing_on_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "dueline.db"
    store = make_store(str(path), SystemClock())
    await store.open()
    await store.migrate()
    with witness(tmp_path) as target, processes() as fleet:
        first_ms = await create_jobs(store, target.url)
        await store.close()

        def start(number: int) -> DuelineProcess:
            process = DuelineProcess(tmp_path, f"serve-{number}", "serve", "--port", "0", db=str(path))
            fleet.append(process)
            process.wait_until_running()
            return process

        doomed = start(1)
        await asyncio.sleep(max(0.0, first_ms / 1000 - SystemClock().wall_ms() / 1000) + SPREAD_S * 0.3)
        doomed.kill()
        heir = start(2)
        await asyncio.sleep(1.0)
        heir.pause()
        await asyncio.sleep(PAUSE_S)
        heir.resume()
        deadline = time.monotonic() + DRAIN_S_MAX
        while len(target.hits_per_run()) < JOBS:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.5)
        assert heir.stop() == 0
        await store.open()
        try:
            runs = await succeeded(store, count=JOBS, within_s=DRAIN_S_MAX)
        finally:
            await store.close()
        check(runs, target, lost_max=4_000)
