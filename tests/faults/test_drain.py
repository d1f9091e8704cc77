"""A worker that is asked to stop ends what it runs and gives back what it has not started; a second signal forces it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from dueline.domain.ids import run_text
from dueline.domain.run import OutcomeKind
from dueline.store.postgres.store import PostgresStore
from tests.faults.scenes import enqueue, outcomes, succeeded, wait_for_hits
from tests.support.dueline import DuelineProcess, processes, witness

RUNS = 400


async def test_a_drained_worker_costs_no_attempt_and_no_duplicate(
    postgres_store: PostgresStore, postgres_dsn: str, tmp_path: Path
) -> None:
    store = postgres_store
    with witness(tmp_path) as target, processes() as fleet:
        first = DuelineProcess(tmp_path, "first", "worker", "--slots", "100", db=postgres_dsn)
        fleet.append(first)
        first.wait_until_running()
        await enqueue(store, f"{target.url}/slow/0.5", RUNS)
        wait_for_hits(target, 150)
        assert first.stop() == 0
        assert await store.nodes() == []
        second = DuelineProcess(tmp_path, "second", "worker", db=postgres_dsn)
        fleet.append(second)
        runs = await succeeded(store)
        assert second.stop() == 0
        assert {run.attempt for run in runs} == {1}
        assert target.hits_per_run() == {run_text(run.id): 1 for run in runs}
        assert len({run.worker for run in runs}) == 2


async def test_a_forced_worker_leaves_at_once_and_what_it_broke_off_counts_as_nothing(
    postgres_store: PostgresStore, postgres_dsn: str, tmp_path: Path
) -> None:
    store = postgres_store
    with witness(tmp_path) as target, processes() as fleet:
        first = DuelineProcess(tmp_path, "first", "worker", "--slots", "100", db=postgres_dsn)
        fleet.append(first)
        first.wait_until_running()
        await enqueue(store, f"{target.url}/slow/6", RUNS)
        wait_for_hits(target, 100)
        started_s = time.monotonic()
        first.ask_to_stop()
        await asyncio.sleep(0.3)  # Two signals at once would be one to the kernel.
        assert first.stop() == 0
        assert time.monotonic() - started_s < 5, "it did not wait for its calls"
        scheduler = DuelineProcess(tmp_path, "scheduler", "scheduler", db=postgres_dsn)
        second = DuelineProcess(tmp_path, "second", "worker", db=postgres_dsn)
        fleet += [scheduler, second]
        runs = await succeeded(store)
        lost = [run for run in runs if OutcomeKind.LOST in outcomes(run)]
        assert len(lost) == 100
        assert {(run.attempt, run.lost, len(run.attempts)) for run in lost} == {(1, 0, 2)}
        assert {run.attempt for run in runs if run not in lost} == {1}
