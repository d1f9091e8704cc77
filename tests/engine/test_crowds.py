"""Many jobs that are due in one second: their runs are written over the seconds before, and nothing else about them is different."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import closing
from typing import Any

import pytest

from dueline.domain import limits
from dueline.domain.calendars import Calendar
from dueline.domain.job import DEFAULT_TENANT, Job
from dueline.domain.ledger import Verdict
from dueline.domain.planning import Misfire, MisfirePolicy
from dueline.domain.schedule import After, At, Cron, Every, Schedule
from dueline.domain.states import JobState, RunState
from dueline.store.fleet import Role
from tests.engine.books import MINUTE_MS, MINUTE_S, Books
from tests.support.stores import START_MS, StoreUnderTest, a_job
from tests.support.target import Target

DUE_MS = START_MS + MINUTE_MS
MINUTELY = Cron("* * * * *")
MANY = 12


@pytest.fixture
async def books(under_test: StoreUnderTest, target: Target) -> AsyncIterator[Books]:
    with closing(Books(under_test, target)) as books:
        yield books


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """A crowd that a test can tell a story about."""
    monkeypatch.setattr(limits, "CROWD_MIN", MANY)


async def crowd(books: Books, schedule: Schedule = MINUTELY, *, jobs: int = MANY, **fields: Any) -> list[Job]:
    """So many jobs with a node, as of twenty seconds before they are due."""
    await books.add("one")
    await books.settle()
    made = [await books.job(schedule, **fields) for _ in range(jobs)]
    await books.leap(MINUTE_S - 21)
    await books.advance(1)
    return made


async def in_sight(books: Books, schedule: Schedule = MINUTELY, **fields: Any) -> list[Job]:
    """The same ten seconds later: all of their runs are written, and wait."""
    jobs = await crowd(books, schedule, **fields)
    await books.advance(10)
    assert Counter(run.state for run in await books.runs()) == {RunState.SCHEDULED: len(jobs)}
    return jobs


def calls(books: Books) -> Counter[str]:
    return Counter(hit.headers["dueline-job"] for hit in books.target.hits)


async def test_a_crowd_is_written_over_the_seconds_before_its_last(books: Books) -> None:
    await books.add("one", role=Role.SCHEDULER)
    await books.settle()
    schedule = Every(60_000, DUE_MS)
    for _ in range(6):
        assert None not in await books.store.create_jobs(
            [a_job(next_ms=DUE_MS, schedule=schedule) for _ in range(1_000)]
        )
    other = await books.job(Every(1_000, START_MS))
    await books.leap(MINUTE_S - 20)
    await books.advance(18)
    runs = [run for run in await books.runs() if run.job_id != other.id]
    assert {run.state for run in runs} == {RunState.SCHEDULED}
    assert len(runs) > 5_500, "but for a last page, which need not hurry"
    written = Counter((DUE_MS - run.created_ms) // 1_000 for run in runs)
    assert max(written) <= limits.CROWD_AHEAD_MS // 1_000
    assert min(written) >= 1
    assert len(written) >= 6, "not all at once"
    assert max(written.values()) <= 1_000
    beside = [run for run in await books.runs() if run.job_id == other.id]
    assert len(beside) >= 18
    assert all(run.scheduled_ms - run.created_ms <= limits.AHEAD_MS for run in beside[1:]), "others as ever"
    await books.advance(1.25)
    await books.settle()
    runs = [run for run in await books.runs() if run.job_id != other.id]
    assert (len(runs), {run.state for run in runs}) == (6_000, {RunState.READY}), "all of them, in the last second"


@pytest.mark.usefixtures("few_are_many")
async def test_nothing_of_a_crowd_starts_early_or_twice(books: Books) -> None:
    jobs = await in_sight(books)
    await books.advance(9.75)
    assert books.target.hits == []
    await books.advance(0.5)
    assert calls(books) == {job.definition.name: 1 for job in jobs}
    await books.advance(2)
    assert calls(books) == {job.definition.name: 1 for job in jobs}
    assert {run.scheduled_ms for run in await books.runs()} == {DUE_MS}
    for job in jobs:
        assert (await books.sound_account(job)).verdicts == {Verdict.FIRED: 1}


@pytest.mark.usefixtures("few_are_many")
async def test_few_are_written_in_their_last_second(books: Books) -> None:
    await crowd(books, jobs=MANY - 1)
    await books.advance(18.75)
    assert await books.runs() == []
    await books.advance(2)
    assert len(calls(books)) == MANY - 1


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("schedule", [MINUTELY, At(DUE_MS), After(5_000, first_ms=DUE_MS)])
async def test_a_job_that_changes_meanwhile_loses_what_was_written(books: Books, schedule: Schedule) -> None:
    edited, paused, deleted, moved, *others = await in_sight(books, schedule)
    await books.edit(edited, priority=9)
    assert (await books.pause(paused)).next_ms == DUE_MS
    await books.operations.delete_job(DEFAULT_TENANT, deleted.id, expected_version=None)
    await books.edit(moved, schedule=At(DUE_MS + 2_000))
    await books.advance(10.25)
    assert calls(books) == {job.definition.name: 1 for job in (edited, *others)}
    (run,) = await books.runs_of(edited)
    assert (run.version, run.priority, run.scheduled_ms) == (2, 9, DUE_MS)
    assert [await books.runs_of(job) for job in (paused, deleted, moved)] == [[], [], []]
    await books.resume(paused)
    await books.advance(3)
    assert [[run.scheduled_ms for run in await books.runs_of(job)] for job in (paused, deleted, moved)] == [
        [DUE_MS],
        [],
        [DUE_MS + 2_000],
    ]
    assert max(calls(books).values()) == 1


@pytest.mark.usefixtures("few_are_many")
async def test_what_more_is_to_be_decided_of_waits_for_its_last_second(books: Books) -> None:
    counted = [await books.job(Cron("* * * * *", max_runs=1)) for _ in range(2)]
    await books.calendars.put(DEFAULT_TENANT, "holidays", Calendar())
    bound = await books.job(Cron("* * * * *", calendars=("holidays",)))
    jobs = await crowd(books)
    await books.advance(18.75)
    assert {run.job_id for run in await books.runs()} == {job.id for job in jobs}
    await books.advance(2)
    assert calls(books) == {job.definition.name: 1 for job in (*counted, bound, *jobs)}
    assert [(await books.now_of(job)).state for job in counted] == [JobState.FINISHED] * 2


@pytest.mark.usefixtures("few_are_many")
async def test_whoever_takes_over_goes_on(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FIRE_BATCH", 4)
    jobs = await crowd(books)
    await books.advance(6)
    assert await books.runs() != []
    books.nodes[0].kill()
    await books.add("two")
    await books.advance(15, tick_s=0.1)
    assert calls(books) == {job.definition.name: 1 for job in jobs}
    for job in jobs:
        assert (await books.sound_account(job)).doubled == 0


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize(
    ("policy", "started", "verdicts"),
    [
        (MisfirePolicy.SKIP, (), {Verdict.SKIPPED: 3}),
        (MisfirePolicy.FIRE_ONCE, (2,), {Verdict.COALESCED: 2, Verdict.LATE: 1}),
        (MisfirePolicy.FIRE_ALL, (0, 1, 2), {Verdict.LATE: 3}),
    ],
)
async def test_a_crowd_that_nobody_could_start_was_missed_as_if_it_had_not_been_written(
    books: Books, policy: MisfirePolicy, started: tuple[int, ...], verdicts: dict[Verdict, int]
) -> None:
    jobs = await in_sight(books, misfire=Misfire(policy=policy))
    await books.leap(10 + 150)
    back_ms = books.now_ms
    await books.advance(20)
    for job in jobs:
        runs = [run for run in await books.runs_of(job) if run.started_ms is not None]
        assert [run.scheduled_ms for run in runs] == [DUE_MS + minute * MINUTE_MS for minute in started]
        assert all(run.due_ms >= back_ms for run in runs), "at the pace of what was missed"
        assert (await books.sound_account(job)).verdicts == verdicts


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize(
    ("late_ms", "is_late"), [(limits.MISFIRE_GRACE_MS, True), (limits.MISFIRE_GRACE_MS + 1, False)]
)
async def test_a_crowd_that_is_a_little_late_was_not_missed(books: Books, late_ms: int, is_late: bool) -> None:
    jobs = await in_sight(books, misfire=Misfire(policy=MisfirePolicy.SKIP))
    await books.leap((DUE_MS + late_ms - books.now_ms) / 1000)
    await books.settle()
    await books.advance(10)
    assert calls(books) == ({job.definition.name: 1 for job in jobs} if is_late else {})


@pytest.mark.usefixtures("few_are_many")
async def test_a_one_time_crowd_is_run_however_late(books: Books) -> None:
    jobs = await in_sight(books, At(DUE_MS), misfire=Misfire(policy=MisfirePolicy.SKIP))
    await books.leap(3_600)
    await books.advance(10)
    assert calls(books) == {job.definition.name: 1 for job in jobs}
