"""What comes: of one job, and of all jobs between two instants."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import pytest

from dueline.domain import limits
from dueline.domain.calendars import Calendar
from dueline.domain.coming import Coming
from dueline.domain.errors import Invalid, NotFound
from dueline.domain.ids import JobId
from dueline.domain.job import DEFAULT_TENANT, Job
from dueline.domain.schedule import After, At, Cron, Every
from dueline.domain.single_changes import ChangeKind
from dueline.domain.states import RunState
from dueline.engine.upcoming import Page, Upcoming
from dueline.runtime.clock import StoreTime
from dueline.store.shapes import JobFilter
from tests.engine.books import MINUTE_MS, Books
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Target

HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


@pytest.fixture
async def books(under_test: StoreUnderTest, target: Target) -> AsyncIterator[Books]:
    with closing(Books(under_test, target)) as books:
        yield books


def upcoming(books: Books) -> Upcoming:
    time = StoreTime(books.clock)
    return Upcoming(books.store, lambda: books._synchronised(time))


async def of_job(books: Books, job: Job, *, limit: int = 3) -> list[int]:
    """Minutes after the start at which the job comes."""
    page = await upcoming(books).of_job(DEFAULT_TENANT, job.id, from_ms=0, limit=limit)
    return [(one.scheduled_ms - START_MS) // MINUTE_MS for one in page.items]


async def between(
    books: Books,
    minutes: tuple[float, float],
    *,
    limit: int = 100,
    after: tuple[int, JobId] | None = None,
    **filters: Any,
) -> Page:
    from_ms, to_ms = (START_MS + int(minute * MINUTE_MS) for minute in minutes)
    match = JobFilter(tenant=DEFAULT_TENANT, **filters)
    return await upcoming(books).between(match, from_ms=from_ms, to_ms=to_ms, after=after, limit=limit)


def told(items: list[Coming]) -> list[tuple[int, str]]:
    return [((one.scheduled_ms - START_MS) // MINUTE_MS, one.definition.name) for one in items]


async def test_the_next_of_a_job_honour_what_was_skipped_and_moved(books: Books) -> None:
    job = await books.job(Every(10 * MINUTE_MS, START_MS))
    await books.change_one(job, START_MS + 10 * MINUTE_MS, ChangeKind.SKIP)
    await books.change_one(job, START_MS + 20 * MINUTE_MS, ChangeKind.MOVE, START_MS + 25 * MINUTE_MS)
    assert await of_job(books, job) == [25, 30, 40]
    page = await upcoming(books).of_job(DEFAULT_TENANT, job.id, from_ms=0, limit=1)
    assert page.items[0].note == "moved here from 2026-01-01T00:20:00+00:00"
    with pytest.raises(NotFound):
        await upcoming(books).of_job("somebody", job.id, from_ms=0, limit=1)


async def test_they_end_where_the_schedule_does(books: Books) -> None:
    once = await books.job(At(START_MS + HOUR_MS))
    thrice = await books.job(Every(HOUR_MS, START_MS, max_runs=3))
    ending = await books.job(Every(HOUR_MS, START_MS, end_ms=START_MS + 2 * HOUR_MS))
    delayed = await books.job(After(delay_ms=MINUTE_MS, first_ms=START_MS + HOUR_MS))
    assert [await of_job(books, job, limit=9) for job in (once, thrice, ending, delayed)] == [
        [60],
        [60, 120, 180],
        [60, 120],
        [60],
    ]
    assert await of_job(books, await books.job(None)) == []
    assert [minute for minute, _ in told((await between(books, (100, 1_000))).items)] == [120, 120, 180]


async def test_days_of_a_calendar_are_left_out(books: Books) -> None:
    await books.calendars.put(DEFAULT_TENANT, "days", Calendar(yearly=((1, 2), (1, 3))))
    job = await books.job(Every(DAY_MS, START_MS, calendars=("days",)))
    assert await of_job(books, job, limit=2) == [3 * 1440, 4 * 1440]
    assert [minute for minute, _ in told((await between(books, (0, 5 * 1440))).items)] == [3 * 1440, 4 * 1440]


async def test_jitter_moves_when_a_run_is_due_and_the_run_is_due_then(books: Books) -> None:
    job = await books.job(Every(HOUR_MS, START_MS, jitter_ms=10 * MINUTE_MS))
    (expected,) = (await between(books, (0, 61))).items
    assert expected.scheduled_ms < expected.due_ms < expected.scheduled_ms + 10 * MINUTE_MS
    await books.leap(3_599.5)
    await books.add()
    await books.settle()
    (run,) = [run for run in await books.runs_of(job) if run.scheduled_ms == expected.scheduled_ms]
    assert run.due_ms == expected.due_ms


async def test_a_time_that_the_clocks_jump_over_has_a_note(books: Books) -> None:
    at_ms = round(datetime(2026, 3, 28, 12, tzinfo=UTC).timestamp() * 1000)
    await books.job(Cron(expression="30 2 * * *", timezone="Europe/Berlin"), name="at night")
    match = JobFilter(tenant=DEFAULT_TENANT)
    page = await upcoming(books).between(match, from_ms=at_ms, to_ms=at_ms + DAY_MS, after=None, limit=9)
    assert [one.note for one in page.items] == ["02:30 does not exist on this day: comes at 03:00"]


async def test_all_jobs_are_told_in_the_order_of_their_times_page_by_page(books: Books) -> None:
    for name, period in (("a", 10), ("b", 15), ("c", 60)):
        await books.job(Every(period * MINUTE_MS, START_MS), name=name)
    whole = await between(books, (15, 60.01))
    names = sorted(told(whole.items))
    assert names == sorted(
        [(15, "b"), (20, "a"), (30, "a"), (30, "b"), (40, "a"), (45, "b"), (50, "a"), (60, "a"), (60, "b"), (60, "c")]
    )
    assert [one.scheduled_ms for one in whole.items] == sorted(one.scheduled_ms for one in whole.items)
    found, page = [], await between(books, (15, 60.01), limit=3)
    while True:
        found += page.items
        if not page.more:
            break
        page = await between(books, (15, 60.01), limit=3, after=page.items[-1].place)
    assert found == whole.items


async def test_those_that_a_filter_leaves_out_and_those_that_do_not_come_are_not_told(books: Books) -> None:
    schedule = Every(HOUR_MS, START_MS)
    await books.job(schedule, name="mine", queue="reports", tags=("t",))
    await books.job(schedule, name="other")
    await books.pause(await books.job(schedule, name="paused"))
    gone = await books.job(schedule, name="cancelled")
    await books.operations.cancel_job(DEFAULT_TENANT, gone.id, note=None, stop_running=False, expected_version=None)
    assert {name for _, name in told((await between(books, (0, 61))).items)} == {"mine", "other"}
    some: tuple[dict[str, Any], ...] = (
        {"queue": "reports"},
        {"tag": "t"},
        {"queue": "reports", "tag": "t", "target_type": "http"},
    )
    for filters in some:
        assert told((await between(books, (0, 61), **filters)).items) == [(60, "mine")]
    assert (await between(books, (0, 61), target_type="task")).items == []
    somebody = JobFilter(tenant="somebody")
    page = await upcoming(books).between(somebody, from_ms=START_MS, to_ms=START_MS + DAY_MS, after=None, limit=9)
    assert page.items == []


async def test_a_run_that_is_written_ahead_of_its_time_comes_still_and_once(books: Books) -> None:
    job = await books.job(Every(MINUTE_MS, START_MS), name="ahead")
    await books.leap(59.5)
    await books.add()
    await books.settle()
    (run,) = await books.runs_of(job)
    assert run.state not in (RunState.SUCCEEDED, RunState.FAILED)
    assert await of_job(books, job) == [1, 2, 3]
    page = await between(books, (0, 2.5))
    assert told(page.items) == [(1, "ahead"), (2, "ahead")]
    assert [one.run_id for one in page.items] == [run.id, None]


async def test_more_jobs_than_can_be_looked_at_are_refused_with_a_way_out(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "UPCOMING_JOBS_FIRST", 2)
    monkeypatch.setattr(limits, "UPCOMING_JOBS_MAX", 4)
    for minute in range(1, 7):
        await books.job(Every(DAY_MS, START_MS + minute * MINUTE_MS), name=f"at {minute}")
    first = await between(books, (0, 100), limit=1)
    assert (told(first.items), first.more) == ([(1, "at 1")], True)
    near = await between(books, (0, 100))
    assert (told(near.items), near.more) == ([(1, "at 1"), (2, "at 2"), (3, "at 3")], True)
    with pytest.raises(Invalid, match="more than 4 jobs come before it: take one nearer to now"):
        await between(books, (0, 100), after=near.items[-1].place)


async def test_a_count_of_runs_that_is_too_long_to_count_out_is_refused(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "OCCURRENCES_SEARCHED_MAX", 50)
    await books.job(Every(MINUTE_MS, START_MS, max_runs=1_000))
    assert len((await between(books, (0, 30))).items) == 29
    with pytest.raises(Invalid, match="take one nearer to now"):
        await between(books, (90, 91))
