"""Changes of a job: decided on a locked job, written whole or not at all."""

import pytest

from dueline.domain.changes import JobChange, JobInHand, LiveRun
from dueline.domain.errors import Conflict, NotFound
from dueline.domain.job import Job
from dueline.domain.lanes import PLAIN
from dueline.domain.run import first_token
from dueline.domain.states import EndReason, JobState, RunState
from dueline.store.protocol import Store
from tests.support.stores import (
    ALL_SHARDS,
    QUEUE,
    START_MS,
    TENANT,
    StoreClock,
    a_definition,
    a_finish,
    a_firing,
    a_job,
    a_retry,
    a_run,
    changing,
    claim,
    claim_one,
    confirm,
    create,
    enqueue,
    epochs_of,
    fire_one,
    plan_of,
    promote,
    register,
    the_job,
    the_run,
)


class Refused(Exception):
    pass


def refuse(_hand: JobInHand) -> JobChange:
    raise Refused


async def due_ids(store: Store) -> list[bytes]:
    plans = await store.due_plans(ALL_SHARDS, since_ms=0, until_ms=START_MS * 2, limit=100)
    return [plan.job_id for plan in plans]


async def hand_of(store: Store, job: Job) -> JobInHand:
    """What a change is shown, without making one."""
    seen: list[JobInHand] = []

    def look(hand: JobInHand) -> JobChange:
        seen.append(hand)
        raise Refused

    with pytest.raises(Refused):
        await store.change_job(TENANT, job.id, look)
    return seen[-1]


async def test_only_a_living_job_of_the_tenant_can_be_changed(store: Store) -> None:
    job, foreign = await create(store), await create(store, a_job(tenant="other"))
    await store.change_job(TENANT, job.id, changing(deleted=True))
    for job_id in (job.id, foreign.id, a_job().id):
        with pytest.raises(NotFound):
            await store.change_job(TENANT, job_id, refuse)


async def test_a_change_that_is_refused_leaves_everything_untouched(store: Store) -> None:
    job = await create(store)
    (run_id,) = await enqueue(store, a_run(job))
    with pytest.raises(Refused):
        await store.change_job(TENANT, job.id, refuse)
    assert await the_job(store, job.id) == job
    assert await due_ids(store) == [job.id]
    assert (await the_run(store, run_id)).state is RunState.READY


async def test_a_change_is_shown_the_job_the_moment_and_its_unstarted_runs(store: Store, clock: StoreClock) -> None:
    job, other = await create(store), await create(store)
    await clock.advance(7)
    run = a_run(job, scheduled_ms=START_MS - 4, due_ms=START_MS)
    await enqueue(store, run, a_run(other), a_run())
    live = LiveRun(
        id=run.id,
        kind=run.kind,
        state=RunState.READY,
        scheduled_ms=START_MS - 4,
        due_ms=START_MS,
        begun=False,
        reason=None,
    )
    assert await hand_of(store, job) == JobInHand(job=job, now_ms=START_MS + 7_000, runs=(live,))


async def test_a_run_claimed_ahead_of_its_due_time_is_in_hand_until_that_very_millisecond(
    store: Store, clock: StoreClock
) -> None:
    job = await create(store)
    (run_id,) = await enqueue(store, a_run(job, due_ms=START_MS + 500))
    await claim_one(store, await register(store), ahead_ms=500)
    await clock.set_ms(START_MS + 499)
    assert [(run.id, run.state) for run in (await hand_of(store, job)).runs] == [(run_id, RunState.RUNNING)]
    await clock.set_ms(START_MS + 500)
    assert (await hand_of(store, job)).runs == ()


async def test_waiting_held_and_retried_runs_are_in_hand_and_ended_ones_are_not(store: Store) -> None:
    job = await create(store)
    worker = await register(store)
    await enqueue(store, a_run(job), a_run(job))
    first, second = await claim(store, worker)
    await store.finish([a_finish(first)])
    await store.retry([a_retry(second, due_ms=START_MS + 5_000)])
    held, later = await enqueue(store, a_run(job), a_run(job, due_ms=START_MS + 60_000))
    await store.change_job(TENANT, job.id, changing(hold=(held,)))
    in_hand = {run.id: (run.state, run.begun, run.reason) for run in (await hand_of(store, job)).runs}
    assert in_hand == {
        second.run_id: (RunState.RETRYING, True, None),
        held: (RunState.HELD, False, "paused"),
        later: (RunState.SCHEDULED, False, None),
    }


async def test_runs_are_in_hand_in_the_order_of_their_schedule(store: Store) -> None:
    job = await create(store)
    instants = [START_MS - 1_000 * (number * 7 % 10) for number in range(10)]
    await enqueue(store, *(a_run(job, due_ms=at_ms) for at_ms in instants))
    assert [run.scheduled_ms for run in (await hand_of(store, job)).runs] == sorted(instants)


async def test_a_new_definition_makes_a_new_version(store: Store, clock: StoreClock) -> None:
    job = await create(store)
    await clock.advance(3)
    edited = a_definition(job.definition.name, queue="slow", tags=("new",))
    changed = await store.change_job(TENANT, job.id, changing(definition=edited, next_ms=START_MS + 50))
    assert (changed.version, changed.definition, changed.next_ms) == (2, edited, START_MS + 50)
    assert (changed.created_ms, changed.updated_ms) == (START_MS, START_MS + 3_000)
    assert await the_job(store, job.id) == changed


async def test_a_change_of_state_alone_keeps_the_version(store: Store) -> None:
    job = await create(store)
    changed = await store.change_job(TENANT, job.id, changing(state=JobState.PAUSED, pause_note="for the move"))
    assert (changed.version, changed.state, changed.pause_note) == (1, JobState.PAUSED, "for the move")
    assert await the_job(store, job.id) == changed


async def test_the_name_of_another_living_job_is_refused_and_nothing_changes(store: Store) -> None:
    await create(store, a_job("taken"))
    job = await create(store, a_job("mine"))
    (run_id,) = await enqueue(store, a_run(job))
    with pytest.raises(Conflict):
        await store.change_job(TENANT, job.id, changing(definition=a_definition("taken"), cancel=((run_id, "no"),)))
    assert await the_job(store, job.id) == job
    assert (await the_run(store, run_id)).state is RunState.READY
    assert await store.job_versions([(job.id, 2)]) == []


async def test_a_name_is_free_again_after_a_delete_or_a_rename(store: Store) -> None:
    deleted, renamed = await create(store, a_job("a")), await create(store, a_job("b"))
    await store.change_job(TENANT, deleted.id, changing(deleted=True))
    await store.change_job(TENANT, renamed.id, changing(definition=a_definition("c")))
    assert None not in await store.create_jobs([a_job("a"), a_job("b")])
    assert await store.create_jobs([a_job("c")]) == [None]


async def test_a_paused_plan_is_not_due_and_remembers_where_it_was(store: Store) -> None:
    job = await create(store)
    await store.change_job(TENANT, job.id, changing(state=JobState.PAUSED))
    assert await due_ids(store) == []
    assert (await the_job(store, job.id)).next_ms == START_MS
    await store.change_job(TENANT, job.id, changing(state=JobState.ACTIVE))
    assert await due_ids(store) == [job.id]


async def test_a_paused_plan_is_not_fired(store: Store) -> None:
    job = await create(store)
    await store.change_job(TENANT, job.id, changing(state=JobState.PAUSED))
    for following_ms in (START_MS + 1, None):
        firing = a_firing(job, following_ms=following_ms, generation=2)
        assert await store.fire([firing], await epochs_of(store)) == set()
    assert (await the_job(store, job.id)).next_ms == START_MS


async def test_a_plan_can_be_moved_taken_away_and_put_back(store: Store) -> None:
    job = await create(store)
    for next_ms in (START_MS + 77, None, START_MS + 88):
        changed = await store.change_job(TENANT, job.id, changing(next_ms=next_ms))
        assert changed.next_ms == next_ms
        assert await the_job(store, job.id) == changed
        plan = await plan_of(store, job.id)
        assert (plan and plan.next_ms) == next_ms


async def test_a_deleted_job_is_planned_no_more(store: Store) -> None:
    job = await create(store)
    deleted = await store.change_job(TENANT, job.id, changing(deleted=True))
    assert deleted.next_ms is None
    assert await due_ids(store) == []
    firing = a_firing(job, following_ms=None, generation=2)
    assert await store.fire([firing], await epochs_of(store)) == set()


async def test_held_runs_wait_until_they_are_freed(store: Store) -> None:
    job = await create(store)
    worker = await register(store)
    first, second = await enqueue(store, a_run(job), a_run(job))
    await store.change_job(TENANT, job.id, changing(hold=(first,)))
    held = await the_run(store, first)
    assert (held.state, held.reason) == (RunState.HELD, "paused")
    assert (await claim_one(store, worker)).run_id == second
    await store.change_job(TENANT, job.id, changing(free=(first,)))
    freed = await the_run(store, first)
    assert (freed.state, freed.reason) == (RunState.READY, None)
    assert (await claim_one(store, worker)).run_id == first


async def test_a_waiting_run_that_is_held_is_not_promoted(store: Store, clock: StoreClock) -> None:
    job = await create(store)
    (run_id,) = await enqueue(store, a_run(job, due_ms=START_MS + 60_000))
    await store.change_job(TENANT, job.id, changing(hold=(run_id,)))
    await clock.advance(60)
    assert (await promote(store)).count == 0
    assert (await the_run(store, run_id)).state is RunState.HELD


async def test_a_freed_run_still_waits_for_its_due_time(store: Store, clock: StoreClock) -> None:
    job = await create(store)
    worker = await register(store)
    (run_id,) = await enqueue(store, a_run(job, due_ms=START_MS + 60_000))
    await store.change_job(TENANT, job.id, changing(hold=(run_id,)))
    await store.change_job(TENANT, job.id, changing(free=(run_id,)))
    await promote(store)
    assert await claim(store, worker) == []
    await clock.advance(60)
    await promote(store)
    assert (await claim_one(store, worker)).run_id == run_id


async def test_a_run_claimed_ahead_is_held_as_if_it_had_never_been_claimed(store: Store) -> None:
    job = await create(store)
    worker = await register(store)
    await enqueue(store, a_run(job, due_ms=START_MS + 500))
    ahead = await claim_one(store, worker, ahead_ms=500)
    await store.change_job(TENANT, job.id, changing(hold=(ahead.run_id,)))
    held = await the_run(store, ahead.run_id)
    assert (held.state, held.reason, held.attempt) == (RunState.HELD, "paused", 0)
    assert (held.worker, held.claimed_ms) == (None, None)
    assert await confirm(store, ahead) == set()
    await store.change_job(TENANT, job.id, changing(free=(ahead.run_id,)))
    again = await claim_one(store, worker, ahead_ms=500)
    assert (again.attempt, again.token > ahead.token) == (1, True)


async def test_a_run_claimed_ahead_is_cancelled_as_if_it_had_never_been_claimed(store: Store) -> None:
    job = await create(store)
    await enqueue(store, a_run(job, due_ms=START_MS + 500))
    ahead = await claim_one(store, await register(store), ahead_ms=500)
    await store.change_job(TENANT, job.id, changing(deleted=True, cancel=((ahead.run_id, "job_deleted"),)))
    cancelled = await the_run(store, ahead.run_id)
    assert (cancelled.state, cancelled.reason, cancelled.attempt) == (RunState.CANCELLED, "job_deleted", 0)
    assert (cancelled.worker, cancelled.claimed_ms) == (None, None)
    assert await confirm(store, ahead) == set()
    assert await store.finish([a_finish(ahead)]) == set()


async def test_a_run_held_for_overlap_is_held_by_a_pause_as_well(store: Store) -> None:
    job = await create(store)
    worker = await register(store)
    await enqueue(store, a_run(job, exclusive=True))
    first = await claim_one(store, worker)
    (second,) = await enqueue(store, a_run(job, exclusive=True))
    await store.hold_blocked((await store.claim(worker, QUEUE, PLAIN, ahead_ms=0, limit=10)).blocked)
    await store.change_job(TENANT, job.id, changing(hold=(second,)))
    await store.finish([a_finish(first)])
    held = await the_run(store, second)
    assert (held.state, held.reason) == (RunState.HELD, "paused")


async def test_cancelled_runs_end_with_their_reasons_and_their_attempts(store: Store, clock: StoreClock) -> None:
    job = await create(store)
    await enqueue(store, a_run(job))
    claimed = await claim_one(store, await register(store))
    await store.retry([a_retry(claimed, due_ms=START_MS + 1)])
    (ready,) = await enqueue(store, a_run(job))
    await clock.advance(2)
    reasons = ((claimed.run_id, EndReason.JOB_DELETED.value), (ready, EndReason.REQUESTED.value))
    await store.change_job(TENANT, job.id, changing(deleted=True, cancel=reasons))
    retried, untried = await the_run(store, claimed.run_id), await the_run(store, ready)
    assert (retried.state, retried.reason, retried.finished_ms) == (RunState.CANCELLED, "job_deleted", START_MS + 2_000)
    assert len(retried.attempts) == 1
    assert (untried.state, untried.reason, untried.attempts) == (RunState.CANCELLED, "requested", ())


async def test_runs_that_a_change_does_not_name_stay_as_they_are(store: Store) -> None:
    job, other = await create(store), await create(store)
    named, unnamed, foreign = await enqueue(store, a_run(job), a_run(job), a_run(other))
    await store.change_job(TENANT, job.id, changing(unplan=(named,), deleted=True))
    assert await store.run(TENANT, named) is None
    for run_id in (unnamed, foreign):
        assert (await the_run(store, run_id)).state is RunState.READY


async def test_an_unplanned_run_is_planned_anew_without_a_trace(store: Store) -> None:
    job = await create(store, a_job(next_ms=START_MS + 500))
    run_id = await fire_one(store, job)
    changed = await store.change_job(TENANT, job.id, changing(unplan=(run_id,), next_ms=START_MS + 500))
    assert await store.run(TENANT, run_id) is None
    assert await fire_one(store, changed) == run_id
    assert (await the_run(store, run_id)).state is RunState.READY


async def test_a_worker_that_claimed_ahead_learns_that_its_run_was_unplanned(store: Store) -> None:
    job = await create(store, a_job(next_ms=START_MS + 500))
    worker = await register(store)
    run_id = await fire_one(store, job)
    claimed = await claim_one(store, worker, ahead_ms=500)
    await store.change_job(TENANT, job.id, changing(unplan=(run_id,)))
    assert await confirm(store, claimed) == set()
    assert await store.release([claimed]) == set()
    assert await store.finish([a_finish(claimed)]) == set()
    assert await store.run(TENANT, run_id) is None


async def test_a_run_written_again_has_nothing_to_do_with_the_claim_on_the_first_one(
    store: Store, clock: StoreClock
) -> None:
    job = await create(store, a_job(next_ms=START_MS + 500))
    worker = await register(store)
    run_id = await fire_one(store, job)
    old = await claim_one(store, worker, ahead_ms=500)
    changed = await store.change_job(TENANT, job.id, changing(unplan=(run_id,), next_ms=START_MS + 500))
    plan = await plan_of(store, job.id)
    assert plan is not None
    assert await fire_one(store, changed, token=first_token(plan.generation)) == run_id
    new = await claim_one(store, worker, ahead_ms=500)
    assert new.token > old.token
    await clock.advance(0.5)
    assert await confirm(store, old) == set()
    assert await store.finish([a_finish(old)]) == set()
    assert (await store.confirm([old, new])).tokens == {run_id: new.token}


@pytest.mark.parametrize("change", [{"definition": a_definition("renamed")}, {"pause_note": "so"}])
async def test_a_plan_fired_with_the_generation_before_a_change_is_left_out(
    store: Store, change: dict[str, object]
) -> None:
    job = await create(store)
    changed = await store.change_job(TENANT, job.id, changing(**change))
    stale, current = (a_firing(changed, following_ms=START_MS + 1, generation=generation) for generation in (1, 2))
    assert await store.fire([stale], await epochs_of(store)) == set()
    assert await store.fire([current], await epochs_of(store)) == {job.id}


async def test_every_change_is_a_generation_and_a_new_definition_a_version(store: Store) -> None:
    job = await create(store)
    seen = []
    for change in ({"pause_note": "so"}, {"definition": a_definition("renamed")}, {"next_ms": START_MS + 1}):
        await store.change_job(TENANT, job.id, changing(**change))
        plan = await plan_of(store, job.id)
        seen.append(plan and (plan.generation, plan.version))
    assert seen == [(2, 1), (3, 2), (4, 2)]


async def test_runs_under_way_are_asked_to_end_with_their_job(store: Store) -> None:
    job, other = await create(store), await create(store, a_job("other"))
    worker = await register(store)
    await enqueue(store, a_run(job), a_run(job), a_run(other))
    claimed = await claim(store, worker, limit=3)
    asked, again, spared = (one.run_id for one in sorted(claimed, key=lambda one: (one.job_id == other.id, one.run_id)))
    await store.cancel_runs(TENANT, [again], reason="requested")
    (waiting,) = await enqueue(store, a_run(job))
    ends = ((waiting, "job_cancelled"),)
    change = changing(state=JobState.CANCELLED, next_ms=None, cancel=ends, stop="job_cancelled")
    cancelled = await store.change_job(TENANT, job.id, change)
    assert (cancelled.state, cancelled.next_ms) == (JobState.CANCELLED, None)
    assert {one.run_id: one.reason for one in await store.cancels_of(worker)} == {
        asked: "job_cancelled",
        again: "requested",
    }
    assert [(await the_run(store, run_id)).state for run_id in (waiting, asked, spared)] == [
        RunState.CANCELLED,
        RunState.RUNNING,
        RunState.RUNNING,
    ]
    assert await the_job(store, job.id) == cancelled
