"""A worker is killed or stopped in the middle of five hundred calls: others take over within the lease and three seconds."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from dueline.domain import limits
from dueline.domain.run import OutcomeKind
from dueline.store.postgres.store import PostgresStore
from dueline.worker.executors.http import CONNECTIONS_PER_HOST_MAX
from tests.faults.scenes import claims_of, enqueue, outcomes, succeeded, wait_for, wait_for_hits
from tests.support.dueline import DuelineProcess, Witness, processes, witness

RUNS = 500
TAKE_OVER_S_MAX = limits.LEASE_S + 3
CALL_S = 8.0
"""Longer than it takes to stop a worker in the middle of its calls; over when it is woken."""
LOST_THEN_DONE = [OutcomeKind.LOST, OutcomeKind.SUCCEEDED]


def again(target: Witness) -> list[float]:
    """When runs were started for a second time, by the target's own log."""
    return [hit["t"] for hit in target.hits() if hit["dueline-attempt"] != "1"]


async def test_the_runs_of_a_killed_and_of_a_stopped_worker_are_started_by_another(
    postgres_store: PostgresStore, postgres_dsn: str, tmp_path: Path
) -> None:
    """One dies, the other is stopped at the same moment and wakes when all is done: it starts nothing, and nobody takes its results.

    Half of their calls wait for a connection meanwhile: they were never sent, and must not be when the stopped one wakes.
    """
    store = postgres_store
    with witness(tmp_path) as target, processes() as fleet:

        def start(name: str, *arguments: str) -> DuelineProcess:
            process = DuelineProcess(tmp_path, name, *arguments, db=postgres_dsn)
            fleet.append(process)
            return process

        start("scheduler", "scheduler")
        killed, stopped = (start(name, "worker", "--queue", name) for name in ("killed", "stopped"))
        for process in fleet:
            process.wait_until_running()
        await enqueue(store, f"{target.url}/first/hang", RUNS, queue="killed")
        await enqueue(store, f"{target.url}/first/slow/{CALL_S}", RUNS, queue="stopped")
        wait_for_hits(target, 2 * CONNECTIONS_PER_HOST_MAX)
        for worker in (killed, stopped):
            assert len(await claims_of(store, worker)) == RUNS
        under_way_s = time.time()
        start("heir", "worker", "--slots", str(3 * RUNS)).wait_until_running()
        ended_s = time.time()
        killed.kill()
        stopped.pause()
        wait_for(lambda: len(again(target)) == 2 * RUNS)
        assert max(again(target)) - ended_s < TAKE_OVER_S_MAX
        wait_for(lambda: time.time() > under_way_s + CALL_S)
        woken_s = time.time()
        stopped.resume()
        wait_for(lambda: stopped.counted("joined") == 2)
        assert stopped.counted("results refused") > 0
        assert stopped.counted("lease not trusted, runs not started") > 0
        assert stopped.stop() == 0
        runs = await succeeded(store)
        assert [hit for hit in target.hits() if hit["t"] > woken_s] == []
        assert len(runs) == 2 * RUNS
        assert [run for run in runs if outcomes(run) != LOST_THEN_DONE] == []
        assert Counter(target.hits_per_run().values()) == {
            2: 2 * CONNECTIONS_PER_HOST_MAX,
            1: 2 * (RUNS - CONNECTIONS_PER_HOST_MAX),
        }
        assert len({run.worker for run in runs}) == 1
