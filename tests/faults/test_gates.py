"""Workers are killed and stopped while their jobs may run once, twice or five times at a time; the target's own log is the witness."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

from dueline.domain import limits
from dueline.domain.ids import run_text
from dueline.domain.job import DEFAULT_TENANT, Concurrency, Definition, Execution, HttpTarget, Job
from dueline.domain.limiting import own_gates
from dueline.domain.overlap import Overlap
from dueline.domain.retry import RetryPolicy
from dueline.domain.run import OutcomeKind, Run
from dueline.engine.operations import Operations
from dueline.engine.quotas import QuotaKeeper
from dueline.engine.timekeeping import Timekeeper
from dueline.runtime.chance import SystemChance
from dueline.runtime.clock import SystemClock
from dueline.store.postgres.store import PostgresStore
from tests.faults.scenes import claims_of, succeeded
from tests.support.dueline import DuelineProcess, Witness, processes, witness

RUNS = {1: 40, 2: 80, 5: 200}
"""How many runs of the job of which so many may be under way."""
CALL_S = 0.4
EARLY_S = 0.01
"""What timers may differ."""
STRIKES = 6
PAUSE_S = limits.LEASE_S + 4
END_S_MAX = 150.0


async def create_jobs(store: PostgresStore, url: str) -> dict[int, Job]:
    """With all their runs, due at once."""
    clock = SystemClock()
    keeper = Timekeeper(store, clock)
    await keeper.step()
    operations = Operations(store, lambda: keeper.time, SystemChance(), QuotaKeeper(store, clock))
    jobs = {}
    for most, count in RUNS.items():
        execution = Execution(
            target=HttpTarget(url=f"{url}/slow/{CALL_S}"),
            concurrency=Concurrency(limit=most),
            retry=RetryPolicy(max_lost=20),
        )
        definition = Definition(name=f"at most {most}", execution=execution, schedule=None, overlap=Overlap.ALLOW)
        jobs[most] = await operations.create_job(DEFAULT_TENANT, lambda _id, _now, it=definition: it)  # type: ignore[misc]
        for _ in range(count):
            await operations.run_job(DEFAULT_TENANT, jobs[most].id, force=False)
    return jobs


async def busy_one(store: PostgresStore, workers: list[DuelineProcess], random: Random) -> DuelineProcess:
    """One of those with runs in their hands."""
    async with asyncio.timeout(30):
        while True:
            for worker in random.sample(workers, k=len(workers)):
                if await claims_of(store, worker):
                    return worker
            await asyncio.sleep(0.02)


def most_at_once(runs: list[Run], target: Witness) -> tuple[int, int]:
    """How many calls of a job were under way at a time, as far as no lost worker explains it; and how many it does explain."""
    kept = {
        (run_text(run.id), str(attempt.token))
        for run in runs
        for attempt in run.attempts
        if attempt.outcome.kind is not OutcomeKind.LOST
    }
    of_job = {run_text(run.id) for run in runs}
    hits = [hit for hit in target.hits() if hit["dueline-run"] in of_job]
    steps = []
    for hit in hits:
        if (hit["dueline-run"], hit["dueline-token"]) in kept:
            steps += [(hit["t"], 1), (hit["t"] + CALL_S - EARLY_S, -1)]
    most = under_way = 0
    for _, step in sorted(steps):
        under_way += step
        most = max(most, under_way)
    return most, len(hits) - len(steps) // 2


async def test_killed_and_stopped_workers_let_no_more_in_than_may_be(
    postgres_store: PostgresStore, postgres_dsn: str, tmp_path: Path
) -> None:
    store, random = postgres_store, Random(5)
    with witness(tmp_path) as target, processes() as fleet:

        def start(role: str) -> DuelineProcess:
            process = DuelineProcess(tmp_path, f"{role}-{len(fleet)}", role, db=postgres_dsn)
            fleet.append(process)
            process.wait_until_running()
            return process

        async def strike(worker: DuelineProcess, *, deadly: bool) -> None:
            if deadly:
                worker.kill()
                start("worker")
            else:
                worker.pause()
                await asyncio.sleep(PAUSE_S)
                worker.resume()

        start("scheduler")
        for _ in range(4):
            start("worker")
        jobs = await create_jobs(store, target.url)
        struck: list[DuelineProcess] = []
        strikes = []
        for number in range(STRIKES):
            await asyncio.sleep(random.uniform(0.2, 2.0))
            struck.append(await busy_one(store, [worker for worker in fleet[1:] if worker not in struck], random))
            strikes.append(asyncio.create_task(strike(struck[-1], deadly=number % 2 == 0)))
        runs = await succeeded(store, count=sum(RUNS.values()), within_s=END_S_MAX)
        await asyncio.gather(*strikes)
        explained = 0
        for most, job in jobs.items():
            own = [run for run in runs if run.job_id == job.id]
            assert len(own) == RUNS[most]
            at_once, lost = most_at_once(own, target)
            assert at_once == most, "no more than may be, and no fewer"
            explained += lost
            execution = job.definition.execution
            (gate,) = own_gates(execution, tenant=job.tenant, job_id=job.id, job_name="", version=job.version)
            seen, _ = await store.look_at(gate)
            assert seen.taken == 0
        assert explained > 0, "somebody must have been in the middle of a call"
        assert sum(run.lost for run in runs) >= explained
