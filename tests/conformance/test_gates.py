"""Gates: no more runs under way than may be, no more starts than may be, and who waits goes on in the transaction that makes room."""

import asyncio

import msgspec
import pytest

from dueline.domain.gates import Gate, Limit, Rate, Scope
from dueline.domain.ids import RunId
from dueline.domain.states import HeldReason, RunState
from dueline.store.protocol import Store
from dueline.store.shapes import Postponed
from tests.conformance.gating import W1, enter, some_claims, states, taken, wish
from tests.support.stores import (
    QUEUE,
    START_MS,
    TENANT,
    StoreClock,
    a_finish,
    a_reclaim,
    a_retry,
    claim,
    the_run,
)

ONE = Gate(Scope.KEY, "k", TENANT, 1)
TWO = Gate(Scope.KEY, "two", TENANT, 2)
THREE = Gate(Scope.KEY, "three", TENANT, 3)


async def test_no_more_pass_than_there_are_places_and_the_first_pass_first(store: Store) -> None:
    claims = await some_claims(store, 5)
    passed = await enter(store, claims, TWO)
    assert [one.run_id for one in passed] == [one.run_id for one in claims[:2]]
    assert await states(store, claims) == [RunState.RUNNING] * 2 + [RunState.HELD] * 3
    held = await the_run(store, claims[2].run_id)
    assert (held.reason, held.attempt) == (HeldReason.CONCURRENCY, 0)


async def test_an_end_lets_the_next_in_with_it(store: Store) -> None:
    claims = await some_claims(store, 4)
    (first,) = await enter(store, claims, ONE)
    await store.finish([a_finish(first)])
    assert await states(store, claims[1:]) == [RunState.READY, RunState.HELD, RunState.HELD]
    (again,) = await claim(store, W1, limit=9)
    assert again.run_id == claims[1].run_id
    assert again.attempt == 1
    assert await enter(store, [again], ONE)


@pytest.mark.parametrize("how", ["retry", "release", "postpone", "reclaim", "dead"])
async def test_whatever_takes_a_run_from_its_worker_leaves_its_place(store: Store, how: str) -> None:
    claims = await some_claims(store, 3)
    (first,) = await enter(store, claims, ONE)
    match how:
        case "retry":
            await store.retry([a_retry(first, due_ms=START_MS + 60_000)])
        case "release":
            await store.release([first])
        case "postpone":
            await store.postpone([Postponed(first.run_id, first.token, START_MS + 60_000, HeldReason.HOST_BUSY)])
        case "reclaim":
            await store.leave(W1)
            await store.reclaim([a_reclaim(first)])
        case "dead":
            await store.leave(W1)
            await store.reclaim([a_reclaim(first, RunState.FAILED)])
    assert await states(store, claims[1:]) == [RunState.READY, RunState.HELD]


async def test_a_run_passes_all_of_its_gates_or_none(store: Store) -> None:
    claims = await some_claims(store, 3)
    await enter(store, claims[:1], ONE)
    assert await enter(store, claims[1:2], TWO, ONE) == []
    assert await enter(store, claims[2:], TWO), "the one that was refused must not have kept a place"
    assert await states(store, claims) == [RunState.RUNNING, RunState.HELD, RunState.RUNNING]


async def test_a_claim_that_was_lost_does_not_pass(store: Store) -> None:
    (one,) = await some_claims(store, 1)
    await store.release([one])
    assert await enter(store, [one], ONE) == []
    assert await states(store, [one]) == [RunState.READY]


async def test_as_many_as_there_are_places_pass_together_and_then_nobody(store: Store) -> None:
    """Those of lost claims are not among them, and each has its place at every gate."""
    claims = await some_claims(store, 4)
    await store.release(claims[:1])
    assert await enter(store, claims[:3], TWO, THREE) == [
        msgspec.structs.replace(one, gated=True) for one in claims[1:3]
    ]
    assert [await taken(store, gate) for gate in (TWO, THREE)] == [2, 2]
    assert await enter(store, claims[3:], THREE, TWO) == []
    assert await enter(store, await claim(store, W1), THREE)


async def test_a_rate_lets_a_burst_start_and_then_one_by_one(store: Store, clock: StoreClock) -> None:
    rated = Gate(Scope.KEY, "r", TENANT, None, Rate(10, 1_000, 3))
    claims = await some_claims(store, 8)
    starts = await store.enter([wish(one, rated) for one in claims], ahead_ms=250)
    assert [starts.get(one.run_id) for one in claims] == [START_MS] * 3 + [START_MS + 100, START_MS + 200] + [None] * 3
    held = await the_run(store, claims[5].run_id)
    assert (held.state, held.reason) == (RunState.HELD, HeldReason.RATE)
    assert (await store.upcoming()).refill_ms == START_MS + 50
    assert await store.next_due_ms() == START_MS + 50
    await clock.set_ms(START_MS + 49)
    await store.refill(ahead_ms=250, limit=10)
    assert await states(store, claims[5:]) == [RunState.HELD] * 3
    await clock.set_ms(START_MS + 50)
    await store.refill(ahead_ms=250, limit=10)
    assert await states(store, claims[5:]) == [RunState.READY, RunState.HELD, RunState.HELD]
    again = await claim(store, W1, limit=9)
    assert await store.enter([wish(one, rated) for one in again], ahead_ms=250) == {claims[5].run_id: START_MS + 300}


async def test_all_that_a_rate_holds_start_in_time(store: Store, clock: StoreClock) -> None:
    rated = Gate(Scope.KEY, "r", TENANT, None, Rate(10, 1_000))
    claims = await some_claims(store, 50)
    starts = dict(await store.enter([wish(one, rated) for one in claims], ahead_ms=1_000))
    for _ in range(20):
        await clock.advance(0.25)
        await store.refill(ahead_ms=1_000, limit=10)
        again = await claim(store, W1, limit=50)
        starts |= await store.enter([wish(one, rated) for one in again], ahead_ms=1_000)
    assert list(starts) == [one.run_id for one in claims], "in rank order"
    assert list(starts.values()) == [START_MS + 100 * number for number in range(50)]


async def test_of_many_workers_no_more_pass_than_may(store: Store) -> None:
    claims = await some_claims(store, 60)
    gate = Gate(Scope.KEY, "busy", TENANT, 7)
    parts = [claims[start::6] for start in range(6)]
    passed = [one for part in await asyncio.gather(*(enter(store, part, gate) for part in parts)) for one in part]
    assert len(passed) == 7
    ended: set[RunId] = set()
    for _ in range(60):
        await asyncio.gather(*(store.finish([a_finish(one)]) for one in passed))
        ended |= {one.run_id for one in passed}
        found = await claim(store, W1, limit=60)
        assert len(found) <= 7
        passed = await enter(store, found, gate)
        assert len(passed) == len(found)
        if not found:
            break
    assert len(ended) == 60


async def test_a_place_of_a_run_that_is_gone_is_swept(store: Store) -> None:
    claims = await some_claims(store, 3)
    await enter(store, claims, ONE)
    # As if the one who ended it did not know of its place.
    await store.finish([a_finish(claims[0])])
    assert await states(store, claims[1:]) == [RunState.HELD] * 2
    assert await store.sweep_gates(limit=10) == 1
    assert await states(store, claims[1:]) == [RunState.READY, RunState.HELD]


async def test_a_queue_without_room_keeps_its_runs_ready(store: Store) -> None:
    limit = await store.put_limit(Limit(scope=Scope.QUEUE, name=QUEUE, most=1))
    claims = await some_claims(store, 3)
    passed = await enter(store, claims, limit.gate)
    assert await states(store, claims) == [RunState.RUNNING, RunState.READY, RunState.READY]
    seen, now_ms = await store.look_at(limit.gate)
    assert seen.room(now_us=now_ms * 1000, until_us=now_ms * 1000) == 0
    await store.finish([a_finish(passed[0])])
    seen, now_ms = await store.look_at(limit.gate)
    assert seen.room(now_us=now_ms * 1000, until_us=now_ms * 1000) == 1


async def test_runs_under_way_count_when_a_limit_is_set(store: Store) -> None:
    claims = await some_claims(store, 3)
    limit = await store.put_limit(Limit(scope=Scope.QUEUE, name=QUEUE, most=3))
    seen, _ = await store.look_at(limit.gate)
    assert seen.taken == 3
    await store.finish([a_finish(one) for one in claims])
    await store.sweep_gates(limit=10)
    seen, _ = await store.look_at(limit.gate)
    assert seen.taken == 0


async def test_a_limit_that_is_taken_away_lets_all_in(store: Store, clock: StoreClock) -> None:
    limit = await store.put_limit(Limit(scope=Scope.HOST, name="slow.test", most=1))
    claims = await some_claims(store, 4)
    await enter(store, claims, limit.gate)
    await clock.advance(1)
    assert await store.delete_limit(Scope.HOST, "slow.test")
    assert not await store.delete_limit(Scope.HOST, "slow.test")
    await store.sweep_gates(limit=10)
    assert await states(store, claims) == [RunState.RUNNING] + [RunState.READY] * 3
    again = await claim(store, W1, limit=9)
    assert len(await enter(store, again, limit.gate)) == 3, "whoever knows the old limit is told better"
