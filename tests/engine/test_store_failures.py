"""Whatever call to the store fails, and whether it had its effect or not: nothing is lost, nothing runs twice without a reason."""

from __future__ import annotations

from collections import Counter

import pytest

from dueline.domain.ids import job_text, run_text
from dueline.domain.job import DEFAULT_TENANT, Definition, Execution, HttpTarget
from dueline.domain.overlap import Overlap
from dueline.domain.planning import Misfire, MisfirePolicy
from dueline.domain.retry import Backoff, RetryPolicy
from dueline.domain.run import OutcomeKind
from dueline.domain.schedule import At, Cron, Schedule
from dueline.domain.states import RunState
from tests.support.cluster import Cluster
from tests.support.failing import FailingStore, Fault
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Answer, Target

WORK_S = 3.0
HEAL_S = 24.0
"""Lease, silence and sweep of a dead node, and the backlog."""


async def define_work(cluster: Cluster, target: Target) -> None:
    """A one-time job, a job every second, and one whose target fails at first."""
    failures = iter([503])
    target.on("/first-fails", lambda _hit: Answer(status=next(failures, 200)))

    async def define(path: str, schedule: Schedule) -> None:
        execution = Execution(
            target=HttpTarget(url=target.url + path), retry=RetryPolicy(backoff=Backoff.FIXED, base_ms=100, max_lost=10)
        )
        misfire = Misfire(policy=MisfirePolicy.FIRE_ALL)
        await cluster.operations.create_job(
            DEFAULT_TENANT,
            lambda job_id, _: Definition(
                name=job_text(job_id),
                execution=execution,
                schedule=schedule,
                misfire=misfire,
                overlap=Overlap.QUEUE_ALL,
            ),
        )

    await define("/ok", At(START_MS + 1_500))
    await define("/ok", Cron("* * * * * *"))
    await define("/first-fails", At(START_MS + 1_700))


async def check(cluster: Cluster, target: Target) -> None:
    """I1–I6 over what the store says and what the target saw."""
    now_ms = cluster.store_clock.now_ms
    runs = [run for run in await cluster.runs() if run.scheduled_ms < now_ms]
    assert not [run for run in runs if run.state is not RunState.SUCCEEDED]
    seconds = sorted(run.scheduled_ms for run in runs if run.scheduled_ms % 1000 == 0)
    assert seconds == list(range(START_MS + 1000, seconds[-1] + 1000, 1000))
    assert seconds[-1] >= now_ms - 1000
    assert {START_MS + 1_500, START_MS + 1_700} <= {run.scheduled_ms for run in runs}
    hits = Counter(hit.headers["dueline-run"] for hit in target.hits)
    assert hits.keys() >= {run_text(run.id) for run in runs}
    for run in runs:
        excused = sum(attempt.outcome.kind is not OutcomeKind.SUCCEEDED for attempt in run.attempts)
        assert 1 <= hits[run_text(run.id)] <= 1 + excused
        started = [attempt.started_ms for attempt in run.attempts if attempt.started_ms is not None]
        assert all(started_ms >= run.scheduled_ms for started_ms in started)
    tokens = [(hit.headers["dueline-run"], hit.headers["dueline-token"]) for hit in target.hits]
    assert len(tokens) == len(set(tokens)), "one hit per run and token"


LOOPS = ("due_plans", "job_versions", "fire", "upcoming", "queues", "claim", "confirm", "finish")
STRUCK = [
    *((method, nth) for method in LOOPS for nth in (1, 2)),
    ("take_shards", 2),
    ("beat", 3),
    ("fire", 3),
    ("claim", 3),
    ("confirm", 3),
    ("finish", 3),
    ("retry", 1),
    ("promote", 1),
]


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize(("method", "nth"), STRUCK)
async def test_a_call_that_fails_loses_nothing(
    under_test: StoreUnderTest, target: Target, method: str, nth: int, fault: Fault
) -> None:
    cluster = Cluster(under_test)
    failing = FailingStore(under_test.store, method, nth, fault, kill=False)
    await define_work(cluster, target)
    await cluster.add("hiccup", store=failing.as_store())
    await cluster.advance(WORK_S)
    await cluster.advance(HEAL_S, tick_s=0.5)
    assert failing.struck
    await check(cluster, target)
    cluster.close()


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize(("method", "nth"), STRUCK)
async def test_a_node_that_dies_in_a_call_loses_nothing(
    under_test: StoreUnderTest, target: Target, method: str, nth: int, fault: Fault
) -> None:
    cluster = Cluster(under_test)
    failing = FailingStore(under_test.store, method, nth, fault, kill=True)
    await define_work(cluster, target)
    await cluster.add("doomed", store=failing.as_store())
    await cluster.advance(WORK_S)
    assert failing.struck
    await cluster.add("heir")
    await cluster.advance(HEAL_S, tick_s=0.5)
    await check(cluster, target)
    cluster.close()
