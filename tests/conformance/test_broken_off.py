"""Runs that a stopping worker broke off: that attempt does not count, and yet they have begun."""

from typing import Any

import msgspec
import pytest

from dueline.domain.changes import JobChange, JobInHand
from dueline.domain.gates import Limit, Scope
from dueline.domain.ids import BootId
from dueline.domain.lanes import PLAIN
from dueline.domain.states import RunState
from dueline.store.protocol import Store
from dueline.store.shapes import Claim, Postponed
from tests.conformance.gating import enter
from tests.conformance.overlapping import blocked, exclusive, one_under_way, state_of
from tests.support.stores import (
    QUEUE,
    START_MS,
    TENANT,
    StoreClock,
    a_reclaim,
    a_run,
    an_occurrence,
    changing,
    claim,
    claim_one,
    create,
    enqueue,
    promote,
    register,
    run_and_claim,
    the_run,
)

EXPIRES_MS = START_MS + 10_000
W1 = BootId("w1")


async def break_off(store: Store, begun: Claim) -> None:
    """As the worker does that has it, and stops."""
    broken_off = msgspec.structs.replace(a_reclaim(begun, lost=False, owner=W1), counted=False)
    assert await store.reclaim([broken_off]) == {begun.run_id}
    run = await the_run(store, begun.run_id)
    assert (run.state, run.attempt, len(run.attempts)) == (RunState.READY, 0, 1)


async def released(store: Store, claimed: Claim) -> None:
    assert await store.release([claimed]) == {claimed.run_id}


async def postponed(store: Store, claimed: Claim) -> None:
    put_off = Postponed(claimed.run_id, claimed.token, START_MS, "circuit_open")
    assert await store.postpone([put_off]) == {claimed.run_id}
    await promote(store)


async def refused_by_its_queue(store: Store, claimed: Claim) -> None:
    limit = await store.put_limit(Limit(scope=Scope.QUEUE, name=QUEUE, most=0))
    assert await enter(store, [claimed], limit.gate) == []


async def test_it_does_not_expire_and_is_tried_again(store: Store, clock: StoreClock) -> None:
    (claimed,) = await run_and_claim(store, a_run(expires_ms=EXPIRES_MS))
    await break_off(store, claimed)
    await clock.set_ms(EXPIRES_MS)
    assert not (await store.chores()).expiries
    assert await store.expire(limit=100) == 0
    assert (await claim_one(store, W1)).run_id == claimed.run_id


@pytest.mark.parametrize("goes_back", [released, postponed])
async def test_nor_does_it_when_its_next_attempt_never_starts(store: Store, clock: StoreClock, goes_back: Any) -> None:
    (claimed,) = await run_and_claim(store, a_run(expires_ms=EXPIRES_MS))
    await break_off(store, claimed)
    await goes_back(store, await claim_one(store, W1))
    await clock.set_ms(EXPIRES_MS)
    assert await store.expire(limit=100) == 0
    assert (await claim_one(store, W1)).attempt == 1


async def test_others_expire_behind_it(store: Store, clock: StoreClock) -> None:
    for begun in await run_and_claim(store, *(a_run(expires_ms=EXPIRES_MS - 1) for _ in range(3))):
        await break_off(store, begun)
    late = await enqueue(store, *(a_run(expires_ms=EXPIRES_MS) for _ in range(3)))
    await clock.set_ms(EXPIRES_MS)
    assert [await store.expire(limit=2) for _ in range(3)] == [2, 1, 0]
    assert {await state_of(store, run_id) for run_id in late} == {RunState.EXPIRED}


@pytest.mark.parametrize("goes_back", [released, postponed, refused_by_its_queue])
async def test_it_keeps_its_jobs_place_when_its_next_attempt_never_starts(store: Store, goes_back: Any) -> None:
    job, first, second = await one_under_way(store)
    await break_off(store, first)
    (again,) = (await store.claim(W1, QUEUE, PLAIN, ahead_ms=0, limit=10)).claims
    assert again.run_id == first.run_id
    await goes_back(store, again)
    await enqueue(store, exclusive(job, priority=9))
    claimed = await store.claim(W1, QUEUE, PLAIN, ahead_ms=0, limit=10)
    assert [one.run_id for one in claimed.claims] == [first.run_id]
    assert second in [one.run_id for one in claimed.blocked]
    assert len(await blocked(store)) == 2


async def test_its_occurrence_was_not_missed_and_is_neither_moved_nor_given_up(store: Store) -> None:
    job = await create(store)
    (claimed,) = await run_and_claim(store, an_occurrence(job, START_MS - 60_000, due_ms=START_MS))
    await break_off(store, claimed)
    assert await store.missed_runs(tenant=None, job_id=None, limit=10) == []
    assert await store.missed_runs(tenant=None, job_id=job.id, limit=10) == []
    assert await store.repace([(claimed.run_id, START_MS + 60_000)]) == 0
    assert await store.cancel_waiting([(claimed.run_id, "recovery")]) == set()
    assert [one.run_id for one in await claim(store, W1)] == [claimed.run_id]


async def test_a_change_of_its_job_is_told_that_it_has_begun(store: Store) -> None:
    job = await create(store)
    hands: list[JobInHand] = []

    def decide(hand: JobInHand) -> JobChange:
        hands.append(hand)
        return changing()(hand)

    await register(store)
    (fresh,) = await enqueue(store, a_run(job))
    claimed = await claim_one(store, W1)
    await store.change_job(TENANT, job.id, decide)
    await break_off(store, claimed)
    (other,) = await enqueue(store, a_run(job))
    await store.change_job(TENANT, job.id, decide)
    assert hands[0].runs == ()
    assert {run.id: run.begun for run in hands[1].runs} == {fresh: True, other: False}
