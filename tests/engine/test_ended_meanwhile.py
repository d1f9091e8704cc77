"""A job that ends between a look at it and the run that somebody wants of it: there is none, and the answer is that of asking later."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from typing import Any, cast

import pytest

from dueline.domain.errors import Conflict, DuelineError, NotFound
from dueline.domain.job import DEFAULT_TENANT, Job
from dueline.domain.schedule import Every
from dueline.domain.uniqueness import Dedupe, OnConflict
from dueline.engine.backfills import BackfillAsked, Backfills
from dueline.engine.operations import Operations
from dueline.runtime.clock import StoreTime
from dueline.store.protocol import Store
from tests.engine.books import HOUR_MS, HOUR_S, Books
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Target

HOURS = BackfillAsked(from_ms=START_MS + HOUR_MS, to_ms=START_MS + 3 * HOUR_MS)
End = Callable[[Books, Job], Awaitable[object]]
Ask = Callable[[Operations, Backfills, Job], Awaitable[object]]


class Meanwhile:
    """A store that lets something happen once a job was read from it."""

    def __init__(self, store: Store, happens: Callable[[], Awaitable[object]]) -> None:
        self._store = store
        self._happens = happens

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def job(self, *args: Any) -> Job | None:
        found = await self._store.job(*args)
        await self._happens()
        return found


@pytest.fixture
async def books(under_test: StoreUnderTest, target: Target) -> AsyncIterator[Books]:
    """Ten hours in, with nothing running."""
    with closing(Books(under_test, target)) as books:
        await books.leap(10 * HOUR_S)
        yield books


async def cancel(books: Books, job: Job) -> None:
    await books.operations.cancel_job(DEFAULT_TENANT, job.id, note=None, stop_running=False, expected_version=None)


async def delete(books: Books, job: Job) -> None:
    await books.operations.delete_job(DEFAULT_TENANT, job.id, expected_version=None)


async def run_now(operations: Operations, _backfills: Backfills, job: Job) -> None:
    await operations.run_job(DEFAULT_TENANT, job.id, force=False)


async def run_now_by_force(operations: Operations, _backfills: Backfills, job: Job) -> None:
    await operations.run_job(DEFAULT_TENANT, job.id, force=True)


async def run_now_with_a_key(operations: Operations, _backfills: Backfills, job: Job) -> None:
    dedupe = Dedupe(key="k", on_conflict=OnConflict.IGNORE)
    await operations.run_job_unique(DEFAULT_TENANT, job.id, dedupe, force=False)


async def backfill(_operations: Operations, backfills: Backfills, job: Job) -> None:
    await backfills.backfill(DEFAULT_TENANT, job.id, HOURS)


@pytest.mark.parametrize("ask", [run_now, run_now_by_force, run_now_with_a_key, backfill])
@pytest.mark.parametrize(("end", "refusal"), [(cancel, Conflict), (delete, NotFound)])
async def test_there_is_no_run_and_the_answer_is_that_of_asking_later(
    books: Books, end: End, refusal: type[DuelineError], ask: Ask
) -> None:
    job = await books.job(Every(HOUR_MS, START_MS))
    before = len(await books.runs_of(job))
    time = StoreTime(books.clock)
    time.measured(books.now_ms, sent_s=books.clock.monotonic_s())
    ended = False

    async def happens() -> None:
        nonlocal ended
        if not ended:
            await end(books, job)
        ended = True

    store = cast(Store, Meanwhile(books.store, happens))
    operations = Operations(store, lambda: time, books.chance, books.quotas)
    backfills = Backfills(store, lambda: time, books.quotas)
    with pytest.raises(refusal) as at_once:
        await ask(operations, backfills, job)
    assert ended
    assert len(await books.runs_of(job)) == before
    with pytest.raises(refusal) as later:
        await ask(books.operations, books.backfills, job)
    assert str(at_once.value) == str(later.value)
