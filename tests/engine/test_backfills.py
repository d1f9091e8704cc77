"""Runs for what is past: shown first, capped, paced, by an overlap policy of their own, written once, and behind what is on time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import closing
from datetime import date
from typing import Any

import pytest
from msgspec.structs import replace

from dueline.domain.calendars import Calendar
from dueline.domain.errors import Conflict, Invalid, NotFound
from dueline.domain.ids import JobId, occurrence_run_id, run_text
from dueline.domain.job import DEFAULT_TENANT, Job
from dueline.domain.overlap import Overlap
from dueline.domain.run import Run
from dueline.domain.schedule import After, Cron, Every
from dueline.domain.states import RunKind, RunState
from dueline.engine.backfills import BackfillAsked, BackfillRun
from dueline.store.fleet import Role
from tests.engine.books import DAY_MS, DAY_S, HOUR_MS, HOUR_S, Books
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Target

HOURLY = Every(HOUR_MS, START_MS)
NEW_YEAR = date(2026, 1, 1).toordinal()


@pytest.fixture
async def books(under_test: StoreUnderTest, target: Target) -> AsyncIterator[Books]:
    """Ten hours in, with nothing running."""
    with closing(Books(under_test, target)) as books:
        await books.leap(10 * HOUR_S)
        yield books


async def fill(books: Books, job: Job, first: int = 1, end: int = 6, **fields: Any) -> list[BackfillRun]:
    """A backfill from one hour to before another."""
    asked = BackfillAsked(from_ms=START_MS + first * HOUR_MS, to_ms=START_MS + end * HOUR_MS, **fields)
    return await books.backfills.backfill(DEFAULT_TENANT, job.id, asked)


def hours(found: list[BackfillRun]) -> list[int]:
    return [(run.scheduled_ms - START_MS) // HOUR_MS for run in found]


async def filled(books: Books, job: Job) -> list[Run]:
    return [run for run in await books.runs_of(job) if run.kind is RunKind.BACKFILL]


async def test_the_runs_of_a_range_from_its_start_to_before_its_end(books: Books) -> None:
    job = await books.job(HOURLY)
    found = await fill(books, job)
    assert hours(found) == [1, 2, 3, 4, 5]
    assert all(run.is_new for run in found)
    await books.add()
    await books.advance(6)
    runs = await filled(books, job)
    assert [(run.id, run.state) for run in runs] == [(run.run_id, RunState.SUCCEEDED) for run in found]
    assert [run.id for run in runs] == [
        occurrence_run_id(job.id, START_MS + hour * HOUR_MS, RunKind.BACKFILL) for hour in range(1, 6)
    ]
    assert [hit.headers["dueline-scheduled-at"] for hit in books.target.hits] == [
        f"2026-01-01T0{hour}:00:00.000Z" for hour in range(1, 6)
    ]
    after = await books.now_of(job)
    assert after.next_ms == START_MS + 11 * HOUR_MS, "the schedule does not move"
    assert (await books.sound_account(job)).expected == 0, "and its account does not count them"


async def test_a_dry_run_writes_nothing_and_tells_what_would_be_new(books: Books) -> None:
    job = await books.job(HOURLY)
    assert all(run.is_new for run in await fill(books, job, dry_run=True))
    assert await books.runs_of(job) == []
    await fill(books, job, 2, 4)
    found = await fill(books, job, dry_run=True)
    assert [run.is_new for run in found] == [True, False, False, True, True]
    assert await fill(books, job) == found, "the real one does what was told"


async def test_asked_twice_it_writes_once_live_or_finished(books: Books) -> None:
    job = await books.job(HOURLY)
    await fill(books, job)
    assert not any(run.is_new for run in await fill(books, job))
    await books.add()
    await books.advance(6)
    assert not any(run.is_new for run in await fill(books, job))
    assert not any(run.is_new for run in await fill(books, job, dry_run=True))
    await books.advance(6)
    assert len(await filled(books, job)) == len(books.target.hits) == 5


async def test_more_than_the_cap_is_refused_and_nothing_written(books: Books) -> None:
    job = await books.job(HOURLY)
    with pytest.raises(Invalid, match="cap: there are more than 4"):
        await fill(books, job, cap=4)
    assert await books.runs_of(job) == []
    assert len(await fill(books, job, cap=5)) == 5


@pytest.mark.parametrize(("rate", "gap_ms"), [(1.0, 1_000), (4.0, 250), (0.1, 10_000)])
async def test_the_rate_spaces_the_due_times(books: Books, rate: float, gap_ms: int) -> None:
    job = await books.job(HOURLY)
    due_ms = [run.due_ms for run in await fill(books, job, rate=rate)]
    assert due_ms == [books.now_ms + number * gap_ms for number in range(5)]
    assert [run.due_ms for run in await filled(books, job)] == due_ms
    await books.add()
    await books.advance(45, tick_s=0.25)
    for run in await filled(books, job):
        assert run.started_ms is not None
        assert 0 <= run.started_ms - run.due_ms < 2_000


async def test_its_own_overlap_policy_counts_not_the_jobs(books: Books) -> None:
    queued = await books.job(HOURLY, path="/hang", overlap=Overlap.ALLOW)
    skipped = await books.job(HOURLY, path="/hang", overlap=Overlap.ALLOW)
    allowed = await books.job(HOURLY, path="/hang", overlap=Overlap.SKIP)
    for job, overlap in ((queued, Overlap.QUEUE_ALL), (skipped, Overlap.SKIP), (allowed, Overlap.ALLOW)):
        await fill(books, job, 1, 4, rate=100.0, overlap=overlap)
    await books.add()
    await books.advance(2, calls_end=False)
    assert [run.state for run in await filled(books, queued)] == [RunState.RUNNING, RunState.HELD, RunState.HELD]
    assert [run.state for run in await filled(books, skipped)] == [RunState.RUNNING, *[RunState.CANCELLED] * 2]
    assert [run.state for run in await filled(books, allowed)] == [RunState.RUNNING] * 3


async def test_what_is_on_time_goes_first(books: Books) -> None:
    job = await books.job(HOURLY)
    await books.job(Every(HOUR_MS, books.now_ms + 1_000), name="on time")
    await books.add("scheduler", role=Role.SCHEDULER)
    await books.settle()
    await fill(books, job, 1, 9, rate=1_000.0)
    await books.advance(1.5)
    await books.add("worker", role=Role.WORKER, slots=1)
    await books.advance(3)
    called = [hit.headers["dueline-run"] for hit in books.target.hits]
    filled_ids = {run_text(run.id) for run in await filled(books, job)}
    assert called[0] not in filled_ids
    assert filled_ids <= set(called), "and the others have their turn"


async def test_days_that_a_calendar_excludes_are_left_out(books: Books) -> None:
    await books.calendars.put(DEFAULT_TENANT, "off", Calendar(ranges=((NEW_YEAR + 1, NEW_YEAR + 1),)))
    job = await books.job(Cron("0 12 * * *", calendars=("off",)))
    await books.leap(3 * DAY_S)
    asked = BackfillAsked(from_ms=START_MS, to_ms=START_MS + 3 * DAY_MS)
    found = await books.backfills.backfill(DEFAULT_TENANT, job.id, asked)
    assert hours(found) == [12, 60]


async def test_what_cannot_be_filled_is_refused(books: Books) -> None:
    with pytest.raises(NotFound):
        await books.backfills.backfill(DEFAULT_TENANT, JobId(bytes(16)), BackfillAsked(from_ms=0, to_ms=1))
    job = await books.job(HOURLY)
    with pytest.raises(Invalid, match="to: lies in the future"):
        await fill(books, job, 1, 11)
    assert hours(await fill(books, job, 9, 10)) == [9], "up to now itself"
    with pytest.raises(Invalid, match="to: must come after from"):
        await fill(books, job, 5, 5)
    for schedule in (None, After(HOUR_MS, START_MS)):
        with pytest.raises(Conflict):
            await fill(books, await books.job(schedule))


async def test_whoever_says_now_may_have_a_clock_that_is_ahead(books: Books) -> None:
    now_ms, minute_ms = START_MS + 10 * HOUR_MS, 60_000
    job = await books.job(Every(1_000, START_MS))
    asked = BackfillAsked(from_ms=now_ms - 2_000, to_ms=now_ms + minute_ms)
    found = await books.backfills.backfill(DEFAULT_TENANT, job.id, asked)
    assert [run.scheduled_ms - now_ms for run in found] == [-2_000, -1_000], "nothing of what is still to come"
    with pytest.raises(Invalid, match="to: lies in the future"):
        await books.backfills.backfill(DEFAULT_TENANT, job.id, replace(asked, to_ms=asked.to_ms + 1))


async def test_an_occurrence_that_ran_may_be_filled_beside_it(books: Books) -> None:
    job = await books.job(HOURLY)
    await books.add()
    await books.leap(HOUR_S - 2)
    await books.advance(4)
    await books.leap(HOUR_S)
    await fill(books, job, 11, 12)
    await books.advance(2)
    kinds = [run.kind for run in await books.runs_of(job) if run.scheduled_ms == START_MS + 11 * HOUR_MS]
    assert sorted(kinds) == [RunKind.BACKFILL, RunKind.SCHEDULED]
