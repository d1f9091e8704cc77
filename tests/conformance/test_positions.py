"""Positions: how far a schedule is decided, kept to the letter by every move."""

from typing import Any

import pytest

from dueline.domain import limits
from dueline.domain.changes import JobInHand
from dueline.domain.ids import JobId, RunId
from dueline.domain.job import Job
from dueline.domain.ledger import SkipReason, Unfired, Verdict
from dueline.domain.planning import Position
from dueline.domain.schedule import After
from dueline.domain.sharding import shard_of
from dueline.domain.states import JobState, RunState
from dueline.store.fleet import Role
from dueline.store.protocol import Store
from dueline.store.shapes import DuePlan, JobFilter, LedgerRow
from tests.support.stores import (
    ALL_SHARDS,
    START_MS,
    TENANT,
    StoreClock,
    a_firing,
    a_job,
    a_run,
    an_occurrence,
    at,
    changing,
    create,
    enqueue,
    epochs_of,
    plan_of,
    promote,
    register,
    take_all,
    the_job,
    the_run,
)

LATER_MS = START_MS + 60_000
RUN_ID: RunId = a_run().id
FIVE_MINUTES = After(300_000, START_MS)
POSITIONS = [
    at(START_MS),
    at(START_MS, due_ms=LATER_MS),
    at(START_MS, runs_left=7),
    at(START_MS, due_ms=LATER_MS, runs_left=1),
    Position(awaiting=RUN_ID),
    Position(awaiting=RUN_ID, runs_left=3),
    Position(),
]


async def due(store: Store, until_ms: int) -> list[DuePlan]:
    return await store.due_plans(ALL_SHARDS, since_ms=0, until_ms=until_ms, limit=100)


async def fire(store: Store, job: Job, **fields: Any) -> set[JobId]:
    return await store.fire([a_firing(job, **fields)], await epochs_of(store))


@pytest.mark.parametrize("position", POSITIONS)
async def test_a_job_is_read_at_the_position_it_was_created_at(store: Store, position: Position) -> None:
    job = await create(store, a_job(schedule=FIVE_MINUTES, position=position))
    assert job.position == position
    assert await the_job(store, job.id) == job
    assert await store.jobs_page(JobFilter(tenant=TENANT), before=None, limit=10) == [job]


@pytest.mark.parametrize("position", POSITIONS)
async def test_a_job_is_read_at_the_position_it_was_changed_to(store: Store, position: Position) -> None:
    job = await create(store)
    changed = await store.change_job(TENANT, job.id, changing(position=position))
    assert changed.position == position
    assert await the_job(store, job.id) == changed


@pytest.mark.parametrize("position", POSITIONS)
async def test_a_paused_job_keeps_its_position_and_has_nothing_to_act_on(store: Store, position: Position) -> None:
    job = await create(store, a_job(schedule=FIVE_MINUTES, position=position))
    paused = await store.change_job(TENANT, job.id, changing(state=JobState.PAUSED))
    expected = Position(next_ms=position.next_ms, awaiting=position.awaiting, runs_left=position.runs_left)
    assert paused.position == expected
    assert await the_job(store, job.id) == paused
    assert await due(store, 2 * START_MS) == []


async def test_a_plan_is_due_when_its_first_occurrence_fires_and_not_before(store: Store) -> None:
    job = await create(store, a_job(position=at(START_MS, due_ms=LATER_MS, runs_left=4)))
    assert await due(store, LATER_MS - 1) == []
    assert await due(store, LATER_MS) == [DuePlan(job.id, shard_of(job.id), 1, 1, START_MS, 4)]


async def test_a_plan_that_awaits_a_run_is_never_due_and_cannot_be_fired(store: Store) -> None:
    job = await create(store, a_job(schedule=FIVE_MINUTES))
    awaiting = await store.change_job(TENANT, job.id, changing(position=Position(awaiting=RUN_ID)))
    assert await due(store, 2 * START_MS) == []
    assert await fire(store, job, following_ms=LATER_MS, generation=2) == set()
    assert (await the_job(store, job.id)).position == awaiting.position


@pytest.mark.parametrize("position", POSITIONS[1:-1])
async def test_a_firing_moves_the_plan_to_its_position(store: Store, position: Position) -> None:
    job = await create(store, a_job(schedule=FIVE_MINUTES, next_ms=START_MS - 5))
    assert await fire(store, job, position=position) == {job.id}
    fired = await the_job(store, job.id)
    assert (fired.state, fired.position) == (JobState.ACTIVE, position)


async def test_runs_left_are_counted_down_to_the_end(store: Store) -> None:
    job = await create(store, a_job(position=at(START_MS, runs_left=2)))
    assert await fire(store, job, position=at(LATER_MS, runs_left=1)) == {job.id}
    plan = await plan_of(store, job.id)
    assert plan is not None
    assert (plan.next_ms, plan.runs_left) == (LATER_MS, 1)
    assert await fire(store, await the_job(store, job.id), position=Position(runs_left=0)) == {job.id}
    finished = await the_job(store, job.id)
    assert (finished.state, finished.next_ms) == (JobState.FINISHED, None)
    assert await plan_of(store, job.id) is None


async def test_the_next_thing_to_do_is_a_plan_or_a_run_that_waits(store: Store) -> None:
    assert await store.next_due_ms() is None
    await create(store, a_job(schedule=FIVE_MINUTES, position=Position(awaiting=RUN_ID)))
    await enqueue(store, a_run())
    assert await store.next_due_ms() is None, "what is ready is the workers' to do"
    job = await create(store, a_job(position=at(START_MS, due_ms=LATER_MS)))
    assert await store.next_due_ms() == LATER_MS
    await enqueue(store, a_run(due_ms=LATER_MS - 5_000))
    assert await store.next_due_ms() == LATER_MS - 5_000
    await create(store, a_job(next_ms=START_MS + 9, shard=shard_of(job.id) ^ 1))
    assert await store.next_due_ms() == START_MS + 9


async def test_a_schedule_that_awaits_its_run_is_not_exhausted(store: Store) -> None:
    job = await create(store, a_job(schedule=FIVE_MINUTES))
    run = an_occurrence(job, START_MS)
    await fire(store, job, runs=[run], position=Position(awaiting=run.id))
    assert (await the_job(store, job.id)).state is JobState.ACTIVE


@pytest.mark.parametrize(
    ("late_ms", "state"),
    [(0, RunState.READY), (limits.AHEAD_MS, RunState.READY), (limits.AHEAD_MS + 1, RunState.SCHEDULED)],
)
async def test_a_fired_run_that_is_due_beyond_the_look_ahead_waits(store: Store, late_ms: int, state: RunState) -> None:
    job = await create(store)
    run = an_occurrence(job, START_MS, due_ms=START_MS + late_ms)
    await fire(store, job, runs=[run], following_ms=LATER_MS)
    found = await the_run(store, run.id)
    assert (found.state, found.scheduled_ms, found.due_ms) == (state, START_MS, START_MS + late_ms)


async def test_a_fired_run_that_waits_is_promoted_when_its_time_comes(store: Store, clock: StoreClock) -> None:
    job = await create(store)
    run = an_occurrence(job, START_MS, due_ms=START_MS + 30_000)
    await fire(store, job, runs=[run], following_ms=LATER_MS)
    await promote(store)
    assert (await store.upcoming()).due_ms == START_MS + 30_000
    await clock.advance(30)
    assert (await promote(store)).count == 1
    assert (await the_run(store, run.id)).state is RunState.READY


async def test_a_run_that_waits_for_its_jitter_is_shown_to_a_change_and_can_be_taken_back(store: Store) -> None:
    job = await create(store)
    run = an_occurrence(job, START_MS, due_ms=START_MS + 30_000)
    await fire(store, job, runs=[run], following_ms=LATER_MS)
    seen: list[RunState] = []

    def take_back(hand: JobInHand) -> tuple[RunId, ...]:
        seen.extend(live.state for live in hand.runs)
        return (run.id,)

    await store.change_job(TENANT, job.id, changing(unplan=take_back))
    assert seen == [RunState.SCHEDULED]
    assert await store.run(TENANT, run.id) is None


SKIPPED = Unfired(START_MS, START_MS + 10, Verdict.SKIPPED, SkipReason.CALENDAR)
COALESCED = Unfired(START_MS + 11, START_MS + 20, Verdict.COALESCED)


async def told(store: Store, job: Job) -> list[LedgerRow]:
    return await store.unfired(job.id, from_ms=0, to_ms=2 * START_MS, limit=100)


async def test_a_firing_tells_of_what_did_not_fire(store: Store) -> None:
    job, other = await create(store), await create(store)
    assert await fire(store, job, following_ms=LATER_MS, unfired=[SKIPPED, COALESCED]) == {job.id}
    assert await fire(store, other, following_ms=None, unfired=[SKIPPED]) == {other.id}
    assert await told(store, job) == [LedgerRow(1, SKIPPED), LedgerRow(1, COALESCED)]
    assert await told(store, other) == [LedgerRow(1, SKIPPED)]


async def test_a_firing_that_is_left_out_tells_nothing(store: Store) -> None:
    moved, fenced, kept = [await create(store, a_job(shard=number)) for number in (3, 4, 5)]
    epochs = await take_all(store, await register(store, "s1", role=Role.SCHEDULER))
    epochs[4] -= 1
    await store.change_job(TENANT, moved.id, changing(next_ms=LATER_MS))
    firings = [a_firing(job, following_ms=LATER_MS, unfired=[SKIPPED]) for job in (moved, fenced, kept)]
    assert await store.fire(firings, epochs) == {kept.id}
    assert [await told(store, job) for job in (moved, fenced, kept)] == [[], [], [LedgerRow(1, SKIPPED)]]


async def test_what_was_told_once_is_not_told_otherwise(store: Store) -> None:
    job = await create(store)
    await fire(store, job, following_ms=LATER_MS, unfired=[SKIPPED])
    again = await store.change_job(TENANT, job.id, changing(next_ms=START_MS))
    otherwise = Unfired(START_MS, START_MS, Verdict.COALESCED)
    assert await fire(store, again, following_ms=LATER_MS, unfired=[otherwise], generation=2) == {job.id}
    assert await told(store, job) == [LedgerRow(1, SKIPPED)]


async def test_a_change_tells_by_the_version_before_it(store: Store) -> None:
    job = await create(store)
    await store.change_job(TENANT, job.id, changing(pause_note="so", unfired=(SKIPPED,)))
    renamed = a_job("renamed").definition
    await store.change_job(TENANT, job.id, changing(definition=renamed, unfired=(COALESCED,)))
    last = Unfired(LATER_MS, LATER_MS, Verdict.SKIPPED, SkipReason.JOB_DELETED)
    await store.change_job(TENANT, job.id, changing(deleted=True, unfired=(last,)))
    assert await told(store, job) == [LedgerRow(1, SKIPPED), LedgerRow(1, COALESCED), LedgerRow(2, last)]


async def test_a_change_writes_runs_in_its_own_generation(store: Store) -> None:
    job = await create(store)
    run = an_occurrence(job, START_MS)
    changed = await store.change_job(TENANT, job.id, changing(runs=(run,), next_ms=LATER_MS))
    assert changed.next_ms == LATER_MS
    found = await the_run(store, run.id)
    assert (found.state, found.version, found.attempt) == (RunState.READY, 1, 0)
