"""A job that keeps its finished runs for less time than others: they go when they are too old, and those of others stay."""

import msgspec
import pytest

from dueline.domain import limits
from dueline.domain.changes import JobInHand
from dueline.domain.durations import DAY_MS
from dueline.domain.ids import RunId
from dueline.domain.job import Definition, Job
from dueline.domain.states import RunState
from dueline.store.protocol import Store
from dueline.store.shapes import DeadLetterFilter, RunFilter
from tests.support.stores import (
    START_MS,
    TENANT,
    StoreClock,
    a_finish,
    a_job,
    a_run,
    changing,
    claim,
    create,
    enqueue,
    register,
)

DAY_S = 86_400
HOUR_S = 3_600
PASSES_MAX = 50


async def sweep(store: Store, *, limit: int = 100) -> int:
    """To the end; answers in how many passes."""
    for passes in range(PASSES_MAX):
        if not await store.sweep_jobs(limit=limit):
            return passes
    raise AssertionError("there is no end of it")


async def end(
    store: Store, job: Job, *, due_ms: int, count: int = 1, state: RunState = RunState.SUCCEEDED
) -> list[RunId]:
    """Runs of a job that end 5 ms from now."""
    worker = await register(store)
    run_ids = await enqueue(store, *(a_run(job, due_ms=due_ms) for _ in range(count)))
    claims = await claim(store, worker, limit=1_000)
    assert {one.run_id for one in claims} == set(run_ids)
    await store.finish([a_finish(one, state) for one in claims])
    return run_ids


async def kept(store: Store, job: Job) -> list[RunId]:
    return [run.id for run in await store.runs_page(RunFilter(tenant=TENANT, job_id=job.id), before=None, limit=1_000)]


async def keeping(store: Store, days: int | None) -> Job:
    retention_ms = None if days is None else days * DAY_MS
    return await create(store, a_job(next_ms=None, retention_ms=retention_ms))


async def keep(store: Store, job: Job, days: int | None) -> None:
    retention_ms = None if days is None else days * DAY_MS

    def changed(hand: JobInHand) -> Definition:
        return msgspec.structs.replace(hand.job.definition, retention_ms=retention_ms)

    await store.change_job(TENANT, job.id, changing(definition=changed))


async def test_runs_go_when_they_are_too_old_and_not_before(store: Store, clock: StoreClock) -> None:
    job, other = await keeping(store, 2), await keeping(store, None)
    (old,) = await end(store, job, due_ms=START_MS)
    (stays,) = await end(store, other, due_ms=START_MS)
    await clock.set_ms(START_MS + DAY_MS)
    (young,) = await end(store, job, due_ms=clock.now_ms)
    await clock.set_ms(START_MS + 2 * DAY_MS + 5)
    await sweep(store)
    assert set(await kept(store, job)) == {old, young}
    assert await store.history_since(TENANT, job.id) == 0
    await clock.advance(HOUR_S)
    await sweep(store)
    assert await kept(store, job) == [young]
    assert await kept(store, other) == [stays]
    assert await store.history_since(TENANT, job.id) == START_MS + 5 + HOUR_S * 1_000
    assert await store.history_since(TENANT, other.id) == 0


async def test_a_job_is_left_alone_until_some_of_its_runs_may_be_too_old(store: Store, clock: StoreClock) -> None:
    job = await keeping(store, 7)
    assert await sweep(store) == 1
    await end(store, job, due_ms=START_MS)
    await clock.set_ms(START_MS + 7 * DAY_MS - 1)
    assert await sweep(store) == 0
    await clock.advance(0.001)
    assert await sweep(store) == 1
    assert len(await kept(store, job)) == 1
    await clock.advance(HOUR_S)
    assert await sweep(store) == 1
    assert await kept(store, job) == []
    await clock.advance(6 * DAY_S)
    assert await sweep(store) == 0


async def test_a_retention_that_is_changed_counts_at_the_next_pass(store: Store, clock: StoreClock) -> None:
    job = await keeping(store, None)
    for day in range(6):
        await clock.set_ms(START_MS + day * DAY_MS)
        await end(store, job, due_ms=clock.now_ms)
    await clock.advance(HOUR_S)
    assert await sweep(store) == 0
    for days, left in ((4, 4), (2, 2), (5, 2)):
        await keep(store, job, days)
        await sweep(store)
        assert len(await kept(store, job)) == left
    await keep(store, job, None)
    await clock.advance(30 * DAY_S)
    await sweep(store)
    assert len(await kept(store, job)) == 2
    await clock.advance(30 * DAY_S)
    assert await sweep(store) == 0


async def test_dead_letters_go_with_their_runs(store: Store, clock: StoreClock) -> None:
    job, other = await keeping(store, 1), await keeping(store, None)
    for one in (job, other):
        await end(store, one, due_ms=START_MS, state=RunState.FAILED)
    await clock.advance(DAY_S + HOUR_S)
    await sweep(store)
    assert await store.dead_letter_count(DeadLetterFilter(tenant=TENANT, job_id=job.id)) == 0
    assert await store.dead_letter_count(DeadLetterFilter(tenant=TENANT, job_id=other.id)) == 1


async def test_a_pass_looks_at_no_more_than_it_may(store: Store, clock: StoreClock) -> None:
    jobs = [await keeping(store, 1) for _ in range(3)]
    for job in jobs:
        await end(store, job, due_ms=START_MS, count=6)
    await clock.advance(DAY_S + HOUR_S)
    left = []
    while await store.sweep_jobs(limit=4):
        left.append(sum([len(await kept(store, job)) for job in jobs]))
    assert left[:4] == [14, 10, 6, 2]
    assert left[-1] == 0


async def test_more_jobs_than_a_pass_looks_at_are_no_obstacle(
    store: Store, clock: StoreClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RETENTIONS_SWEPT_MAX", 2)
    jobs = [await keeping(store, 1) for _ in range(5)]
    for job in jobs:
        await end(store, job, due_ms=START_MS)
    await clock.advance(DAY_S + HOUR_S)
    assert await sweep(store) == 3
    assert [await kept(store, job) for job in jobs] == [[]] * 5


async def test_what_was_backfilled_lately_is_kept_and_in_nobodys_way(store: Store, clock: StoreClock) -> None:
    job = await keeping(store, 2)
    await clock.set_ms(START_MS + 10 * DAY_MS)
    first = await end(store, job, due_ms=START_MS + DAY_MS, count=5)
    await clock.advance(2 * DAY_S)
    lately = await end(store, job, due_ms=START_MS, count=10)
    await clock.advance(HOUR_S)
    await sweep(store, limit=4)
    assert set(await kept(store, job)) == set(lately)
    assert not set(first) & set(lately)
    await clock.advance(2 * DAY_S)
    await sweep(store, limit=4)
    assert await kept(store, job) == []


async def test_the_runs_of_a_deleted_job_go_and_then_nobody_looks_any_more(store: Store, clock: StoreClock) -> None:
    job = await keeping(store, 2)
    await end(store, job, due_ms=START_MS)
    await store.change_job(TENANT, job.id, changing(deleted=True))
    await clock.advance(DAY_S)
    await sweep(store)
    assert len(await kept(store, job)) == 1
    await clock.advance(DAY_S + HOUR_S)
    await sweep(store)
    assert await kept(store, job) == []
    await clock.advance(30 * DAY_S)
    assert await sweep(store) == 0
