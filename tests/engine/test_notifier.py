"""Those who asked for it are told of ends, by calls that are runs of their own."""

from collections.abc import AsyncIterator
from contextlib import closing

import msgspec
import pytest

from dueline.domain.asked_runs import AdhocRun
from dueline.domain.job import Definition, Execution, HttpTarget, Notify
from dueline.domain.retry import RetryPolicy
from dueline.domain.schedule import Every
from dueline.domain.states import RunState
from tests.support.cluster import Cluster
from tests.support.stores import START_MS, TENANT, StoreUnderTest
from tests.support.target import Answer, Target

ONCE = RetryPolicy(max_attempts=1)
FAILED, SUCCEEDED = RunState.FAILED, RunState.SUCCEEDED


@pytest.fixture
async def cluster(under_test: StoreUnderTest) -> AsyncIterator[Cluster]:
    with closing(Cluster(under_test)) as cluster:
        await cluster.add()
        yield cluster


@pytest.fixture(autouse=True)
def answered(target: Target) -> None:
    for path in ("/work", "/ended"):
        target.on(path, lambda _: Answer())


def asking(target: Target, *on: RunState, path: str = "/work") -> Execution:
    notify = Notify(url=f"{target.url}/ended", on=on)
    return Execution(target=HttpTarget(url=target.url + path), retry=ONCE, notify=notify)


def told(target: Target) -> list[dict[str, object]]:
    return [msgspec.json.decode(hit.body) for hit in target.hits if hit.path == "/ended"]


async def enqueue(cluster: Cluster, *executions: Execution) -> None:
    runs = [
        AdhocRun(execution=one, queue="default", priority=5, fairness_key="", region="", tags=(), due_ms=None)
        for one in executions
    ]
    await cluster.operations.enqueue(TENANT, runs)


async def test_an_end_is_told_once(cluster: Cluster, target: Target) -> None:
    target.on("/broken", lambda _: Answer(status=500))
    await enqueue(
        cluster,
        asking(target, FAILED, path="/broken"),
        asking(target, FAILED),
        asking(target, SUCCEEDED),
        Execution(target=HttpTarget(url=f"{target.url}/work")),
    )
    await cluster.advance(5)
    bodies = told(target)
    assert sorted(str(body["type"]) for body in bodies) == ["run.failed", "run.succeeded"]
    runs = await cluster.runs()
    ended = {run.parent_id for run in runs if run.parent_id is not None}
    assert len(runs) == 6
    assert len(ended) == 2
    assert await cluster.live_runs() == []


async def test_two_who_notify_tell_it_once(cluster: Cluster, target: Target) -> None:
    await cluster.add("other")
    await enqueue(cluster, *(asking(target, SUCCEEDED) for _ in range(20)))
    await cluster.advance(5)
    assert len(told(target)) == 20


async def test_a_notice_is_tried_again(cluster: Cluster, target: Target) -> None:
    answers = iter([Answer(status=503), Answer(status=503), Answer()])
    target.on("/ended", lambda _: next(answers))
    await enqueue(cluster, asking(target, SUCCEEDED))
    await cluster.advance(30)
    assert len(told(target)) == 3
    (notice,) = [run for run in await cluster.runs() if run.parent_id is not None]
    assert (notice.state, notice.attempt) == (SUCCEEDED, 3)


async def test_the_runs_of_a_job_tell_its_name(cluster: Cluster, target: Target) -> None:
    definition = Definition(
        name="nightly",
        execution=asking(target, SUCCEEDED),
        schedule=Every(period_ms=10_000, anchor_ms=START_MS),
    )
    job = await cluster.operations.create_job(TENANT, lambda _id, _now_ms: definition)
    await cluster.advance(15)
    assert {msgspec.json.encode(body["job"]) for body in told(target)} != set()
    for body in told(target):
        assert isinstance(body["job"], dict)
        assert (body["job"]["name"], body["job"]["version"]) == ("nightly", job.version)


async def test_what_expires_is_told_though_nobody_executed_it(under_test: StoreUnderTest, target: Target) -> None:
    with closing(Cluster(under_test)) as cluster:
        await cluster.add()
        execution = msgspec.structs.replace(asking(target, RunState.EXPIRED), expires_after_ms=1_000, requires=("gpu",))
        await enqueue(cluster, execution)
        await cluster.advance(10)
        (body,) = told(target)
    assert body["type"] == "run.expired"
