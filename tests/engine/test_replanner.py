"""New rules of a time zone: what is to come is found anew, earlier or later; what is past stays."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from datetime import timedelta, timezone, tzinfo

import pytest

from dueline.domain import cron, localtime
from dueline.domain.calendars import Calendar
from dueline.domain.firetimes import compile_shared
from dueline.domain.job import DEFAULT_TENANT, Job
from dueline.domain.ledger import Verdict
from dueline.domain.schedule import Cron, Every
from dueline.domain.states import JobState
from tests.engine.books import HOUR_MS, HOUR_S, Books
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Target

ZONE = "Europe/Berlin"
NINE = Cron("0 9 * * *", timezone=ZONE)
"""08:00 UTC in winter, by the rules of today."""
Adopt = Callable[[int], None]


def forget() -> None:
    """What was worked out by other rules. A real process learns of new ones when it starts."""
    for cache in (localtime.stretches, cron.next_second_after, compile_shared):
        cache.cache_clear()


@pytest.fixture
def adopt(monkeypatch: pytest.MonkeyPatch) -> Iterator[Adopt]:
    """From now on another edition counts, in which the zone is so many hours ahead."""
    known = localtime.zone_of

    def adopt(hours: int) -> None:
        def zone_of(name: str) -> tzinfo:
            return timezone(timedelta(hours=hours)) if name == ZONE else known(name)

        monkeypatch.setattr(localtime, "zone_of", zone_of)
        monkeypatch.setattr("dueline.engine.replanner.tzdata_version", lambda: "2999a")
        forget()

    yield adopt
    monkeypatch.undo()
    forget()


@pytest.fixture
async def books(under_test: StoreUnderTest, target: Target) -> AsyncIterator[Books]:
    with closing(Books(under_test, target)) as books:
        await books.add("old")
        await books.settle()
        yield books


async def upgrade(books: Books) -> None:
    """The process goes and one with the new edition comes."""
    (old,) = (node for node in books.nodes if node.alive)
    old.kill()
    await books.store.leave(old.boot_id)
    await books.add("new")
    await books.settle()


async def due_hour(books: Books, job: Job) -> float:
    """Hours from the start to when the job is due."""
    due_ms = (await books.now_of(job)).position.due_ms
    assert due_ms is not None
    return (due_ms - START_MS) / HOUR_MS


@pytest.mark.parametrize(("hours", "due"), [(3, 6), (-2, 11), (1, 8)], ids=["earlier", "later", "same"])
async def test_what_is_to_come_is_found_anew(books: Books, adopt: Adopt, hours: int, due: int) -> None:
    job = await books.job(NINE)
    assert await due_hour(books, job) == 8
    adopt(hours)
    await upgrade(books)
    assert await due_hour(books, job) == due
    await books.leap(due * HOUR_S - 2 - (books.now_ms - START_MS) / 1000)
    await books.advance(4)
    assert [hit.headers["dueline-scheduled-at"] for hit in books.target.hits] == [f"2026-01-01T{due:02}:00:00.000Z"]
    assert (await books.now_of(job)).version == 1


async def test_without_a_later_edition_nothing_is_looked_at_again(
    books: Books, adopt: Adopt, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await books.job(NINE)
    adopt(3)
    monkeypatch.setattr("dueline.engine.replanner.tzdata_version", lambda: "1999a")
    await upgrade(books)
    assert await due_hour(books, job) == 8


async def test_schedules_without_a_zone_are_not_looked_at(books: Books, adopt: Adopt) -> None:
    utc, rate = await books.job(Cron("0 9 * * *")), await books.job(Every(HOUR_MS, START_MS))
    plans = [await due_hour(books, utc), await due_hour(books, rate)]
    adopt(3)
    await upgrade(books)
    assert [await due_hour(books, utc), await due_hour(books, rate)] == plans
    assert (await books.now_of(utc)).updated_ms == utc.updated_ms


async def test_the_past_is_not_fired_again(books: Books, adopt: Adopt) -> None:
    job = await books.job(NINE)
    await books.leap(8 * HOUR_S - 2)
    await books.advance(4)
    assert len(books.target.hits) == 1
    adopt(3)
    await upgrade(books)
    # By the new rules it would have been at six: that has passed.
    assert await due_hour(books, job) == 24 + 6
    await books.leap(22 * HOUR_S - 5)
    await books.advance(6)
    assert len(books.target.hits) == 2


async def test_what_passed_by_new_rules_before_it_came_by_the_old_is_not_made_up_for(
    books: Books, adopt: Adopt
) -> None:
    job = await books.job(NINE)
    await books.leap(7 * HOUR_S)
    adopt(3)
    await upgrade(books)
    assert await due_hour(books, job) == 24 + 6
    await books.leap(2 * HOUR_S)
    await books.advance(2)
    assert books.target.hits == []


async def test_what_is_due_at_the_change_is_fired_once(books: Books, adopt: Adopt) -> None:
    job = await books.job(NINE)
    await books.leap(8 * HOUR_S + 3)
    adopt(3)
    await upgrade(books)
    await books.advance(2)
    assert [run.scheduled_ms for run in await books.runs_of(job)] == [START_MS + 8 * HOUR_MS]
    assert await due_hour(books, job) == 24 + 6


async def test_a_run_written_ahead_stays_and_is_not_doubled(books: Books, adopt: Adopt) -> None:
    job = await books.job(Cron("* * * * * *", timezone=ZONE))
    await books.advance(2.5)
    adopt(3)
    (old,) = books.nodes
    old.kill()
    await books.store.leave(old.boot_id)
    await books.add("new")
    await books.settle()
    await books.advance(3)
    runs = [run.scheduled_ms for run in await books.runs_of(job) if run.scheduled_ms <= books.now_ms]
    assert runs == [START_MS + second * 1000 for second in range(1, 6)]
    await books.sound_account(job)


async def test_a_paused_job_is_resumed_by_the_new_rules(books: Books, adopt: Adopt) -> None:
    job = await books.job(NINE)
    await books.pause(job)
    adopt(-2)
    await upgrade(books)
    assert (await books.now_of(job)).state is JobState.PAUSED
    resumed = await books.resume(job)
    assert resumed.position.due_ms == START_MS + 11 * HOUR_MS


async def test_excluded_days_begin_by_the_new_rules(books: Books, adopt: Adopt) -> None:
    first = localtime.wall_day("UTC", START_MS // 1000)
    await books.calendars.put(DEFAULT_TENANT, "off", Calendar(ranges=((first, first),)))
    job = await books.job(Cron("0 * * * *", timezone=ZONE, calendars=("off",)))
    assert await due_hour(books, job) == 23, "midnight of the next day, by the wall clock"
    adopt(3)
    await upgrade(books)
    assert await due_hour(books, job) == 21
    await books.leap(21 * HOUR_S - 2)
    await books.advance(4)
    account = await books.sound_account(job)
    assert (account.verdicts[Verdict.FIRED], account.reasons) == (1, {"calendar": 20})


async def test_many_plans_are_looked_at_in_batches(books: Books, adopt: Adopt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dueline.domain.limits.STALE_BATCH", 3)
    jobs = [await books.job(NINE) for _ in range(10)]
    adopt(3)
    await upgrade(books)
    assert [await due_hour(books, job) for job in jobs] == [6] * 10
