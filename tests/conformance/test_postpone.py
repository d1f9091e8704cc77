"""Runs that are put off: not started after all, not counted as tried, and back when their new time has come."""

from dueline.domain.ids import BootId
from dueline.domain.lanes import PLAIN
from dueline.domain.states import RunState
from dueline.store.protocol import Store
from dueline.store.shapes import Claim, Postponed
from tests.conformance.ear import listening
from tests.conformance.overlapping import blocked, one_under_way, state_of
from tests.support.stores import (
    QUEUE,
    START_MS,
    TENANT,
    StoreClock,
    a_finish,
    a_reclaim,
    a_retry,
    a_run,
    claim,
    claim_one,
    confirm,
    enqueue,
    promote,
    register,
    run_and_claim,
    stale,
    the_run,
)

LATER_MS = START_MS + 30_000
WHY = "circuit_open"
W1 = BootId("w1")


def put_off(claimed: Claim, *, due_ms: int = LATER_MS) -> Postponed:
    return Postponed(claimed.run_id, claimed.token, due_ms, WHY)


async def retried(store: Store, claimed: Claim) -> Claim:
    """The second attempt of a run."""
    await store.retry([a_retry(claimed, due_ms=START_MS)])
    await promote(store)
    claims = (await store.claim(W1, QUEUE, PLAIN, ahead_ms=0, limit=10)).claims
    (again,) = [found for found in claims if found.run_id == claimed.run_id]
    return again


async def test_a_run_that_is_put_off_waits_and_says_why(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    assert await store.postpone([put_off(claimed)]) == {claimed.run_id}
    run = await the_run(store, claimed.run_id)
    assert (run.state, run.reason, run.due_ms, run.scheduled_ms) == (RunState.SCHEDULED, WHY, LATER_MS, START_MS)
    assert (run.attempt, run.lost, run.attempts, run.worker, run.claimed_ms) == (0, 0, (), None, None)
    assert await claim(store, W1, ahead_ms=60_000) == []
    assert await store.claims_of(W1) == []


async def test_it_is_ready_near_its_new_time_and_the_reason_is_gone(store: Store, clock: StoreClock) -> None:
    (claimed,) = await run_and_claim(store)
    await store.postpone([put_off(claimed)])
    await clock.set_ms(LATER_MS - 501)
    await promote(store, ahead_ms=500)
    assert (await store.upcoming()).due_ms == LATER_MS
    await clock.set_ms(LATER_MS - 500)
    assert (await promote(store, ahead_ms=500)).count == 1
    run = await the_run(store, claimed.run_id)
    assert (run.state, run.reason) == (RunState.READY, None)
    await clock.set_ms(LATER_MS)
    again = await claim_one(store, W1)
    assert (again.run_id, again.attempt, again.due_ms) == (claimed.run_id, 1, LATER_MS)
    assert again.token > claimed.token + 1, "whoever puts it off raises it, as whoever claims it does"
    assert again.begun_ms is None


async def test_it_does_not_stand_behind_what_waits_since(store: Store, clock: StoreClock) -> None:
    (claimed,) = await run_and_claim(store)
    await store.postpone([put_off(claimed)])
    await enqueue(store, *(a_run() for _ in range(20)))
    await clock.set_ms(LATER_MS)
    await promote(store)
    first = await claim(store, W1, limit=2)
    assert claimed.run_id in {one.run_id for one in first}


async def test_a_worker_that_put_a_run_off_has_no_say_in_it_any_more(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    await store.postpone([put_off(claimed)])
    assert await confirm(store, claimed) == set()
    assert await store.postpone([put_off(claimed)]) == set()
    assert await store.finish([a_finish(claimed)]) == set()
    assert await store.retry([a_retry(claimed, due_ms=START_MS)]) == set()
    assert await store.release([claimed]) == set()
    assert await state_of(store, claimed.run_id) is RunState.SCHEDULED


async def test_a_stale_token_puts_nothing_off(store: Store) -> None:
    first, second = await run_and_claim(store, a_run(), a_run())
    assert await store.postpone([put_off(stale(first)), put_off(second)]) == {second.run_id}
    assert await state_of(store, first.run_id) is RunState.RUNNING
    assert await store.postpone([]) == set()


async def test_a_zombie_puts_nothing_off(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    await store.leave(W1)
    await store.reclaim([a_reclaim(claimed)])
    again = await claim_one(store, await register(store, "w2"))
    assert await store.postpone([put_off(claimed)]) == set()
    assert await confirm(store, again) == {again.run_id}


async def test_a_retry_that_is_put_off_keeps_its_attempts(store: Store, clock: StoreClock) -> None:
    (claimed,) = await run_and_claim(store)
    again = await retried(store, claimed)
    assert again.attempt == 2
    await store.postpone([put_off(again)])
    run = await the_run(store, claimed.run_id)
    assert (run.state, run.attempt, len(run.attempts)) == (RunState.SCHEDULED, 1, 1)
    await clock.set_ms(LATER_MS)
    await promote(store)
    third = await claim_one(store, W1)
    assert (third.attempt, third.begun_ms) == (2, START_MS)


async def test_a_run_that_was_never_tried_leaves_its_place(store: Store) -> None:
    _, first, second = await one_under_way(store)
    await store.postpone([put_off(first)])
    assert (await claim_one(store, W1)).run_id == second


async def test_a_run_that_waits_for_the_place_gets_it(store: Store) -> None:
    _, first, second = await one_under_way(store)
    await store.hold_blocked(await blocked(store))
    await store.postpone([put_off(first)])
    await store.free_held(limit=10)
    assert (await claim_one(store, W1)).run_id == second


async def test_a_run_that_left_its_place_is_blocked_when_it_comes_back(store: Store, clock: StoreClock) -> None:
    _, first, second = await one_under_way(store)
    await store.postpone([put_off(first)])
    assert (await claim_one(store, W1)).run_id == second
    await clock.set_ms(LATER_MS)
    await promote(store)
    assert [run.run_id for run in await blocked(store)] == [first.run_id]


async def test_a_run_that_was_tried_keeps_its_place(store: Store, clock: StoreClock) -> None:
    _, first, second = await one_under_way(store)
    again = await retried(store, first)
    await store.postpone([put_off(again)])
    assert [run.run_id for run in await blocked(store)] == [second]
    await clock.set_ms(LATER_MS)
    await promote(store)
    claimed = await store.claim(W1, QUEUE, PLAIN, ahead_ms=0, limit=10)
    assert [found.run_id for found in claimed.claims] == [first.run_id]


async def test_a_run_claimed_ahead_can_be_put_off(store: Store) -> None:
    await enqueue(store, a_run(due_ms=START_MS + 500))
    claimed = await claim_one(store, await register(store), ahead_ms=500)
    assert await store.postpone([put_off(claimed)]) == {claimed.run_id}
    assert (await the_run(store, claimed.run_id)).due_ms == LATER_MS


async def test_a_run_that_was_asked_to_end_and_is_put_off_ends(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    await store.cancel_runs(TENANT, [claimed.run_id], reason="requested")
    await store.postpone([put_off(claimed)])
    assert await store.sweep_cancelled(limit=10) == 1
    run = await the_run(store, claimed.run_id)
    assert (run.state, run.reason, run.attempt) == (RunState.CANCELLED, "requested", 0)


async def test_the_promoter_is_woken(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    ear = await listening(store)
    await store.postpone([put_off(claimed)])
    await ear.hears("waiting")
