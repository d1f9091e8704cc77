"""Strays: runs whose worker is gone, or that outlived their timeout, are taken back by their tokens."""

import msgspec
import pytest

from dueline.domain import limits
from dueline.domain.ids import BootId
from dueline.domain.run import OutcomeKind
from dueline.domain.states import RunState
from dueline.store.protocol import Store
from dueline.store.shapes import Claim, Stray
from tests.support.stores import (
    START_MS,
    StoreClock,
    a_finish,
    a_job,
    a_reclaim,
    a_run,
    an_attempt,
    claim,
    claim_one,
    confirm,
    create,
    enqueue,
    promote,
    register,
    run_and_claim,
    stale,
    the_run,
)

GRACE_MS = limits.TIMEOUT_GRACE_MS
EDGE_MS = START_MS + 30_000 + GRACE_MS
"""The last millisecond of a run with a timeout of 30 s that was due, and claimed, at the start."""


async def strays(store: Store, *, grace_ms: int = GRACE_MS, limit: int = 100) -> list[Stray]:
    return await store.strays(grace_ms=grace_ms, limit=limit)


async def lost(store: Store) -> Claim:
    """A claimed run whose worker is gone."""
    (claimed,) = await run_and_claim(store, a_run())
    await store.leave(BootId("w1"))
    return claimed


async def test_a_run_of_a_registered_worker_is_no_stray(store: Store, clock: StoreClock) -> None:
    await run_and_claim(store)
    await clock.advance(limits.LEASE_S + 1)
    assert await strays(store) == []


async def test_a_run_whose_worker_is_gone_is_a_stray(store: Store) -> None:
    job = await create(store, a_job())
    (claimed,) = await run_and_claim(store, a_run(job, exclusive=True, spec="{}"))
    await store.leave(BootId("w1"))
    assert await strays(store) == [
        Stray(
            run_id=claimed.run_id,
            token=claimed.token,
            job_id=job.id,
            version=1,
            worker=BootId("w1"),
            attempt=1,
            lost=0,
            claimed_ms=START_MS,
            overtime=False,
            spec="{}",
        )
    ]


async def test_only_claimed_runs_can_stray(store: Store) -> None:
    first, second = await run_and_claim(store, a_run(), a_run())
    await store.finish([a_finish(first)])
    await store.release([second])
    await store.leave(BootId("w1"))
    assert await strays(store) == []


async def test_a_run_is_in_time_to_the_last_millisecond_of_timeout_and_grace(store: Store, clock: StoreClock) -> None:
    (claimed,) = await run_and_claim(store)
    await clock.set_ms(EDGE_MS)
    assert await strays(store) == []
    assert await store.reclaim([a_reclaim(claimed)]) == set()
    await clock.set_ms(EDGE_MS + 1)
    assert [(stray.run_id, stray.overtime) for stray in await strays(store)] == [(claimed.run_id, True)]
    assert await store.reclaim([a_reclaim(claimed)]) == {claimed.run_id}


async def test_the_timeout_of_a_run_claimed_ahead_counts_from_its_due_time(store: Store, clock: StoreClock) -> None:
    await enqueue(store, a_run(due_ms=START_MS + 900))
    await claim_one(store, await register(store), ahead_ms=900)
    await clock.set_ms(EDGE_MS + 900)
    assert await strays(store) == []
    await clock.set_ms(EDGE_MS + 901)
    assert len(await strays(store)) == 1


async def test_the_timeout_of_a_run_claimed_late_counts_from_its_claim(store: Store, clock: StoreClock) -> None:
    await clock.advance(100)
    await run_and_claim(store)
    await clock.set_ms(EDGE_MS + 100_000)
    assert await strays(store) == []
    await clock.set_ms(EDGE_MS + 100_001)
    assert len(await strays(store)) == 1


async def test_the_grace_is_the_callers(store: Store, clock: StoreClock) -> None:
    await run_and_claim(store)
    await clock.set_ms(START_MS + 30_001)
    assert len(await strays(store, grace_ms=0)) == 1
    assert await strays(store, grace_ms=1) == []


async def test_no_more_strays_than_asked_for(store: Store) -> None:
    await run_and_claim(store, *(a_run() for _ in range(5)))
    await store.leave(BootId("w1"))
    assert len(await strays(store, limit=3)) == 3


async def test_a_lost_run_goes_back_at_once_and_is_counted_and_recorded(store: Store) -> None:
    claimed = await lost(store)
    taken = a_reclaim(claimed)
    assert await store.reclaim([taken]) == {claimed.run_id}
    run = await the_run(store, claimed.run_id)
    assert (run.state, run.lost, run.attempt, run.due_ms) == (RunState.READY, 1, 1, START_MS)
    assert (run.worker, run.claimed_ms, run.attempts) == (None, None, (taken.attempt,))
    again = await claim_one(store, await register(store, "w2"))
    assert (again.attempt, again.lost) == (2, 1)
    assert again.token > claimed.token


async def test_records_of_lost_and_ended_attempts_stand_in_one_row(store: Store) -> None:
    claimed = await lost(store)
    await store.reclaim([a_reclaim(claimed)])
    again = await claim_one(store, await register(store, "w2"))
    await store.finish([a_finish(again)])
    run = await the_run(store, claimed.run_id)
    assert [attempt.outcome.kind for attempt in run.attempts] == [OutcomeKind.LOST, OutcomeKind.SUCCEEDED]
    assert run.attempts[1] == msgspec.structs.replace(an_attempt(again), worker="w2")
    assert run.lost == 1


async def test_a_run_taken_for_overtime_alone_is_not_counted_as_lost(store: Store, clock: StoreClock) -> None:
    (claimed,) = await run_and_claim(store)
    await clock.set_ms(EDGE_MS + 1)
    later_ms = clock.now_ms + 5_000
    assert await store.reclaim([a_reclaim(claimed, RunState.RETRYING, lost=False, due_ms=later_ms)])
    run = await the_run(store, claimed.run_id)
    assert (run.state, run.lost, run.due_ms) == (RunState.RETRYING, 0, later_ms)
    assert await claim(store, BootId("w1"), ahead_ms=limits.AHEAD_MS) == []
    await clock.advance(5)
    await promote(store)
    assert (await claim_one(store, BootId("w1"))).run_id == claimed.run_id


async def test_a_poisonous_run_ends_as_failed(store: Store, clock: StoreClock) -> None:
    claimed = await lost(store)
    await clock.advance(1)
    taken = a_reclaim(claimed, RunState.FAILED, reason="poison")
    assert await store.reclaim([taken]) == {claimed.run_id}
    run = await the_run(store, claimed.run_id)
    assert (run.state, run.reason, run.lost, run.worker) == (RunState.FAILED, "poison", 1, "w1")
    assert (run.finished_ms, run.attempts) == (START_MS + 1_000, (taken.attempt,))
    assert await strays(store) == []


@pytest.mark.parametrize("state", [RunState.READY, RunState.RETRYING, RunState.FAILED])
async def test_a_run_of_a_registered_worker_in_time_is_not_taken(store: Store, state: RunState) -> None:
    (claimed,) = await run_and_claim(store)
    assert await store.reclaim([a_reclaim(claimed, state)]) == set()
    run = await the_run(store, claimed.run_id)
    assert (run.state, run.lost, run.attempts) == (RunState.RUNNING, 0, ())
    assert await confirm(store, claimed) == {claimed.run_id}


async def test_an_expired_worker_that_nobody_buried_keeps_its_runs(store: Store, clock: StoreClock) -> None:
    (claimed,) = await run_and_claim(store)
    await clock.advance(limits.LEASE_S + 1)
    assert await store.reclaim([a_reclaim(claimed)]) == set()
    await store.bury(BootId("w1"))
    assert await store.reclaim([a_reclaim(claimed)]) == {claimed.run_id}


@pytest.mark.parametrize("state", [RunState.READY, RunState.FAILED])
async def test_a_stale_token_takes_nothing(store: Store, state: RunState) -> None:
    claimed = await lost(store)
    assert await store.reclaim([a_reclaim(stale(claimed), state)]) == set()
    run = await the_run(store, claimed.run_id)
    assert (run.state, run.lost, run.attempts) == (RunState.RUNNING, 0, ())


async def test_a_run_is_taken_once(store: Store) -> None:
    claimed = await lost(store)
    assert await store.reclaim([a_reclaim(claimed)]) == {claimed.run_id}
    assert await store.reclaim([a_reclaim(claimed)]) == set()
    assert (await the_run(store, claimed.run_id)).lost == 1


async def test_a_worker_taken_for_dead_cannot_end_its_run_any_more(store: Store) -> None:
    claimed = await lost(store)
    await store.reclaim([a_reclaim(claimed)])
    assert await store.finish([a_finish(claimed)]) == set()
    assert (await the_run(store, claimed.run_id)).state is RunState.READY


async def test_a_run_ended_in_time_is_not_taken(store: Store) -> None:
    claimed = await lost(store)
    assert await store.finish([a_finish(claimed)]) == {claimed.run_id}
    assert await store.reclaim([a_reclaim(claimed, RunState.FAILED)]) == set()
    assert (await the_run(store, claimed.run_id)).state is RunState.SUCCEEDED


async def test_a_batch_may_hold_every_kind_of_end(store: Store) -> None:
    claims = await run_and_claim(store, *(a_run() for _ in range(4)))
    await store.leave(BootId("w1"))
    back, later, dead, ended = claims
    await store.finish([a_finish(ended)])
    taken = await store.reclaim(
        [
            a_reclaim(back),
            a_reclaim(later, RunState.RETRYING, due_ms=START_MS + 9_000),
            a_reclaim(dead, RunState.FAILED, reason="poison"),
            a_reclaim(ended),
        ]
    )
    assert taken == {back.run_id, later.run_id, dead.run_id}
    states = [(await the_run(store, claimed.run_id)).state for claimed in claims]
    assert states == [RunState.READY, RunState.RETRYING, RunState.FAILED, RunState.SUCCEEDED]


async def test_nothing_to_take_takes_nothing(store: Store) -> None:
    assert await store.reclaim([]) == set()
    assert await strays(store) == []
    assert await store.free_held(limit=10) == 0


@pytest.mark.parametrize("state", [RunState.READY, RunState.FAILED])
async def test_an_owner_may_give_up_a_run_that_it_lost_itself(store: Store, state: RunState) -> None:
    (claimed,) = await run_and_claim(store, a_run())
    assert await store.reclaim([a_reclaim(claimed, state, owner=BootId("w2"))]) == set()
    assert await store.reclaim([a_reclaim(stale(claimed), state, owner=BootId("w1"))]) == set()
    assert await store.reclaim([a_reclaim(claimed, state, owner=BootId("w1"))]) == {claimed.run_id}
    run = await the_run(store, claimed.run_id)
    assert (run.state, run.lost, run.attempts[-1].outcome.kind) == (state, 1, OutcomeKind.LOST)


async def test_what_a_leaving_owner_gives_up_counts_as_nothing(store: Store) -> None:
    (claimed,) = await run_and_claim(store, a_run())
    given_up = msgspec.structs.replace(a_reclaim(claimed, lost=False, owner=BootId("w1")), counted=False)
    assert await store.reclaim([given_up]) == {claimed.run_id}
    run = await the_run(store, claimed.run_id)
    assert (run.state, run.attempt, run.lost, len(run.attempts)) == (RunState.READY, 0, 0, 1)
    again = await claim_one(store, BootId("w1"))
    assert (again.attempt, again.lost, again.token > claimed.token) == (1, 0, True)
