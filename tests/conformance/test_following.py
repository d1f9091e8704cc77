"""Schedules that count from the end of a run: whichever way it ends, the plan goes on from there, in the same transaction."""

from collections.abc import Awaitable, Callable

import pytest

from dueline.domain.ids import BootId, RunId
from dueline.domain.job import Job
from dueline.domain.lanes import PLAIN
from dueline.domain.planning import Position
from dueline.domain.schedule import After
from dueline.domain.states import TERMINAL, JobState, RunState
from dueline.store.protocol import Store
from dueline.store.shapes import CancelAnswer, Claim, Postponed
from tests.conformance.ear import listening
from tests.conformance.overlapping import blocked
from tests.support.stores import (
    START_MS,
    TENANT,
    StoreClock,
    StoreUnderTest,
    a_finish,
    a_firing,
    a_job,
    a_reclaim,
    a_retry,
    a_run,
    an_occurrence,
    at,
    changing,
    claim_one,
    create,
    enqueue,
    epochs_of,
    plan_of,
    register,
    the_job,
    the_run,
)

DELAY_MS = 300_000
EVERY_FIVE = After(DELAY_MS, START_MS)
ENDED_MS = START_MS + 5
"""When a finish made from a claim at the start says that it ended."""


async def awaiting(store: Store, *, exclusive: bool = False, runs_left: int | None = None) -> tuple[Job, RunId]:
    """A job whose schedule awaits the end of its run, which is ready."""
    job = await create(store, a_job(schedule=EVERY_FIVE))
    run = an_occurrence(job, START_MS, exclusive=exclusive)
    position = Position(awaiting=run.id, runs_left=runs_left)
    assert await store.fire([a_firing(job, runs=[run], position=position)], await epochs_of(store)) == {job.id}
    return await the_job(store, job.id), run.id


async def awaiting_claimed(store: Store) -> tuple[Job, Claim]:
    job, run_id = await awaiting(store)
    claimed = await claim_one(store, await register(store))
    assert claimed.run_id == run_id
    return job, claimed


@pytest.mark.parametrize("state", [RunState.SUCCEEDED, RunState.FAILED])
async def test_a_schedule_goes_on_from_the_end_of_its_run(store: Store, clock: StoreClock, state: RunState) -> None:
    job, claimed = await awaiting_claimed(store)
    await clock.advance(2)
    assert await store.finish([a_finish(claimed, state, awaited=True)]) == {claimed.run_id}
    assert (await the_job(store, job.id)).position == at(ENDED_MS + DELAY_MS)
    plan = await plan_of(store, job.id)
    assert plan is not None
    assert (plan.next_ms, plan.generation) == (ENDED_MS + DELAY_MS, 1)


async def test_runs_left_are_kept_over_the_end_of_a_run(store: Store) -> None:
    job, run_id = await awaiting(store, runs_left=2)
    claimed = await claim_one(store, await register(store))
    assert claimed.run_id == run_id
    await store.finish([a_finish(claimed, awaited=True)])
    assert (await the_job(store, job.id)).position == at(ENDED_MS + DELAY_MS, runs_left=2)


async def test_a_finish_that_came_too_late_moves_nothing(store: Store) -> None:
    job, claimed = await awaiting_claimed(store)
    await store.leave(BootId("w1"))
    await store.reclaim([a_reclaim(claimed)])
    assert await store.finish([a_finish(claimed, awaited=True)]) == set()
    assert (await the_job(store, job.id)).position == job.position


async def test_a_retry_is_no_end(store: Store) -> None:
    job, claimed = await awaiting_claimed(store)
    await store.retry([a_retry(claimed, due_ms=START_MS + 1)])
    assert (await the_job(store, job.id)).position == job.position


async def test_a_run_that_is_put_off_has_not_ended(store: Store) -> None:
    job, claimed = await awaiting_claimed(store)
    await store.postpone([Postponed(claimed.run_id, claimed.token, START_MS + 1, "circuit_open")])
    assert (await the_job(store, job.id)).position == job.position


async def test_a_run_that_is_asked_to_end_has_not_ended(store: Store) -> None:
    job, claimed = await awaiting_claimed(store)
    answers = await store.cancel_runs(TENANT, [claimed.run_id], reason="requested")
    assert answers == {claimed.run_id: CancelAnswer.ASKED}
    assert (await the_job(store, job.id)).position == job.position


async def test_the_end_of_another_run_of_the_job_moves_nothing(store: Store) -> None:
    job, _ = await awaiting(store)
    await enqueue(store, a_run(job, queue="slow"))
    other = await claim_one(store, await register(store), queue="slow")
    await store.finish([a_finish(other, awaited=True)])
    assert (await the_job(store, job.id)).position == job.position


async def test_many_ends_in_one_batch_move_each_its_own_schedule(store: Store) -> None:
    first, first_run = await awaiting(store)
    second, _ = await awaiting(store)
    await enqueue(store, a_run())
    worker = await register(store)
    claims = (await store.claim(worker, "default", PLAIN, ahead_ms=0, limit=10)).claims
    finishes = [a_finish(claim, awaited=claim.run_id != first_run) for claim in claims]
    assert len(await store.finish(finishes)) == 3
    assert (await the_job(store, first.id)).position == first.position, "nobody said that it is awaited"
    assert (await the_job(store, second.id)).position == at(ENDED_MS + DELAY_MS)


async def test_a_paused_job_goes_on_only_when_it_is_resumed(store: Store) -> None:
    job, claimed = await awaiting_claimed(store)
    await store.change_job(TENANT, job.id, changing(state=JobState.PAUSED))
    await store.finish([a_finish(claimed, awaited=True)])
    assert (await the_job(store, job.id)).position == Position(next_ms=ENDED_MS + DELAY_MS)
    assert await plan_of(store, job.id) is None
    await store.change_job(TENANT, job.id, changing(state=JobState.ACTIVE))
    plan = await plan_of(store, job.id)
    assert plan is not None
    assert plan.next_ms == ENDED_MS + DELAY_MS


async def test_the_delay_is_that_of_the_job_when_the_run_ends(store: Store) -> None:
    job, claimed = await awaiting_claimed(store)
    edited = a_job("edited", schedule=After(7_000, START_MS)).definition
    await store.change_job(TENANT, job.id, changing(definition=edited))
    await store.finish([a_finish(claimed, awaited=True)])
    assert (await the_job(store, job.id)).next_ms == ENDED_MS + 7_000


async def test_a_job_that_was_deleted_or_got_another_schedule_does_not_go_on(store: Store) -> None:
    deleted, claimed = await awaiting_claimed(store)
    await store.change_job(TENANT, deleted.id, changing(deleted=True))
    await store.finish([a_finish(claimed, awaited=True)])
    assert await plan_of(store, deleted.id) is None
    moved, _ = await awaiting(store)
    claimed = await claim_one(store, BootId("w1"))
    await store.change_job(TENANT, moved.id, changing(position=at(START_MS + 9)))
    await store.finish([a_finish(claimed, awaited=True)])
    assert (await the_job(store, moved.id)).position == at(START_MS + 9)


Ending = Callable[[StoreUnderTest, Job, RunId], Awaitable[None]]


async def lose_it(under_test: StoreUnderTest, _job: Job, _run_id: RunId) -> None:
    claimed = await claim_one(under_test.store, await register(under_test.store))
    await under_test.store.leave(BootId("w1"))
    assert await under_test.store.reclaim([a_reclaim(claimed, RunState.FAILED, reason="poison")])


async def lose_it_as_cancelled(under_test: StoreUnderTest, _job: Job, _run_id: RunId) -> None:
    claimed = await claim_one(under_test.store, await register(under_test.store))
    await under_test.store.leave(BootId("w1"))
    assert await under_test.store.reclaim([a_reclaim(claimed, RunState.CANCELLED, reason="requested")])


async def cancel_it(under_test: StoreUnderTest, _job: Job, run_id: RunId) -> None:
    assert await under_test.store.cancel_waiting([(run_id, "recovery")]) == {run_id}


async def sweep_it(under_test: StoreUnderTest, _job: Job, _run_id: RunId) -> None:
    await under_test.tamper("UPDATE runs SET cancel = 'requested'")
    assert await under_test.store.sweep_cancelled(limit=10) == 1


async def end_it(under_test: StoreUnderTest, _job: Job, run_id: RunId) -> None:
    answers = await under_test.store.cancel_runs(TENANT, [run_id], reason="requested")
    assert answers == {run_id: CancelAnswer.ENDED}


async def expire_it(under_test: StoreUnderTest, _job: Job, _run_id: RunId) -> None:
    await under_test.tamper(f"UPDATE runs SET expires_ms = {START_MS}")
    assert await under_test.store.expire(limit=10) == 1


async def skip_it(under_test: StoreUnderTest, job: Job, _run_id: RunId) -> None:
    store = under_test.store
    await enqueue(store, a_run(job, exclusive=True, priority=9))
    claimed = await store.claim(await register(store), "default", PLAIN, ahead_ms=0, limit=1)
    assert len(claimed.claims) == 1
    assert len(await store.skip_blocked(await blocked(store), reason="overlap")) == 1


async def displace_it(under_test: StoreUnderTest, job: Job, _run_id: RunId) -> None:
    """Two of one job come at once: the earlier one gives way."""
    store = under_test.store
    await enqueue(store, a_run(job, exclusive=True, priority=9))
    assert len((await store.claim(await register(store), "default", PLAIN, ahead_ms=0, limit=1)).claims) == 1
    await enqueue(store, a_run(job, exclusive=True, due_ms=START_MS + 1))
    await under_test.clock.set_ms(START_MS + 1)
    assert len(await store.displace_blocked(await blocked(store), reason="superseded")) == 1
    await under_test.clock.set_ms(START_MS)


@pytest.mark.parametrize("ending", [lose_it, lose_it_as_cancelled, cancel_it, end_it, expire_it, sweep_it, skip_it])
async def test_whichever_way_a_run_ends_its_schedule_goes_on(under_test: StoreUnderTest, ending: Ending) -> None:
    store = under_test.store
    job, run_id = await awaiting(store, exclusive=True)
    await under_test.clock.advance(3)
    await ending(under_test, job, run_id)
    run = await the_run(store, run_id)
    assert (run.state in TERMINAL, run.finished_ms) == (True, START_MS + 3_000)
    assert (await the_job(store, job.id)).position == at(START_MS + 3_000 + DELAY_MS)


async def test_a_run_that_gives_way_to_a_later_one_ends_and_its_schedule_goes_on(under_test: StoreUnderTest) -> None:
    store = under_test.store
    job, run_id = await awaiting(store, exclusive=True)
    await displace_it(under_test, job, run_id)
    assert (await the_run(store, run_id)).state is RunState.CANCELLED
    assert (await the_job(store, job.id)).position == at(START_MS + 1 + DELAY_MS)


async def test_a_lost_run_that_goes_back_to_its_queue_is_still_awaited(store: Store) -> None:
    job, claimed = await awaiting_claimed(store)
    await store.leave(BootId("w1"))
    await store.reclaim([a_reclaim(claimed)])
    assert (await the_job(store, job.id)).position == job.position


async def test_a_schedule_that_goes_on_wakes_the_scheduler(store: Store) -> None:
    _, claimed = await awaiting_claimed(store)
    ear = await listening(store)
    await store.finish([a_finish(claimed, awaited=True)])
    await ear.hears("plans")


async def test_a_schedule_that_awaits_a_run_which_is_not_live_goes_on_from_now(store: Store, clock: StoreClock) -> None:
    # The run was there before: firing leaves it as it is, and nobody will end it again.
    job, claimed = await awaiting_claimed(store)
    assert await store.finish([a_finish(claimed)]) == {claimed.run_id}
    assert (await the_job(store, job.id)).position.awaiting == claimed.run_id
    await clock.advance(1)
    assert await store.sweep_awaiting() == 1
    assert (await the_job(store, job.id)).position == at(START_MS + 1_000 + DELAY_MS)
    assert await store.sweep_awaiting() == 0


async def test_a_schedule_whose_run_is_live_goes_on_awaiting_it(store: Store) -> None:
    job, run_id = await awaiting(store)
    assert await store.sweep_awaiting() == 0
    assert (await the_job(store, job.id)).position.awaiting == run_id
