"""What tasks keep for their next attempt: there when it begins, whatever ended the one before, for few writes."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from dueline.domain.retry import Backoff, RetryPolicy
from dueline.domain.run import OutcomeKind
from dueline.domain.states import RunState
from tests.support.failing import FailingStore, Fault
from tests.support.stores import StoreUnderTest
from tests.support.task_cluster import MODES, TaskCluster, ended, kinds, named

SOON = RetryPolicy(backoff=Backoff.FIXED, base_ms=1_000)
LEASE_AND_SWEEP_S = 14.0


@pytest.fixture
async def cluster(under_test: StoreUnderTest) -> AsyncIterator[TaskCluster]:
    cluster = TaskCluster(under_test)
    yield cluster
    cluster.close()


@pytest.mark.parametrize("mode", MODES)
async def test_the_next_attempt_goes_on_from_the_last(cluster: TaskCluster, mode: str) -> None:
    await cluster.add_crew(**MODES[mode])
    run_id = await cluster.enqueue(named("stages", mode), {"ends": ["raise", "raise", "return"]}, retry=SOON)
    await cluster.advance(0.25)
    told = await cluster.told(run_id)
    assert told is not None, "it was written before the retry was"
    assert (told.checkpoint, told.progress, told.note) == ("[1]", 0.1, "attempt 1")
    await cluster.advance(4)
    assert ended(await cluster.run(run_id)) == (RunState.SUCCEEDED, 3, "[1,2,3]")


async def test_it_outlives_the_process_that_kept_it(cluster: TaskCluster) -> None:
    await cluster.add_crew(processes=1)
    run_id = await cluster.enqueue("stages", {"ends": ["kill", "kill", "return"]})
    await cluster.advance(3)
    run = await cluster.run(run_id)
    assert (ended(run), run.lost) == ((RunState.SUCCEEDED, 3, "[1,2,3]"), 2)
    assert kinds(run) == [OutcomeKind.LOST, OutcomeKind.LOST, OutcomeKind.SUCCEEDED]


async def test_it_outlives_the_worker_that_kept_it(cluster: TaskCluster) -> None:
    doomed = await cluster.add_crew("doomed")
    run_id = await cluster.enqueue("until_stopped")
    await cluster.began(doomed, run_id)
    doomed.kill()
    heir = await cluster.add_crew("heir")
    await cluster.advance(LEASE_AND_SWEEP_S, calls_end=False)
    told = await cluster.told(run_id)
    assert told is not None
    run = await cluster.run(run_id)
    assert (run.worker, run.attempt, run.lost) == ("heir", 2, 1)
    assert heir.worker is not None
    assert heir.worker.under_way == 1


async def test_progress_can_be_read_while_the_task_runs(cluster: TaskCluster) -> None:
    node = await cluster.add_crew()
    run_id = await cluster.enqueue("until_stopped_async")
    assert await cluster.began(node, run_id) == ["began"]
    told = await cluster.told(run_id)
    assert told is not None
    assert (told.progress, told.checkpoint) == (0.0, None)


@pytest.mark.parametrize("mode", MODES)
async def test_a_chatty_task_costs_few_writes(cluster: TaskCluster, mode: str) -> None:
    counting = FailingStore(cluster.store, "save", 0, Fault.BEFORE, kill=False)
    await cluster.add_crew(store=counting.as_store(), **MODES[mode])
    run_id = await cluster.enqueue(named("report", mode), {"count": 5_000})
    await cluster.advance(1)
    assert (await cluster.run(run_id)).state is RunState.SUCCEEDED
    assert 1 <= counting.calls["save"] <= 4, "time stood still while it talked"


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("mode", ["threads", "processes"])
async def test_what_could_not_be_written_is_kept_and_written_before_the_retry(
    cluster: TaskCluster, mode: str, fault: Fault
) -> None:
    failing = FailingStore(cluster.store, "save", 1, fault, kill=False)
    await cluster.add_crew(store=failing.as_store(), **MODES[mode])
    run_id = await cluster.enqueue("stages", {"ends": ["raise", "return"]}, retry=SOON)
    await cluster.advance(4)
    assert failing.struck
    assert ended(await cluster.run(run_id)) == (RunState.SUCCEEDED, 2, "[1,2]")


async def test_a_checkpoint_that_could_not_be_read_makes_nobody_begin_anew(cluster: TaskCluster) -> None:
    failing = FailingStore(cluster.store, "progress_of", 1, Fault.BEFORE, kill=False)
    await cluster.add_crew(store=failing.as_store())
    run_id = await cluster.enqueue("stages", {"ends": ["raise", "return", "return"]}, retry=SOON)
    await cluster.advance(4)
    assert failing.struck
    run = await cluster.run(run_id)
    assert (run.state, run.attempts[-1].outcome.result) == (RunState.SUCCEEDED, "[1,2]")


async def test_it_goes_with_its_run(cluster: TaskCluster) -> None:
    await cluster.add_crew()
    run_id = await cluster.enqueue("report", {"count": 3})
    await cluster.advance(1)
    assert await cluster.told(run_id) is None
