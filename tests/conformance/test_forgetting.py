"""Deleted jobs, and what was told of occurrences, are kept as long as finished runs are, to the millisecond."""

from typing import Any

from dueline.domain.durations import DAY_MS
from dueline.domain.ids import JobId
from dueline.domain.job import Job
from dueline.domain.ledger import SkipReason, Unfired, Verdict
from dueline.domain.run import Run
from dueline.domain.states import RunState
from dueline.store.protocol import Store
from dueline.store.shapes import RunFilter
from tests.support.stores import (
    START_MS,
    TENANT,
    StoreClock,
    a_finish,
    a_job,
    a_run,
    changing,
    claim_one,
    create,
    enqueue,
    register,
    the_job,
)

KEEP = 10
PASSES_MAX = 50
NO_JOB = JobId(bytes(16))


async def forget_deleted(store: Store, *, limit: int = 100) -> int:
    """To the end; answers in how many full passes."""
    for passes in range(PASSES_MAX):
        if not await store.forget_deleted(keep_days=KEEP, limit=limit):
            return passes
    raise AssertionError("there is no end of it")


async def forget_told(store: Store, *, limit: int = 100) -> int:
    for passes in range(PASSES_MAX):
        if not await store.forget_told(keep_days=KEEP, limit=limit):
            return passes
    raise AssertionError("there is no end of it")


async def create_deleted(store: Store, **fields: Any) -> Job:
    """A job that was changed once and is deleted now, and of which it is told that it missed something."""
    job = await create(store, a_job(next_ms=None, **fields))
    missed = Unfired(START_MS - 2_000, START_MS - 1_000, Verdict.SKIPPED, SkipReason.WINDOW)
    await store.change_job(TENANT, job.id, changing(unfired=(missed,)))
    await store.change_job(TENANT, job.id, changing(deleted=True))
    return job


async def versions(store: Store, job: Job) -> int:
    """How many versions of it are known."""
    return len(await store.versions_page(job.id, before=None, limit=100))


async def runs_of(store: Store, job: Job) -> list[Run]:
    return await store.runs_page(RunFilter(tenant=TENANT, job_id=job.id), before=None, limit=10)


async def told(store: Store, job: Job) -> int:
    return len(await store.unfired(job.id, from_ms=0, to_ms=START_MS * 2, limit=100))


async def test_a_deleted_job_is_forgotten_after_its_time_and_not_before(store: Store, clock: StoreClock) -> None:
    job, lives = await create_deleted(store), await create(store, a_job(next_ms=None))
    await clock.set_ms(START_MS + KEEP * DAY_MS)
    await forget_deleted(store)
    assert (await versions(store, job) > 0, await told(store, job)) == (True, 1)
    await clock.advance(0.001)
    await forget_deleted(store)
    assert (await versions(store, job), await told(store, job)) == (0, 0)
    assert await the_job(store, lives.id) == lives
    assert await versions(store, lives) > 0


async def test_a_deleted_job_stays_as_long_as_any_of_its_runs(store: Store, clock: StoreClock) -> None:
    job = await create(store, a_job(next_ms=None))
    worker = await register(store)
    await enqueue(store, a_run(job))
    under_way = await claim_one(store, worker)
    await store.change_job(TENANT, job.id, changing(deleted=True))
    await clock.set_ms(START_MS + KEEP * DAY_MS + 1)
    await forget_deleted(store)
    assert await versions(store, job) > 0
    await store.finish([a_finish(under_way, RunState.SUCCEEDED)])
    await forget_deleted(store)
    assert await versions(store, job) > 0
    (run,) = await runs_of(store, job)
    assert run.finished_ms is not None
    # Where its day has a partition, it goes with the whole day, when nobody is in the way of it.
    await clock.set_ms(run.finished_ms + (KEEP + 1) * DAY_MS + 1)
    for _ in range(PASSES_MAX):
        if not await runs_of(store, job):
            break
        await store.sweep_history(keep_days=KEEP, limit=100)
    assert await runs_of(store, job) == []
    await forget_deleted(store)
    assert await versions(store, job) == 0


async def test_a_name_can_be_used_again_before_and_after(store: Store, clock: StoreClock) -> None:
    job = await create_deleted(store, name="weekly")
    again = await create(store, a_job(next_ms=None, name="weekly"))
    await clock.set_ms(START_MS + KEEP * DAY_MS + 1)
    await forget_deleted(store)
    assert await versions(store, job) == 0
    assert await the_job(store, again.id) == again


async def test_a_pass_forgets_no_more_jobs_than_it_may(store: Store, clock: StoreClock) -> None:
    jobs = [await create_deleted(store, name=f"job-{number}") for number in range(5)]
    await clock.set_ms(START_MS + KEEP * DAY_MS + 1)
    assert await store.forget_deleted(keep_days=KEEP, limit=2)
    assert sum([await versions(store, job) > 0 for job in jobs]) == 3
    assert await forget_deleted(store, limit=2) == 1
    assert sum([await versions(store, job) > 0 for job in jobs]) == 0


async def test_what_was_told_is_forgotten_after_its_time_and_an_audit_begins_there(
    store: Store, clock: StoreClock
) -> None:
    job = await create(store)
    stretches = tuple(
        Unfired(START_MS + at_ms, START_MS + at_ms + 9, Verdict.SKIPPED, SkipReason.WINDOW) for at_ms in (0, 10, 20)
    )
    await store.change_job(TENANT, job.id, changing(unfired=stretches))
    await clock.set_ms(START_MS + 19 + KEEP * DAY_MS)
    assert await forget_told(store) == 0
    rows = await store.unfired(job.id, from_ms=START_MS, to_ms=START_MS + 100, limit=10)
    assert [row.unfired for row in rows] == list(stretches[1:])
    assert await store.history_since(TENANT, NO_JOB) == START_MS + 19
    await clock.advance(1)
    assert await forget_told(store, limit=1) == 2
    assert await told(store, job) == 0


async def test_nothing_too_old_was_told_and_an_audit_goes_back_to_the_beginning(
    store: Store, clock: StoreClock
) -> None:
    await create(store)
    await clock.set_ms(START_MS + 2 * KEEP * DAY_MS)
    assert await forget_told(store) == 0
    assert await store.history_since(TENANT, NO_JOB) == 0
