"""Runs that wait for something else, and are replaced or rescheduled by others of their dedupe key meanwhile."""

import msgspec
import pytest

from dueline.domain.gates import Gate, Scope
from dueline.domain.states import JobState, RunState
from dueline.domain.uniqueness import OnConflict, UniqueVerdict
from dueline.store.protocol import Store
from dueline.store.shapes import Claim
from tests.conformance.gating import W1, enter
from tests.conformance.overlapping import blocked, exclusive, one_under_way
from tests.conformance.test_unique import LATER_MS, REPLACE, RESCHEDULE, verdict, written
from tests.support.stores import (
    TENANT,
    a_finish,
    a_reclaim,
    a_run,
    changing,
    claim,
    claim_one,
    confirm,
    create,
    enqueue,
    register,
    the_run,
)

ONE = Gate(Scope.KEY, "gate", TENANT, 1)


async def one_at_a_gate(store: Store) -> tuple[Claim, Claim]:
    """A run under way that has passed a gate, and one of an exclusive job with the key, which waits there and keeps its job's place."""
    job = await create(store)
    await register(store)
    await enqueue(store, a_run())
    (passed,) = await enter(store, [await claim_one(store, W1)], ONE)
    await written(store, exclusive(job))
    waiting = await claim_one(store, W1)
    assert await enter(store, [waiting], ONE) == []
    assert (await the_run(store, waiting.run_id)).reason == "concurrency"
    await enqueue(store, exclusive(job))
    assert len(await blocked(store)) == 1
    return passed, waiting


async def test_a_run_whose_job_is_paused_stays_held_when_it_is_rescheduled(store: Store) -> None:
    job = await create(store)
    first = await written(store, a_run(job))
    await store.change_job(job.tenant, job.id, changing(state=JobState.PAUSED, hold=(first,)))
    assert await verdict(store, a_run(due_ms=LATER_MS), on_conflict=RESCHEDULE) is UniqueVerdict.RESCHEDULED
    run = await the_run(store, first)
    assert (run.state, run.reason, run.due_ms) == (RunState.HELD, "paused", LATER_MS)


@pytest.mark.parametrize("on_conflict", [REPLACE, RESCHEDULE])
async def test_a_run_that_its_worker_broke_off_has_begun_though_that_does_not_count(
    store: Store, on_conflict: OnConflict
) -> None:
    first = await written(store)
    begun = await claim_one(store, await register(store))
    broken_off = msgspec.structs.replace(a_reclaim(begun, lost=False, owner=W1), counted=False)
    assert await store.reclaim([broken_off]) == {first}
    assert await verdict(store, on_conflict=on_conflict) is UniqueVerdict.TOO_LATE
    run = await the_run(store, first)
    assert (run.state, run.attempt, len(run.attempts)) == (RunState.READY, 0, 1)


async def test_a_run_that_waits_for_another_of_its_job_can_be_replaced(store: Store) -> None:
    job, first, second = await one_under_way(store)
    third = await written(store, exclusive(job))
    await store.hold_blocked(await blocked(store))
    assert await verdict(store, on_conflict=REPLACE) is UniqueVerdict.REPLACED
    assert (await the_run(store, third)).state is RunState.CANCELLED
    assert await confirm(store, first) == {first.run_id}
    await store.finish([a_finish(first)])
    assert (await the_run(store, second)).state is RunState.READY


async def test_a_run_that_waits_for_another_of_its_job_waits_for_its_new_time_instead(store: Store) -> None:
    job, first, second = await one_under_way(store)
    third = await written(store, exclusive(job))
    await store.hold_blocked(await blocked(store))
    assert await verdict(store, a_run(due_ms=LATER_MS), on_conflict=RESCHEDULE) is UniqueVerdict.RESCHEDULED
    run = await the_run(store, third)
    assert (run.state, run.reason, run.due_ms) == (RunState.SCHEDULED, None, LATER_MS)
    await store.finish([a_finish(first)])
    assert (await claim_one(store, W1)).run_id == second


async def test_a_run_that_waits_at_a_gate_leaves_it_and_its_jobs_place_when_it_is_rescheduled(store: Store) -> None:
    passed, waiting = await one_at_a_gate(store)
    assert await verdict(store, a_run(due_ms=LATER_MS), on_conflict=RESCHEDULE) is UniqueVerdict.RESCHEDULED
    run = await the_run(store, waiting.run_id)
    assert (run.state, run.reason, run.due_ms) == (RunState.SCHEDULED, None, LATER_MS)
    assert len(await claim(store, W1)) == 1, "the next run of its job"
    await store.finish([a_finish(passed)])
    assert (await the_run(store, waiting.run_id)).state is RunState.SCHEDULED, "nobody lets it in before its time"


async def test_a_run_that_waits_at_a_gate_leaves_its_jobs_place_when_it_is_replaced(store: Store) -> None:
    _, waiting = await one_at_a_gate(store)
    assert await verdict(store, a_run(due_ms=LATER_MS), on_conflict=REPLACE) is UniqueVerdict.REPLACED
    assert (await the_run(store, waiting.run_id)).reason == "superseded"
    assert len(await claim(store, W1)) == 1, "the next run of its job"
