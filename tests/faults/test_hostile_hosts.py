"""One worker calls hosts that hang, reset, drip and flood beside a good one: the good one's runs start as punctually as without them."""

from __future__ import annotations

from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from dueline.domain import limits
from dueline.domain.instants import parse_instant
from dueline.domain.run import OutcomeKind
from dueline.store.postgres.store import PostgresStore
from tests.faults.scenes import enqueue, outcomes, read_runs, wait_for_hits
from tests.support.dueline import DuelineProcess, Witness, processes, witness
from tests.support.hostile import hostile_target
from tests.support.processes import resident_bytes

GOOD = 200
SPREAD_MS = 3_000
LEAD_MS = 1_500
SHARE = int(limits.HOST_SHARE * limits.SLOTS_DEFAULT)
HARMS = {"/hang": SHARE + 200, "/reset": 100, "/drip": 100, "/endless-headers": 100, "/flood": 100}
"""Runs for each hostile host; those that hang are more than its share of the slots."""
FLOOR_S = 0.1
"""Twice a few milliseconds is noise on a busy machine: up to here nobody is called late."""
MIB = 1024 * 1024


def p95(lags_s: list[float]) -> float:
    return sorted(lags_s)[int(len(lags_s) * 0.95)]


def lags_s(target: Witness, hits: slice) -> list[float]:
    """How long after their time runs arrived, by the target's own log."""
    return [hit["t"] - parse_instant(hit["dueline-scheduled-at"], field="hit") / 1000 for hit in target.hits()[hits]]


@pytest.mark.long
async def test_hostile_hosts_cost_a_good_one_no_punctuality_and_the_worker_no_memory(
    postgres_store: PostgresStore, postgres_dsn: str, tmp_path: Path
) -> None:
    store = postgres_store
    async with AsyncExitStack() as stack:
        target, fleet = stack.enter_context(witness(tmp_path)), stack.enter_context(processes())
        hosts = {path: await stack.enter_async_context(hostile_target()) for path in HARMS}
        fleet.append(DuelineProcess(tmp_path, "scheduler", "scheduler", db=postgres_dsn))
        worker = DuelineProcess(tmp_path, "worker", "worker", db=postgres_dsn, host_share=limits.HOST_SHARE)
        fleet.append(worker)
        for process in fleet:
            process.wait_until_running()

        async def call_the_good_one() -> None:
            due_ms = await store.now_ms() + LEAD_MS
            await enqueue(store, f"{target.url}/ok", GOOD, due_ms=due_ms, spread_ms=SPREAD_MS)

        await call_the_good_one()
        wait_for_hits(target, GOOD)
        alone_s = p95(lags_s(target, slice(GOOD)))
        before_bytes = resident_bytes(worker.pid)
        await call_the_good_one()
        now_ms = await store.now_ms()
        for path, count in HARMS.items():
            spread_ms = 0 if path == "/hang" else LEAD_MS + SPREAD_MS
            await enqueue(store, hosts[path] + path, count, due_ms=now_ms, spread_ms=spread_ms)
        wait_for_hits(target, 2 * GOOD)
        beside_s = p95(lags_s(target, slice(GOOD, None)))
        assert beside_s <= max(2 * alone_s, FLOOR_S)
        assert resident_bytes(worker.pid, peak=True) - before_bytes < 50 * MIB
        assert set(target.hits_per_run().values()) == {1}
        ended = Counter(kind for run in await read_runs(store) for kind in outcomes(run))
        assert ended[OutcomeKind.ERRORED] > 0, "some reset, some had headers without an end"
        assert ended[OutcomeKind.SUCCEEDED] > 2 * GOOD, "some flooded, and were cut short"
        assert any(node.busy >= SHARE for node in await store.nodes() if node.pid == worker.pid)
