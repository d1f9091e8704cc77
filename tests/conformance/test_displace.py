"""A later run takes the place of an earlier one: who is asked to end, who ends at once, and who waits."""

from dueline.domain.ids import BootId, RunId
from dueline.domain.job import Job
from dueline.domain.lanes import PLAIN
from dueline.domain.states import RunState
from dueline.store.protocol import Store
from dueline.store.shapes import Blocked, CancelAsked, Claim
from tests.conformance.ear import listening
from tests.conformance.overlapping import blocked, exclusive, one_under_way, state_of
from tests.support.stores import (
    QUEUE,
    START_MS,
    TENANT,
    StoreClock,
    StoreUnderTest,
    a_finish,
    a_reclaim,
    a_retry,
    a_run,
    changing,
    claim_one,
    confirm,
    create,
    enqueue,
    promote,
    register,
    the_job,
    the_run,
)

WHY = "superseded"
W1 = BootId("w1")


async def displace(store: Store, runs: list[Blocked] | None = None) -> set[RunId]:
    return await store.displace_blocked(await blocked(store) if runs is None else runs, reason=WHY)


async def test_a_run_under_way_is_asked_to_end_and_the_later_one_waits(store: Store) -> None:
    _, first, second = await one_under_way(store)
    assert await displace(store) == {second}
    assert await store.cancels_of(W1) == [CancelAsked(first.run_id, first.token, WHY)]
    assert await state_of(store, first.run_id) is RunState.RUNNING
    held = await the_run(store, second)
    assert (held.state, held.reason) == (RunState.HELD, "overlap")
    assert await confirm(store, first) == {first.run_id}, "it is still the worker's to end"


async def test_the_later_run_starts_when_the_earlier_one_has_ended(store: Store) -> None:
    _, first, second = await one_under_way(store)
    await displace(store)
    assert await store.finish([a_finish(first, RunState.CANCELLED, reason=WHY)]) == {first.run_id}
    assert (await claim_one(store, W1)).run_id == second
    assert await store.cancels_of(W1) == []


async def test_a_run_that_is_older_than_the_one_under_way_ends_itself(store: Store) -> None:
    # A missed one waits behind those on time; it must not end a newer one.
    job = await create(store)
    worker = await register(store)
    await enqueue(store, exclusive(job))
    newer = await claim_one(store, worker)
    (older,) = await enqueue(store, exclusive(job, scheduled_ms=START_MS - 60_000))
    assert await displace(store) == set()
    ended = await the_run(store, older)
    assert (ended.state, ended.reason) == (RunState.CANCELLED, WHY)
    assert await store.cancels_of(worker) == []
    assert await confirm(store, newer) == {newer.run_id}


async def test_the_worker_of_the_earlier_run_is_woken(store: Store) -> None:
    await one_under_way(store)
    seen = await blocked(store)
    ear = await listening(store)
    await displace(store, seen)
    await ear.hears("cancel")


async def test_a_run_that_was_asked_to_end_already_keeps_its_reason(store: Store) -> None:
    job, first, second = await one_under_way(store)
    await displace(store)
    (third,) = await enqueue(store, exclusive(job, due_ms=START_MS))
    assert await store.displace_blocked(await blocked(store), reason="requested") == {third}
    assert await store.cancels_of(W1) == [CancelAsked(first.run_id, first.token, WHY)]
    ended = await the_run(store, second)
    assert (ended.state, ended.reason) == (RunState.CANCELLED, "requested")


async def test_nobody_else_is_asked_to_end(store: Store) -> None:
    await one_under_way(store)
    other, _, _ = await one_under_way_of_another(store)
    await displace(store, [run for run in await blocked(store) if run.job_id != other.id])
    assert await store.cancels_of(BootId("w2")) == []
    assert len(await store.cancels_of(W1)) == 1


async def one_under_way_of_another(store: Store) -> tuple[Job, Claim, RunId]:
    job = await create(store)
    await enqueue(store, exclusive(job, queue="slow"))
    first = await claim_one(store, await register(store, "w2"), queue="slow")
    (second,) = await enqueue(store, exclusive(job))
    return job, first, second


async def test_a_run_in_the_way_that_waits_for_its_retry_ends_at_once(store: Store) -> None:
    _, first, second = await one_under_way(store)
    await store.retry([a_retry(first, due_ms=START_MS + 60_000)])
    await displace(store)
    ended = await the_run(store, first.run_id)
    assert (ended.state, ended.reason, len(ended.attempts)) == (RunState.CANCELLED, WHY, 1)
    assert (await claim_one(store, W1)).run_id == second


async def test_a_retry_that_is_ready_again_ends_at_once(store: Store) -> None:
    _, first, second = await one_under_way(store)
    seen = await blocked(store)
    await store.retry([a_retry(first, due_ms=START_MS)])
    await promote(store)
    await displace(store, seen)
    assert await state_of(store, first.run_id) is RunState.CANCELLED
    assert (await claim_one(store, W1)).run_id == second


async def test_a_retry_that_is_held_ends_at_once(store: Store) -> None:
    job, first, second = await one_under_way(store)
    seen = await blocked(store)
    await store.retry([a_retry(first, due_ms=START_MS)])
    await store.change_job(TENANT, job.id, changing(hold=(first.run_id,)))
    await displace(store, seen)
    assert await state_of(store, first.run_id) is RunState.CANCELLED
    assert (await claim_one(store, W1)).run_id == second


async def test_a_retry_claimed_ahead_ends_at_once_and_its_claim_is_void(store: Store) -> None:
    _, first, second = await one_under_way(store)
    seen = await blocked(store)
    await store.retry([a_retry(first, due_ms=START_MS + 500)])
    await promote(store, ahead_ms=500)
    claimed = await store.claim(W1, QUEUE, PLAIN, ahead_ms=500, limit=10)
    (again,) = claimed.claims
    assert again.run_id == first.run_id
    await displace(store, seen)
    assert await state_of(store, first.run_id) is RunState.CANCELLED
    assert await confirm(store, again) == set()
    assert await store.cancels_of(W1) == []
    assert (await claim_one(store, W1)).run_id == second


async def test_earlier_runs_that_wait_for_the_same_end_and_the_latest_waits(store: Store) -> None:
    job, first, second = await one_under_way(store)
    await store.hold_blocked(await blocked(store))
    third, fourth = await enqueue(store, exclusive(job), exclusive(job))
    assert await displace(store) == {fourth}
    for run_id in (second, third):
        ended = await the_run(store, run_id)
        assert (ended.state, ended.reason) == (RunState.CANCELLED, WHY)
    await store.finish([a_finish(first)])
    assert (await claim_one(store, W1)).run_id == fourth


async def test_runs_held_by_a_pause_and_later_ones_are_left_alone(store: Store) -> None:
    job, _, second = await one_under_way(store)
    paused, later = await enqueue(
        store, exclusive(job, due_ms=START_MS - 5), exclusive(job, scheduled_ms=START_MS + 9, due_ms=START_MS)
    )
    seen = [run for run in await blocked(store) if run.run_id == second]
    await store.hold_blocked([run for run in await blocked(store) if run.run_id == later])
    await store.change_job(TENANT, job.id, changing(hold=(paused,)))
    assert await displace(store, seen) == {second}
    assert [await state_of(store, run_id) for run_id in (paused, second, later)] == [RunState.HELD] * 3


async def test_a_run_whose_place_became_free_is_left_as_it_is(store: Store) -> None:
    _, first, second = await one_under_way(store)
    seen = await blocked(store)
    await store.finish([a_finish(first)])
    assert await displace(store, seen) == set()
    assert await state_of(store, second) is RunState.READY
    assert (await claim_one(store, W1)).run_id == second


async def test_a_run_that_was_claimed_meanwhile_displaces_nobody(store: Store) -> None:
    job, first, second = await one_under_way(store)
    seen = await blocked(store)
    await store.finish([a_finish(first)])
    claimed = await claim_one(store, W1)
    assert claimed.run_id == second
    await enqueue(store, exclusive(job))
    assert await displace(store, seen) == set()
    assert await confirm(store, claimed) == {second}
    assert await store.cancels_of(W1) == []


async def test_a_run_claimed_ahead_that_is_blocked_at_its_start_displaces_too(store: Store, clock: StoreClock) -> None:
    job, first, _ = await one_under_way(store)
    await store.skip_blocked(await blocked(store), reason="overlap")
    await enqueue(store, exclusive(job, due_ms=START_MS + 500))
    ahead = await claim_one(store, await register(store, "early"), ahead_ms=500)
    await clock.advance(0.5)
    confirmed = await store.confirm([ahead])
    assert await displace(store, confirmed.blocked) == {ahead.run_id}
    held = await the_run(store, ahead.run_id)
    assert (held.state, held.attempt, held.worker, held.claimed_ms) == (RunState.HELD, 0, None, None)
    assert [asked.run_id for asked in await store.cancels_of(W1)] == [first.run_id]
    assert await confirm(store, ahead) == set()


async def test_nothing_to_displace_displaces_nothing(store: Store) -> None:
    assert await displace(store, []) == set()
    assert await store.cancels_of(W1) == []
    assert await store.sweep_cancelled(limit=10) == 0


async def test_a_lost_run_that_was_asked_to_end_says_so_and_ends_as_cancelled(store: Store, clock: StoreClock) -> None:
    _, first, second = await one_under_way(store)
    await displace(store)
    await store.leave(W1)
    await clock.advance(1)
    (stray,) = await store.strays(grace_ms=0, limit=10)
    assert (stray.run_id, stray.cancel) == (first.run_id, WHY)
    taken = a_reclaim(stray, RunState.CANCELLED, reason=WHY)
    assert await store.reclaim([taken]) == {first.run_id}
    ended = await the_run(store, first.run_id)
    assert (ended.state, ended.reason, ended.lost) == (RunState.CANCELLED, WHY, 1)
    assert (ended.finished_ms, ended.attempts) == (START_MS + 1_000, (taken.attempt,))
    assert (await claim_one(store, await register(store, "w2"))).run_id == second


async def test_a_run_that_was_asked_to_end_and_waits_again_is_swept(store: Store, clock: StoreClock) -> None:
    _, first, second = await one_under_way(store)
    await displace(store)
    await store.retry([a_retry(first, due_ms=START_MS + 60_000)])
    await clock.advance(1)
    assert await store.cancels_of(W1) == []
    assert await store.sweep_cancelled(limit=10) == 1
    ended = await the_run(store, first.run_id)
    assert (ended.state, ended.reason, ended.finished_ms) == (RunState.CANCELLED, WHY, START_MS + 1_000)
    assert (await claim_one(store, W1)).run_id == second


async def test_a_sweep_takes_what_waits_in_any_way_and_nothing_that_runs(under_test: StoreUnderTest) -> None:
    store = under_test.store
    job = await create(store)
    await enqueue(store, a_run(job))
    claimed = await claim_one(store, await register(store))
    ready, waiting, held = await enqueue(store, a_run(job), a_run(job, due_ms=START_MS + 60_000), a_run(job))
    await store.change_job(TENANT, job.id, changing(hold=(held,)))
    await under_test.tamper("UPDATE runs SET cancel = 'requested'")
    (untouched,) = await enqueue(store, a_run(job))
    assert await store.sweep_cancelled(limit=2) == 2
    assert await store.sweep_cancelled(limit=2) == 1
    assert await store.sweep_cancelled(limit=2) == 0
    for run_id in (ready, waiting, held):
        run = await the_run(store, run_id)
        assert (run.state, run.reason) == (RunState.CANCELLED, "requested")
    assert await state_of(store, untouched) is RunState.READY
    assert [asked.run_id for asked in await store.cancels_of(W1)] == [claimed.run_id]
    assert (await the_job(store, job.id)).next_ms == START_MS
