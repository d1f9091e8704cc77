"""Calendars on the engine: a change of one counts at once for the jobs that name it, also while they fire; the past stays."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import closing
from datetime import date

import pytest

from dueline.domain.calendars import Calendar
from dueline.domain.errors import Conflict, Invalid, NotFound
from dueline.domain.ids import JobId, job_text
from dueline.domain.job import DEFAULT_TENANT, Definition
from dueline.domain.ledger import Verdict
from dueline.domain.schedule import Cron, OnExcluded
from dueline.domain.states import JobState
from dueline.store.calendars import NamedCalendar
from dueline.testing import VirtualDueline
from tests.engine.books import DAY_MS, DAY_S, HOUR_MS, HOUR_S, Books
from tests.support.stores import START_MS, StoreUnderTest, a_definition
from tests.support.target import Target

NEW_YEAR = date(2026, 1, 1).toordinal()
NOTHING = Calendar()
NOON = Cron("0 12 * * *", calendars=("off",))


def off(*days: int) -> Calendar:
    """Some days of January, from 1."""
    return Calendar(ranges=tuple((NEW_YEAR + day - 1, NEW_YEAR + day - 1) for day in days))


@pytest.fixture
async def books(under_test: StoreUnderTest, target: Target) -> AsyncIterator[Books]:
    with closing(Books(under_test, target)) as books:
        await books.add()
        await books.settle()
        yield books


async def put(books: Books, calendar: Calendar) -> None:
    await books.calendars.put(DEFAULT_TENANT, "off", calendar)


async def test_a_day_that_becomes_excluded_is_left_out(books: Books) -> None:
    await put(books, NOTHING)
    job = await books.job(NOON)
    assert job.position.due_ms == START_MS + 12 * HOUR_MS
    await put(books, off(1, 2))
    await books.advance(1)
    after = await books.now_of(job)
    assert (after.next_ms, after.position.due_ms) == (START_MS + 12 * HOUR_MS, START_MS + 60 * HOUR_MS)
    assert after.version == job.version, "nobody has edited the job"


async def test_a_day_that_is_free_again_is_met(books: Books) -> None:
    await put(books, off(1, 2))
    job = await books.job(NOON)
    assert job.position.due_ms == START_MS + 60 * HOUR_MS
    await books.leap(DAY_S)
    await put(books, off(1))
    await books.advance(1)
    after = await books.now_of(job)
    assert after.position.due_ms == START_MS + 36 * HOUR_MS
    await books.leap(12 * HOUR_S - 2)
    await books.advance(3)
    account = await books.sound_account(job)
    assert account.verdicts == {Verdict.SKIPPED: 1, Verdict.FIRED: 1}


async def test_the_past_stays_as_it_was_decided(books: Books) -> None:
    await put(books, NOTHING)
    job = await books.job(NOON)
    await books.leap(12 * HOUR_S - 2)
    await books.advance(3)
    await put(books, off(1))
    await books.advance(1)
    assert (await books.sound_account(job)).verdicts == {Verdict.FIRED: 1}
    assert len(books.target.hits) == 1


async def test_what_is_due_when_the_calendar_changes_is_decided_by_it(books: Books) -> None:
    await put(books, NOTHING)
    job = await books.job(NOON)
    await books.leap(12 * HOUR_S - 5)
    await put(books, off(1))
    # Nobody is there to look at the plan before its time has come.
    await books.leap(6)
    await books.advance(2)
    assert books.target.hits == []
    account = await books.sound_account(job)
    assert (account.verdicts, account.reasons) == ({Verdict.SKIPPED: 1}, {"calendar": 1})


@pytest.mark.parametrize("on_excluded", [OnExcluded.BEFORE, OnExcluded.AFTER])
async def test_an_occurrence_moves_with_the_free_days(books: Books, on_excluded: OnExcluded) -> None:
    await put(books, NOTHING)
    job = await books.job(Cron("0 12 5 * *", calendars=("off",), on_excluded=on_excluded))
    await put(books, off(5))
    await books.advance(1)
    day = {OnExcluded.BEFORE: 3, OnExcluded.AFTER: 5}[on_excluded]
    assert (await books.now_of(job)).position.due_ms == START_MS + day * DAY_MS + 12 * HOUR_MS
    await put(books, off(4, 5, 6))
    await books.advance(1)
    day = {OnExcluded.BEFORE: 2, OnExcluded.AFTER: 6}[on_excluded]
    assert (await books.now_of(job)).position.due_ms == START_MS + day * DAY_MS + 12 * HOUR_MS


async def test_a_paused_job_is_resumed_by_the_calendar_of_then(books: Books) -> None:
    await put(books, NOTHING)
    job = await books.job(NOON)
    await books.pause(job)
    await put(books, off(1))
    await books.advance(1)
    assert (await books.now_of(job)).state is JobState.PAUSED
    resumed = await books.resume(job)
    assert resumed.position.due_ms == START_MS + 36 * HOUR_MS


async def test_changes_while_a_job_fires_lose_and_double_nothing(books: Books) -> None:
    await put(books, NOTHING)
    job = await books.job(Cron("* * * * * *", calendars=("off",)))
    for number in range(16):
        await books.advance(0.5)
        await put(books, off(30 - number))
    await books.advance(1.5)
    account = await books.sound_account(job)
    assert account.verdicts == {Verdict.FIRED: account.expected}
    assert account.expected == len(books.target.hits) == 9


async def test_a_calendar_that_is_named_is_not_deleted(books: Books) -> None:
    await put(books, off(1))
    job = await books.job(Cron("* * * * * *", calendars=("off",)))
    with pytest.raises(Conflict):
        await books.calendars.delete(DEFAULT_TENANT, "off")
    await books.edit(job, schedule=Cron("* * * * * *"))
    await books.calendars.delete(DEFAULT_TENANT, "off")
    await books.advance(2.5)
    assert len(books.target.hits) == 2
    with pytest.raises(NotFound):
        await books.calendars.delete(DEFAULT_TENANT, "off")
    with pytest.raises(NotFound):
        await books.calendars.get(DEFAULT_TENANT, "off")


async def test_a_deleted_job_names_nothing(books: Books) -> None:
    await put(books, off(1))
    job = await books.job(NOON)
    await books.operations.delete_job(DEFAULT_TENANT, job.id, expected_version=None)
    await books.calendars.delete(DEFAULT_TENANT, "off")


async def test_a_calendar_that_does_not_exist_is_refused(books: Books) -> None:
    with pytest.raises(Invalid, match=r"schedule\.calendars\[0\]: there is no calendar 'off'"):
        await books.job(NOON)
    job = await books.job(Cron("0 12 * * *"))
    with pytest.raises(Invalid, match="there is no calendar"):
        await books.edit(job, schedule=NOON)
    await books.calendars.put("another", "off", off(1))
    with pytest.raises(Invalid, match="there is no calendar"):
        await books.edit(job, schedule=NOON)


async def test_pages_of_calendars_with_their_versions(books: Books) -> None:
    for name in ("b", "a", "c", "a"):
        await books.calendars.put(DEFAULT_TENANT, name, off(1))
    page = await books.calendars.page(DEFAULT_TENANT, after=None, limit=2)
    assert [(named.name, named.version) for named in page] == [("a", 2), ("b", 1)]
    assert [named.name for named in await books.calendars.page(DEFAULT_TENANT, after="b", limit=2)] == ["c"]


async def test_an_edit_that_leaves_nothing_to_come_still_tells_of_every_day(books: Books) -> None:
    await put(books, NOTHING)
    job = await books.job(Cron("0 12 * * *", calendars=("off",), end_ms=START_MS + 3 * DAY_MS))
    await put(books, off(*range(1, 31)))
    await books.advance(1)
    await books.leap(4 * DAY_S)
    account = await books.sound_account(job)
    assert (account.verdicts, account.reasons) == ({Verdict.SKIPPED: 3}, {"calendar": 3})


async def test_days_that_were_excluded_by_mistake_are_met_once_they_are_free(books: Books) -> None:
    await put(books, NOTHING)
    job = await books.job(NOON)
    await put(books, Calendar(ranges=((NEW_YEAR, NEW_YEAR + 2_000),)))
    await books.advance(1)
    await put(books, NOTHING)
    await books.advance(1)
    after = await books.now_of(job)
    assert (after.state, after.position.due_ms) == (JobState.ACTIVE, START_MS + 12 * HOUR_MS)


def test_a_month_of_weekends_and_holidays(dueline: VirtualDueline) -> None:
    dueline.put_calendar("weekends", weekdays=["SAT", "SUN"])
    dueline.put_calendar("holidays", dates=["2026-01-06"])
    job = dueline.create_job(schedule={"cron": "0 9 * * *", "calendars": ["weekends", "holidays"]})
    dueline.advance("15d")
    dueline.put_calendar("holidays", dates=["2026-01-06", "2026-01-20/2026-01-21"])
    dueline.advance("15d")
    days = [call.at.day for call in dueline.calls]
    assert days == [1, 2, 5, 7, 8, 9, 12, 13, 14, 15, 16, 19, 22, 23, 26, 27, 28, 29, 30]
    account = dueline.audit(job["id"])
    assert (account["expected"], account["missed"], account["doubled"]) == (30, 0, 0)
    assert account["reasons"] == {"calendar": 11}


async def test_the_calendars_of_many_jobs_are_read_once(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    await put(books, off(1))
    asked: list[object] = []
    read = books.store.calendars

    async def counted(keys: Collection[tuple[str, str]]) -> list[NamedCalendar]:
        asked.append(keys)
        return await read(keys)

    monkeypatch.setattr(books.store, "calendars", counted)

    def define(job_id: JobId, _now_ms: int) -> Definition:
        return a_definition(job_text(job_id), schedule=NOON)

    created = await books.operations.create_jobs(DEFAULT_TENANT, [define] * 50)
    assert (len(created.jobs), created.refused) == (50, {})
    assert asked == [{(DEFAULT_TENANT, "off")}]
