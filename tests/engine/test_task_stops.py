"""Tasks that are to stop: cancelled, out of time, or on a worker that is asked to leave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from dueline.domain.job import DEFAULT_TENANT
from dueline.domain.retry import Backoff, RetryPolicy
from dueline.domain.run import OutcomeKind
from dueline.domain.states import RunState
from dueline.store.shapes import CancelAnswer
from tests.support.cluster import HandNode
from tests.support.stores import StoreUnderTest
from tests.support.task_cluster import MODES, PATIENCE_S, POLL_S, Gate, TaskCluster, ended, kinds, last_error, named

TWICE = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, base_ms=1_000)

every_mode = pytest.mark.parametrize("mode", MODES)


@pytest.fixture
async def cluster(under_test: StoreUnderTest) -> AsyncIterator[TaskCluster]:
    cluster = TaskCluster(under_test)
    yield cluster
    cluster.close()


@every_mode
async def test_a_task_that_is_cancelled_stops_and_its_run_is_cancelled(cluster: TaskCluster, mode: str) -> None:
    node = await cluster.add_crew(**MODES[mode], grace_s=30.0)
    run_id = await cluster.enqueue(named("until_stopped", mode))
    await cluster.began(node, run_id)
    assert await cluster.operations.cancel_run(DEFAULT_TENANT, run_id) is CancelAnswer.ASKED
    await cluster.advance(1)
    run = await cluster.run(run_id)
    assert (run.state, run.reason, kinds(run)) == (RunState.CANCELLED, "requested", [OutcomeKind.CANCELLED])
    assert last_error(run) == "it was cancelled: it stopped when asked"
    assert await cluster.dead_letters() == []


@every_mode
async def test_a_task_that_does_not_stop_is_left_behind_or_killed(cluster: TaskCluster, mode: str, gate: Gate) -> None:
    node = await cluster.add_crew(**MODES[mode])
    run_id = await cluster.enqueue(named("stubborn", mode), gate.args)
    await cluster.began(node, run_id)
    await cluster.operations.cancel_run(DEFAULT_TENANT, run_id)
    await cluster.advance(1)
    run = await cluster.run(run_id)
    assert (run.state, run.reason) == (RunState.CANCELLED, "requested")
    assert "it did not stop when asked" in last_error(run)
    assert last_error(run).endswith("its effect is unknown")
    after = await cluster.enqueue(named("add", mode), {"a": 1})
    await cluster.advance(1)
    assert ended(await cluster.run(after)) == (RunState.SUCCEEDED, 1, "2")


@pytest.mark.parametrize("mode", ["threads", "processes"])
async def test_a_task_that_was_done_in_spite_of_its_cancel_has_succeeded(cluster: TaskCluster, mode: str) -> None:
    node = await cluster.add_crew(**MODES[mode], grace_s=30.0)
    run_id = await cluster.enqueue("finish_when_stopped")
    await cluster.began(node, run_id)
    await cluster.operations.cancel_run(DEFAULT_TENANT, run_id)
    await cluster.advance(1)
    assert ended(await cluster.run(run_id)) == (RunState.SUCCEEDED, 1, '"done"')


async def test_a_run_that_was_to_be_cancelled_and_whose_process_died_is_cancelled(cluster: TaskCluster) -> None:
    node = await cluster.add_crew(processes=1, grace_s=30.0)
    run_id = await cluster.enqueue("die_when_stopped", {"status": 1})
    await cluster.began(node, run_id)
    await cluster.operations.cancel_run(DEFAULT_TENANT, run_id)
    await cluster.advance(1)
    run = await cluster.run(run_id)
    assert (run.state, run.reason, run.attempt) == (RunState.CANCELLED, "requested", 1)


@every_mode
async def test_an_attempt_out_of_time_is_tried_again_as_the_policy_says(cluster: TaskCluster, mode: str) -> None:
    node = await cluster.add_crew(**MODES[mode], grace_s=30.0)
    warm = await cluster.enqueue(named("add", mode), {"a": 1})
    await cluster.advance(1)
    assert (await cluster.run(warm)).state is RunState.SUCCEEDED
    run_id = await cluster.enqueue(named("until_stopped", mode), retry=TWICE, timeout_ms=100)
    await cluster.advance(4)
    run = await cluster.run(run_id)
    assert (run.state, kinds(run)) == (RunState.FAILED, [OutcomeKind.TIMED_OUT] * 2)
    assert last_error(run) == "it ran longer than PT0.1S: it stopped when asked"
    assert node.worker is not None
    assert node.worker.under_way == 0


@every_mode
async def test_a_run_whose_whole_time_is_over_ends(cluster: TaskCluster, mode: str) -> None:
    await cluster.add_crew(**MODES[mode], grace_s=30.0)
    warm = await cluster.enqueue(named("add", mode), {"a": 1})
    await cluster.advance(1)
    assert (await cluster.run(warm)).state is RunState.SUCCEEDED
    run_id = await cluster.enqueue(named("until_stopped", mode), run_timeout_ms=200, retry=TWICE)
    await cluster.advance(1)
    run = await cluster.run(run_id)
    assert (run.state, run.reason, kinds(run)) == (RunState.FAILED, "run_timeout", [OutcomeKind.TIMED_OUT])
    again = await cluster.enqueue(named("stages", mode), {"ends": ["raise", "return"]}, run_timeout_ms=900, retry=TWICE)
    await cluster.advance(3)
    run = await cluster.run(again)
    assert (run.state, run.reason, kinds(run)) == (RunState.FAILED, "run_timeout", [OutcomeKind.ERRORED])


@every_mode
async def test_a_retry_that_comes_after_the_time_of_its_run_is_not_begun(cluster: TaskCluster, mode: str) -> None:
    node = await cluster.add_crew(**MODES[mode], grace_s=30.0)
    policy = RetryPolicy(backoff=Backoff.FIXED, base_ms=1_000)
    run_id = await cluster.enqueue(
        named("stages", mode), {"ends": ["raise", "return"]}, run_timeout_ms=5_000, retry=policy
    )
    await cluster.advance(0.25)
    assert len((await cluster.run(run_id)).attempts) == 1
    node.pause()
    await cluster.advance(6)
    node.paused = False
    await cluster.advance(6)
    run = await cluster.run(run_id)
    assert (run.state, run.reason, kinds(run)) == (
        RunState.FAILED,
        "run_timeout",
        [OutcomeKind.ERRORED, OutcomeKind.TIMED_OUT],
    )
    assert last_error(run) == "no time is left for it"


async def drain(node: HandNode, forced: asyncio.Event, *, loops_run: int | None = None) -> None:
    """As a node does it at its end, with its loops beside it, or the first of them."""
    assert node.worker is not None
    loops = [asyncio.create_task(loop.run()) for loop in node.worker.loops()[:loops_run]]
    await asyncio.sleep(0)
    async with asyncio.timeout(30):
        await node.worker.drain(forced)
    for loop in loops:
        loop.cancel()
    await asyncio.gather(*loops, return_exceptions=True)
    await node.life.membership.leave()
    node.kill()


@every_mode
async def test_a_worker_that_drains_ends_its_tasks_and_takes_no_others(
    cluster: TaskCluster, mode: str, gate: Gate
) -> None:
    node = await cluster.add_crew(**MODES[mode])
    under_way = await cluster.enqueue(named("stubborn", mode), gate.args)
    await cluster.began(node, under_way)
    assert node.worker is not None
    claims = node.worker.loops()[0]
    draining = asyncio.create_task(drain(node, asyncio.Event()))
    async with asyncio.timeout(PATIENCE_S):
        await claims.ended.wait()
    later = await cluster.enqueue(named("add", mode), {"a": 1})
    gate.open()
    await draining
    assert ended(await cluster.run(under_way)) == (RunState.SUCCEEDED, 1, '"released"')
    run = await cluster.run(later)
    assert (run.state, run.attempt, run.lost) == (RunState.READY, 0, 0)


async def test_tasks_that_are_held_are_given_back_without_an_attempt(cluster: TaskCluster) -> None:
    node = await cluster.add_crew()
    run_id = await cluster.enqueue_later("add", {"a": 1}, in_ms=1_500)
    await cluster.advance(1)
    assert (await cluster.run(run_id)).state is RunState.RUNNING, "it is held for its time"
    await drain(node, asyncio.Event())
    run = await cluster.run(run_id)
    assert (run.worker, run.attempt) == (None, 0)
    await cluster.add_crew("heir")
    await cluster.advance(3)
    assert ended(await cluster.run(run_id)) == (RunState.SUCCEEDED, 1, "2")


@pytest.mark.parametrize("mode", ["threads", "processes"])
async def test_what_a_task_kept_last_is_written_when_its_worker_leaves_without_it(
    cluster: TaskCluster, gate: Gate, mode: str
) -> None:
    node = await cluster.add_crew(**MODES[mode])
    run_id = await cluster.enqueue("keep_when_released", gate.args)
    await cluster.began(node, run_id)
    gate.open()
    assert node.worker is not None
    for _ in range(round(PATIENCE_S / POLL_S)):
        if node.worker._saves._waiting:
            break
        await asyncio.sleep(POLL_S)
    forced = asyncio.Event()
    forced.set()
    await drain(node, forced, loops_run=2)
    told = await cluster.told(run_id)
    assert told is not None
    assert told.checkpoint == "[1]"
    await cluster.add_crew("heir", **MODES[mode])
    await cluster.advance(4)
    assert ended(await cluster.run(run_id)) == (RunState.SUCCEEDED, 1, "[1,2]")


@every_mode
async def test_a_worker_that_is_forced_leaves_its_tasks_to_others(cluster: TaskCluster, mode: str, gate: Gate) -> None:
    node = await cluster.add_crew(**MODES[mode])
    run_id = await cluster.enqueue(named("stubborn", mode), gate.args)
    await cluster.began(node, run_id)
    forced = asyncio.Event()
    forced.set()
    await drain(node, forced)
    assert (await cluster.run(run_id)).state is RunState.READY
    gate.open()
    await cluster.add_crew("heir", **MODES[mode])
    await cluster.advance(4)
    run = await cluster.run(run_id)
    assert (ended(run), run.lost, kinds(run)) == (
        (RunState.SUCCEEDED, 1, '"released"'),
        0,
        [OutcomeKind.LOST, OutcomeKind.SUCCEEDED],
    )
