"""A worker that is asked to stop ends what it runs and gives back what it has not started; a second signal forces it."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from pathlib import Path

import pytest

from dueline.domain.ids import run_text
from dueline.domain.run import OutcomeKind
from dueline.store.postgres.store import PostgresStore
from tests.faults.scenes import boot_id_of, call, enqueue, outcomes, succeeded, wait_for_hits
from tests.support.dueline import DuelineProcess, processes, witness

RUNS = 400
RUNNING = 100
RUNNING_S = 4.0
AHEAD = 1_000
LEAD_MS = 2_500
"""When what is claimed ahead is due: it is claimed in the last second of it."""


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


@pytest.mark.parametrize("way", ["signal", pytest.param("api", marks=pytest.mark.long)])
async def test_what_is_claimed_ahead_is_free_within_a_second_and_what_runs_ends(
    postgres_store: PostgresStore, postgres_dsn: str, tmp_path: Path, way: str
) -> None:
    store = postgres_store
    with witness(tmp_path) as target, processes() as fleet:

        def start(name: str, *arguments: str) -> DuelineProcess:
            process = DuelineProcess(tmp_path, name, *arguments, db=postgres_dsn)
            fleet.append(process)
            return process

        start("scheduler", "scheduler")
        drained = start("drained", "worker", "--slots", "2000")
        url = start("api", "api", "--port", "0").wait_until_running()
        for process in fleet:
            process.wait_until_running()
        boot_id = await boot_id_of(store, drained)
        due_ms = await store.now_ms() + LEAD_MS
        await enqueue(store, f"{target.url}/slow/{RUNNING_S}", RUNNING)
        await enqueue(store, f"{target.url}/ok", AHEAD, due_ms=due_ms)
        while len(await store.claims_of(boot_id)) < RUNNING + AHEAD:
            assert await store.now_ms() < due_ms
        asked_s = time.monotonic()
        if way == "signal":
            drained.ask_to_stop()
        else:
            assert url is not None
            assert call(url, "POST", f"/v1/workers/{boot_id}/drain")[0] == 200
        while len(await store.claims_of(boot_id)) > RUNNING:
            assert time.monotonic() - asked_s < 1
        assert time.monotonic() - asked_s < 1
        start("second", "worker")
        runs = await succeeded(store, count=RUNNING + AHEAD)
        assert drained.exit_code() == 0
        assert {(run.attempt, *outcomes(run)) for run in runs} == {(1, OutcomeKind.SUCCEEDED)}
        assert Counter(run.worker == boot_id for run in runs) == {True: RUNNING, False: AHEAD}
        assert target.hits_per_run() == {run_text(run.id): 1 for run in runs}
