"""The ledger: what became of occurrences, found by time, to the millisecond."""

import pytest

from dueline.domain.ids import RunId
from dueline.domain.job import Job
from dueline.domain.ledger import SkipReason, Unfired, Verdict
from dueline.domain.states import RunKind, RunState
from dueline.store.protocol import Store
from tests.support.stores import (
    START_MS,
    TENANT,
    a_finish,
    a_run,
    an_occurrence,
    changing,
    claim,
    create,
    enqueue,
    register,
)


def told(from_ms: int, to_ms: int, reason: SkipReason = SkipReason.WINDOW) -> Unfired:
    return Unfired(START_MS + from_ms, START_MS + to_ms, Verdict.SKIPPED, reason)


STRETCHES = (
    told(100, 200),
    told(201, 201, SkipReason.CAP),
    told(300, 400, SkipReason.PAUSED),
    Unfired(START_MS + 500, START_MS + 600, Verdict.COALESCED),
)


async def a_told_job(store: Store) -> Job:
    job = await create(store)
    await store.change_job(TENANT, job.id, changing(unfired=STRETCHES))
    return job


async def found(store: Store, job: Job, from_ms: int, to_ms: int, *, limit: int = 100) -> list[Unfired]:
    rows = await store.unfired(job.id, from_ms=START_MS + from_ms, to_ms=START_MS + to_ms, limit=limit)
    assert {row.version for row in rows} <= {1}
    return [row.unfired for row in rows]


@pytest.mark.parametrize(
    ("from_ms", "to_ms", "first", "last"),
    [
        (0, 1_000, 0, 4),
        (0, 99, 0, 0),
        (0, 100, 0, 1),
        (100, 100, 0, 1),
        (150, 160, 0, 1),
        (200, 200, 0, 1),
        (200, 201, 0, 2),
        (201, 201, 1, 2),
        (202, 299, 0, 0),
        (202, 300, 2, 3),
        (400, 500, 2, 4),
        (401, 499, 0, 0),
        (600, 600, 3, 4),
        (601, 1_000, 0, 0),
        (150, 550, 0, 4),
        (250, 700, 2, 4),
    ],
)
async def test_every_stretch_that_touches_a_span_is_found_in_order(
    store: Store, from_ms: int, to_ms: int, first: int, last: int
) -> None:
    job = await a_told_job(store)
    assert await found(store, job, from_ms, to_ms) == list(STRETCHES[first:last])


async def test_no_more_stretches_than_asked_for_and_the_first_ones(store: Store) -> None:
    job = await a_told_job(store)
    assert await found(store, job, 0, 1_000, limit=2) == list(STRETCHES[:2])
    assert await found(store, job, 150, 1_000, limit=1) == list(STRETCHES[:1])
    assert await found(store, job, 250, 1_000, limit=1) == [STRETCHES[2]]


async def test_stretches_of_other_jobs_are_not_found(store: Store) -> None:
    await a_told_job(store)
    other = await create(store)
    assert await found(store, other, 0, 1_000) == []


async def test_what_is_told_outlives_the_job(store: Store) -> None:
    job = await a_told_job(store)
    await store.change_job(TENANT, job.id, changing(deleted=True))
    assert await found(store, job, 0, 1_000) == list(STRETCHES)


async def scheduled_ids(store: Store, job: Job, from_ms: int, to_ms: int, *, limit: int = 100) -> list[RunId]:
    runs = await store.occurrence_runs(job.id, from_ms=START_MS + from_ms, to_ms=START_MS + to_ms, limit=limit)
    return [run.id for run in runs]


async def test_runs_of_occurrences_are_found_live_and_finished_by_their_scheduled_time(store: Store) -> None:
    job, other = await create(store), await create(store)
    runs = [an_occurrence(job, START_MS + number, due_ms=START_MS) for number in range(10)]
    await enqueue(store, *runs[::2])
    await store.finish([a_finish(claimed) for claimed in await claim(store, await register(store))])
    await enqueue(store, *runs[1::2], an_occurrence(other, START_MS + 3))
    ids = [run.id for run in runs]
    assert await scheduled_ids(store, job, 0, 9) == ids
    assert await scheduled_ids(store, job, 3, 6) == ids[3:7]
    assert await scheduled_ids(store, job, 3, 3) == ids[3:4]
    assert await scheduled_ids(store, job, 10, 1_000) == []
    assert await scheduled_ids(store, job, 2, 9, limit=3) == ids[2:5]
    found_runs = await store.occurrence_runs(job.id, from_ms=START_MS, to_ms=START_MS + 1, limit=10)
    assert [run.state for run in found_runs] == [RunState.SUCCEEDED, RunState.READY]
    assert found_runs[0] == await store.run(TENANT, ids[0])


async def test_only_runs_of_occurrences_are_found(store: Store) -> None:
    job = await create(store)
    occurrence = an_occurrence(job, START_MS)
    others = [a_run(job, kind=kind) for kind in RunKind if kind is not RunKind.SCHEDULED]
    await enqueue(store, occurrence, *others)
    assert await scheduled_ids(store, job, 0, 0) == [occurrence.id]


async def test_a_run_due_later_than_it_was_scheduled_is_found_where_it_was_scheduled(store: Store) -> None:
    job = await create(store)
    (run_id,) = await enqueue(store, an_occurrence(job, START_MS, due_ms=START_MS + 60_000))
    assert await scheduled_ids(store, job, 0, 0) == [run_id]
    assert await scheduled_ids(store, job, 1, 60_000) == []
