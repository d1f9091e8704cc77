"""Exclusive jobs: at most one of their runs is under way, whatever comes between."""

import asyncio

import pytest

from dueline.domain import limits
from dueline.domain.ids import BootId
from dueline.domain.job import Job
from dueline.domain.lanes import PLAIN
from dueline.domain.overlap import Overlap
from dueline.domain.states import RunState
from dueline.store.protocol import Store
from dueline.store.shapes import Blocked, Claim
from tests.conformance.overlapping import blocked, exclusive, one_under_way, state_of
from tests.support.stores import (
    QUEUE,
    START_MS,
    TENANT,
    StoreClock,
    StoreUnderTest,
    a_finish,
    a_job,
    a_reclaim,
    a_retry,
    a_run,
    changing,
    claim,
    claim_one,
    confirm,
    create,
    enqueue,
    promote,
    register,
    the_job,
    the_run,
)


async def test_a_second_run_is_blocked_and_stays_ready(store: Store) -> None:
    job, _, second = await one_under_way(store)
    assert await blocked(store) == [Blocked(second, 0, job.id, 1, 0)]
    assert await state_of(store, second) is RunState.READY


@pytest.mark.parametrize("own", [Overlap.QUEUE_ALL, Overlap.CANCEL_PREVIOUS, None])
async def test_a_blocked_run_tells_its_own_policy(store: Store, clock: StoreClock, own: Overlap | None) -> None:
    job, _, _ = await one_under_way(store)
    await store.skip_blocked(await blocked(store), reason="overlap")
    (ready,) = await enqueue(store, a_run(job, exclusive=True, overlap=own))
    assert [(run.run_id, run.overlap) for run in await blocked(store)] == [(ready, own)]
    await store.skip_blocked(await blocked(store), reason="overlap")
    await enqueue(store, a_run(job, exclusive=True, overlap=own, due_ms=START_MS + 500))
    ahead = await claim_one(store, await register(store, "early"), ahead_ms=500)
    await clock.advance(0.5)
    confirmed = await store.confirm([ahead])
    assert [(run.run_id, run.overlap) for run in confirmed.blocked] == [(ahead.run_id, own)]


async def test_of_two_in_one_batch_the_first_by_rank_starts(store: Store) -> None:
    job = await create(store)
    runs = [exclusive(job, priority=priority) for priority in (3, 9, 5)]
    await enqueue(store, *runs)
    claimed = await store.claim(await register(store), QUEUE, PLAIN, ahead_ms=0, limit=10)
    assert [claim.run_id for claim in claimed.claims] == [runs[1].id]
    assert {run.run_id for run in claimed.blocked} == {runs[0].id, runs[2].id}


async def test_other_jobs_and_runs_that_may_overlap_are_not_blocked(store: Store) -> None:
    job, _, second = await one_under_way(store)
    other = await create(store)
    free = await enqueue(store, exclusive(other), a_run(job), a_run())
    claimed = await store.claim(BootId("w1"), QUEUE, PLAIN, ahead_ms=0, limit=10)
    assert {claim.run_id for claim in claimed.claims} == set(free)
    assert [run.run_id for run in claimed.blocked] == [second]


async def test_the_end_of_a_run_lets_the_next_one_start(store: Store) -> None:
    _, first, second = await one_under_way(store)
    await store.finish([a_finish(first, RunState.FAILED)])
    assert (await claim_one(store, BootId("w1"))).run_id == second


async def test_a_retried_run_keeps_its_place(store: Store) -> None:
    _, first, second = await one_under_way(store)
    await store.retry([a_retry(first, due_ms=START_MS)])
    assert [run.run_id for run in await blocked(store)] == [second]
    await promote(store)
    claimed = await store.claim(BootId("w1"), QUEUE, PLAIN, ahead_ms=0, limit=10)
    assert [claim.run_id for claim in claimed.claims] == [first.run_id]
    assert [run.run_id for run in claimed.blocked] == [second]


async def test_a_released_run_that_never_started_gives_up_its_place(store: Store) -> None:
    _, first, second = await one_under_way(store)
    await store.release([first])
    claimed = await store.claim(BootId("w1"), QUEUE, PLAIN, ahead_ms=0, limit=10)
    assert len(claimed.claims) == 1
    assert {claimed.claims[0].run_id, claimed.blocked[0].run_id} == {first.run_id, second}


async def test_a_released_retry_keeps_its_place(store: Store) -> None:
    _, first, second = await one_under_way(store)
    await store.retry([a_retry(first, due_ms=START_MS)])
    await promote(store)
    claimed = await store.claim(BootId("w1"), QUEUE, PLAIN, ahead_ms=0, limit=10)
    await store.release(claimed.claims)
    again = await store.claim(BootId("w1"), QUEUE, PLAIN, ahead_ms=0, limit=10)
    assert [claim.run_id for claim in again.claims] == [first.run_id]
    assert [run.run_id for run in again.blocked] == [second]


async def test_a_blocked_run_is_held_and_freed_by_the_end_of_the_other(store: Store) -> None:
    _, first, second = await one_under_way(store)
    assert await store.hold_blocked(await blocked(store)) == {second}
    held = await the_run(store, second)
    assert (held.state, held.reason) == (RunState.HELD, "overlap")
    assert await blocked(store) == []
    await store.finish([a_finish(first)])
    assert await state_of(store, second) is RunState.READY
    assert (await claim_one(store, BootId("w1"))).run_id == second


async def test_held_runs_start_one_after_the_other_first_scheduled_first(store: Store) -> None:
    job, current, _ = await one_under_way(store)
    await enqueue(store, *(exclusive(job, due_ms=START_MS - number) for number in (3, 1, 2)))
    await store.hold_blocked(await blocked(store))
    instants = []
    for _ in range(4):
        await store.finish([a_finish(current)])
        current = await claim_one(store, BootId("w1"))
        instants.append(current.scheduled_ms)
    assert instants == [START_MS - 3, START_MS - 2, START_MS - 1, START_MS]


async def test_how_many_wait_already_is_told(store: Store) -> None:
    job, _, _ = await one_under_way(store)
    await store.hold_blocked(await blocked(store))
    await enqueue(store, exclusive(job))
    assert [run.held for run in await blocked(store)] == [1]


async def test_a_run_is_not_held_when_the_other_has_ended_meanwhile(store: Store) -> None:
    _, first, second = await one_under_way(store)
    seen = await blocked(store)
    await store.finish([a_finish(first)])
    assert await store.hold_blocked(seen) == set()
    assert await state_of(store, second) is RunState.READY


async def test_a_run_is_not_skipped_when_the_other_has_ended_meanwhile(store: Store) -> None:
    _, first, second = await one_under_way(store)
    seen = await blocked(store)
    await store.finish([a_finish(first)])
    assert await store.skip_blocked(seen, reason="overlap") == set()
    assert await state_of(store, second) is RunState.READY


async def test_a_skipped_run_ends_as_cancelled_with_its_reason(store: Store, clock: StoreClock) -> None:
    _, first, second = await one_under_way(store)
    seen = await blocked(store)
    await clock.advance(1)
    assert await store.skip_blocked(seen, reason="overlap") == {second}
    run = await the_run(store, second)
    assert (run.state, run.reason, run.attempt) == (RunState.CANCELLED, "overlap", 0)
    assert (run.claimed_ms, run.started_ms, run.finished_ms) == (None, None, START_MS + 1_000)
    assert await confirm(store, first) == {first.run_id}


async def test_what_was_seen_blocked_with_another_token_stays(store: Store) -> None:
    job, _, second = await one_under_way(store)
    seen = await blocked(store)
    await store.change_job(TENANT, job.id, changing(hold=(second,)))
    await store.change_job(TENANT, job.id, changing(free=(second,)))
    assert await store.hold_blocked(seen) == set()
    assert await store.skip_blocked(seen, reason="overlap") == set()
    assert await state_of(store, second) is RunState.READY


async def test_a_run_held_by_a_pause_is_not_freed_by_the_end_of_another(store: Store) -> None:
    job, first, second = await one_under_way(store)
    await store.change_job(TENANT, job.id, changing(hold=(second,)))
    await store.finish([a_finish(first)])
    assert await state_of(store, second) is RunState.HELD
    assert await store.free_held(limit=10) == 0


async def test_freeing_leaves_runs_whose_job_is_busy(store: Store) -> None:
    _, first, second = await one_under_way(store)
    await store.hold_blocked(await blocked(store))
    assert await store.free_held(limit=10) == 0
    await store.retry([a_retry(first, due_ms=START_MS + 1)])
    assert await store.free_held(limit=10) == 0
    assert await state_of(store, second) is RunState.HELD


async def test_a_cancelled_retry_leaves_its_place_and_the_held_run_is_freed(store: Store) -> None:
    job, first, second = await one_under_way(store)
    await store.hold_blocked(await blocked(store))
    await store.retry([a_retry(first, due_ms=START_MS + 5_000)])
    await store.change_job(TENANT, job.id, changing(cancel=((first.run_id, "requested"),)))
    await store.free_held(limit=10)
    assert (await claim_one(store, BootId("w1"))).run_id == second


async def test_a_place_whose_run_is_gone_is_nobodys(under_test: StoreUnderTest, store: Store) -> None:
    _, _, second = await one_under_way(store)
    await store.hold_blocked(await blocked(store))
    await under_test.tamper("UPDATE places SET run_id = job_id")
    assert await store.free_held(limit=10) == 1
    assert await state_of(store, second) is RunState.READY


async def test_one_held_run_of_a_job_is_freed_at_a_time(store: Store) -> None:
    jobs = [await create(store) for _ in range(3)]
    worker = await register(store)
    await enqueue(store, *(exclusive(job) for job in jobs for _ in range(3)))
    claimed = await store.claim(worker, QUEUE, PLAIN, ahead_ms=0, limit=10)
    await store.hold_blocked(claimed.blocked)
    for started in claimed.claims:
        assert started.job_id is not None
        await store.retry([a_retry(started, due_ms=START_MS + 5_000)])
        await store.change_job(TENANT, started.job_id, changing(cancel=((started.run_id, "requested"),)))
    assert await store.free_held(limit=2) == 2
    assert await store.free_held(limit=10) == 1
    assert await store.free_held(limit=10) == 0


async def test_an_unplanned_run_that_was_claimed_ahead_leaves_its_place(store: Store) -> None:
    job = await create(store, a_job())
    worker = await register(store)
    await enqueue(store, exclusive(job, due_ms=START_MS + 500))
    ahead = await claim_one(store, worker, ahead_ms=500)
    await store.change_job(TENANT, job.id, changing(unplan=(ahead.run_id,)))
    assert await confirm(store, ahead) == set()
    (other,) = await enqueue(store, exclusive(job))
    assert (await claim_one(store, worker)).run_id == other


async def test_an_unplanned_retry_leaves_its_place(store: Store) -> None:
    _, first, second = await one_under_way(store)
    await store.retry([a_retry(first, due_ms=START_MS + 500)])
    await promote(store, ahead_ms=500)
    await store.skip_blocked(await blocked(store), reason="overlap")
    again = await claim_one(store, BootId("w1"), ahead_ms=500)
    assert again.job_id is not None
    await store.change_job(TENANT, again.job_id, changing(unplan=(again.run_id,)))
    (third,) = await enqueue(store, exclusive(await the_job(store, again.job_id)))
    assert (await claim_one(store, BootId("w1"))).run_id == third
    assert await state_of(store, second) is RunState.CANCELLED


async def claimed_ahead(store: Store, *, count: int = 1, job: Job | None = None) -> list[Claim]:
    """Exclusive runs of one job, claimed half a second before they are due."""
    job = job or await create(store)
    due_ms = START_MS + 500
    await enqueue(store, *(exclusive(job, due_ms=due_ms, priority=5 + number) for number in range(count)))
    await register(store, "early")
    return await claim(store, BootId("early"), ahead_ms=500)


async def test_a_run_claimed_ahead_is_in_nobodys_way_until_it_starts(store: Store) -> None:
    job = await create(store)
    await claimed_ahead(store, job=job)
    (due,) = await enqueue(store, exclusive(job))
    assert (await claim_one(store, BootId("early"))).run_id == due


async def test_a_run_claimed_ahead_gets_the_place_when_it_starts(store: Store, clock: StoreClock) -> None:
    job = await create(store)
    (ahead,) = await claimed_ahead(store, job=job)
    await clock.advance(0.5)
    assert await confirm(store, ahead) == {ahead.run_id}
    assert await confirm(store, ahead) == {ahead.run_id}
    (second,) = await enqueue(store, exclusive(job))
    assert [run.run_id for run in await blocked(store, "early")] == [second]


async def test_a_run_claimed_ahead_gets_no_place_before_its_time(store: Store, clock: StoreClock) -> None:
    job = await create(store)
    (ahead,) = await claimed_ahead(store, job=job)
    await clock.set_ms(START_MS + 499 - limits.EARLY_MS)
    assert await confirm(store, ahead) == set()
    (due,) = await enqueue(store, exclusive(job))
    assert (await claim_one(store, BootId("early"))).run_id == due


async def test_of_several_claimed_ahead_the_first_by_rank_may_start(store: Store, clock: StoreClock) -> None:
    claims = await claimed_ahead(store, count=3)
    await clock.advance(0.5)
    confirmed = await store.confirm(claims)
    first, *others = sorted(claims, key=lambda claim: claim.run_id, reverse=True)
    assert confirmed.tokens.keys() == {first.run_id}
    assert sorted(run.run_id for run in confirmed.blocked) == sorted(claim.run_id for claim in others)
    assert {(run.token, run.job_id, run.version, run.held) for run in confirmed.blocked} == {(1, first.job_id, 1, 0)}


async def test_a_run_claimed_ahead_that_is_blocked_at_its_start_is_held(store: Store, clock: StoreClock) -> None:
    job, first, _ = await one_under_way(store)
    await store.skip_blocked(await blocked(store), reason="overlap")
    (ahead,) = await claimed_ahead(store, job=job)
    await clock.advance(0.5)
    confirmed = await store.confirm([ahead])
    assert confirmed.tokens == {}
    assert await store.hold_blocked(confirmed.blocked) == {ahead.run_id}
    held = await the_run(store, ahead.run_id)
    assert (held.state, held.attempt, held.worker, held.claimed_ms) == (RunState.HELD, 0, None, None)
    await store.finish([a_finish(first)])
    assert (await claim_one(store, BootId("early"))).run_id == ahead.run_id


async def test_a_run_claimed_ahead_that_is_blocked_at_its_start_is_skipped(store: Store, clock: StoreClock) -> None:
    job, _, _ = await one_under_way(store)
    await store.skip_blocked(await blocked(store), reason="overlap")
    (ahead,) = await claimed_ahead(store, job=job)
    await clock.advance(0.5)
    confirmed = await store.confirm([ahead])
    assert await store.skip_blocked(confirmed.blocked, reason="overlap") == {ahead.run_id}
    skipped = await the_run(store, ahead.run_id)
    assert (skipped.state, skipped.attempt, skipped.worker, skipped.claimed_ms) == (RunState.CANCELLED, 0, None, None)


async def test_a_run_that_started_is_neither_held_nor_skipped(store: Store) -> None:
    job, first, _ = await one_under_way(store)
    started = Blocked(first.run_id, first.token, job.id, 1, 0)
    assert await store.hold_blocked([started]) == set()
    assert await store.skip_blocked([started], reason="overlap") == set()
    assert await confirm(store, first) == {first.run_id}


async def test_a_lost_run_keeps_its_place_on_the_way_back(store: Store) -> None:
    _, first, second = await one_under_way(store)
    await store.leave(BootId("w1"))
    await store.reclaim([a_reclaim(first)])
    claimed = await store.claim(await register(store, "w2"), QUEUE, PLAIN, ahead_ms=0, limit=10)
    assert [claim.run_id for claim in claimed.claims] == [first.run_id]
    assert [run.run_id for run in claimed.blocked] == [second]


async def test_a_lost_run_that_ends_frees_the_held_one(store: Store) -> None:
    _, first, second = await one_under_way(store)
    await store.hold_blocked(await blocked(store))
    await store.leave(BootId("w1"))
    assert await store.reclaim([a_reclaim(first, RunState.FAILED, reason="poison")]) == {first.run_id}
    assert (await claim_one(store, await register(store, "w2"))).run_id == second


async def test_a_stale_finish_frees_nothing(store: Store) -> None:
    _, first, second = await one_under_way(store)
    await store.hold_blocked(await blocked(store))
    await store.leave(BootId("w1"))
    await store.reclaim([a_reclaim(first)])
    assert await store.finish([a_finish(first)]) == set()
    assert await state_of(store, second) is RunState.HELD


async def test_many_claims_at_once_start_one_run_of_each_job(store: Store) -> None:
    jobs = [await create(store) for _ in range(10)]
    await enqueue(store, *(exclusive(job) for job in jobs * 10))
    workers = [await register(store, f"w{number}") for number in range(10)]
    answers = await asyncio.gather(*(store.claim(worker, QUEUE, PLAIN, ahead_ms=0, limit=25) for worker in workers))
    started = [claim.job_id for answer in answers for claim in answer.claims]
    assert len(started) == len(set(started))
    rest = await store.claim(workers[0], QUEUE, PLAIN, ahead_ms=0, limit=100)
    assert {*started, *(claim.job_id for claim in rest.claims)} == {job.id for job in jobs}
    assert len(rest.blocked) == 90


async def test_many_claims_at_once_share_runs_that_may_overlap(store: Store) -> None:
    runs = await enqueue(store, *(a_run() for _ in range(limits.CLAIM_BATCH)))
    workers = [await register(store, f"w{number}") for number in range(10)]
    answers = await asyncio.gather(*(store.claim(worker, QUEUE, PLAIN, ahead_ms=0, limit=50) for worker in workers))
    claimed = [claim.run_id for answer in answers for claim in answer.claims]
    assert len(claimed) == len(set(claimed))
    rest = await store.claim(workers[0], QUEUE, PLAIN, ahead_ms=0, limit=1_000)
    assert {*claimed, *(claim.run_id for claim in rest.claims)} == set(runs)
