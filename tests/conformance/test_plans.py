"""Plans: what is due, to the millisecond, and one run per occurrence."""

import pytest

from dueline.domain.ids import BootId
from dueline.domain.job import Job
from dueline.domain.lanes import PLAIN
from dueline.domain.sharding import shard_of
from dueline.domain.states import JobState, RunKind, RunState
from dueline.store.fleet import Role
from dueline.store.protocol import Store
from dueline.store.shapes import DuePlan, Firing
from tests.support.stores import (
    ALL_SHARDS,
    START_MS,
    TENANT,
    StoreClock,
    a_finish,
    a_firing,
    a_job,
    an_occurrence,
    changing,
    claim_one,
    confirm,
    create,
    epochs_of,
    fire_one,
    plan_of,
    register,
    take_all,
    the_job,
    the_run,
)

LATER_MS = START_MS + 60_000


async def due(store: Store, since_ms: int = 0, until_ms: int = START_MS, *, limit: int = 100) -> list[DuePlan]:
    return await store.due_plans(ALL_SHARDS, since_ms=since_ms, until_ms=until_ms, limit=limit)


async def fire(store: Store, *firings: Firing) -> set[bytes]:
    return set(await store.fire(firings, await epochs_of(store)))


async def assert_not_fired(store: Store, job: Job) -> None:
    assert (await the_job(store, job.id)).next_ms == job.next_ms
    assert job.next_ms is not None
    assert await store.run(TENANT, an_occurrence(job, job.next_ms).id) is None


async def test_a_plan_is_due_between_two_instants_both_included(store: Store) -> None:
    job = await create(store)
    plan = DuePlan(job.id, shard_of(job.id), 1, 1, START_MS)
    assert await due(store, START_MS, START_MS) == [plan]
    assert await due(store, 0, START_MS - 1) == []
    assert await due(store, START_MS + 1, START_MS + 10) == []


async def test_only_plans_of_the_shards_asked_for_are_due(store: Store) -> None:
    first = await create(store, a_job(shard=3))
    await create(store, a_job(shard=4))
    found = await store.due_plans([3, 5], since_ms=0, until_ms=START_MS, limit=10)
    assert [plan.job_id for plan in found] == [first.id]
    assert await store.due_plans([], since_ms=0, until_ms=START_MS, limit=10) == []


@pytest.mark.parametrize("limit", [1, 8, 30, 600])
async def test_the_earliest_of_each_shard_are_given_first(store: Store, limit: int) -> None:
    new = [a_job(shard=3 + number % 3, next_ms=START_MS - number * 7 % 60) for number in range(60)]
    await store.create_jobs(new)
    found = await due(store, limit=limit)
    for shard in (3, 4, 5):
        given = [plan.next_ms for plan in found if plan.shard == shard]
        order = sorted(job.position.next_ms or 0 for job in new if shard_of(job.id) == shard)
        assert sorted(given) == order[: len(given)]


async def test_a_page_is_no_longer_than_its_limit_or_one_plan_for_each_shard(store: Store) -> None:
    await store.create_jobs([a_job(shard=number % 16) for number in range(160)])
    assert len(await store.due_plans(range(16), since_ms=0, until_ms=START_MS, limit=48)) == 48
    assert 1 <= len(await store.due_plans(range(16), since_ms=0, until_ms=START_MS, limit=1)) <= 16
    assert len(await store.due_plans([3], since_ms=0, until_ms=START_MS, limit=4)) == 4


async def test_everything_due_is_found_by_asking_again_however_uneven_the_shards_are(store: Store) -> None:
    crowded, quiet = [a_job(shard=3) for _ in range(50)], [a_job() for _ in range(10)]
    created = {job.id: job for job in await store.create_jobs([*crowded, *quiet]) if job}
    while plans := await due(store, limit=20):
        fired = await fire(store, *(a_firing(created.pop(plan.job_id), following_ms=LATER_MS) for plan in plans))
        assert fired == {plan.job_id for plan in plans}
    assert created == {}


async def test_firing_writes_the_run_and_moves_the_schedule(store: Store) -> None:
    job = await create(store)
    occurrence = an_occurrence(job, START_MS, tags=("blue",), queue="slow", priority=1)
    assert await fire(store, a_firing(job, following_ms=LATER_MS, runs=[occurrence])) == {job.id}
    run = await the_run(store, occurrence.id)
    assert (run.job_id, run.version, run.kind, run.state) == (job.id, 1, RunKind.SCHEDULED, RunState.READY)
    assert (run.scheduled_ms, run.due_ms, run.created_ms, run.attempt) == (START_MS, START_MS, START_MS, 0)
    assert (run.tags, run.queue, run.priority) == (("blue",), "slow", 1)
    assert (await the_job(store, job.id)).next_ms == LATER_MS
    assert await due(store) == []
    assert await due(store, until_ms=LATER_MS) == [DuePlan(job.id, shard_of(job.id), 1, 1, LATER_MS)]


async def test_several_occurrences_are_written_together(store: Store) -> None:
    job = await create(store)
    runs = [an_occurrence(job, START_MS + number) for number in range(5)]
    assert await fire(store, a_firing(job, following_ms=LATER_MS, runs=runs)) == {job.id}
    for run in runs:
        assert (await the_run(store, run.id)).due_ms == run.due_ms


async def test_a_firing_without_runs_only_moves_the_schedule(store: Store) -> None:
    job = await create(store)
    assert await fire(store, a_firing(job, following_ms=LATER_MS, runs=[])) == {job.id}
    assert (await the_job(store, job.id)).next_ms == LATER_MS


async def test_an_exhausted_schedule_finishes_its_job(store: Store, clock: StoreClock) -> None:
    job = await create(store)
    await clock.advance(4)
    await fire_one(store, job, following_ms=None)
    finished = await the_job(store, job.id)
    assert (finished.state, finished.next_ms, finished.version) == (JobState.FINISHED, None, 1)
    assert finished.updated_ms == START_MS + 4_000
    assert await plan_of(store, job.id) is None


async def test_the_same_firing_twice_is_one_run(store: Store) -> None:
    job = await create(store)
    firing = a_firing(job, following_ms=LATER_MS)
    assert await fire(store, firing) == {job.id}
    assert await fire(store, firing) == set()
    assert (await the_job(store, job.id)).next_ms == LATER_MS


@pytest.mark.parametrize("following_ms", [LATER_MS, None])
async def test_a_plan_that_moved_on_is_left_out(store: Store, following_ms: int | None) -> None:
    job = await create(store)
    moved = await store.change_job(TENANT, job.id, changing(next_ms=START_MS + 1))
    assert await fire(store, a_firing(job, following_ms=following_ms, generation=2)) == set()
    await assert_not_fired(store, moved)
    assert await store.run(TENANT, an_occurrence(job, START_MS).id) is None


@pytest.mark.parametrize("following_ms", [LATER_MS, None])
@pytest.mark.parametrize("difference", [-1, 1])
async def test_another_epoch_than_the_shards_fires_nothing(
    store: Store, difference: int, following_ms: int | None
) -> None:
    job = await create(store)
    epochs = await take_all(store, await register(store, "s1", role=Role.SCHEDULER))
    epochs[shard_of(job.id)] += difference
    assert await store.fire([a_firing(job, following_ms=following_ms)], epochs) == set()
    await assert_not_fired(store, job)
    assert (await the_job(store, job.id)).state is JobState.ACTIVE


async def test_a_fenced_shard_leaves_the_others_of_its_batch(store: Store) -> None:
    lost, kept = await create(store, a_job(shard=3)), await create(store, a_job(shard=4))
    epochs = await take_all(store, await register(store, "s1", role=Role.SCHEDULER))
    await store.drop_shards(BootId("s1"), {3: epochs[3]})
    await store.take_shards(await register(store, "s2", role=Role.SCHEDULER), {3: epochs[3]})
    firings = [a_firing(job, following_ms=LATER_MS) for job in (lost, kept)]
    assert await store.fire(firings, epochs) == {kept.id}
    await assert_not_fired(store, lost)


async def test_one_plan_that_moved_leaves_the_others_of_its_batch(store: Store) -> None:
    jobs = [await create(store) for _ in range(3)]
    await store.change_job(TENANT, jobs[1].id, changing(next_ms=LATER_MS))
    following: list[int | None] = [LATER_MS, LATER_MS, None]
    fired = await fire(store, *(a_firing(job, following_ms=at_ms) for job, at_ms in zip(jobs, following, strict=True)))
    assert fired == {jobs[0].id, jobs[2].id}


async def test_a_run_that_exists_already_stays_as_it_is(store: Store) -> None:
    job = await create(store)
    run_id = await fire_one(store, job)
    claimed = await claim_one(store, await register(store))
    again = await store.change_job(TENANT, job.id, changing(next_ms=START_MS))
    assert await fire_one(store, again) == run_id
    assert (await the_run(store, run_id)).state is RunState.RUNNING
    assert await confirm(store, claimed) == {run_id}


async def test_an_occurrence_that_has_ended_is_never_run_again(store: Store) -> None:
    job = await create(store)
    run_id = await fire_one(store, job)
    worker = await register(store)
    await store.finish([a_finish(await claim_one(store, worker))])
    again = await store.change_job(TENANT, job.id, changing(next_ms=START_MS))
    assert await fire_one(store, again) == run_id
    assert (await store.claim(worker, "default", PLAIN, ahead_ms=0, limit=10)).claims == []
    assert (await the_run(store, run_id)).state is RunState.SUCCEEDED


async def test_nothing_to_fire_is_nothing_fired(store: Store) -> None:
    assert await store.fire([], {}) == set()


async def test_seconds_in_which_many_plans_are_due_are_counted(store: Store) -> None:
    for at_ms in (START_MS - 1, START_MS, START_MS + 500, START_MS + 999, START_MS + 1_000, START_MS + 1_001):
        await create(store, a_job(next_ms=at_ms, shard=7))
    paused = await create(store, a_job(next_ms=START_MS, shard=7))
    await store.change_job(TENANT, paused.id, changing(state=JobState.PAUSED))

    async def crowds(since_ms: int, until_ms: int, *, least: int = 2, shard: int = 7) -> dict[int, int]:
        return await store.crowds([3, shard], since_ms=since_ms, until_ms=until_ms, least=least)

    assert await crowds(START_MS - 1_000, START_MS + 2_000) == {START_MS: 3, START_MS + 1_000: 2}
    assert await crowds(START_MS - 1_000, START_MS + 2_000, least=3) == {START_MS: 3}
    assert await crowds(START_MS - 1_000, START_MS + 2_000, least=4) == {}
    assert await crowds(START_MS, START_MS + 1_000, least=1) == {START_MS: 3}
    assert await crowds(START_MS - 1_000, START_MS + 2_000, shard=8) == {}
