"""Expiry: a run that could not be started in time ends without having been started, at exactly the millisecond."""

import pytest

from dueline.domain.ids import BootId, RunId
from dueline.domain.states import RunState
from dueline.store.protocol import Store
from dueline.store.shapes import Postponed
from tests.conformance.overlapping import blocked, exclusive, one_under_way, state_of
from tests.support.stores import (
    START_MS,
    TENANT,
    StoreClock,
    a_finish,
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
    run_and_claim,
    the_run,
)

EXPIRES_MS = START_MS + 10_000
W1 = BootId("w1")


async def expire(store: Store, *, limit: int = 100) -> int:
    return await store.expire(limit=limit)


async def has_expired(store: Store, run_id: RunId) -> bool:
    run = await the_run(store, run_id)
    return (run.state, run.reason) == (RunState.EXPIRED, "expired")


async def test_a_run_can_be_started_to_the_last_millisecond(store: Store, clock: StoreClock) -> None:
    (run_id,) = await enqueue(store, a_run(expires_ms=EXPIRES_MS))
    await clock.set_ms(EXPIRES_MS - 1)
    assert await expire(store) == 0
    claimed = await claim_one(store, await register(store))
    assert (claimed.run_id, claimed.expires_ms) == (run_id, EXPIRES_MS)


async def test_at_its_expiry_a_run_is_given_to_nobody_and_ends(store: Store, clock: StoreClock) -> None:
    (run_id,) = await enqueue(store, a_run(expires_ms=EXPIRES_MS, tags=("blue",)))
    await clock.set_ms(EXPIRES_MS)
    assert await claim(store, await register(store)) == []
    assert await state_of(store, run_id) is RunState.READY
    assert await expire(store) == 1
    run = await the_run(store, run_id)
    assert (run.state, run.reason, run.attempt, run.tags) == (RunState.EXPIRED, "expired", 0, ("blue",))
    assert (run.claimed_ms, run.started_ms, run.finished_ms, run.worker) == (None, None, EXPIRES_MS, None)
    assert await expire(store) == 0


async def test_an_expired_run_does_not_keep_later_ranks_waiting(store: Store) -> None:
    _, in_time = await enqueue(store, a_run(expires_ms=START_MS, priority=9), a_run())
    (claimed,) = await claim(store, await register(store), limit=1)
    assert claimed.run_id == in_time


async def test_an_expired_run_takes_no_place_and_is_not_blocked(store: Store) -> None:
    job = await create(store)
    _, in_time = await enqueue(store, exclusive(job, expires_ms=START_MS, priority=9), exclusive(job))
    assert (await claim_one(store, await register(store))).run_id == in_time


async def test_a_run_without_an_expiry_never_expires(store: Store, clock: StoreClock) -> None:
    await enqueue(store, a_run())
    await clock.advance(1_000_000)
    assert await expire(store) == 0
    assert (await claim_one(store, await register(store))).expires_ms is None


async def test_waiting_and_held_runs_expire(store: Store, clock: StoreClock) -> None:
    job = await create(store)
    waiting, held, other = await enqueue(
        store,
        a_run(due_ms=START_MS + 60_000, expires_ms=EXPIRES_MS),
        a_run(job, expires_ms=EXPIRES_MS),
        a_run(job, expires_ms=EXPIRES_MS + 1),
    )
    await store.change_job(TENANT, job.id, changing(hold=(held, other)))
    await clock.set_ms(EXPIRES_MS)
    assert await expire(store) == 2
    assert await has_expired(store, waiting)
    assert await has_expired(store, held)
    assert await state_of(store, other) is RunState.HELD


async def test_a_run_that_waits_for_another_of_its_job_expires(store: Store, clock: StoreClock) -> None:
    job, first, second = await one_under_way(store)
    (third,) = await enqueue(store, exclusive(job, expires_ms=EXPIRES_MS))
    await store.hold_blocked(await blocked(store))
    await clock.set_ms(EXPIRES_MS)
    assert await expire(store) == 1
    assert await has_expired(store, third)
    await store.finish([a_finish(first)])
    assert await state_of(store, second) is RunState.READY


@pytest.mark.parametrize("ahead_ms", [0, 500])
async def test_a_run_in_a_workers_hands_is_the_workers(store: Store, clock: StoreClock, ahead_ms: int) -> None:
    await enqueue(store, a_run(due_ms=START_MS + ahead_ms, expires_ms=EXPIRES_MS))
    claimed = await claim_one(store, await register(store), ahead_ms=ahead_ms)
    assert (await store.claims_of(W1)) == [claimed]
    await clock.set_ms(EXPIRES_MS)
    assert await expire(store) == 0
    assert await confirm(store, claimed) == {claimed.run_id}


async def test_a_released_run_expires(store: Store, clock: StoreClock) -> None:
    (claimed,) = await run_and_claim(store, a_run(expires_ms=EXPIRES_MS))
    await store.release([claimed])
    await clock.set_ms(EXPIRES_MS)
    assert await claim(store, W1) == []
    assert await expire(store) == 1
    assert await has_expired(store, claimed.run_id)


async def test_a_run_that_was_put_off_beyond_its_expiry_expires(store: Store, clock: StoreClock) -> None:
    (claimed,) = await run_and_claim(store, a_run(expires_ms=EXPIRES_MS))
    await store.postpone([Postponed(claimed.run_id, claimed.token, EXPIRES_MS + 1, "circuit_open")])
    await clock.set_ms(EXPIRES_MS - 1)
    assert await expire(store) == 0
    await clock.set_ms(EXPIRES_MS)
    assert await expire(store) == 1
    assert await has_expired(store, claimed.run_id)


async def test_a_run_that_was_tried_does_not_expire_and_is_tried_again(store: Store, clock: StoreClock) -> None:
    (claimed,) = await run_and_claim(store, a_run(expires_ms=EXPIRES_MS))
    await store.retry([a_retry(claimed, due_ms=EXPIRES_MS + 5)])
    await clock.set_ms(EXPIRES_MS + 5)
    assert await expire(store) == 0
    await promote(store)
    assert await expire(store) == 0
    assert (await claim_one(store, W1)).attempt == 2


async def test_a_run_whose_worker_was_lost_does_not_expire_and_is_tried_again(store: Store, clock: StoreClock) -> None:
    (claimed,) = await run_and_claim(store, a_run(expires_ms=EXPIRES_MS))
    await store.leave(W1)
    await clock.set_ms(EXPIRES_MS)
    await store.reclaim([a_reclaim(claimed)])
    assert await expire(store) == 0
    assert (await claim_one(store, await register(store, "w2"))).attempt == 2


async def test_no_more_expire_at_once_than_asked_for(store: Store) -> None:
    await enqueue(store, *(a_run(expires_ms=START_MS) for _ in range(5)))
    assert [await expire(store, limit=2) for _ in range(4)] == [2, 2, 1, 0]


async def test_an_expired_run_is_never_run_again(store: Store) -> None:
    run = a_run(expires_ms=START_MS)
    await enqueue(store, run)
    await expire(store)
    assert await store.enqueue([run]) == set()
