"""The audit: it finds what is missing, double or late, and nothing where all is well, whatever was done to a job."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import closing
from datetime import date
from typing import Any

import pytest

from dueline.domain import limits
from dueline.domain.calendars import Calendar
from dueline.domain.job import DEFAULT_TENANT, Job
from dueline.domain.ledger import SkipReason, Verdict
from dueline.domain.planning import Misfire, MisfirePolicy
from dueline.domain.schedule import After, At, Cron, Every, OnExcluded
from dueline.domain.single_changes import ChangeKind
from dueline.domain.states import JobState
from dueline.engine.audits import LateStart
from tests.engine.books import DAY_MS, DAY_S, MINUTE_MS, Books, verdicts
from tests.engine.stories import Story
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Target

EVERY_MINUTE = Every(MINUTE_MS, START_MS)
NEW_YEAR = date(2026, 1, 1).toordinal()


@pytest.fixture
async def books(under_test: StoreUnderTest, target: Target) -> AsyncIterator[Books]:
    with closing(Books(under_test, target)) as books:
        await books.add()
        yield books


async def work(books: Books, minutes: int) -> None:
    """So many minutes, in which every full minute is met."""
    for _ in range(minutes):
        await books.leap(57)
        await books.advance(3, tick_s=0.5)


async def ran(books: Books, minutes: int, **fields: Any) -> Job:
    job = await books.job(EVERY_MINUTE, **fields)
    await work(books, minutes)
    return job


async def test_nothing_is_found_where_all_is_well(books: Books) -> None:
    job = await ran(books, 3)
    account = await books.sound_account(job)
    assert (account.expected, account.verdicts, account.late) == (3, {Verdict.FIRED: 3}, 0)


async def test_a_run_that_is_not_there_is_missed(books: Books) -> None:
    job = await ran(books, 3)
    await books.under_test.tamper(f"DELETE FROM history WHERE scheduled_ms = {START_MS + 2 * MINUTE_MS}")
    account = await books.account(job)
    assert (account.expected, account.missed, account.doubled) == (3, 1, 0)
    assert account.missed_ms == [START_MS + 2 * MINUTE_MS]
    assert account.verdicts == {Verdict.FIRED: 2}


async def test_an_instant_with_two_verdicts_is_doubled(books: Books) -> None:
    job = await ran(books, 3)
    literal = f"{'x' if books.under_test.dialect == 'sqlite' else ''}'{job.id.hex()}'"
    from_ms = START_MS + MINUTE_MS
    await books.under_test.tamper(
        "INSERT INTO ledger (job_id, from_ms, to_ms, version, verdict, reason)"
        f" VALUES ({literal}, {from_ms}, {from_ms + MINUTE_MS}, 1, 'skipped', 'misfire')"
    )
    account = await books.account(job)
    assert (account.expected, account.missed, account.doubled) == (3, 0, 2)
    assert account.doubled_ms == [from_ms, from_ms + MINUTE_MS]
    assert account.verdicts == {Verdict.FIRED: 3}, "the first verdict counts"


async def test_a_run_that_started_late_is_told_with_its_times(books: Books) -> None:
    job = await books.job(EVERY_MINUTE)
    await work(books, 1)
    # Too late for the promise, and not so late that it was missed.
    await books.leap(60 + limits.LATE_MS / 1000)
    await books.advance(1)
    account = await books.sound_account(job)
    assert account.verdicts == {Verdict.FIRED: 1, Verdict.LATE: 1}
    started_ms = (await books.runs_of(job))[-1].started_ms
    assert started_ms is not None
    assert account.late_starts == [LateStart(START_MS + 2 * MINUTE_MS, started_ms)]
    assert started_ms > START_MS + 2 * MINUTE_MS + limits.LATE_MS


async def test_what_lies_in_the_future_is_not_asked_for(books: Books) -> None:
    job = await ran(books, 2)
    account = await books.auditor.audit(DEFAULT_TENANT, job.id, from_ms=0, to_ms=START_MS + DAY_MS)
    assert (account.expected, account.to_ms) == (2, books.now_ms)


async def test_a_limit_of_runs_asks_for_no_more(books: Books) -> None:
    job = await books.job(Every(MINUTE_MS, START_MS, max_runs=2))
    await work(books, 5)
    assert (await books.now_of(job)).state is JobState.FINISHED
    assert (await books.sound_account(job)).expected == 2


async def test_a_limit_over_an_outage(books: Books) -> None:
    job = await books.job(
        Every(MINUTE_MS, START_MS, max_runs=3), misfire=Misfire(policy=MisfirePolicy.FIRE_ALL, window_ms=10 * MINUTE_MS)
    )
    await work(books, 1)
    await books.leap(300)
    await books.advance(3)
    account = await books.sound_account(job)
    assert account.verdicts[Verdict.FIRED] + account.verdicts[Verdict.LATE] == 3


@pytest.mark.parametrize("paused", [False, True], ids=["nobody there", "paused"])
async def test_more_wait_than_a_limit_leaves_and_none_is_missed(books: Books, paused: bool) -> None:
    job = await books.job(Every(MINUTE_MS, START_MS, max_runs=3))
    await work(books, 1)
    if paused:
        await books.pause(job)
    await books.leap(400)
    assert (await books.sound_account(job)).verdicts == {Verdict.FIRED: 1, Verdict.WAITING: 6}


async def test_a_finished_job_that_gets_a_higher_limit_missed_nothing_meanwhile(books: Books) -> None:
    job = await books.job(Every(MINUTE_MS, START_MS, max_runs=2))
    await work(books, 5)
    await books.edit(job, schedule=Every(MINUTE_MS, START_MS, max_runs=5))
    await work(books, 2)
    account = await books.sound_account(job)
    assert account.expected == 4, "while it was finished its schedule asked for nothing"


async def test_a_fixed_delay(books: Books) -> None:
    job = await books.job(After(MINUTE_MS, START_MS + MINUTE_MS))
    await books.advance(185, tick_s=0.5)
    account = await books.sound_account(job)
    assert account.verdicts == {Verdict.FIRED: 3}


async def test_edits_each_version_counts_while_it_is_in_force(books: Books) -> None:
    job = await ran(books, 2)
    await books.edit(job, schedule=Cron("*/2 * * * *"))
    await work(books, 4)
    await books.edit(job, priority=9)
    await work(books, 2)
    await books.edit(job, schedule=None)
    await work(books, 2)
    await books.edit(job, schedule=EVERY_MINUTE)
    await work(books, 1)
    account = await books.sound_account(job)
    assert [minute for minute, *_ in verdicts(await books.told(job))] == [1, 2, 4, 6, 8, 11]
    assert account.expected == 6


async def test_an_edit_in_an_outage_leaves_what_was_due_to_the_old_schedule(books: Books) -> None:
    job = await ran(books, 1)
    await books.leap(300)
    await books.edit(job, schedule=Cron("*/2 * * * *"))
    await books.advance(1)
    await work(books, 2)
    account = await books.sound_account(job)
    # The last of the missed ones runs for those before it; the one at the edit itself is in time.
    assert account.verdicts == {Verdict.COALESCED: 3, Verdict.LATE: 1, Verdict.FIRED: 3}


async def test_pauses(books: Books) -> None:
    job = await ran(books, 1, misfire=Misfire(policy=MisfirePolicy.SKIP))
    await books.pause(job)
    await work(books, 3)
    assert (await books.sound_account(job)).verdicts[Verdict.WAITING] == 3, "nobody has decided about them yet"
    await books.resume(job)
    await books.advance(1)
    await work(books, 1)
    account = await books.sound_account(job)
    assert account.expected == 5
    # The last of them was due at the moment of the resume, and so was not missed.
    assert account.verdicts == {Verdict.FIRED: 3, Verdict.SKIPPED: 2}
    assert account.reasons == {SkipReason.PAUSED: 2}


async def test_a_schedule_that_was_replaced_while_paused(books: Books) -> None:
    job = await ran(books, 1)
    await books.pause(job)
    await work(books, 3)
    await books.edit(job, schedule=Cron("*/5 * * * *"))
    await work(books, 1)
    await books.resume(job)
    await work(books, 1)
    account = await books.sound_account(job)
    assert account.reasons[SkipReason.REPLACED] == 3


async def test_a_delete_tells_of_everything_that_was_due(books: Books) -> None:
    job = await ran(books, 2)
    await books.leap(200)
    await books.operations.delete_job(DEFAULT_TENANT, job.id, expected_version=None)
    span = {"from_ms": START_MS, "to_ms": books.now_ms, "limit": 100}
    (row,) = await books.store.unfired(job.id, **span)
    assert (row.unfired.from_ms, row.unfired.to_ms) == (START_MS + 3 * MINUTE_MS, books.now_ms)
    assert row.unfired.reason is SkipReason.JOB_DELETED
    assert len(await books.store.occurrence_runs(job.id, **span)) == 2


@pytest.mark.parametrize("on_excluded", OnExcluded)
async def test_calendars(books: Books, on_excluded: OnExcluded) -> None:
    await books.calendars.put(DEFAULT_TENANT, "off", Calendar(ranges=((NEW_YEAR + 1, NEW_YEAR + 2),)))
    job = await books.job(Cron("0 12 * * *", calendars=("off",), on_excluded=on_excluded))
    for _ in range(5):
        await books.leap(DAY_S / 2 - 3)
        await books.advance(5, tick_s=0.5)
        await books.leap(DAY_S / 2 - 2)
    account = await books.sound_account(job)
    assert account.verdicts == {Verdict.FIRED: 3, Verdict.SKIPPED: 2}
    assert account.reasons == {SkipReason.CALENDAR: 2}


async def test_single_changes(books: Books) -> None:
    job = await ran(books, 1)
    at_ms = START_MS + 3 * MINUTE_MS
    await books.change_one(job, at_ms, ChangeKind.SKIP)
    await books.change_one(job, at_ms + MINUTE_MS, ChangeKind.MOVE, at_ms + MINUTE_MS + 30_000)
    await books.change_one(job, at_ms + 2 * MINUTE_MS, ChangeKind.SKIP)
    await books.change_one(job, at_ms + 2 * MINUTE_MS, ChangeKind.RESTORE)
    await books.advance(5 * 60, tick_s=0.5)
    account = await books.sound_account(job)
    assert account.verdicts == {Verdict.FIRED: 5, Verdict.SKIPPED: 2}
    assert account.reasons == {SkipReason.REQUESTED: 1, SkipReason.MOVED: 1}


async def test_the_only_occurrence_left_out_and_put_back_has_one_verdict(books: Books) -> None:
    job = await books.job(At(START_MS + MINUTE_MS))
    await books.change_one(job, START_MS + MINUTE_MS, ChangeKind.SKIP)
    await books.change_one(job, START_MS + MINUTE_MS, ChangeKind.RESTORE)
    await work(books, 1)
    assert (await books.sound_account(job)).verdicts == {Verdict.FIRED: 1}


async def test_an_edit_takes_the_place_of_what_was_told_of_the_time_to_come(books: Books) -> None:
    job = await books.job(Every(MINUTE_MS, START_MS, end_ms=START_MS + 4 * MINUTE_MS))
    for number in (3, 4):
        await books.change_one(job, START_MS + number * MINUTE_MS, ChangeKind.SKIP)
    await work(books, 2)
    # Nothing of it fires any more.
    await books.edit(job, schedule=EVERY_MINUTE)
    await work(books, 3)
    assert (await books.sound_account(job)).verdicts == {Verdict.FIRED: 5}


async def test_a_schedule_of_which_nothing_is_left_can_be_replaced(books: Books) -> None:
    await books.calendars.put(DEFAULT_TENANT, "off", Calendar(ranges=((NEW_YEAR, NEW_YEAR),)))
    await books.leap(DAY_S - 10 * 60)
    ends_ms = START_MS + 2 * DAY_MS
    job = await books.job(Cron("* * * * *", calendars=("off",), end_ms=ends_ms))
    await books.calendars.put(DEFAULT_TENANT, "off", Calendar(ranges=((NEW_YEAR, NEW_YEAR + 9),)))
    await work(books, 2)
    await books.edit(job, schedule=Cron("* * * * *"))
    await work(books, 2)
    account = await books.sound_account(job)
    assert account.verdicts == {Verdict.SKIPPED: 2, Verdict.FIRED: 2}


async def test_an_edit_to_a_schedule_of_which_nothing_fires(books: Books) -> None:
    await books.calendars.put(DEFAULT_TENANT, "off", Calendar(ranges=((NEW_YEAR, NEW_YEAR + 9),)))
    job = await ran(books, 1)
    ends_ms = START_MS + 5 * MINUTE_MS
    await books.edit(job, schedule=Cron("*/2 * * * *", calendars=("off",), end_ms=ends_ms))
    await work(books, 5)
    account = await books.sound_account(job)
    assert account.verdicts == {Verdict.FIRED: 1, Verdict.SKIPPED: 2}


async def test_more_than_a_page_of_runs_and_of_stretches(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dueline.engine.audits._PAGE", 2)
    job = await books.job(EVERY_MINUTE)
    for number in (2, 4, 6, 8, 10):
        await books.change_one(job, START_MS + number * MINUTE_MS, ChangeKind.SKIP)
    await work(books, 11)
    assert (await books.sound_account(job)).verdicts == {Verdict.FIRED: 6, Verdict.SKIPPED: 5}


async def test_a_run_under_way_has_a_verdict(books: Books) -> None:
    job = await books.job(EVERY_MINUTE, path="/hang")
    await books.leap(59)
    await books.advance(1.5, calls_end=False)
    assert (await books.sound_account(job)).verdicts == {Verdict.FIRED: 1}


@pytest.mark.parametrize("limited", [False, True], ids=["unlimited", "limited"])
@pytest.mark.parametrize("seed", range(8))
async def test_whatever_happens_to_a_job_every_instant_has_one_verdict(books: Books, seed: int, limited: bool) -> None:
    story = await Story.begin(books, seed, limited=limited)
    for _ in range(14):
        happened = await story.happen()
        account = await books.account(story.job)
        assert (account.missed, account.doubled) == (0, 0), (happened, account)
