"""The list of occurrences: one order over past and future, in pages of any size, whatever happened to the job."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import closing
from datetime import date

import pytest

from dueline.domain.calendars import Calendar
from dueline.domain.errors import NotFound
from dueline.domain.ids import JobId
from dueline.domain.job import DEFAULT_TENANT, Job
from dueline.domain.schedule import After, Cron, Every
from dueline.domain.single_changes import ChangeKind
from tests.engine.books import DAY_MS, DAY_S, HOUR_MS, MINUTE_MS, MINUTE_S, Books, verdicts
from tests.engine.stories import Story
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Target

EVERY_MINUTE = Every(MINUTE_MS, START_MS)
NEW_YEAR = date(2026, 1, 1).toordinal()
PAGES = (1, 2, 3, 7)


@pytest.fixture
async def books(under_test: StoreUnderTest, target: Target) -> AsyncIterator[Books]:
    with closing(Books(under_test, target)) as books:
        await books.add()
        yield books


async def check_pages(books: Books, job: Job, *, to_ms: int) -> list[tuple[int, str, str | None]]:
    """The list is in order and without doubles, and pages of any size are the same list."""
    whole = await books.told(job, to_ms=to_ms)
    instants = [one.scheduled_ms for one in whole]
    assert instants == sorted(set(instants))
    for limit in PAGES:
        assert await books.pages(job, from_ms=START_MS, to_ms=to_ms, limit=limit) == whole, limit
    return list(verdicts(whole))


async def test_past_and_future_are_one_list(books: Books) -> None:
    job = await books.job(EVERY_MINUTE)
    await books.advance(121, tick_s=0.5)
    told = await check_pages(books, job, to_ms=START_MS + 4 * MINUTE_MS)
    assert told == [(1, "fired", None), (2, "fired", None), (3, "expected", None), (4, "expected", None)]


async def test_a_run_that_is_written_ahead_is_expected_until_its_time(books: Books) -> None:
    job = await books.job(EVERY_MINUTE)
    await books.advance(59.5, tick_s=0.5)
    assert len(await books.runs_of(job)) == 1
    told = await check_pages(books, job, to_ms=START_MS + 2 * MINUTE_MS)
    assert told == [(1, "expected", None), (2, "expected", None)]


async def test_while_paused(books: Books) -> None:
    job = await books.job(EVERY_MINUTE)
    await books.advance(61, tick_s=0.5)
    await books.pause(job)
    await books.leap(2 * MINUTE_S)
    told = await check_pages(books, job, to_ms=START_MS + 5 * MINUTE_MS)
    assert told == [
        (1, "fired", None),
        (2, "waiting", "paused"),
        (3, "waiting", "paused"),
        (4, "expected", None),
        (5, "expected", None),
    ]


async def test_while_nobody_is_there(books: Books) -> None:
    job = await books.job(EVERY_MINUTE)
    await books.leap(2 * MINUTE_S)
    told = await check_pages(books, job, to_ms=START_MS + 3 * MINUTE_MS)
    assert told == [(1, "waiting", None), (2, "waiting", None), (3, "expected", None)]


async def test_a_fixed_delay_tells_what_is_known(books: Books) -> None:
    job = await books.job(After(MINUTE_MS, START_MS + MINUTE_MS), path="/hang")
    far_ms = START_MS + DAY_MS
    assert await check_pages(books, job, to_ms=far_ms) == [(1, "expected", None)]
    await books.advance(61, tick_s=0.5, calls_end=False)
    assert (await books.now_of(job)).position.awaiting is not None
    assert await check_pages(books, job, to_ms=far_ms) == [(1, "fired", None)], "nobody knows when the next one comes"


async def test_a_fixed_delay_past_its_end_is_not_expected(books: Books) -> None:
    job = await books.job(After(MINUTE_MS, START_MS + MINUTE_MS, end_ms=START_MS + 90_000))
    await books.advance(62, tick_s=0.5)
    assert await check_pages(books, job, to_ms=START_MS + DAY_MS) == [(1, "fired", None)]


async def test_a_limit_of_runs_counts_over_pages(books: Books) -> None:
    job = await books.job(Every(MINUTE_MS, START_MS, max_runs=6))
    await books.advance(121, tick_s=0.5)
    assert (await books.now_of(job)).position.runs_left == 4
    told = await check_pages(books, job, to_ms=START_MS + DAY_MS)
    assert [minute for minute, *_ in told] == [1, 2, 3, 4, 5, 6]


async def test_skips_do_not_count_against_a_limit_of_runs(books: Books) -> None:
    job = await books.job(Every(MINUTE_MS, START_MS, max_runs=2))
    await books.change_one(job, START_MS + 2 * MINUTE_MS, ChangeKind.SKIP)
    told = await check_pages(books, job, to_ms=START_MS + DAY_MS)
    assert told == [(1, "expected", None), (2, "skipped", "requested"), (3, "expected", None)]


async def test_a_job_that_does_not_exist(books: Books) -> None:
    with pytest.raises(NotFound):
        await books.ledgers.occurrences(DEFAULT_TENANT, JobId(bytes(16)), from_ms=0, to_ms=1, limit=1)
    job = await books.job(EVERY_MINUTE)
    with pytest.raises(NotFound):
        await books.ledgers.occurrences("another", job.id, from_ms=0, to_ms=1, limit=1)


async def test_calendars_over_past_and_future(books: Books) -> None:
    await books.calendars.put(DEFAULT_TENANT, "off", Calendar(ranges=((NEW_YEAR + 1, NEW_YEAR + 1),)))
    job = await books.job(Cron("0 */6 * * *", calendars=("off",)))
    await books.leap(DAY_S * 2 - 2)
    await books.advance(3, tick_s=0.5)
    told = await check_pages(books, job, to_ms=START_MS + 2 * DAY_MS + 6 * HOUR_MS)
    hours = [(minute // 60, verdict, reason) for minute, verdict, reason in told]
    assert hours[3:8] == [
        (24, "skipped", "calendar"),
        (30, "skipped", "calendar"),
        (36, "skipped", "calendar"),
        (42, "skipped", "calendar"),
        (48, "fired", None),
    ]
    assert {verdict for _, verdict, _ in hours[:3]} == {"skipped"}, "older than the window"


@pytest.mark.parametrize("limited", [False, True], ids=["unlimited", "limited"])
@pytest.mark.parametrize("seed", range(8))
async def test_pages_of_any_history_join_without_gap_or_double(books: Books, seed: int, limited: bool) -> None:
    story = await Story.begin(books, seed, limited=limited)
    for _ in range(14):
        await story.happen()
        await check_pages(books, story.job, to_ms=books.now_ms + 30 * MINUTE_MS)
