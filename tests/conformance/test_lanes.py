"""Lanes: a worker gets runs of the lane it asks for and of no other, in rank order."""

import pytest

from dueline.domain.ids import BootId
from dueline.domain.lanes import PLAIN, TASK
from dueline.domain.states import RunState
from dueline.store.protocol import Store
from tests.conformance.overlapping import exclusive
from tests.support.stores import (
    QUEUE,
    START_MS,
    StoreClock,
    a_firing,
    a_reclaim,
    a_retry,
    a_run,
    an_occurrence,
    claim,
    claim_one,
    create,
    enqueue,
    epochs_of,
    promote,
    register,
    run_and_claim,
    the_run,
)

GPU = "eu,gpu"


async def test_only_runs_of_the_lane_are_claimed(store: Store) -> None:
    worker = await register(store)
    plain, gpu, task = await enqueue(store, a_run(), a_run(lane=GPU), a_run(lane=TASK))
    assert (await claim_one(store, worker, lane=GPU)).run_id == gpu
    assert await claim(store, worker, lane=GPU) == []
    assert (await claim_one(store, worker)).run_id == plain
    assert (await claim_one(store, worker, lane=TASK)).run_id == task


@pytest.mark.parametrize("other", ["gpu", "eu", "eu,gpu,task", "eu,gp", "EU,GPU", "ü"])
async def test_a_lane_is_one_text_and_not_what_it_is_made_of(store: Store, other: str) -> None:
    await enqueue(store, a_run(lane=GPU))
    assert await claim(store, await register(store), lane=other) == []


async def test_a_lane_is_one_of_its_queue(store: Store) -> None:
    worker = await register(store)
    here, there = await enqueue(store, a_run(lane=GPU), a_run(lane=GPU, queue="slow"))
    assert (await claim_one(store, worker, lane=GPU, queue="slow")).run_id == there
    assert (await claim_one(store, worker, lane=GPU)).run_id == here


async def test_within_a_lane_the_lowest_ranks_are_claimed_first(store: Store) -> None:
    worker = await register(store)
    runs = [a_run(lane=(PLAIN, GPU, TASK)[number % 3]) for number in range(99)]
    await enqueue(store, *reversed(runs))
    order = [run.id for run in reversed(runs) if run.lane == GPU]
    for start in range(0, 33, 11):
        batch = await claim(store, worker, lane=GPU, limit=11)
        assert {claimed.run_id for claimed in batch} == set(order[start : start + 11])


async def test_queues_are_told_with_their_lanes(store: Store) -> None:
    await run_and_claim(store)
    later_ms = START_MS + 60_000
    await enqueue(store, *(a_run(queue=queue, lane=lane) for queue in ("b", "a") for lane in (GPU, PLAIN, GPU, "ü")))
    await enqueue(store, a_run(queue="b", lane=TASK, due_ms=later_ms), a_run(queue="c", lane=TASK))
    pairs = [("a", PLAIN), ("a", GPU), ("a", "ü"), ("b", PLAIN), ("b", GPU), ("b", "ü"), ("c", TASK)]
    assert sorted(await store.queues()) == pairs


async def test_a_lane_without_ready_runs_is_not_told(store: Store) -> None:
    await enqueue(store, a_run(), a_run(lane=GPU))
    await claim_one(store, await register(store))
    assert await store.queues() == [(QUEUE, GPU)]


async def test_a_fired_run_stands_in_its_lane(store: Store) -> None:
    job = await create(store)
    run = an_occurrence(job, START_MS, lane=GPU, expires_ms=START_MS + 9)
    assert await store.fire([a_firing(job, runs=[run])], await epochs_of(store)) == {job.id}
    worker = await register(store)
    assert await claim(store, worker) == []
    claimed = await claim_one(store, worker, lane=GPU)
    assert (claimed.run_id, claimed.expires_ms) == (run.id, START_MS + 9)


async def test_a_run_stays_in_its_lane_whatever_happens_to_it(store: Store, clock: StoreClock) -> None:
    await enqueue(store, a_run(lane=GPU, due_ms=START_MS + 60_000))
    await clock.advance(60)
    await promote(store)
    claimed = await claim_one(store, await register(store), lane=GPU)
    await store.release([claimed])
    claimed = await claim_one(store, BootId("w1"), lane=GPU)
    await store.retry([a_retry(claimed, due_ms=clock.now_ms)])
    await promote(store)
    claimed = await claim_one(store, BootId("w1"), lane=GPU)
    await store.leave(BootId("w1"))
    await store.reclaim([a_reclaim(claimed)])
    assert await claim(store, await register(store, "w2")) == []
    assert (await claim_one(store, BootId("w2"), lane=GPU)).attempt == 3


async def test_a_run_of_another_lane_takes_no_place(store: Store) -> None:
    job = await create(store)
    (run_id,) = await enqueue(store, exclusive(job, lane=GPU))
    worker = await register(store)
    assert await claim(store, worker) == []
    (plain,) = await enqueue(store, exclusive(job))
    assert (await claim_one(store, worker)).run_id == plain
    assert (await the_run(store, run_id)).state is RunState.READY


async def test_runs_of_one_job_in_two_lanes_are_in_each_others_way(store: Store) -> None:
    job = await create(store)
    first, second = await enqueue(store, exclusive(job), exclusive(job, lane=GPU))
    worker = await register(store)
    assert (await claim_one(store, worker)).run_id == first
    claimed = await store.claim(worker, QUEUE, GPU, ahead_ms=0, limit=10)
    assert (claimed.claims, [run.run_id for run in claimed.blocked]) == ([], [second])
    assert (await the_run(store, second)).state is RunState.READY
