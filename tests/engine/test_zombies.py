"""A node that was paused past its lease and comes back: it starts nothing, and what it still writes is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from dueline.domain.ids import job_text, run_text
from dueline.domain.job import DEFAULT_TENANT, Definition, Execution, HttpTarget
from dueline.domain.run import OutcomeKind
from dueline.domain.schedule import At, Cron
from dueline.domain.states import RunState
from tests.support.cluster import Cluster
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Answer, Reaction, Target

LEASE_AND_SWEEP_S = 14.0


async def test_the_result_of_a_zombie_is_refused(under_test: StoreUnderTest, target: Target) -> None:
    cluster = Cluster(under_test)
    late: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    first: Iterator[Reaction] = iter([late])
    target.on("/work", lambda _hit: next(first, Answer()))
    zombie = await cluster.add("zombie")
    await cluster.operations.create_job(
        DEFAULT_TENANT,
        lambda job_id, _: Definition(
            name=job_text(job_id),
            execution=Execution(target=HttpTarget(url=target.url + "/work")),
            schedule=At(START_MS + 1_000),
        ),
    )
    await cluster.advance(1.5, calls_end=False)
    await target.wait_for_hits(1)
    zombie.pause()
    await cluster.add("heir")
    await cluster.advance(LEASE_AND_SWEEP_S)
    (run,) = await cluster.runs()
    assert (run.state, run.attempt, run.worker) == (RunState.SUCCEEDED, 2, "heir")
    late.set_result(Answer(status=500))
    assert await zombie.come_back() == 1, "its result was refused"
    assert await cluster.runs() == [run], "and changed nothing"
    assert [attempt.outcome.kind for attempt in run.attempts] == [OutcomeKind.LOST, OutcomeKind.SUCCEEDED]
    assert [hit.headers["dueline-run"] for hit in target.hits] == [run_text(run.id)] * 2
    tokens = [int(hit.headers["dueline-token"]) for hit in target.hits]
    assert tokens[0] < tokens[1], "the target can tell which of the two is current"
    cluster.close()


async def test_a_zombie_neither_fires_nor_starts_anything(under_test: StoreUnderTest, target: Target) -> None:
    cluster = Cluster(under_test)
    zombie = await cluster.add("zombie")
    await cluster.operations.create_job(
        DEFAULT_TENANT,
        lambda job_id, _: Definition(
            name=job_text(job_id),
            execution=Execution(target=HttpTarget(url=target.url + "/ok")),
            schedule=Cron("* * * * * *"),
        ),
    )
    await cluster.advance(1.5)
    zombie.pause()
    await cluster.add("heir")
    await cluster.advance(LEASE_AND_SWEEP_S)
    hits = len(target.hits)
    await zombie.come_back()
    assert len(target.hits) == hits
    assert not zombie.alive, "it found itself declared dead"
    cluster.close()
