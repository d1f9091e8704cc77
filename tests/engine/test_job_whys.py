"""Why jobs do not run, told from what there is: by real nodes and real runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import closing

import pytest

from dueline.domain.calendars import Calendar
from dueline.domain.errors import NotFound
from dueline.domain.ids import BootId, job_text, run_text
from dueline.domain.job import DEFAULT_QUEUE, DEFAULT_TENANT, Job
from dueline.domain.overlap import Overlap
from dueline.domain.planning import Misfire, MisfirePolicy
from dueline.domain.retry import Backoff, RetryPolicy
from dueline.domain.schedule import After, At, Every
from dueline.engine.jobwhys import JobWaitsFor, JobWhy
from dueline.store.fleet import NewNode, Role
from tests.engine.books import MINUTE_MS, Books
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Answer, Silence, Target

EVERY_MINUTE = Every(MINUTE_MS, START_MS)
ONCE = {"retry": RetryPolicy(max_attempts=1)}


@pytest.fixture
async def books(under_test: StoreUnderTest, target: Target) -> AsyncIterator[Books]:
    target.on("/down", lambda _hit: Answer(status=503))
    target.on("/slow", lambda _hit: Silence.HANG)
    with closing(Books(under_test, target)) as books:
        yield books


async def why(books: Books, job: Job) -> JobWhy:
    return await books.job_whys.why(DEFAULT_TENANT, job.id)


async def test_a_job_that_waits_for_its_time_tells_it(books: Books) -> None:
    job = await books.job(EVERY_MINUTE)
    told = await why(books, job)
    assert (told.waits_for, told.next_ms, told.also) == (JobWaitsFor.TIME, START_MS + MINUTE_MS, ())
    assert told.because == "it waits for its next time, 2026-01-01T00:01:00.000Z"
    with pytest.raises(NotFound, match=job_text(job.id)):
        await books.job_whys.why("somebody", job.id)


async def test_a_job_without_a_schedule_waits_to_be_asked(books: Books) -> None:
    told = await why(books, await books.job(None))
    assert (told.waits_for, told.next_ms) == (JobWaitsFor.REQUEST, None)


async def test_a_paused_job_tells_since_when_and_its_note(books: Books) -> None:
    job = await books.job(EVERY_MINUTE)
    await books.operations.pause_job(DEFAULT_TENANT, job.id, note="the bank is closed")
    await books.leap(3600)
    told = await why(books, job)
    assert (told.waits_for, told.next_ms) == (JobWaitsFor.RESUME, None)
    assert told.because == (
        "it has been paused since 2026-01-01T00:00:00.000Z or longer, and goes on when it is resumed: the bank is closed"
    )


async def test_a_cancelled_job_and_a_finished_one_wait_for_nothing(books: Books) -> None:
    job, once = await books.job(EVERY_MINUTE), await books.job(At(START_MS + 1_000))
    await books.operations.cancel_job(DEFAULT_TENANT, job.id, note="over", stop_running=False, expected_version=None)
    await books.add()
    await books.advance(3)
    told = await why(books, job)
    assert (told.waits_for, told.because) == (None, "it was cancelled at 2026-01-01T00:00:00.000Z, for good: over")
    told = await why(books, once)
    assert (told.waits_for, told.because) == (None, "it has finished: nothing more of its schedule comes")


async def test_a_job_that_is_overdue_names_the_scheduler_that_is_missing(books: Books) -> None:
    job = await books.job(EVERY_MINUTE)
    await books.leap(90)
    told = await why(books, job)
    assert (told.waits_for, told.next_ms) == (JobWaitsFor.SCHEDULER, START_MS + MINUTE_MS)
    came = "its time came at 2026-01-01T00:01:00.000Z, and"
    assert told.because == f"{came} no scheduler is alive to fire it"
    await books.store.register(a_scheduler(), lease_s=30)
    assert "no scheduler that is alive has taken its shard, " in (await why(books, job)).because
    leases = {lease.shard: lease.epoch for lease in await books.store.shards()}
    await books.store.take_shards(a_scheduler().boot_id, leases)
    assert (await why(books, job)).because == f"{came} the scheduler idle on here has not come to it yet"


async def test_a_run_that_waits_is_named_with_what_it_waits_for(books: Books) -> None:
    job = await books.job(EVERY_MINUTE, overlap=Overlap.QUEUE_ALL, path="/slow")
    await books.add()
    await books.fleet.pause_queue(DEFAULT_QUEUE, note="moving")
    await books.advance(61, calls_end=False)
    (run,) = await books.runs_of(job)
    told = await why(books, job)
    assert (told.waits_for, told.run, told.next_ms) == (JobWaitsFor.RUN, run.id, START_MS + 2 * MINUTE_MS)
    assert told.because == f"its run {run_text(run.id)} waits: the queue default is paused: moving"


async def test_a_run_under_way_is_named_and_so_is_the_one_that_a_delay_counts_from(books: Books) -> None:
    job = await books.job(After(delay_ms=MINUTE_MS, first_ms=START_MS + 1_000), path="/slow")
    await books.add()
    await books.advance(3, calls_end=False)
    (run,) = await books.runs_of(job)
    told = await why(books, job)
    assert (told.waits_for, told.run) == (JobWaitsFor.RUN, run.id)
    assert told.because.startswith(f"its run {run_text(run.id)} has not ended: it is under way on node since ")


async def test_a_job_that_keeps_failing_tells_the_last_error_and_how_often(books: Books) -> None:
    job = await books.job(EVERY_MINUTE, path="/down", execution=ONCE)
    await books.add()
    await books.advance(181)
    runs = await books.runs_of(job)
    failed = [run for run in runs if run.finished_ms is not None]
    told = await why(books, job)
    assert told.also == (
        f"its run {run_text(failed[-1].id)} of 2026-01-01T00:03:00.000Z failed: the target answered 503",
        "its last 3 runs did not succeed",
    )
    ended = await books.whys.why(DEFAULT_TENANT, failed[-1].id)
    assert ended.because == "it has failed: the target answered 503"


async def test_a_run_that_is_tried_again_tells_what_went_wrong(books: Books) -> None:
    retry = RetryPolicy(max_attempts=3, backoff=Backoff.FIXED, base_ms=30_000)
    job = await books.job(EVERY_MINUTE, path="/down", execution={"retry": retry})
    await books.add()
    await books.advance(62)
    (run,) = await books.runs_of(job)
    because = (await books.whys.why(DEFAULT_TENANT, run.id)).because
    assert because.startswith("attempt 1 failed: the target answered 503, and the next is due at ")
    assert (await why(books, job)).because == f"its run {run_text(run.id)} waits: {because}"


async def test_occurrences_that_were_skipped_are_told_with_the_reason(books: Books) -> None:
    job = await books.job(EVERY_MINUTE, misfire=Misfire(policy=MisfirePolicy.SKIP))
    await books.leap(600)
    await books.add()
    await books.settle()
    (sentence,) = (await why(books, job)).also
    assert sentence.startswith("its occurrences from 2026-01-01T00:01:00.000Z to 2026-01-01T00:")
    assert sentence.endswith("were skipped (misfire)")


async def test_a_schedule_of_which_calendars_leave_nothing_says_so(books: Books) -> None:
    await books.calendars.put(DEFAULT_TENANT, "days", Calendar())
    job = await books.job(Every(MINUTE_MS, START_MS, calendars=("days",)))
    await books.calendars.put(DEFAULT_TENANT, "days", Calendar(weekdays=tuple(range(7))))
    told = await why(books, job)
    assert told.because == "its calendars and changed occurrences leave nothing of its schedule"


def a_scheduler() -> NewNode:
    return NewNode(boot_id=BootId("idle"), role=Role.SCHEDULER, host="here", pid=1, version="1")
