"""Runs that somebody asks to end: those that have not started end at once, the others are their workers' to end."""

from collections.abc import Awaitable, Callable

import pytest

from dueline.domain.ids import BootId, RunId, new_run_id
from dueline.domain.states import RunState
from dueline.store.protocol import Store
from dueline.store.shapes import CancelAnswer, CancelAsked
from tests.conformance.ear import listening
from tests.conformance.overlapping import blocked, exclusive, one_under_way, state_of
from tests.support.stores import (
    QUEUE,
    START_MS,
    TENANT,
    StoreClock,
    StoreUnderTest,
    a_finish,
    a_job,
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
    run_and_claim,
    the_run,
)

WHY = "requested"
W1 = BootId("w1")
ENDED, ASKED, OVER = CancelAnswer.ENDED, CancelAnswer.ASKED, CancelAnswer.OVER


async def cancel(store: Store, *run_ids: RunId, reason: str = WHY) -> dict[RunId, CancelAnswer]:
    return await store.cancel_runs(TENANT, run_ids, reason=reason)


async def scheduled(store: Store) -> RunId:
    (run_id,) = await enqueue(store, a_run(due_ms=START_MS + 60_000))
    return run_id


async def ready(store: Store) -> RunId:
    (run_id,) = await enqueue(store, a_run())
    return run_id


async def held(store: Store) -> RunId:
    job = await create(store)
    (run_id,) = await enqueue(store, a_run(job))
    await store.change_job(TENANT, job.id, changing(hold=(run_id,)))
    return run_id


async def blocked_and_held(store: Store) -> RunId:
    _, _, second = await one_under_way(store)
    assert await store.hold_blocked(await blocked(store)) == {second}
    return second


async def claimed_ahead(store: Store) -> RunId:
    await enqueue(store, a_run(due_ms=START_MS + 500))
    return (await claim_one(store, await register(store), ahead_ms=500)).run_id


@pytest.mark.parametrize("make", [scheduled, ready, held, blocked_and_held, claimed_ahead])
async def test_a_run_that_has_not_started_ends_at_once(
    store: Store, clock: StoreClock, make: Callable[[Store], Awaitable[RunId]]
) -> None:
    run_id = await make(store)
    await clock.set_ms(START_MS + 3)
    assert await cancel(store, run_id) == {run_id: ENDED}
    run = await the_run(store, run_id)
    assert (run.state, run.reason, run.attempt, run.lost) == (RunState.CANCELLED, WHY, 0, 0)
    assert (run.claimed_ms, run.started_ms, run.finished_ms, run.worker) == (None, None, START_MS + 3, None)
    assert await cancel(store, run_id, reason="again") == {run_id: OVER}
    assert (await the_run(store, run_id)).reason == WHY


async def test_a_run_between_two_attempts_ends_at_once_with_its_attempts(store: Store) -> None:
    first, second = await run_and_claim(store, a_run(), a_run())
    await store.retry([a_retry(first, due_ms=START_MS + 60_000), a_retry(second, due_ms=START_MS)])
    await promote(store)
    assert await cancel(store, first.run_id, second.run_id) == {first.run_id: ENDED, second.run_id: ENDED}
    for run_id in (first.run_id, second.run_id):
        run = await the_run(store, run_id)
        assert (run.state, run.attempt, len(run.attempts)) == (RunState.CANCELLED, 1, 1)


async def test_a_worker_finds_that_the_run_it_had_claimed_ahead_is_gone(store: Store, clock: StoreClock) -> None:
    await enqueue(store, a_run(due_ms=START_MS + 500))
    claimed = await claim_one(store, await register(store), ahead_ms=500)
    await cancel(store, claimed.run_id)
    await clock.set_ms(START_MS + 500)
    assert await confirm(store, claimed) == set()
    assert await store.finish([a_finish(claimed)]) == set()
    assert await store.claims_of(W1) == []


async def test_at_its_due_time_a_claimed_run_counts_as_started(store: Store, clock: StoreClock) -> None:
    await enqueue(store, a_run(due_ms=START_MS + 500))
    claimed = await claim_one(store, await register(store), ahead_ms=500)
    await clock.set_ms(START_MS + 500)
    assert await cancel(store, claimed.run_id) == {claimed.run_id: ASKED}
    assert await confirm(store, claimed) == {claimed.run_id}


async def test_the_worker_of_a_run_under_way_is_asked(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    assert await cancel(store, claimed.run_id) == {claimed.run_id: ASKED}
    assert await store.cancels_of(W1) == [CancelAsked(claimed.run_id, claimed.token, WHY)]
    assert await state_of(store, claimed.run_id) is RunState.RUNNING
    assert await store.finish([a_finish(claimed, RunState.CANCELLED, reason=WHY)]) == {claimed.run_id}
    assert await cancel(store, claimed.run_id) == {claimed.run_id: OVER}


async def test_who_asks_again_is_told_the_same_and_the_first_reason_stays(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    assert await cancel(store, claimed.run_id) == {claimed.run_id: ASKED}
    assert await cancel(store, claimed.run_id, reason="job_deleted") == {claimed.run_id: ASKED}
    assert [asked.reason for asked in await store.cancels_of(W1)] == [WHY]


async def test_an_asked_run_may_succeed(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    await cancel(store, claimed.run_id)
    assert await store.finish([a_finish(claimed)]) == {claimed.run_id}
    assert await state_of(store, claimed.run_id) is RunState.SUCCEEDED


async def test_an_asked_run_that_would_be_tried_again_ends(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    await cancel(store, claimed.run_id)
    await store.retry([a_retry(claimed, due_ms=START_MS)])
    assert await store.sweep_cancelled(limit=10) == 1
    run = await the_run(store, claimed.run_id)
    assert (run.state, run.reason) == (RunState.CANCELLED, WHY)


@pytest.mark.parametrize("state", [RunState.SUCCEEDED, RunState.FAILED])
async def test_what_has_ended_stays_as_it_is(store: Store, state: RunState) -> None:
    (claimed,) = await run_and_claim(store)
    await store.finish([a_finish(claimed, state, reason="so")])
    assert await cancel(store, claimed.run_id) == {claimed.run_id: OVER}
    run = await the_run(store, claimed.run_id)
    assert (run.state, run.reason) == (state, "so")


async def test_nobody_ends_the_runs_of_others(store: Store) -> None:
    job = await create(store, a_job(tenant="acme"))
    waiting, over = a_run(job), a_run(job, queue="over")
    (running,) = await run_and_claim(store, a_run(job))
    await enqueue(store, waiting, over)
    await store.finish([a_finish(await claim_one(store, W1, queue="over"))])
    assert await cancel(store, waiting.id, running.run_id, over.id) == {}
    assert await store.cancels_of(W1) == []
    found = await store.run("acme", waiting.id)
    assert found is not None
    assert found.state is RunState.READY
    answers = await store.cancel_runs("acme", [waiting.id, running.run_id, over.id], reason=WHY)
    assert answers == {waiting.id: ENDED, running.run_id: ASKED, over.id: OVER}


async def test_what_does_not_exist_is_left_out(store: Store) -> None:
    run_id = await ready(store)
    assert await cancel(store, new_run_id(START_MS, b"no such run"), run_id) == {run_id: ENDED}
    assert await cancel(store) == {}


async def test_a_run_named_twice_ends_once(store: Store) -> None:
    run_id = await ready(store)
    assert await cancel(store, run_id, run_id) == {run_id: ENDED}


async def test_a_batch_is_answered_run_by_run(store: Store) -> None:
    over, running = await run_and_claim(store, a_run(), a_run())
    await store.finish([a_finish(over)])
    waiting, free = await scheduled(store), await ready(store)
    answers = await cancel(store, over.run_id, running.run_id, waiting, free)
    assert answers == {over.run_id: OVER, running.run_id: ASKED, waiting: ENDED, free: ENDED}
    assert await claim(store, W1) == []


async def test_workers_are_woken_to_end_what_they_execute(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    ear = await listening(store)
    await cancel(store, claimed.run_id)
    await ear.hears("cancel")


async def test_a_cancelled_retry_leaves_its_place_to_the_next(store: Store) -> None:
    _, first, second = await one_under_way(store)
    await store.hold_blocked(await blocked(store))
    await store.retry([a_retry(first, due_ms=START_MS + 60_000)])
    ear = await listening(store)
    assert await cancel(store, first.run_id) == {first.run_id: ENDED}
    await ear.hears(f"ready/{QUEUE}")
    assert (await claim_one(store, W1)).run_id == second


async def test_a_run_that_is_asked_keeps_its_place_until_it_ends(store: Store) -> None:
    _, first, second = await one_under_way(store)
    await cancel(store, first.run_id)
    assert [run.run_id for run in await blocked(store)] == [second]
    await store.finish([a_finish(first, RunState.CANCELLED)])
    assert (await claim_one(store, W1)).run_id == second


async def test_a_run_that_waited_for_another_leaves_the_other_alone(store: Store) -> None:
    job, first, second = await one_under_way(store)
    (third,) = await enqueue(store, exclusive(job))
    await store.hold_blocked(await blocked(store))
    assert await cancel(store, second) == {second: ENDED}
    assert await confirm(store, first) == {first.run_id}
    await store.finish([a_finish(first)])
    assert await state_of(store, third) is RunState.READY


async def test_all_runs_of_a_job_end_together_and_the_place_is_free(under_test: StoreUnderTest) -> None:
    store = under_test.store
    job, first, second = await one_under_way(store)
    await store.hold_blocked(await blocked(store))
    await store.retry([a_retry(first, due_ms=START_MS + 60_000)])
    assert await cancel(store, second, first.run_id) == {second: ENDED, first.run_id: ENDED}
    assert await store.queues() == []
    (third,) = await enqueue(store, exclusive(job))
    assert (await claim_one(store, W1)).run_id == third
