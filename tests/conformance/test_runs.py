"""Runs: asked for, waiting, ready, claimed, ended. Every owner's write proves itself by its token."""

import pytest

from dueline.domain import limits
from dueline.domain.ids import BootId
from dueline.domain.lanes import PLAIN
from dueline.domain.run import OutcomeKind
from dueline.domain.states import TERMINAL, RunKind, RunState
from dueline.store.protocol import Store
from dueline.store.shapes import Claim, Promoted, Upcoming
from tests.conformance.ear import listening
from tests.support.stores import (
    QUEUE,
    START_MS,
    StoreClock,
    a_finish,
    a_job,
    a_retry,
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


async def test_enqueueing_answers_what_is_new(store: Store) -> None:
    old, new = a_run(), a_run()
    assert await store.enqueue([old]) == {old.id}
    assert await store.enqueue([old, new]) == {new.id}
    assert await store.enqueue([]) == set()


async def test_an_enqueued_run_reads_back_as_it_was_asked_for(store: Store, clock: StoreClock) -> None:
    job = await create(store)
    parent, run = a_run(job), a_run(job, queue="slow", priority=1, tags=("a", "ü"), kind=RunKind.REDRIVE)
    await enqueue(store, parent, a_run(job, id=run.id, queue="slow", priority=1, tags=("a", "ü"), parent_id=parent.id))
    found = await the_run(store, run.id)
    assert (found.job_id, found.version, found.kind, found.state) == (job.id, 1, RunKind.MANUAL, RunState.READY)
    assert (found.queue, found.priority, found.tags, found.parent_id) == ("slow", 1, ("a", "ü"), parent.id)
    assert (found.scheduled_ms, found.due_ms, found.created_ms) == (START_MS, START_MS, clock.now_ms)
    assert (found.attempt, found.lost, found.worker, found.reason, found.attempts) == (0, 0, None, None, ())
    assert (found.claimed_ms, found.started_ms, found.finished_ms) == (None, None, None)


async def test_a_run_that_exists_is_not_overwritten(store: Store) -> None:
    run = a_run(tags=("first",))
    (claimed,) = await run_and_claim(store, run)
    assert await store.enqueue([a_run(id=run.id, tags=("second",))]) == set()
    assert (await the_run(store, run.id)).tags == ("first",)
    assert await confirm(store, claimed) == {run.id}


async def test_a_finished_run_is_never_run_again(store: Store) -> None:
    run = a_run()
    (claimed,) = await run_and_claim(store, run)
    await store.finish([a_finish(claimed)])
    assert await store.enqueue([run]) == set()
    assert await claim(store, BootId("w1")) == []
    assert (await the_run(store, run.id)).state is RunState.SUCCEEDED


async def test_of_a_batch_only_what_is_live_or_finished_is_left_out(store: Store) -> None:
    finished, live = a_run(), a_run()
    (claimed,) = await run_and_claim(store, finished)
    await store.finish([a_finish(claimed)])
    await enqueue(store, live)
    before, between, after = a_run(due_ms=START_MS - 1), a_run(), a_run(due_ms=START_MS + 1)
    assert await store.enqueue([before, finished, between, after]) == {before.id, between.id, after.id}
    assert await store.enqueue([before, finished, live]) == set()
    twice = a_run()
    assert await store.enqueue([twice, live, twice]) == {twice.id}


async def test_runs_of_a_batch_keep_what_they_share_and_what_they_do_not(store: Store) -> None:
    job = await create(store)
    alike = [a_run(queue="slow", priority=1, tags=("a", "ü")) for _ in range(3)]
    tags: list[tuple[str, ...]] = [("a",), (), ("b", "c")]
    unlike = [
        a_run(
            job if number == 1 else None,
            due_ms=START_MS + number,
            queue=f"q{number}",
            priority=number,
            tags=tags[number],
        )
        for number in range(3)
    ]
    for runs in (alike, unlike):
        await enqueue(store, *runs)
        for run in runs:
            found = await the_run(store, run.id)
            assert (found.job_id, found.version, found.tenant, found.kind) == (
                run.job_id,
                run.version,
                run.tenant,
                run.kind,
            )
            assert (found.queue, found.priority, found.tags) == (run.queue, run.priority, run.tags)
            assert (found.scheduled_ms, found.due_ms, found.parent_id) == (run.scheduled_ms, run.due_ms, None)


async def test_a_run_due_beyond_the_look_ahead_waits(store: Store) -> None:
    edge, beyond = await enqueue(
        store, a_run(due_ms=START_MS + limits.AHEAD_MS), a_run(due_ms=START_MS + limits.AHEAD_MS + 1)
    )
    assert (await the_run(store, edge)).state is RunState.READY
    assert (await the_run(store, beyond)).state is RunState.SCHEDULED


async def test_a_waiting_run_is_promoted_at_exactly_the_look_ahead(store: Store, clock: StoreClock) -> None:
    (run_id,) = await enqueue(store, a_run(due_ms=START_MS + 60_000, queue="slow"))
    await clock.set_ms(START_MS + 59_499)
    assert await promote(store, ahead_ms=500) == Promoted(0)
    assert await store.upcoming() == Upcoming(START_MS + 60_000, None)
    await clock.set_ms(START_MS + 59_500)
    assert await promote(store, ahead_ms=500) == Promoted(1, frozenset({"slow"}))
    assert await store.upcoming() == Upcoming(None, None)
    assert (await the_run(store, run_id)).state is RunState.READY


async def test_the_earliest_are_promoted_first_and_the_next_is_announced(store: Store, clock: StoreClock) -> None:
    early, late = await enqueue(store, a_run(due_ms=START_MS + 5_000), a_run(due_ms=START_MS + 6_000, queue="slow"))
    await clock.advance(10)
    assert await promote(store, limit=1) == Promoted(1, frozenset({"default"}))
    assert await store.upcoming() == Upcoming(START_MS + 6_000, None)
    assert (await the_run(store, early)).state is RunState.READY
    assert (await the_run(store, late)).state is RunState.SCHEDULED


async def test_what_is_made_ready_long_before_its_time_is_claimed_as_ever_and_nobody_is_told_until_then(
    store: Store, clock: StoreClock
) -> None:
    """Workers would walk past it in vain."""
    ear = await listening(store)
    due_ms = START_MS + 5_000
    await enqueue(store, a_run(due_ms=due_ms), a_run(due_ms=due_ms + 1, queue="slow"))
    await clock.set_ms(due_ms - limits.AHEAD_MS)
    assert [await store.count_waiting(until_ms=due_ms + after_ms, limit=10) for after_ms in (-1, 0, 1)] == [0, 1, 2]
    assert await store.count_waiting(until_ms=due_ms + 1, limit=1) == 1
    assert await promote(store, ahead_ms=2_000) == Promoted(2, frozenset({"default"}), {"slow": due_ms + 1})
    assert await store.count_waiting(until_ms=due_ms + 1, limit=10) == 0
    worker = await register(store)
    assert await claim(store, worker, queue="slow", ahead_ms=limits.AHEAD_MS) == []
    await clock.advance(0.001)
    await ear.hears("ready/default")
    await store.tell_ready({"slow"})
    await ear.hears("ready/slow")
    assert len(await claim(store, worker, queue="slow", ahead_ms=limits.AHEAD_MS)) == 1


async def test_a_worker_that_is_not_registered_gets_nothing(store: Store) -> None:
    (run_id,) = await enqueue(store, a_run())
    assert await claim(store, BootId("nobody")) == []
    assert (await the_run(store, run_id)).state is RunState.READY


async def test_a_buried_worker_gets_nothing(store: Store, clock: StoreClock) -> None:
    worker = await register(store)
    await enqueue(store, a_run())
    await clock.advance(limits.LEASE_S + 1)
    await store.bury(worker)
    assert await claim(store, worker) == []


async def test_a_claim_tells_the_worker_all_about_its_run(store: Store, clock: StoreClock) -> None:
    job = await create(store, a_job(tenant="acme"))
    run = a_run(job, scheduled_ms=START_MS - 9, due_ms=START_MS + 3, spec='{"a":1}', exclusive=True)
    await enqueue(store, run)
    await clock.set_ms(START_MS + 2)
    claimed = await claim_one(store, await register(store), ahead_ms=1)
    assert claimed == Claim(
        run_id=run.id,
        token=claimed.token,
        job_id=job.id,
        version=1,
        tenant="acme",
        kind=RunKind.MANUAL,
        scheduled_ms=START_MS - 9,
        due_ms=START_MS + 3,
        claimed_ms=START_MS + 2,
        attempt=1,
        lost=0,
        exclusive=True,
        spec='{"a":1}',
        queue=QUEUE,
    )


async def test_a_claim_has_the_whole_of_a_spec_however_long(store: Store) -> None:
    specs = {a_run().id: f'{{"body":"\\"ü{"x" * letters}"}}' for letters in (0, 4_080, 4_081, 4_082, 4_083, 70_000)}
    runs = [a_run(id=run_id, spec=spec) for run_id, spec in specs.items()]
    claimed = await run_and_claim(store, *runs)
    assert {one.run_id: one.spec for one in claimed} == specs


async def test_a_claimed_run_is_running_and_nobody_elses(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    run = await the_run(store, claimed.run_id)
    assert (run.state, run.worker, run.attempt, run.claimed_ms) == (RunState.RUNNING, "w1", 1, START_MS)
    assert await claim(store, await register(store, "w2")) == []


async def test_a_run_is_not_claimed_before_its_time(store: Store, clock: StoreClock) -> None:
    worker = await register(store)
    (run_id,) = await enqueue(store, a_run(due_ms=START_MS + 800))
    await clock.set_ms(START_MS + 299)
    assert await claim(store, worker, ahead_ms=500) == []
    await clock.set_ms(START_MS + 300)
    assert (await claim_one(store, worker, ahead_ms=500)).run_id == run_id


async def test_a_run_that_is_not_yet_due_does_not_keep_later_ranks_waiting(store: Store) -> None:
    _, due = await enqueue(store, a_run(due_ms=START_MS + 900, priority=9), a_run())
    assert (await claim_one(store, await register(store))).run_id == due


async def test_the_lowest_ranks_are_claimed_first(store: Store) -> None:
    worker = await register(store)
    runs = [a_run() for _ in range(100)]
    await enqueue(store, *reversed(runs))
    order = [run.id for run in reversed(runs)]
    for start in range(0, 100, 20):
        batch = await claim(store, worker, limit=20)
        assert {claimed.run_id for claimed in batch} == set(order[start : start + 20])


async def test_queues_are_apart(store: Store) -> None:
    worker = await register(store)
    slow, fast = await enqueue(store, a_run(queue="slow"), a_run(queue="fast"))
    assert (await claim_one(store, worker, queue="fast")).run_id == fast
    assert await claim(store, worker, queue="fast") == []
    assert (await claim_one(store, worker, queue="slow")).run_id == slow


async def test_queues_are_those_that_hold_ready_runs(store: Store) -> None:
    await run_and_claim(store, a_run(queue="default"))
    later_ms = START_MS + 60_000
    await enqueue(store, *(a_run(queue=queue) for queue in ("b", "a", "b", "ü")), a_run(queue="w", due_ms=later_ms))
    assert sorted(await store.queues()) == [("a", PLAIN), ("b", PLAIN), ("ü", PLAIN)]


async def test_no_run_no_queue(store: Store) -> None:
    assert await store.queues() == []


async def test_what_a_worker_holds_is_known_by_the_store(store: Store) -> None:
    first, second, third = await run_and_claim(store, a_run(), a_run(), a_run())
    await store.finish([a_finish(first)])
    await store.release([second])
    await enqueue(store, a_run(queue="other"))
    await claim_one(store, await register(store, "w2"), queue="other")
    assert await store.claims_of(BootId("w1")) == [third]
    assert await store.claims_of(BootId("nobody")) == []


async def test_confirming_answers_the_claims_that_still_hold(store: Store) -> None:
    first, second, third = await run_and_claim(store, a_run(), a_run(), a_run())
    await store.finish([a_finish(second)])
    assert await confirm(store, first, second, stale(third)) == {first.run_id}
    assert await confirm(store) == set()


async def test_a_released_run_counts_no_attempt_and_its_token_grows(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    assert await store.release([claimed]) == {claimed.run_id}
    run = await the_run(store, claimed.run_id)
    assert (run.state, run.attempt, run.lost) == (RunState.READY, 0, 0)
    assert (run.worker, run.claimed_ms, run.attempts) == (None, None, ())
    again = await claim_one(store, BootId("w1"))
    assert again.attempt == 1
    assert again.token > claimed.token


async def test_a_worker_that_released_a_run_has_no_say_in_it_any_more(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    await store.release([claimed])
    again = await claim_one(store, await register(store, "w2"))
    assert await confirm(store, claimed) == set()
    assert await store.release([claimed]) == set()
    assert await store.finish([a_finish(claimed)]) == set()
    assert await store.retry([a_retry(claimed, due_ms=START_MS)]) == set()
    assert await confirm(store, again) == {again.run_id}


@pytest.mark.parametrize("state", sorted(TERMINAL))
async def test_a_finished_run_is_history(store: Store, clock: StoreClock, state: RunState) -> None:
    (claimed,) = await run_and_claim(store, a_run(tags=("blue",), spec="{}"))
    await clock.advance(1)
    assert await store.finish([a_finish(claimed, state, reason="so")]) == {claimed.run_id}
    run = await the_run(store, claimed.run_id)
    assert (run.state, run.reason, run.attempt, run.worker) == (state, "so", 1, "w1")
    assert (run.claimed_ms, run.started_ms, run.finished_ms) == (START_MS, START_MS, START_MS + 5)
    assert (run.tags, run.attempts) == (("blue",), (an_attempt(claimed),))


async def test_a_run_ends_once(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    assert await store.finish([a_finish(claimed)]) == {claimed.run_id}
    assert await store.finish([a_finish(claimed, RunState.FAILED)]) == set()
    assert await store.retry([a_retry(claimed, due_ms=START_MS)]) == set()
    assert await store.release([claimed]) == set()
    assert (await the_run(store, claimed.run_id)).state is RunState.SUCCEEDED
    assert await claim(store, BootId("w1")) == []


async def test_a_stale_token_ends_nothing(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    old = stale(claimed)
    assert await store.finish([a_finish(old)]) == set()
    assert await store.retry([a_retry(old, due_ms=START_MS + 1)]) == set()
    assert await store.release([old]) == set()
    assert (await the_run(store, claimed.run_id)).state is RunState.RUNNING
    assert await confirm(store, claimed) == {claimed.run_id}


async def test_what_is_lost_leaves_the_others_of_its_batch(store: Store) -> None:
    lost, kept = await run_and_claim(store, a_run(), a_run())
    await store.release([lost])
    assert await store.finish([a_finish(lost), a_finish(kept)]) == {kept.run_id}


async def test_a_retried_run_waits_for_its_new_due_time(store: Store, clock: StoreClock) -> None:
    (claimed,) = await run_and_claim(store)
    assert await store.retry([a_retry(claimed, due_ms=START_MS + 5_000)]) == {claimed.run_id}
    run = await the_run(store, claimed.run_id)
    assert (run.state, run.due_ms, run.scheduled_ms) == (RunState.RETRYING, START_MS + 5_000, START_MS)
    assert (run.worker, run.claimed_ms, run.attempt) == (None, None, 1)
    assert await claim(store, BootId("w1"), ahead_ms=limits.AHEAD_MS) == []
    await clock.advance(5)
    assert (await promote(store)).count == 1
    again = await claim_one(store, BootId("w1"))
    assert (again.run_id, again.attempt, again.due_ms) == (claimed.run_id, 2, START_MS + 5_000)
    assert again.token > claimed.token


async def test_every_attempt_is_kept_in_order(store: Store) -> None:
    (first,) = await run_and_claim(store)
    await store.retry([a_retry(first, due_ms=START_MS)])
    await promote(store)
    second = await claim_one(store, BootId("w1"))
    await store.finish([a_finish(second)])
    attempts = (await the_run(store, first.run_id)).attempts
    assert attempts == (an_attempt(first, OutcomeKind.REFUSED, status=503), an_attempt(second))


async def test_a_retry_does_not_stand_behind_what_waits_since(store: Store, clock: StoreClock) -> None:
    (claimed,) = await run_and_claim(store)
    await store.retry([a_retry(claimed, due_ms=START_MS + 5_000)])
    await enqueue(store, *(a_run() for _ in range(20)))
    await clock.advance(5)
    await promote(store)
    first = await claim(store, BootId("w1"), limit=2)
    assert claimed.run_id in {one.run_id for one in first}


async def test_empty_batches_change_nothing(store: Store) -> None:
    assert await store.release([]) == set()
    assert await store.finish([]) == set()
    assert await store.retry([]) == set()
    assert await promote(store) == Promoted(0)
    assert await store.upcoming() == Upcoming(None, None)
