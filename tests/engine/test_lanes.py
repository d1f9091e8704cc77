"""Who executes what: labels that runs require, queues that are paused, runs that expire, targets that are gone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from dueline.domain.asked_runs import AdhocRun
from dueline.domain.ids import RunId, job_text
from dueline.domain.job import DEFAULT_TENANT, Execution, HttpTarget, Job
from dueline.domain.states import JobState, RunState
from dueline.engine.execution.gone import NOTE
from dueline.store.shapes import CancelAnswer
from tests.support.cluster import Cluster
from tests.support.stores import START_MS, StoreUnderTest, a_definition
from tests.support.target import Target


@pytest.fixture
async def cluster(under_test: StoreUnderTest) -> AsyncIterator[Cluster]:
    cluster = Cluster(under_test)
    yield cluster
    cluster.close()


def to(target: Target, path: str = "/ok", **fields: Any) -> Execution:
    return Execution(target=HttpTarget(url=target.url + path), **fields)


async def enqueue(cluster: Cluster, execution: Execution) -> RunId:
    (run_id,) = await cluster.operations.enqueue(DEFAULT_TENANT, [AdhocRun(execution=execution)])
    return run_id


async def states(cluster: Cluster) -> list[RunState]:
    return [run.state for run in await cluster.runs()]


async def test_a_run_waits_for_a_worker_that_has_what_it_requires(cluster: Cluster, target: Target) -> None:
    await cluster.add("plain")
    await enqueue(cluster, to(target, requires=("gpu",)))
    await cluster.advance(2)
    assert await states(cluster) == [RunState.READY]
    await cluster.add("strong", labels=("eu", "gpu"))
    await cluster.advance(2)
    (run,) = await cluster.runs()
    assert (run.state, run.worker) == (RunState.SUCCEEDED, "strong")


async def test_a_worker_with_labels_executes_plain_runs_too(cluster: Cluster, target: Target) -> None:
    await cluster.add("strong", labels=("gpu",))
    await enqueue(cluster, to(target))
    await cluster.advance(1)
    assert await states(cluster) == [RunState.SUCCEEDED]


async def test_a_paused_queue_gives_nothing_until_it_is_resumed(cluster: Cluster, target: Target) -> None:
    fleet = cluster.fleet
    await cluster.add()
    await fleet.pause_queue("default", note="target is moving")
    await enqueue(cluster, to(target))
    await cluster.advance(2)
    (queue,) = await fleet.queues()
    state = queue.state
    assert (state.queue, state.ready, state.paused, state.note) == ("default", 1, True, "target is moving")
    assert (queue.oldest_age_ms, queue.workers) == (2_000, 1)
    await fleet.resume_queue("default")
    await cluster.advance(1)
    assert await states(cluster) == [RunState.SUCCEEDED]


async def test_a_run_that_cannot_be_started_in_time_expires(cluster: Cluster, target: Target) -> None:
    await cluster.add()
    await cluster.fleet.pause_queue("default", note=None)
    await enqueue(cluster, to(target, expires_after_ms=5_000))
    await cluster.advance(4)
    assert await states(cluster) == [RunState.READY]
    await cluster.advance(4)
    (run,) = await cluster.runs()
    assert (run.state, run.reason, run.attempt) == (RunState.EXPIRED, "expired", 0)
    assert target.hits == []


async def test_a_process_that_is_asked_to_drain_hears_so(cluster: Cluster) -> None:
    node = await cluster.add("leaving")
    assert not node.life.membership.drain_asked.is_set()
    drained = await cluster.fleet.drain(node.boot_id)
    assert drained.boot_id == "leaving"
    await cluster.advance(3)
    assert node.life.membership.drain_asked.is_set()


async def test_a_run_under_way_is_broken_off_when_it_is_cancelled(cluster: Cluster, target: Target) -> None:
    await cluster.add()
    run_id = await enqueue(cluster, to(target, "/hang"))
    await cluster.advance(1, calls_end=False)
    assert await cluster.operations.cancel_run(DEFAULT_TENANT, run_id) is CancelAnswer.ASKED
    await cluster.advance(3)
    (run,) = await cluster.runs()
    assert (run.state, run.reason) == (RunState.CANCELLED, "requested")


async def a_job(cluster: Cluster, target: Target, path: str) -> Job:
    return await cluster.operations.create_job(
        DEFAULT_TENANT,
        lambda job_id, _now_ms: a_definition(job_text(job_id), target=HttpTarget(url=target.url + path)),
    )


async def test_a_job_whose_target_is_gone_is_paused_with_a_note(cluster: Cluster, target: Target) -> None:
    await cluster.add()
    job = await a_job(cluster, target, "/status/410")
    await cluster.store_clock.set_ms(START_MS + 59_500)
    await cluster.advance(3)
    found = await cluster.store.job(DEFAULT_TENANT, job.id)
    assert found is not None
    assert (found.state, found.pause_note) == (JobState.PAUSED, NOTE)
    assert await states(cluster) == [RunState.FAILED]
