"""Long tasks keep their runs as long as their worker lives, and not longer."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from dueline.domain import limits
from dueline.domain.retry import Backoff, RetryPolicy
from dueline.domain.run import OutcomeKind
from dueline.domain.states import RunState
from dueline.store.fleet import Role
from tests.support.stores import StoreUnderTest
from tests.support.task_cluster import Gate, TaskCluster, ended, kinds

MINUTE_S = 60.0
HOUR_MS = 3_600_000
AT_ONCE = RetryPolicy(backoff=Backoff.FIXED, base_ms=0)
TAKE_OVER_S = limits.LEASE_S + 3.0


@pytest.fixture
async def cluster(under_test: StoreUnderTest) -> AsyncIterator[TaskCluster]:
    cluster = TaskCluster(under_test)
    yield cluster
    cluster.close()


@pytest.mark.parametrize("task", ["stubborn", "stubborn_async"])
async def test_a_task_of_twenty_minutes_is_not_taken_from_a_worker_that_lives(
    cluster: TaskCluster, gate: Gate, task: str
) -> None:
    node = await cluster.add_crew("worker", role=Role.WORKER)
    await cluster.add("sweeper", role=Role.SCHEDULER)
    await cluster.add_crew("idle", role=Role.WORKER)
    run_id = await cluster.enqueue(task, gate.args, timeout_ms=HOUR_MS)
    await cluster.began(node, run_id)
    holder = (await cluster.run(run_id)).worker
    await cluster.advance(20 * MINUTE_S, tick_s=limits.BEAT_S, calls_end=False)
    run = await cluster.run(run_id)
    assert (run.state, run.attempt, run.lost, run.worker) == (RunState.RUNNING, 1, 0, holder)
    gate.open()
    await cluster.advance(1)
    run = await cluster.run(run_id)
    assert (ended(run), run.lost) == ((RunState.SUCCEEDED, 1, '"released"'), 0)
    assert (run.finished_ms or 0) - (run.started_ms or 0) >= 20 * MINUTE_S * 1000


async def test_the_task_of_a_worker_that_dies_is_taken_over_within_its_lease_and_three_seconds(
    cluster: TaskCluster, gate: Gate
) -> None:
    doomed = await cluster.add_crew("doomed", role=Role.WORKER)
    await cluster.add("sweeper", role=Role.SCHEDULER)
    await cluster.advance(10)
    run_id = await cluster.enqueue("stubborn", gate.args, timeout_ms=HOUR_MS)
    await cluster.began(doomed, run_id)
    await cluster.add_crew("heir", role=Role.WORKER)
    doomed.kill()
    await cluster.advance(TAKE_OVER_S, calls_end=False)
    run = await cluster.run(run_id)
    assert (run.state, run.worker, run.attempt, run.lost) == (RunState.RUNNING, "heir", 2, 1)
    gate.open()
    await cluster.advance(1)
    run = await cluster.run(run_id)
    assert (ended(run), kinds(run)) == (
        (RunState.SUCCEEDED, 2, '"released"'),
        [OutcomeKind.LOST, OutcomeKind.SUCCEEDED],
    )


@pytest.mark.parametrize("task", ["stubborn", "stubborn_async"])
async def test_a_task_that_was_taken_from_a_worker_that_goes_on_with_it_is_run_again_after_it(
    cluster: TaskCluster, gate: Gate, task: str
) -> None:
    """As after a machine slept: the store's clock went on, and that of the worker's timers did not."""
    node = await cluster.add_crew("worker", role=Role.WORKER, grace_s=30.0)
    await cluster.add("sweeper", role=Role.SCHEDULER)
    run_id = await cluster.enqueue(task, gate.args, timeout_ms=60_000, retry=AT_ONCE)
    await cluster.began(node, run_id)
    await cluster.advance(60 + limits.TIMEOUT_GRACE_MS / 1000 + 4, tick_s=1, calls_end=False)
    run = await cluster.run(run_id)
    assert (kinds(run), run.lost, run.attempt) == ([OutcomeKind.TIMED_OUT], 0, 1)
    assert node.worker is not None
    assert node.worker.under_way == 1, "the earlier attempt has not ended"
    gate.open()
    await cluster.advance(3)
    run = await cluster.run(run_id)
    assert (ended(run), node.worker.fenced_total) == ((RunState.SUCCEEDED, 2, '"released"'), 1)
    assert kinds(run) == [OutcomeKind.TIMED_OUT, OutcomeKind.SUCCEEDED]
    assert node.worker.under_way == 0
