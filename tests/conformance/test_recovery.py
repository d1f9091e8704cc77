"""After an outage: what is overdue, what was missed and has not started, and giving it another time or none."""

import pytest

from dueline.domain import limits
from dueline.domain.ids import BootId, JobId, RunId
from dueline.domain.job import Job
from dueline.domain.planning import Position
from dueline.domain.states import JobState, RunKind, RunState
from dueline.store.protocol import Store
from dueline.store.shapes import LapsedRun, MissedRun, OverduePlan
from tests.conformance.ear import listening
from tests.conformance.overlapping import blocked, exclusive
from tests.support.stores import (
    START_MS,
    TENANT,
    StoreClock,
    a_definition,
    a_finish,
    a_job,
    a_retry,
    a_run,
    an_occurrence,
    at,
    changing,
    claim,
    claim_one,
    confirm,
    create,
    enqueue,
    promote,
    register,
    the_run,
)

GRACE_MS = limits.MISFIRE_GRACE_MS


async def overdue(store: Store, before_ms: int = START_MS, *, tenant: str | None = None) -> list[JobId]:
    found = await store.overdue(tenant=tenant, before_ms=before_ms, limit=100)
    assert await store.overdue_count(tenant=tenant, before_ms=before_ms) == len(found)
    return [plan.job_id for plan in found]


async def test_a_plan_is_overdue_that_was_to_be_acted_on_before_an_instant(store: Store) -> None:
    position = at(START_MS - 9_000, due_ms=START_MS - 7_000, runs_left=3)
    job = await create(store, a_job(position=position, tenant="acme"))
    found = await store.overdue(tenant=None, before_ms=START_MS, limit=10)
    assert found == [OverduePlan("acme", job.id, 1, START_MS - 9_000, START_MS - 7_000, 3)]
    assert await overdue(store, START_MS - 7_000) == []
    assert await overdue(store, START_MS - 6_999) == [job.id]


async def test_the_longest_overdue_come_first_and_no_more_than_asked_for(store: Store) -> None:
    jobs = [await create(store, a_job(next_ms=START_MS - number * 7 % 10 * 1_000 - 1)) for number in range(6)]
    order = [job.id for job in sorted(jobs, key=lambda job: job.next_ms or 0)]
    assert await overdue(store) == order
    first = await store.overdue(tenant=None, before_ms=START_MS, limit=2)
    assert [plan.job_id for plan in first] == order[:2]
    assert await store.overdue_count(tenant=None, before_ms=START_MS) == 6


async def test_only_active_jobs_of_the_tenant_are_overdue(store: Store) -> None:
    mine = await create(store, a_job(next_ms=START_MS - 5))
    foreign = await create(store, a_job(next_ms=START_MS - 4, tenant="other"))
    paused, deleted = [await create(store, a_job(next_ms=START_MS - 5)) for _ in range(2)]
    await create(store, a_job(position=Position(awaiting=a_run().id)))
    await create(store, a_job(next_ms=START_MS))
    await store.change_job(TENANT, paused.id, changing(state=JobState.PAUSED))
    await store.change_job(TENANT, deleted.id, changing(deleted=True))
    assert await overdue(store) == [mine.id, foreign.id]
    assert await overdue(store, tenant=TENANT) == [mine.id]
    assert await overdue(store, tenant="nobody") == []


async def test_an_overdue_plan_tells_the_version_of_its_job(store: Store) -> None:
    job = await create(store, a_job(next_ms=START_MS - 5))
    await store.change_job(TENANT, job.id, changing(definition=a_definition("edited")))
    (found,) = await store.overdue(tenant=TENANT, before_ms=START_MS, limit=10)
    assert found.version == 2


async def missed(store: Store, *, tenant: str | None = None, job_id: JobId | None = None) -> list[RunId]:
    return [run.run_id for run in await store.missed_runs(tenant=tenant, job_id=job_id, limit=100)]


async def enqueue_missed(store: Store, job: Job, *, ago_ms: int = 60_000, due_ms: int = START_MS) -> RunId:
    (run_id,) = await enqueue(store, an_occurrence(job, START_MS - ago_ms, due_ms=due_ms))
    return run_id


async def test_a_run_was_missed_that_was_written_later_than_the_grace(store: Store) -> None:
    job = await create(store)
    late = await enqueue_missed(store, job, ago_ms=GRACE_MS)
    missed_id = await enqueue_missed(store, job, ago_ms=GRACE_MS + 1)
    found = await store.missed_runs(tenant=None, job_id=None, limit=10)
    assert found == [MissedRun(missed_id, TENANT, job.id, START_MS - GRACE_MS - 1, START_MS)]
    assert late not in await missed(store)


async def test_missed_runs_come_by_due_time_and_are_told_by_tenant_and_job(store: Store) -> None:
    job, other = await create(store), await create(store)
    foreign = await create(store, a_job(tenant="other"))
    second = await enqueue_missed(store, job, due_ms=START_MS + 20_000)
    first = await enqueue_missed(store, other, due_ms=START_MS + 10_000)
    third = await enqueue_missed(store, foreign, due_ms=START_MS + 30_000)
    assert await missed(store) == [first, second, third]
    assert await missed(store, tenant=TENANT) == [first, second]
    assert await missed(store, job_id=job.id) == [second]
    assert await missed(store, tenant=TENANT, job_id=foreign.id) == []
    limited = await store.missed_runs(tenant=None, job_id=None, limit=2)
    assert [run.run_id for run in limited] == [first, second]


async def test_only_unstarted_runs_of_occurrences_were_missed(store: Store) -> None:
    job = await create(store)
    await enqueue(store, a_run(job, scheduled_ms=START_MS - 60_000), a_run(scheduled_ms=START_MS - 60_000))
    await enqueue(store, a_run(job, scheduled_ms=START_MS - 60_000, kind=RunKind.BACKFILL))
    claimed = await enqueue_missed(store, job, ago_ms=61_000)
    retried = await enqueue_missed(store, job, ago_ms=62_000)
    claims = await claim(store, await register(store))
    await store.retry([a_retry(one, due_ms=START_MS) for one in claims if one.run_id == retried])
    await promote(store)
    waiting = await enqueue_missed(store, job, ago_ms=63_000, due_ms=START_MS + 60_000)
    assert await missed(store) == [waiting]
    assert (await the_run(store, claimed)).state is RunState.RUNNING


async def test_a_run_gets_another_time_and_waits_for_it(store: Store, clock: StoreClock) -> None:
    job = await create(store)
    ready = await enqueue_missed(store, job, ago_ms=61_000)
    waiting = await enqueue_missed(store, job, due_ms=START_MS + 60_000)
    later_ms = START_MS + 5_000
    assert await store.repace([(ready, later_ms), (waiting, later_ms)]) == 2
    for run_id in (ready, waiting):
        run = await the_run(store, run_id)
        assert (run.state, run.due_ms, run.attempt) == (RunState.SCHEDULED, later_ms, 0)
    worker = await register(store)
    assert await claim(store, worker) == []
    await clock.advance(5)
    assert (await promote(store)).count == 2
    assert {one.run_id for one in await claim(store, worker)} == {ready, waiting}


@pytest.mark.parametrize("due_ms", [START_MS, START_MS + 60_000])
async def test_a_run_that_gets_another_time_still_stands_behind_those_on_time(
    store: Store, clock: StoreClock, due_ms: int
) -> None:
    job = await create(store)
    run = an_occurrence(job, START_MS - 60_000, due_ms=due_ms, missed=True)
    on_time = [a_run(due_ms=START_MS + 5_001) for _ in range(50)]
    await enqueue(store, run, *on_time)
    await store.repace([(run.id, START_MS + 5_000)])
    await clock.advance(20)
    assert (await promote(store)).count == 51
    order = await claim(store, await register(store), limit=50)
    assert {one.run_id for one in order} == {one.id for one in on_time}


async def test_a_run_that_was_claimed_or_tried_keeps_its_time(store: Store) -> None:
    job = await create(store)
    await enqueue_missed(store, job)
    claimed = await claim_one(store, await register(store))
    assert await store.repace([(claimed.run_id, START_MS + 5_000), (a_run().id, START_MS)]) == 0
    assert await confirm(store, claimed) == {claimed.run_id}
    await store.retry([a_retry(claimed, due_ms=START_MS)])
    await promote(store)
    assert await store.repace([(claimed.run_id, START_MS + 5_000)]) == 0
    assert (await the_run(store, claimed.run_id)).due_ms == START_MS
    assert await store.repace([]) == 0


async def test_another_time_is_told_to_the_promoter(store: Store) -> None:
    run_id = await enqueue_missed(store, await create(store))
    ear = await listening(store)
    await store.repace([(run_id, START_MS + 60_000)])
    await ear.hears("waiting")


async def test_waiting_runs_are_given_up_each_with_its_reason(store: Store, clock: StoreClock) -> None:
    job = await create(store)
    ready, waiting = (
        await enqueue_missed(store, job),
        await enqueue_missed(store, job, ago_ms=9, due_ms=START_MS + 60_000),
    )
    (held,) = await enqueue(store, a_run(job))
    await store.change_job(TENANT, job.id, changing(hold=(held,)))
    await clock.advance(2)
    ends = [(ready, "recovery"), (waiting, "requested"), (held, "recovery"), (a_run().id, "recovery")]
    assert await store.cancel_waiting(ends) == {ready, waiting, held}
    for run_id, reason in ends[:3]:
        run = await the_run(store, run_id)
        assert (run.state, run.reason, run.finished_ms) == (RunState.CANCELLED, reason, START_MS + 2_000)
    assert await store.cancel_waiting(ends) == set()
    assert await store.cancel_waiting([]) == set()


async def test_a_claimed_run_is_not_given_up(store: Store) -> None:
    await enqueue_missed(store, await create(store))
    claimed = await claim_one(store, await register(store))
    assert await store.cancel_waiting([(claimed.run_id, "recovery")]) == set()
    assert await store.finish([a_finish(claimed)]) == {claimed.run_id}


async def test_a_run_that_is_given_up_leaves_its_place(store: Store) -> None:
    job = await create(store)
    worker = await register(store)
    await enqueue(store, exclusive(job))
    first = await claim_one(store, worker)
    held, other = await enqueue(store, exclusive(job), exclusive(job))
    await store.hold_blocked(await blocked(store))
    assert await store.cancel_waiting([(held, "recovery")]) == {held}
    await store.finish([a_finish(first)])
    assert (await claim_one(store, worker)).run_id == other


@pytest.mark.parametrize("at_start", [True, False])
async def test_a_released_run_is_given_up_like_any_that_waits(store: Store, at_start: bool) -> None:
    job = await create(store)
    (run_id,) = await enqueue(store, exclusive(job, due_ms=START_MS if at_start else START_MS + 500))
    claimed = await claim_one(store, await register(store), ahead_ms=500)
    await store.release([claimed])
    assert await store.cancel_waiting([(run_id, "recovery")]) == {run_id}
    (other,) = await enqueue(store, exclusive(job))
    assert (await claim_one(store, BootId("w1"))).run_id == other


async def lapsed(store: Store) -> list[RunId]:
    return [run.run_id for run in await store.lapsed_runs(limit=100)]


async def test_a_run_written_long_ahead_that_still_waits_after_its_time_has_lapsed(
    store: Store, clock: StoreClock
) -> None:
    job = await create(store)
    at_ms = START_MS + limits.AHEAD_MS + 1
    early = an_occurrence(job, at_ms)
    await enqueue(store, early, an_occurrence(job, at_ms - 1, due_ms=START_MS + 5_000))
    await clock.set_ms(at_ms + GRACE_MS)
    assert await lapsed(store) == []
    await clock.advance(0.001)
    assert await store.lapsed_runs(limit=100) == [LapsedRun(early.id, job.id, 1, at_ms)], (
        "the other became ready in time"
    )
    await clock.advance(60)
    assert await lapsed(store) == [early.id], "the other was written in its last second, and waits for its jitter"
    assert await store.repace([(early.id, clock.now_ms)]) == 1
    assert await lapsed(store) == []
    assert (await promote(store)).count == 2


async def test_what_was_put_off_or_asked_for_or_missed_before_has_not_lapsed(store: Store, clock: StoreClock) -> None:
    job = await create(store)
    at_ms = START_MS + 5_000
    missed = an_occurrence(job, at_ms, missed=True)
    await enqueue(store, missed, a_run(job, due_ms=at_ms), a_run(due_ms=at_ms))
    await clock.set_ms(at_ms + GRACE_MS + 1)
    assert await lapsed(store) == []


async def test_no_more_than_asked_for_lapse_at_once_those_due_first_first(store: Store, clock: StoreClock) -> None:
    jobs = [await create(store) for _ in range(3)]
    runs = [an_occurrence(job, START_MS + 5_000 - number) for number, job in enumerate(jobs)]
    await enqueue(store, *runs)
    await clock.advance(60)
    assert [run.run_id for run in await store.lapsed_runs(limit=2)] == [runs[2].id, runs[1].id]
