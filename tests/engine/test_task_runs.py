"""Runs of tasks, from what was asked for to what is kept of them, in every way to run a task."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import pytest

from dueline.domain.job import DEFAULT_TENANT, Definition, Delivery, Execution, TaskTarget
from dueline.domain.retry import Backoff, Conditions, RetryPolicy
from dueline.domain.run import OutcomeKind
from dueline.domain.schedule import After, Every
from dueline.domain.states import RunState
from tests.support.cluster import HandNode
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.task_cluster import MODES, TaskCluster, ended, kinds, last_error, named

SOON = RetryPolicy(max_attempts=3, backoff=Backoff.FIXED, base_ms=1_000)
ERRORED, SUCCEEDED = OutcomeKind.ERRORED, OutcomeKind.SUCCEEDED

every_mode = pytest.mark.parametrize("mode", MODES)


@pytest.fixture
async def cluster(under_test: StoreUnderTest) -> AsyncIterator[TaskCluster]:
    cluster = TaskCluster(under_test)
    yield cluster
    cluster.close()


async def crew(cluster: TaskCluster, mode: str) -> HandNode:
    return await cluster.add_crew(**MODES[mode])


@every_mode
async def test_a_scheduled_task_runs_and_its_result_is_kept(cluster: TaskCluster, mode: str) -> None:
    await crew(cluster, mode)
    target = TaskTarget(task=named("add", mode), args={"a": 2, "b": 40})
    job = await cluster.operations.create_job(
        DEFAULT_TENANT,
        lambda _id, _now_ms: Definition(
            name="sum", execution=Execution(target=target), schedule=Every(period_ms=60_000, anchor_ms=START_MS)
        ),
    )
    await cluster.store_clock.advance(59)
    await cluster.advance(2)
    (run,) = await cluster.runs()
    assert (ended(run), run.job_id) == ((RunState.SUCCEEDED, 1, "42"), job.id)
    assert run.started_ms is not None
    assert run.started_ms >= run.due_ms == START_MS + 60_000


@every_mode
async def test_an_ad_hoc_task_runs(cluster: TaskCluster, mode: str) -> None:
    await crew(cluster, mode)
    run_id = await cluster.enqueue(named("add", mode), {"a": 1})
    await cluster.advance(1)
    assert ended(await cluster.run(run_id)) == (RunState.SUCCEEDED, 1, "2")


async def test_a_task_waits_for_a_worker_with_an_app(cluster: TaskCluster) -> None:
    await cluster.add("plain")
    run_id = await cluster.enqueue("add", {"a": 1})
    await cluster.advance(2)
    assert (await cluster.run(run_id)).state is RunState.READY
    await cluster.add_crew()
    await cluster.advance(1)
    assert (await cluster.run(run_id)).worker == "crew"


async def test_a_task_waits_for_a_worker_that_has_what_it_requires_besides(cluster: TaskCluster) -> None:
    await cluster.add_crew("weak")
    run_id = await cluster.enqueue("add", {"a": 1}, requires=("gpu",))
    await cluster.advance(2)
    assert (await cluster.run(run_id)).state is RunState.READY
    await cluster.add_crew("strong", labels=("gpu",))
    await cluster.advance(2)
    assert (await cluster.run(run_id)).worker == "strong"


@pytest.mark.parametrize("mode", ["threads", "processes"])
async def test_a_task_knows_which_run_it_is(cluster: TaskCluster, mode: str) -> None:
    await crew(cluster, mode)
    run_id = await cluster.enqueue("identify")
    await cluster.advance(1)
    run = await cluster.run(run_id)
    _, job_id, attempt, token, scheduled_at, tenant, checkpoint = json.loads(ended(run)[2] or "")
    assert (job_id, attempt, token, tenant, checkpoint) == (None, 1, run.attempts[0].token, DEFAULT_TENANT, None)
    assert scheduled_at.startswith("20")


UNFIT = "the arguments do not fit: c: unknown field; a: must be a whole number, not text"


@every_mode
@pytest.mark.parametrize(
    ("task", "args", "kind", "error"),
    [
        ("add", {"a": "x", "c": 1}, OutcomeKind.IMPOSSIBLE, UNFIT),
        ("add", {}, OutcomeKind.IMPOSSIBLE, "the arguments do not fit: a: is required"),
        ("stages", {"ends": ["fail"]}, OutcomeKind.REFUSED, "Fail: no such customer"),
    ],
)
async def test_what_no_attempt_can_change_ends_at_once_and_says_why(
    cluster: TaskCluster, mode: str, task: str, args: dict[str, Any], kind: OutcomeKind, error: str
) -> None:
    await crew(cluster, mode)
    run_id = await cluster.enqueue(named(task, mode), args, retry=SOON)
    await cluster.advance(1)
    run = await cluster.run(run_id)
    assert (run.state, run.attempt, kinds(run)) == (RunState.FAILED, 1, [kind])
    assert last_error(run).startswith(error)
    (letter,) = await cluster.dead_letters()
    assert letter.run == run


async def test_a_task_that_the_worker_does_not_have_names_those_that_may_be_meant(cluster: TaskCluster) -> None:
    await cluster.add_crew()
    run_id = await cluster.enqueue("ad", retry=SOON)
    await cluster.advance(1)
    run = await cluster.run(run_id)
    assert (run.state, run.attempt, kinds(run)) == (RunState.FAILED, 1, [OutcomeKind.IMPOSSIBLE])
    assert last_error(run) == (
        "no worker that is alive has a task ad (did you mean add?); start one that has it or correct the name, then redrive the run"
    )
    assert len(await cluster.dead_letters()) == 1


@every_mode
async def test_an_error_is_tried_again_as_the_policy_says(cluster: TaskCluster, mode: str) -> None:
    await crew(cluster, mode)
    run_id = await cluster.enqueue(named("stages", mode), {"ends": ["raise", "raise", "return"]}, retry=SOON)
    await cluster.advance(4)
    run = await cluster.run(run_id)
    assert (run.state, kinds(run)) == (RunState.SUCCEEDED, [ERRORED, ERRORED, SUCCEEDED])
    begun = [attempt.started_ms or 0 for attempt in run.attempts]
    assert [later - earlier for earlier, later in pairwise(begun)] == [1_000, 1_000]
    assert (run.attempts[0].outcome.error or "").startswith("LookupError: nothing there")


async def test_when_all_attempts_failed_the_letter_tells_the_error_and_where(cluster: TaskCluster) -> None:
    await cluster.add_crew()
    await cluster.enqueue("raise", {"message": "nothing there"}, retry=SOON)
    await cluster.advance(4)
    (letter,) = await cluster.dead_letters()
    assert kinds(letter.run) == [ERRORED] * 3
    told = last_error(letter.run).splitlines()
    assert (told[0], "task_app.py" in told[-1]) == ("LookupError: nothing there", True)


@every_mode
async def test_a_task_that_names_its_time_is_tried_again_exactly_then(cluster: TaskCluster, mode: str) -> None:
    await crew(cluster, mode)
    run_id = await cluster.enqueue(named("stages", mode), {"ends": ["retry", "return"]})
    await cluster.advance(1)
    run = await cluster.run(run_id)
    assert (run.state, run.due_ms - run.attempts[0].finished_ms) == (RunState.RETRYING, 10_000)
    await cluster.advance(9)
    assert len((await cluster.run(run_id)).attempts) == 1
    await cluster.advance(0.5)
    assert ended(await cluster.run(run_id)) == (RunState.SUCCEEDED, 2, "[1,2]")


@pytest.mark.parametrize(
    ("policy", "attempts"),
    [
        (RetryPolicy(never_on=Conditions(kinds=(ERRORED,))), 1),
        (RetryPolicy(retry_on=Conditions(kinds=(OutcomeKind.TIMED_OUT,))), 1),
        (RetryPolicy(max_attempts=2), 2),
        (RetryPolicy(max_elapsed_ms=9_999), 1),
        (RetryPolicy(max_elapsed_ms=10_000, max_attempts=9), 2),
    ],
)
async def test_a_task_that_asks_for_another_attempt_is_bound_by_the_policy(
    cluster: TaskCluster, policy: RetryPolicy, attempts: int
) -> None:
    await cluster.add_crew()
    run_id = await cluster.enqueue("stages", {"ends": ["retry"] * 9}, retry=policy)
    await cluster.advance(12)
    run = await cluster.run(run_id)
    assert (run.state, run.attempt) == (RunState.FAILED, attempts)


async def test_a_task_at_most_once_is_not_tried_again(cluster: TaskCluster) -> None:
    await cluster.add_crew(processes=1)
    ids = [
        await cluster.enqueue("stages", {"ends": [how]}, delivery=Delivery.AT_MOST_ONCE)
        for how in ("raise", "retry", "kill")
    ]
    await cluster.advance(3)
    runs = [await cluster.run(run_id) for run_id in ids]
    assert [(run.state, run.attempt) for run in runs] == [(RunState.FAILED, 1)] * 3


async def test_a_fixed_delay_counts_from_the_end_of_a_task_however_it_ended(cluster: TaskCluster) -> None:
    await cluster.add_crew(processes=1)
    target = TaskTarget(task="stages", args={"ends": ["kill"] * 9})
    await cluster.operations.create_job(
        DEFAULT_TENANT,
        lambda _id, _now_ms: Definition(
            name="after", execution=Execution(target=target), schedule=After(delay_ms=5_000, first_ms=START_MS + 1_000)
        ),
    )
    await cluster.advance(14)
    runs = sorted(await cluster.runs(), key=lambda run: run.due_ms)
    assert [run.reason for run in runs[:2]] == ["poison"] * 2
    assert runs[1].due_ms >= (runs[0].finished_ms or 0) + 5_000
