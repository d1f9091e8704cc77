"""Jitter: the same for every scheduler, within its bound, before the following occurrence, and visible as the due time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import closing

import msgspec
import pytest

from dueline.domain.firing import jitter_of
from dueline.domain.job import DEFAULT_TENANT, Job
from dueline.domain.ledger import Verdict
from dueline.domain.planning import Misfire, MisfirePolicy
from dueline.domain.run import Run
from dueline.domain.schedule import Cron, Every
from dueline.domain.states import RunState
from dueline.engine.insights import Insights
from dueline.runtime.clock import StoreTime
from dueline.testing import VirtualDueline
from tests.engine.books import MINUTE_MS, MINUTE_S, Books
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Target

SPREAD = Cron("* * * * *", jitter_ms=50_000)


@pytest.fixture
async def books(under_test: StoreUnderTest, target: Target) -> AsyncIterator[Books]:
    with closing(Books(under_test, target)) as books:
        await books.add("one")
        await books.settle()
        yield books


async def waiting(books: Books) -> tuple[Job, Run]:
    """A job whose first run waits for its due time, which is some seconds away."""
    while True:
        job = await books.job(SPREAD)
        if 20_000 < delay_ms(job) < 40_000:
            break
    await books.leap(MINUTE_S - 1)
    await books.advance(2, tick_s=0.5)
    (run,) = await books.runs_of(job)
    return job, run


def delay_ms(job: Job, at_ms: int = START_MS + MINUTE_MS) -> int:
    return jitter_of(job.id, at_ms, jitter_ms=50_000, following_ms=at_ms + MINUTE_MS)


async def after(books: Books, run: Run) -> Run:
    found = await books.store.run(DEFAULT_TENANT, run.id)
    assert found is not None
    return found


async def test_a_run_waits_as_scheduled_until_it_is_due_and_then_starts(books: Books) -> None:
    job, run = await waiting(books)
    assert (run.state, run.scheduled_ms) == (RunState.SCHEDULED, START_MS + MINUTE_MS)
    assert run.due_ms == run.scheduled_ms + delay_ms(job)
    time = StoreTime(books.clock)
    time.measured(books.now_ms, sent_s=books.clock.monotonic_s())
    seen = await Insights(books.store, lambda: time).run(DEFAULT_TENANT, run.id)
    assert (seen.state, seen.due_ms) == (RunState.SCHEDULED, run.due_ms)
    (one,) = await books.told(job)
    assert (one.verdict, one.reason) == (Verdict.WAITING, "scheduled")
    await books.leap((run.due_ms - books.now_ms) / 1000 - 3)
    await books.advance(2.5)
    assert job.definition.name not in {hit.headers["dueline-job"] for hit in books.target.hits}
    await books.advance(1)
    ended = await after(books, run)
    assert ended.state is RunState.SUCCEEDED
    assert ended.started_ms is not None
    assert 0 <= ended.started_ms - run.due_ms <= 250
    assert (await books.sound_account(job)).verdicts == {Verdict.FIRED: 1}, "it was not late: it was asked for so"


async def test_another_scheduler_comes_to_the_same_times(books: Books) -> None:
    job = await books.job(Every(5_000, START_MS, jitter_ms=4_000))
    await books.advance(12, tick_s=0.5)
    (one,) = books.nodes
    one.kill()
    await books.store.leave(one.boot_id)
    await books.add("two")
    await books.advance(15, tick_s=0.5)
    runs = await books.runs_of(job)
    assert len(runs) >= 5
    for run in runs:
        told = jitter_of(job.id, run.scheduled_ms, jitter_ms=4_000, following_ms=run.scheduled_ms + 5_000)
        assert run.due_ms == run.scheduled_ms + told


async def test_a_pause_in_the_wait_holds_the_run_and_a_resume_does_not_start_it_early(books: Books) -> None:
    job, run = await waiting(books)
    await books.pause(job)
    assert (await after(books, run)).state is RunState.HELD
    await books.advance(2)
    await books.resume(job)
    await books.advance(2)
    assert (await after(books, run)).started_ms is None
    assert books.now_ms < run.due_ms
    await books.leap((run.due_ms - books.now_ms) / 1000 - 1)
    await books.advance(2)
    ended = await after(books, run)
    assert ended.state is RunState.SUCCEEDED
    assert ended.started_ms is not None
    assert ended.started_ms >= run.due_ms


async def test_a_pause_over_the_due_time_follows_the_misfire_policy(books: Books) -> None:
    job, run = await waiting(books)
    await books.edit(job, misfire=Misfire(policy=MisfirePolicy.SKIP))
    await books.pause(job)
    await books.leap(MINUTE_S - 5)
    await books.resume(job)
    await books.advance(1)
    ended = await after(books, run)
    assert (ended.state, ended.reason) == (RunState.CANCELLED, "misfire")
    await books.sound_account(job)


async def test_an_edit_in_the_wait_leaves_the_run_and_its_time(books: Books) -> None:
    job, run = await waiting(books)
    await books.edit(job, schedule=msgspec.structs.replace(SPREAD, jitter_ms=0), priority=9)
    assert await after(books, run) == run
    await books.leap((run.due_ms - books.now_ms) / 1000 - 1)
    await books.advance(2)
    await books.leap((START_MS + 2 * MINUTE_MS - books.now_ms) / 1000 - 1)
    await books.advance(2)
    first, second = await books.runs_of(job)
    assert (first.version, first.due_ms, first.state) == (1, run.due_ms, RunState.SUCCEEDED)
    assert (second.version, second.due_ms) == (2, START_MS + 2 * MINUTE_MS)
    await books.sound_account(job)


async def test_an_edit_before_the_scheduled_time_takes_the_run_back(books: Books) -> None:
    job = await books.job(SPREAD)
    await books.leap(58)
    await books.advance(1.5, tick_s=0.5)
    assert [run.state for run in await books.runs_of(job)] == [RunState.SCHEDULED]
    await books.edit(job, schedule=Cron("* * * * *"))
    assert await books.runs_of(job) == []
    await books.advance(1.5)
    (run,) = await books.runs_of(job)
    assert (run.version, run.due_ms, run.state) == (2, START_MS + MINUTE_MS, RunState.SUCCEEDED)


async def test_a_delete_in_the_wait_ends_the_run(books: Books) -> None:
    job, run = await waiting(books)
    await books.operations.delete_job(DEFAULT_TENANT, job.id, expected_version=None)
    ended = await after(books, run)
    assert (ended.state, ended.reason) == (RunState.CANCELLED, "job_deleted")
    await books.leap(MINUTE_S)
    await books.advance(2)
    assert job.definition.name not in {hit.headers["dueline-job"] for hit in books.target.hits}


@pytest.mark.parametrize(("expression", "period_s"), [("* * * * *", 60), ("*/20 * * * *", 1_200)])
def test_hours_of_calls_within_the_bound_and_before_the_following(
    dueline: VirtualDueline, expression: str, period_s: int
) -> None:
    job = dueline.create_job(schedule={"cron": expression, "jitter": "PT10M"}, overlap="allow")
    dueline.advance("8h")
    dueline.advance("10m")
    late_s = [call.late_by.total_seconds() for call in dueline.calls]
    bound_s = min(600, period_s)
    assert all(0 <= delay_s < bound_s for delay_s in late_s)
    assert max(late_s) - min(late_s) > bound_s / 2, "they are spread"
    assert [call.scheduled_at for call in dueline.calls] == sorted({call.scheduled_at for call in dueline.calls})
    due = {run["id"]: run["due_at"] for run in dueline.runs(job["id"])}
    assert all(
        call.at.isoformat(timespec="milliseconds").replace("+00:00", "Z") == due[call.run_id] for call in dueline.calls
    )
    account = dueline.audit(job["id"])
    assert (account["missed"], account["doubled"], account["late"]) == (0, 0, 0)


def test_jobs_of_one_schedule_come_apart(dueline: VirtualDueline) -> None:
    for _ in range(20):
        dueline.create_job(schedule={"cron": "0 * * * *", "jitter": "PT30M"})
    dueline.advance("1h30m")
    assert len({call.at for call in dueline.calls}) == 20
