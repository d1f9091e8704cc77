"""Runs that people ask for of a job: none is written of one that was cancelled or deleted, however lately."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import cycle

import pytest

from dueline.domain import endings
from dueline.domain.changes import DecideChange
from dueline.domain.errors import Conflict, DuelineError, NotFound
from dueline.domain.ids import JobId, RunId
from dueline.domain.run import Run
from dueline.domain.states import EndReason, JobState, RunState
from dueline.domain.uniqueness import OnConflict, UniqueVerdict
from dueline.store.postgres.runs import enqueue_arguments
from dueline.store.protocol import Store
from dueline.store.queries import load_queries
from dueline.store.shapes import RunFilter
from tests.conformance.cluster import Cluster, a_cluster
from tests.conformance.test_requests import KEY, in_hand
from tests.conformance.test_unique import REPLACE, unique, verdict, written
from tests.support.stores import START_MS, TENANT, a_run, changing, create, the_run

MANY = 20
LATER_MS = START_MS + 60_000


@dataclass(frozen=True)
class End:
    """How a job ends: by which decision or, behind the store's back, by what; and what whoever wants a run of it is told then."""

    decide: DecideChange
    by_hand: str
    refusal: type[DuelineError]
    words: str


CANCELLED = End(
    lambda hand: endings.cancel(hand, note=None),
    "UPDATE dueline.jobs SET state = 'cancelled'",
    Conflict,
    "a cancelled job stays as it is: it can be neither run nor changed",
)
DELETED = End(endings.delete, f"UPDATE dueline.jobs SET deleted_ms = {START_MS}", NotFound, "no job job_")
ends = pytest.mark.parametrize("end", [CANCELLED, DELETED], ids=["cancelled", "deleted"])


@pytest.fixture
async def cluster(emptied_dsn: str) -> AsyncIterator[Cluster]:
    async with a_cluster(emptied_dsn) as cluster:
        yield cluster


async def runs_of(store: Store, job_id: JobId) -> list[Run]:
    return await store.runs_page(RunFilter(tenant=TENANT, job_id=job_id), before=None, limit=100)


@ends
async def test_no_run_is_written_of_a_job_that_has_ended(store: Store, end: End) -> None:
    job = await create(store)
    await store.change_job(TENANT, job.id, end.decide)
    with in_hand(), pytest.raises(end.refusal, match=end.words):
        await store.enqueue([a_run(job), a_run(job)], open_job=job.id)
    assert await runs_of(store, job.id) == []
    assert await store.asked_before(KEY) is None


@ends
@pytest.mark.parametrize("on_conflict", OnConflict)
async def test_nor_does_a_run_of_it_take_a_key_or_touch_the_one_that_has_it(
    store: Store, end: End, on_conflict: OnConflict
) -> None:
    job = await create(store)
    other = await written(store, a_run(due_ms=LATER_MS), key="taken")
    await store.change_job(TENANT, job.id, end.decide)
    for key in ("taken", "free"):
        asked = unique(a_run(job), key, on_conflict)
        with in_hand(), pytest.raises(end.refusal, match=end.words):
            await store.enqueue_unique([asked], atomic=True, open_job=job.id)
    assert await runs_of(store, job.id) == []
    assert await store.asked_before(KEY) is None
    run = await the_run(store, other)
    assert (run.state, run.due_ms) == (RunState.SCHEDULED, LATER_MS)
    assert await verdict(store, key="taken") is UniqueVerdict.REJECTED
    assert await verdict(store, key="free") is UniqueVerdict.WRITTEN


@pytest.mark.parametrize("state", [JobState.ACTIVE, JobState.PAUSED, JobState.FINISHED])
async def test_a_job_that_is_paused_or_has_nothing_left_to_plan_is_open(store: Store, state: JobState) -> None:
    job = await create(store)
    await store.change_job(TENANT, job.id, changing(state=state))
    first, second = a_run(job), a_run(job)
    assert await store.enqueue([first], open_job=job.id) == {first.id}
    assert await store.enqueue([first, second], open_job=job.id) == {second.id}
    (answer,) = await store.enqueue_unique([unique(a_run(job))], atomic=True, open_job=job.id)
    assert answer.verdict is UniqueVerdict.WRITTEN
    assert len(await runs_of(store, job.id)) == 3


@ends
async def test_whoever_ends_a_job_while_many_want_runs_of_it_leaves_none(stores: list[Store], end: End) -> None:
    job = await create(stores[0])

    async def ask(store: Store, number: int) -> RunId | None:
        run = a_run(job)
        try:
            if number % 2:
                await store.enqueue([run], open_job=job.id)
            else:
                await store.enqueue_unique([unique(run, on_conflict=REPLACE)], atomic=True, open_job=job.id)
        except end.refusal:
            return None
        return run.id

    async def end_it() -> None:
        await stores[-1].change_job(TENANT, job.id, end.decide)

    asking = [ask(store, number) for number, store in zip(range(MANY), cycle(stores), strict=False)]
    async with asyncio.timeout(30):
        answers = await asyncio.gather(*asking[: MANY // 2], end_it(), *asking[MANY // 2 :])
    found = await runs_of(stores[0], job.id)
    assert {run.id for run in found} == set(answers) - {None}
    assert {run.state for run in found} <= {RunState.CANCELLED}


@ends
@pytest.mark.parametrize("keyed", [False, True])
async def test_who_wants_a_run_while_the_job_ends_waits_and_is_refused(cluster: Cluster, end: End, keyed: bool) -> None:
    store, job = cluster.first, await create(cluster.first)

    async def ask() -> None:
        if keyed:
            await store.enqueue_unique([unique(a_run(job))], atomic=True, open_job=job.id)
        else:
            await store.enqueue([a_run(job)], open_job=job.id)

    async with cluster.stopped("jobs", "lock", TENANT, job.id):
        asking = await cluster.blocked(ask())
        await cluster.hand.execute(end.by_hand)
    with pytest.raises(end.refusal, match=end.words):
        await asking
    assert await runs_of(store, job.id) == []


@ends
async def test_who_ends_a_job_while_a_run_of_it_is_written_waits_and_cancels_it(cluster: Cluster, end: End) -> None:
    job = await create(cluster.first)
    run = a_run(job)
    async with cluster.stopped("jobs", "hold_open", job.id):
        ending = await cluster.blocked(cluster.first.change_job(TENANT, job.id, end.decide))
        await cluster.hand.fetch(load_queries("postgres", "runs")["enqueue"], *enqueue_arguments([run], [0]))
    await ending
    ended = await the_run(cluster.first, run.id)
    assert ended.state is RunState.CANCELLED
    assert ended.reason in (EndReason.JOB_CANCELLED, EndReason.JOB_DELETED)


async def test_runs_of_a_job_are_written_beside_each_other_and_beside_the_end_of_its_schedule(cluster: Cluster) -> None:
    job = await create(cluster.first)
    async with cluster.stopped("jobs", "hold_open", job.id), asyncio.timeout(10):
        await cluster.first.enqueue([a_run(job)], open_job=job.id)
    async with cluster.hand.transaction(), asyncio.timeout(10):
        await cluster.hand.execute("UPDATE dueline.jobs SET state = 'finished'")
        await cluster.first.enqueue([a_run(job)], open_job=job.id)
    assert len(await runs_of(cluster.first, job.id)) == 2
