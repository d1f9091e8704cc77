"""What workers say at the desk of the runs in their hands, and what becomes of these."""

from __future__ import annotations

import pytest

from dueline.domain import limits
from dueline.domain.ids import BootId
from dueline.domain.job import DEFAULT_TENANT, Delivery, HttpTarget, TaskTarget
from dueline.domain.retry import Backoff, RetryPolicy
from dueline.domain.run import OutcomeKind
from dueline.domain.states import HeldReason, JobState, RunState
from dueline.engine.desk import GivenBack
from dueline.engine.execution.gone import NOTE
from dueline.engine.execution.reported import Reported
from dueline.store.fleet import Role
from dueline.store.shapes import CancelAnswer, Saved
from tests.engine.desks import DeskWorld
from tests.support.stores import START_MS, StoreUnderTest

URL = "http://target/"
ONE_SECOND = RetryPolicy(max_attempts=3, backoff=Backoff.FIXED, base_ms=1_000)


@pytest.fixture
async def world(under_test: StoreUnderTest) -> DeskWorld:
    return DeskWorld(under_test)


async def test_a_result_is_kept_with_the_run(world: DeskWorld) -> None:
    worker = await world.register()
    run_id = await world.enqueue()
    leased = await worker.lease_one()
    await world.store_clock.advance(3)
    assert await worker.report(leased, result='{"a":1}', started_ms=START_MS + 1_000) == {run_id}
    run = await world.the_run(run_id)
    assert (run.state, run.worker, run.attempts[0].outcome.result) == (RunState.SUCCEEDED, worker.boot_id, '{"a":1}')
    assert (run.started_ms, run.finished_ms) == (START_MS + 1_000, START_MS + 3_000)


@pytest.mark.parametrize("started_ms", [None, 0, START_MS + 99_000])
async def test_a_start_outside_of_the_attempt_is_brought_into_it(world: DeskWorld, started_ms: int | None) -> None:
    worker = await world.register()
    run_id = await world.enqueue()
    leased = await worker.lease_one()
    await world.store_clock.advance(1)
    await worker.report(leased, started_ms=started_ms)
    run = await world.the_run(run_id)
    assert run.started_ms == (START_MS if started_ms in (None, 0) else START_MS + 1_000)


@pytest.mark.parametrize(("status", "state"), [(404, "succeeded"), (200, "failed"), (503, "retrying")])
async def test_a_status_alone_is_judged_by_what_the_target_expects(world: DeskWorld, status: int, state: str) -> None:
    worker = await world.register(takes=["http"])
    run_id = await world.enqueue_call(HttpTarget(url=URL, expected_status=((404, 404),)))
    assert await worker.report(await worker.lease_one(), None, status=status, result="body") == {run_id}
    run = await world.the_run(run_id)
    outcome = run.attempts[0].outcome
    assert (run.state, outcome.status, outcome.result) == (state, status, "body")
    assert outcome.error == (None if state == "succeeded" else f"the target answered {status}")


@pytest.mark.parametrize(("status", "state"), [(204, RunState.SUCCEEDED), (500, RunState.RETRYING)])
async def test_a_task_with_a_status_is_judged_by_it_too(world: DeskWorld, status: int, state: RunState) -> None:
    worker = await world.register()
    run_id = await world.enqueue()
    await worker.report(await worker.lease_one(), None, status=status)
    assert (await world.the_run(run_id)).state is state


async def test_a_target_that_is_gone_pauses_its_job(world: DeskWorld) -> None:
    worker = await world.register(takes=["http"])
    job = await world.job(HttpTarget(url=URL))
    run_id = await world.run_job(job)
    assert await worker.report(await worker.lease_one(), None, status=410) == {run_id}
    found = await world.store.job(DEFAULT_TENANT, job.id)
    assert found is not None
    assert (found.state, found.pause_note) == (JobState.PAUSED, NOTE)
    run = await world.the_run(run_id)
    assert (run.state, run.reason) == (RunState.FAILED, "gone")


async def test_failures_are_tried_again_as_the_policy_says(world: DeskWorld) -> None:
    await world.add("scheduler", role=Role.SCHEDULER)
    worker = await world.register()
    run_id = await world.enqueue(retry=ONE_SECOND)
    for attempt in (1, 2):
        leased = await worker.lease_one()
        assert leased.claim.attempt == attempt
        await worker.report(leased, OutcomeKind.ERRORED, error="no")
        assert (await world.the_run(run_id)).state is RunState.RETRYING
        await world.advance(0.75)
        assert await worker.got() == set()
        await worker.beat()
        await world.advance(0.25)
    await worker.report(await worker.lease_one(), OutcomeKind.ERRORED, error="no")
    run = await world.the_run(run_id)
    assert (run.state, len(run.attempts)) == (RunState.FAILED, 3)


async def test_a_policy_with_at_most_one_start_is_kept(world: DeskWorld) -> None:
    worker = await world.register()
    run_id = await world.enqueue(delivery=Delivery.AT_MOST_ONCE)
    await worker.report(await worker.lease_one(), OutcomeKind.ERRORED)
    assert (await world.the_run(run_id)).state is RunState.FAILED


@pytest.mark.parametrize(("kind", "status"), [(None, 503), (OutcomeKind.ERRORED, None)])
async def test_the_time_that_is_asked_for_is_given(
    world: DeskWorld, kind: OutcomeKind | None, status: int | None
) -> None:
    worker = await world.register(takes=["task", "http"])
    run_id = await (world.enqueue() if kind else world.enqueue_call(HttpTarget(url=URL)))
    await worker.report(await worker.lease_one(), kind, status=status, retry_after_ms=90_000)
    assert (await world.the_run(run_id)).due_ms == START_MS + 90_000


async def test_a_run_whose_process_died_goes_back_until_it_is_poison(world: DeskWorld) -> None:
    worker = await world.register()
    run_id = await world.enqueue()
    for _ in range(limits.LOST_MAX):
        assert (await world.the_run(run_id)).state is RunState.READY
        await worker.report(await worker.lease_one(), OutcomeKind.LOST, error="killed")
    run = await world.the_run(run_id)
    assert (run.state, run.reason, run.lost) == (RunState.FAILED, "poison", limits.LOST_MAX)


@pytest.mark.parametrize("kind", [OutcomeKind.CANCELLED, OutcomeKind.ERRORED, OutcomeKind.SUCCEEDED])
async def test_a_cancel_is_seen_with_the_beats_and_honoured(world: DeskWorld, kind: OutcomeKind) -> None:
    worker, other = await world.register(), await world.register()
    run_id = await world.enqueue()
    leased = await worker.lease_one()
    assert (await worker.beat()).cancels == []
    assert await world.operations.cancel_run(DEFAULT_TENANT, run_id) is CancelAnswer.ASKED
    for _ in range(2):
        (asked,) = (await worker.beat()).cancels
        assert (asked.run_id, asked.token, asked.reason) == (run_id, leased.claim.token, "requested")
    assert (await other.beat()).cancels == []
    await worker.report(leased, kind)
    run = await world.the_run(run_id)
    succeeded = kind is OutcomeKind.SUCCEEDED
    assert run.state is (RunState.SUCCEEDED if succeeded else RunState.CANCELLED), "it is not tried again"
    assert run.reason == (None if succeeded else "requested")


async def test_what_is_reported_twice_is_refused_and_counted(world: DeskWorld) -> None:
    worker = await world.register()
    run_id = await world.enqueue()
    leased = await worker.lease_one()
    assert await worker.report(leased) == {run_id}
    assert await worker.report(leased, OutcomeKind.ERRORED) == set()
    assert world.desk.fenced_total == 1
    assert (await world.the_run(run_id)).state is RunState.SUCCEEDED


@pytest.mark.parametrize("by", [-1, 1])
async def test_a_wrong_token_says_nothing(world: DeskWorld, by: int) -> None:
    worker = await world.register()
    run_id = await world.enqueue()
    leased = await worker.lease_one()
    claim = leased.claim
    assert await worker.report(leased, token=claim.token + by) == set()
    assert await world.desk.release(worker.boot_id, [GivenBack(run_id, claim.token + by)]) == set()
    assert await world.desk.save(worker.boot_id, [Saved(run_id, claim.token + by)]) == set()
    both = [
        Reported(run_id=run_id, token=claim.token, kind=OutcomeKind.SUCCEEDED),
        Reported(run_id=run_id, token=claim.token + by, kind=OutcomeKind.ERRORED),
    ]
    assert await world.desk.report(worker.boot_id, both) == {run_id}
    assert (await world.the_run(run_id)).state is RunState.SUCCEEDED


async def test_what_is_given_back_goes_to_others_and_counts_as_nothing(world: DeskWorld) -> None:
    worker, other = await world.register(), await world.register()
    run_id = await world.enqueue()
    leased = await worker.lease_one()
    assert await worker.release(leased) == {run_id}
    assert await worker.release(leased) == set()
    run = await world.the_run(run_id)
    assert (run.state, run.attempt, run.lost, run.attempts) == (RunState.READY, 0, 0, ())
    again = await other.lease_one()
    assert (again.claim.attempt, again.claim.token > leased.claim.token) == (1, True)


async def test_what_is_put_off_waits_visibly(world: DeskWorld) -> None:
    await world.add("scheduler", role=Role.SCHEDULER)
    worker = await world.register()
    run_id = await world.enqueue()
    assert await worker.release(await worker.lease_one(), 5_000, HeldReason.CONCURRENCY) == {run_id}
    run = await world.the_run(run_id)
    assert (run.state, run.reason, run.due_ms) == (RunState.SCHEDULED, "concurrency", START_MS + 5_000)
    await world.advance(4.75)
    assert await worker.got() == set()
    await world.advance(0.25)
    assert (await worker.lease_one()).claim.attempt == 1


async def test_what_was_lost_on_its_way_goes_back_and_nothing_else(world: DeskWorld) -> None:
    worker, other = await world.register(), await world.register()
    known, lost = sorted(await world.enqueue_many(2))
    elsewhere = await world.enqueue(queue="other")
    assert await worker.got() == {known, lost, elsewhere}
    others = await world.enqueue()
    assert await other.got() == {others}
    assert await worker.lease(limit=0, holding=[known, elsewhere]) == []
    assert (await world.the_run(lost)).attempt == 0
    assert await other.got() == {lost}
    assert await worker.lease(limit=0) == [], "without being told what it holds, the desk takes nothing"
    claims = await world.store.claims_of(worker.boot_id)
    assert {claim.run_id for claim in claims} == {known, elsewhere}


async def test_the_runs_of_a_dead_worker_go_to_others_and_its_results_are_refused(world: DeskWorld) -> None:
    await world.add("scheduler", role=Role.SCHEDULER)
    await world.advance(1)
    dead, heir = await world.register(), await world.register()
    run_id = await world.enqueue()
    leased = await dead.lease_one()
    for _ in range(round(limits.LEASE_S + 3)):
        await world.advance(1)
        await heir.beat()
    again = await heir.lease_one()
    assert (again.claim.run_id, again.claim.attempt, again.claim.lost) == (run_id, 2, 1)
    assert await dead.report(leased) == set()
    assert world.desk.fenced_total == 1
    assert await heir.report(again) == {run_id}
    kinds = [attempt.outcome.kind for attempt in (await world.the_run(run_id)).attempts]
    assert kinds == [OutcomeKind.LOST, OutcomeKind.SUCCEEDED]


async def test_a_dead_worker_is_believed_while_nobody_has_its_run(world: DeskWorld) -> None:
    worker = await world.register()
    run_id = await world.enqueue()
    leased = await worker.lease_one()
    await world.store.leave(worker.boot_id)
    assert await worker.report(leased) == {run_id}
    assert (await world.the_run(run_id)).state is RunState.SUCCEEDED


async def test_a_worker_that_leaves_leaves_its_runs_to_others(world: DeskWorld) -> None:
    await world.add("scheduler", role=Role.SCHEDULER)
    worker, other = await world.register(), await world.register()
    run_id = await world.enqueue()
    await worker.lease()
    await world.desk.leave(worker.boot_id)
    await world.advance(3)
    assert await other.got() == {run_id}


async def test_a_worker_may_use_one_desk_today_and_another_tomorrow(world: DeskWorld) -> None:
    worker = await world.register()
    job = await world.job(TaskTarget(task="t"))
    run_id = await world.run_job(job)
    leased = await worker.lease_one()
    elsewhere = worker.at(world.open_desk())
    await elsewhere.beat()
    assert await elsewhere.save(leased, note="half") == {run_id}
    assert await elsewhere.report(leased, result="1") == {run_id}
    assert (await world.the_run(run_id)).state is RunState.SUCCEEDED


async def test_nobody_is_believed_who_never_was_there(world: DeskWorld) -> None:
    worker = await world.register()
    await world.enqueue()
    leased = await worker.lease_one()
    stranger = type(worker)(world.desk, BootId("stranger"))
    assert await stranger.report(leased) == await stranger.release(leased) == set()
