"""The load to come over all jobs of a tenant, as the store has them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import closing

import pytest

from dueline.domain import limits
from dueline.domain.calendars import Calendar
from dueline.domain.job import DEFAULT_TENANT
from dueline.domain.schedule import At, Cron, Every
from tests.engine.books import HOUR_MS, HOUR_S, MINUTE_MS, Books
from tests.support.stores import START_MS, StoreUnderTest, a_job, create
from tests.support.target import Target


@pytest.fixture
async def books(under_test: StoreUnderTest, target: Target) -> AsyncIterator[Books]:
    with closing(Books(under_test, target)) as books:
        yield books


async def loads(books: Books, *, hours: int = 2) -> dict[int, float]:
    """Minutes that bring something."""
    outlook = await books.forecasts.look_ahead(DEFAULT_TENANT, hours=hours)
    assert outlook.complete
    assert outlook.forecast.from_ms == books.now_ms // MINUTE_MS * MINUTE_MS
    return {minute: load for minute, load in enumerate(outlook.forecast.loads) if load}


async def test_active_jobs_of_the_tenant_count(books: Books) -> None:
    await books.job(Cron("0 * * * *"))
    await books.job(At(START_MS + 30 * MINUTE_MS))
    await books.job(None)
    await books.pause(await books.job(Cron("10 * * * *")))
    deleted = await books.job(Cron("20 * * * *"))
    await books.operations.delete_job(DEFAULT_TENANT, deleted.id, expected_version=None)
    await create(books.store, a_job(tenant="another", schedule=Cron("40 * * * *")))
    await books.leap(1)
    assert await loads(books) == {0: 1, 30: 1, 60: 1}


async def test_what_calendars_exclude_is_left_out(books: Books) -> None:
    await books.calendars.put(DEFAULT_TENANT, "thursdays", Calendar(weekdays=(3,)))
    await books.job(Cron("0 * * * *", calendars=("thursdays",)))
    await books.leap(22.5 * HOUR_S)
    assert await loads(books, hours=3) == {90: 1, 150: 1}


async def test_runs_that_are_left_bound_it(books: Books) -> None:
    await books.job(Every(HOUR_MS, START_MS, max_runs=3))
    await books.add()
    await books.leap(HOUR_S - 1)
    await books.advance(61, tick_s=0.5)
    assert await loads(books, hours=9) == {59: 1, 119: 1}


async def test_what_it_says_comes(books: Books) -> None:
    for expression in ("*/2 * * * *", "*/3 * * * *", "30 * * * * *"):
        await books.job(Cron(expression))
    await books.add()
    await books.settle()
    told = await loads(books, hours=1)
    for _ in range(7):
        await books.leap(28)
        await books.advance(2, tick_s=0.5)
    # The first minute is left out: what comes with its beginning is of the schedule, and not of a job that is made then.
    came = [
        (run.scheduled_ms - START_MS) // MINUTE_MS for run in await books.runs() if run.scheduled_ms <= books.now_ms
    ]
    assert {minute: came.count(minute) for minute in range(1, 3)} == {minute: told[minute] for minute in range(1, 3)}


async def test_more_jobs_than_are_looked_at_are_told_of(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PAGE_ROWS_MAX", 2)
    for _ in range(5):
        await books.job(Cron("0 * * * *"))
    outlook = await books.forecasts.look_ahead(DEFAULT_TENANT, hours=1)
    assert (outlook.complete, outlook.forecast.jobs, outlook.forecast.loads[0]) == (True, 5, 5)
    monkeypatch.setattr(limits, "FORECAST_JOBS_MAX", 4)
    outlook = await books.forecasts.look_ahead(DEFAULT_TENANT, hours=1)
    assert (outlook.complete, outlook.forecast.jobs) == (False, 4)
