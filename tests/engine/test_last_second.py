"""A job that is changed in the last second before it is due, when its run is written, claimed and held already."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import msgspec
import pytest

from dueline.domain.ids import JobId, job_text
from dueline.domain.job import DEFAULT_TENANT, Definition, Execution, HttpTarget, Job
from dueline.domain.retry import Backoff, RetryPolicy
from dueline.domain.schedule import At, Cron, Schedule
from dueline.domain.states import JobState, RunState
from tests.support.cluster import Cluster
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Answer, Target

DUE_MS = START_MS + 3_000
ONCE = At(DUE_MS)


@pytest.fixture
async def cluster(under_test: StoreUnderTest) -> AsyncIterator[Cluster]:
    cluster = Cluster(under_test)
    await cluster.add()
    yield cluster
    cluster.close()


def a_call(target: Target, path: str = "/old") -> Execution:
    target.on("/old", lambda _hit: Answer())
    target.on("/new", lambda _hit: Answer())
    return Execution(target=HttpTarget(url=target.url + path), retry=RetryPolicy(backoff=Backoff.FIXED, base_ms=5_000))


async def create(cluster: Cluster, execution: Execution, schedule: Schedule = ONCE) -> Job:
    return await cluster.operations.create_job(
        DEFAULT_TENANT, lambda job_id, _: Definition(name=job_text(job_id), execution=execution, schedule=schedule)
    )


async def edit(cluster: Cluster, job_id: JobId, change: Callable[[Definition], Definition]) -> Job:
    return await cluster.operations.edit_job(
        DEFAULT_TENANT, job_id, lambda job, _: change(job.definition), expected_version=None
    )


async def reach_last_moment(cluster: Cluster) -> None:
    """Half a second before it is due: the run is in the worker's hands."""
    await cluster.advance(2.5)
    assert [run.state for run in await cluster.runs()] == [RunState.RUNNING]


def paths(target: Target) -> list[str]:
    return [hit.path for hit in target.hits]


async def test_an_edit_before_the_due_time_decides_what_runs(cluster: Cluster, target: Target) -> None:
    job = await create(cluster, a_call(target))
    await reach_last_moment(cluster)
    await edit(cluster, job.id, lambda old: msgspec.structs.replace(old, execution=a_call(target, "/new")))
    await cluster.advance(3)
    assert paths(target) == ["/new"]
    assert [(run.version, run.scheduled_ms, run.state) for run in await cluster.runs()] == [
        (2, DUE_MS, RunState.SUCCEEDED)
    ]


async def test_an_edit_after_the_due_time_leaves_the_run_as_it_was(cluster: Cluster, target: Target) -> None:
    job = await create(cluster, a_call(target))
    await cluster.advance(3)
    await edit(cluster, job.id, lambda old: msgspec.structs.replace(old, execution=a_call(target, "/new")))
    await cluster.advance(3)
    assert paths(target) == ["/old"]
    assert [run.version for run in await cluster.runs()] == [1]


async def test_a_moved_instant_runs_at_the_new_one_only(cluster: Cluster, target: Target) -> None:
    job = await create(cluster, a_call(target))
    await reach_last_moment(cluster)
    await edit(cluster, job.id, lambda old: msgspec.structs.replace(old, schedule=At(DUE_MS + 2_000)))
    await cluster.advance(1)
    assert paths(target) == []
    await cluster.advance(3)
    assert [run.scheduled_ms for run in await cluster.runs()] == [DUE_MS + 2_000]
    assert paths(target) == ["/old"]


async def test_an_edit_of_a_recurring_job_neither_loses_nor_doubles_an_occurrence(
    cluster: Cluster, target: Target
) -> None:
    job = await create(cluster, a_call(target), Cron("* * * * * *"))
    for _ in range(8):
        await cluster.advance(0.5)
        await edit(cluster, job.id, lambda old: msgspec.structs.replace(old, priority=(old.priority + 1) % 10))
    await cluster.advance(1)
    due = [run for run in await cluster.runs() if run.scheduled_ms <= START_MS + 5_000]
    assert sorted(run.scheduled_ms for run in due) == [START_MS + second * 1000 for second in range(1, 6)]
    assert {run.state for run in due} == {RunState.SUCCEEDED}
    assert len(target.hits) == 5


async def test_a_pause_before_the_due_time_keeps_it_from_starting(cluster: Cluster, target: Target) -> None:
    job = await create(cluster, a_call(target))
    await reach_last_moment(cluster)
    paused = await cluster.operations.pause_job(DEFAULT_TENANT, job.id, note="maintenance")
    assert (paused.state, paused.pause_note, paused.next_ms) == (JobState.PAUSED, "maintenance", DUE_MS)
    await cluster.advance(3)
    assert paths(target) == []
    await cluster.operations.resume_job(DEFAULT_TENANT, job.id)
    await cluster.advance(1)
    assert paths(target) == ["/old"]
    assert [run.scheduled_ms for run in await cluster.runs()] == [DUE_MS]


async def test_a_delete_before_the_due_time_leaves_nothing_to_run(cluster: Cluster, target: Target) -> None:
    job = await create(cluster, a_call(target))
    await reach_last_moment(cluster)
    await cluster.operations.delete_job(DEFAULT_TENANT, job.id, expected_version=None)
    await cluster.advance(3)
    assert paths(target) == []
    assert await cluster.runs() == []


async def test_a_retry_is_held_by_a_pause_and_goes_on_after_it(cluster: Cluster, target: Target) -> None:
    answers = iter([503])
    execution = a_call(target)
    target.on("/old", lambda _hit: Answer(status=next(answers, 200)))
    job = await create(cluster, execution, Cron("0 0 * * *"))
    await cluster.operations.run_job(DEFAULT_TENANT, job.id, force=False)
    await cluster.advance(0.5)
    assert [run.state for run in await cluster.runs()] == [RunState.RETRYING]
    await cluster.operations.pause_job(DEFAULT_TENANT, job.id, note=None)
    await cluster.advance(8)
    assert [(run.state, run.reason) for run in await cluster.runs()] == [(RunState.HELD, "paused")]
    await cluster.operations.resume_job(DEFAULT_TENANT, job.id)
    await cluster.advance(0.5)
    assert [(run.state, run.attempt) for run in await cluster.runs()] == [(RunState.SUCCEEDED, 2)]


async def test_a_run_now_does_not_move_the_schedule_and_works_while_paused(cluster: Cluster, target: Target) -> None:
    job = await create(cluster, a_call(target))
    await cluster.operations.pause_job(DEFAULT_TENANT, job.id, note=None)
    await cluster.operations.run_job(DEFAULT_TENANT, job.id, force=False)
    await cluster.advance(0.5)
    assert paths(target) == ["/old"]
    after = await cluster.store.job(DEFAULT_TENANT, job.id)
    assert after is not None
    assert (after.state, after.next_ms) == (JobState.PAUSED, DUE_MS)
