"""When the first attempt of a run began: known to every later one, however the earlier ones ended."""

from dueline.domain.ids import BootId
from dueline.domain.states import RunState
from dueline.store.protocol import Store
from dueline.store.shapes import Postponed
from tests.support.stores import START_MS, StoreClock, a_reclaim, a_retry, claim_one, promote, register, run_and_claim

W1 = BootId("w1")


async def test_a_first_attempt_has_none_before_it(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    assert claimed.begun_ms is None


async def test_retries_know_when_the_first_attempt_was_claimed(store: Store, clock: StoreClock) -> None:
    (claimed,) = await run_and_claim(store)
    for attempt in (2, 3):
        await clock.advance(5)
        await store.retry([a_retry(claimed, due_ms=clock.now_ms)])
        await clock.advance(5)
        await promote(store)
        claimed = await claim_one(store, W1)
        assert (claimed.attempt, claimed.begun_ms) == (attempt, START_MS)
        assert await store.claims_of(W1) == [claimed]


async def test_so_do_attempts_after_a_lost_one(store: Store, clock: StoreClock) -> None:
    (claimed,) = await run_and_claim(store)
    await store.leave(W1)
    await clock.advance(5)
    await store.reclaim([a_reclaim(claimed)])
    claimed = await claim_one(store, await register(store, "w2"))
    assert claimed.begun_ms == START_MS
    await store.leave(BootId("w2"))
    await store.reclaim([a_reclaim(claimed, RunState.RETRYING, due_ms=clock.now_ms)])
    await clock.advance(5)
    await promote(store)
    assert (await claim_one(store, await register(store, "w3"))).begun_ms == START_MS


async def test_a_claim_that_was_given_back_began_nothing(store: Store, clock: StoreClock) -> None:
    (claimed,) = await run_and_claim(store)
    await store.release([claimed])
    await clock.advance(5)
    again = await claim_one(store, W1)
    assert again.begun_ms is None
    await store.postpone([Postponed(again.run_id, again.token, clock.now_ms, "circuit_open")])
    await promote(store)
    again = await claim_one(store, W1)
    await store.retry([a_retry(again, due_ms=clock.now_ms)])
    await promote(store)
    third = await claim_one(store, W1)
    assert third.begun_ms == START_MS + 5_000
    await clock.advance(5)
    await store.release([third])
    assert (await claim_one(store, W1)).begun_ms == START_MS + 5_000
