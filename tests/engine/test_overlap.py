"""A job whose run takes longer than its period: each overlap policy, decided when the next run would start."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator

from dueline.domain.ids import job_text
from dueline.domain.job import DEFAULT_TENANT, Definition, Execution, HttpTarget
from dueline.domain.overlap import Overlap
from dueline.domain.run import Run
from dueline.domain.schedule import Every
from dueline.domain.states import RunState
from tests.support.cluster import Cluster
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Answer, Reaction, Target


class LongCluster(Cluster):
    """Its first call ends when told to."""

    def __init__(self, under_test: StoreUnderTest) -> None:
        super().__init__(under_test)
        self.long_call: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    def end_long_call(self) -> None:
        self.long_call.set_result(Answer())


async def run_long(under_test: StoreUnderTest, target: Target, overlap: Overlap) -> tuple[LongCluster, list[Run]]:
    """A run every second for four seconds, while the first call is still under way."""
    cluster = LongCluster(under_test)
    first: Iterator[Reaction] = iter([cluster.long_call])
    target.on("/long", lambda _hit: next(first, Answer()))
    await cluster.add()
    await cluster.operations.create_job(
        DEFAULT_TENANT,
        lambda job_id, now_ms: Definition(
            name=job_text(job_id),
            execution=Execution(target=HttpTarget(url=target.url + "/long")),
            schedule=Every(period_ms=1_000, anchor_ms=now_ms),
            overlap=overlap,
        ),
    )
    await cluster.advance(4.25, calls_end=False)
    return cluster, [run for run in await cluster.runs() if run.scheduled_ms <= START_MS + 4_000]


def states(runs: list[Run]) -> Counter[tuple[RunState, str | None]]:
    return Counter((run.state, run.reason) for run in runs)


async def test_skip_ends_the_runs_that_would_overlap_and_says_why(under_test: StoreUnderTest, target: Target) -> None:
    cluster, runs = await run_long(under_test, target, Overlap.SKIP)
    assert states(runs) == {(RunState.RUNNING, None): 1, (RunState.CANCELLED, "overlap"): 3}
    cluster.end_long_call()
    await cluster.advance(2)
    assert len(target.hits) >= 2, "the schedule goes on after the long run"
    cluster.close()


async def test_queue_one_keeps_one_run_waiting(under_test: StoreUnderTest, target: Target) -> None:
    cluster, runs = await run_long(under_test, target, Overlap.QUEUE_ONE)
    assert states(runs) == {
        (RunState.RUNNING, None): 1,
        (RunState.HELD, "overlap"): 1,
        (RunState.CANCELLED, "overlap"): 2,
    }
    cluster.end_long_call()
    await cluster.advance(2)
    held = next(run for run in runs if run.state is RunState.HELD)
    after = await cluster.store.run(DEFAULT_TENANT, held.id)
    assert after is not None
    assert (after.state, after.attempt) == (RunState.SUCCEEDED, 1)
    cluster.close()


async def test_queue_all_runs_every_occurrence_one_after_the_other(under_test: StoreUnderTest, target: Target) -> None:
    cluster, runs = await run_long(under_test, target, Overlap.QUEUE_ALL)
    assert states(runs) == {(RunState.RUNNING, None): 1, (RunState.HELD, "overlap"): 3}
    cluster.end_long_call()
    await cluster.advance(8)
    ended = [run for run in await cluster.runs() if run.scheduled_ms <= START_MS + 4_000]
    assert states(ended) == {(RunState.SUCCEEDED, None): 4}
    by_schedule = sorted(ended, key=lambda run: run.scheduled_ms)
    finished = [run.finished_ms or 0 for run in by_schedule]
    started = [run.started_ms or 0 for run in by_schedule]
    assert all(end <= begin for end, begin in zip(finished, started[1:], strict=False))
    cluster.close()


async def test_allow_starts_them_all(under_test: StoreUnderTest, target: Target) -> None:
    cluster, runs = await run_long(under_test, target, Overlap.ALLOW)
    assert RunState.CANCELLED not in {run.state for run in runs}
    assert len(target.hits) == 4
    cluster.close()


async def test_a_run_now_obeys_overlap_unless_forced(under_test: StoreUnderTest, target: Target) -> None:
    cluster, runs = await run_long(under_test, target, Overlap.SKIP)
    job_id = runs[0].job_id
    assert job_id is not None
    obedient = await cluster.operations.run_job(DEFAULT_TENANT, job_id, force=False)
    forced = await cluster.operations.run_job(DEFAULT_TENANT, job_id, force=True)
    await cluster.advance(0.5, calls_end=False)
    first = await cluster.store.run(DEFAULT_TENANT, obedient)
    second = await cluster.store.run(DEFAULT_TENANT, forced)
    assert first is not None
    assert second is not None
    assert (first.state, first.reason) == (RunState.CANCELLED, "overlap")
    assert second.state is not RunState.CANCELLED
    cluster.close()
