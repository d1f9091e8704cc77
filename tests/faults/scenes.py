"""What tests of real processes do again and again: write runs, wait, and read what became of them."""

from __future__ import annotations

import asyncio
import http.client
import time
from collections.abc import Callable
from typing import Any

import msgspec

from dueline.domain import limits
from dueline.domain.asked_runs import AdhocRun
from dueline.domain.ids import BootId
from dueline.domain.job import DEFAULT_QUEUE, DEFAULT_TENANT, Execution, HttpTarget, Target
from dueline.domain.run import OutcomeKind, Run
from dueline.domain.states import RunState
from dueline.engine.operations import Operations
from dueline.engine.quotas import QuotaKeeper
from dueline.engine.timekeeping import Timekeeper
from dueline.runtime.chance import SystemChance
from dueline.runtime.clock import SystemClock
from dueline.store.protocol import Store
from dueline.store.shapes import Claim, RunFilter
from tests.support.dueline import DuelineProcess, Witness
from tests.support.keys import AUTHORIZED

WAIT_S_MAX = 30.0
"""Only a test that is about to fail waits this long."""
_PAGE_ROWS = 500


async def enqueue(
    store: Store,
    target: str | Target,
    count: int,
    *,
    queue: str = DEFAULT_QUEUE,
    due_ms: int | None = None,
    spread_ms: int = 0,
    timeout_ms: int = limits.TIMEOUT_MS_DEFAULT,
) -> None:
    """Write so many runs without a job, to a URL or any other target; with `spread_ms` they are due one after the other over that time."""
    clock = SystemClock()
    keeper = Timekeeper(store, clock)
    await keeper.step()
    operations = Operations(store, lambda: keeper.time, SystemChance(), QuotaKeeper(store, clock))
    execution = Execution(target=HttpTarget(url=target) if isinstance(target, str) else target, timeout_ms=timeout_ms)
    dues = [None if due_ms is None else due_ms + number * spread_ms // count for number in range(count)]
    await operations.enqueue(DEFAULT_TENANT, [AdhocRun(execution=execution, queue=queue, due_ms=due) for due in dues])


async def read_runs(store: Store) -> list[Run]:
    """Every run there is, page by page."""
    runs: list[Run] = []
    while True:
        before = runs[-1].id if runs else None
        page = await store.runs_page(RunFilter(tenant=DEFAULT_TENANT), before=before, limit=_PAGE_ROWS)
        if not page:
            return runs
        runs += page


async def succeeded(store: Store, *, count: int = 0, within_s: float = WAIT_S_MAX) -> list[Run]:
    """All runs, once there are so many and every one of them has succeeded."""
    deadline = time.monotonic() + within_s
    while True:
        runs = await read_runs(store)
        if len(runs) >= count and all(run.state is RunState.SUCCEEDED for run in runs):
            return runs
        assert time.monotonic() < deadline, [run for run in runs if run.state is not RunState.SUCCEEDED][:5]
        await asyncio.sleep(0.1)


async def boot_id_of(store: Store, process: DuelineProcess) -> BootId:
    """Who a process is among the others, once it has joined them."""
    deadline = time.monotonic() + WAIT_S_MAX
    while True:
        for node in await store.nodes():
            if node.pid == process.pid:
                return node.boot_id
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


async def claims_of(store: Store, process: DuelineProcess) -> list[Claim]:
    """The runs in the hands of a process."""
    return await store.claims_of(await boot_id_of(store, process))


def outcomes(run: Run) -> list[OutcomeKind]:
    """How its attempts ended, one after the other."""
    return [attempt.outcome.kind for attempt in run.attempts]


def wait_for(condition: Callable[[], bool], *, within_s: float = WAIT_S_MAX) -> float:
    """Seconds until it holds."""
    started_s = time.monotonic()
    while not condition():
        assert time.monotonic() - started_s < within_s, "it did not come true in time"
        time.sleep(0.02)
    return time.monotonic() - started_s


def wait_for_hits(target: Witness, count: int) -> None:
    wait_for(lambda: len(target.hits()) >= count)


def call(url: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """One request to the API of a process, and its answer."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=40)
    try:
        connection.request(method, path, None if body is None else msgspec.json.encode(body), AUTHORIZED)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, msgspec.json.decode(text) if text else None
    finally:
        connection.close()
