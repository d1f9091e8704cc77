"""Jobs that were to run once go a while after they have; others stay."""

from collections.abc import AsyncIterator
from contextlib import closing

import pytest

from dueline.domain import limits
from dueline.domain.errors import NotFound
from dueline.domain.ids import job_text
from dueline.domain.job import DEFAULT_TENANT, Job
from dueline.domain.schedule import At, Every
from dueline.domain.states import JobState, RunState
from dueline.engine.expirer import Expirer
from dueline.store.shapes import JobFilter, RunFilter
from tests.engine.books import DAY_S, HOUR_MS, Books
from tests.support.stores import START_MS, StoreUnderTest, the_job
from tests.support.target import Target

KEEP_DAYS = 3


@pytest.fixture
async def books(under_test: StoreUnderTest, target: Target) -> AsyncIterator[Books]:
    with closing(Books(under_test, target)) as books:
        await books.add()
        yield books


@pytest.fixture
def expirer(books: Books) -> Expirer:
    return Expirer(books.store, keep_days=KEEP_DAYS)


async def living(books: Books) -> set[bytes]:
    return {job.id for job in await books.store.jobs_page(JobFilter(tenant=DEFAULT_TENANT), before=None, limit=100)}


async def finished(books: Books, *, name: str = "once") -> Job:
    job = await books.job(At(books.now_ms + 1_000), name=name)
    await books.advance(4, tick_s=0.5)
    return await the_job(books.store, job.id)


async def test_a_job_that_ran_once_goes_when_its_time_is_over_and_its_run_stays(books: Books, expirer: Expirer) -> None:
    job = await finished(books)
    assert job.state is JobState.FINISHED
    await books.store_clock.set_ms(job.updated_ms + KEEP_DAYS * DAY_S * 1_000 - 1)
    assert await expirer.step() == pytest.approx(3_600)
    assert job.id in await living(books)
    await books.store_clock.advance(0.001)
    await expirer.step()
    assert await living(books) == set()
    (run,) = await books.store.runs_page(RunFilter(tenant=DEFAULT_TENANT, job_id=job.id), before=None, limit=10)
    assert run.state is RunState.SUCCEEDED
    again = await books.job(At(books.now_ms + HOUR_MS), name="once")
    await books.store_clock.advance((KEEP_DAYS + 1) * DAY_S)
    await expirer.step()
    assert await living(books) == {again.id}, "it has not run yet"


async def test_jobs_stay_that_finished_with_the_end_of_another_schedule_or_never_do(
    books: Books, expirer: Expirer
) -> None:
    ended = await books.job(Every(1_000, START_MS, max_runs=1))
    asked = await books.job(None)
    await books.advance(4, tick_s=0.5)
    assert (await the_job(books.store, ended.id)).state is JobState.FINISHED
    await books.store_clock.advance(30 * DAY_S)
    await expirer.step()
    assert {ended.id, asked.id} <= await living(books)


async def test_a_job_that_is_changed_counts_from_then_on(books: Books, expirer: Expirer) -> None:
    job = await finished(books)
    await books.store_clock.advance((KEEP_DAYS - 1) * DAY_S)
    await books.edit(job, tags=("kept",))
    await books.store_clock.advance(2 * DAY_S)
    await expirer.step()
    assert await living(books) == {job.id}
    await books.store_clock.advance(2 * DAY_S)
    await expirer.step()
    assert await living(books) == set()


async def test_a_job_of_which_a_run_waits_stays_until_it_does_not(books: Books, expirer: Expirer) -> None:
    job = await finished(books)
    await books.store_clock.advance(KEEP_DAYS * DAY_S)
    run_id = await books.operations.run_job(DEFAULT_TENANT, job.id, force=False)
    await expirer.step()
    assert await living(books) == {job.id}
    await books.operations.cancel_run(DEFAULT_TENANT, run_id)
    await expirer.step()
    with pytest.raises(NotFound, match=job_text(job.id)):
        await books.pause(job)


async def test_more_than_a_step_looks_at_follow_in_the_next_ones(
    books: Books, expirer: Expirer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "EXPIRE_BATCH", 2)
    ended = [await books.job(Every(1_000, START_MS, max_runs=1)) for _ in range(3)]
    for _ in range(3):
        await books.job(At(books.now_ms + 1_000))
    await books.advance(4, tick_s=0.5)
    await books.store_clock.advance((KEEP_DAYS + 1) * DAY_S)
    delays = [await expirer.step() for _ in range(4)]
    assert max(delays[:3]) < 1
    assert delays[3] == pytest.approx(3_600)
    assert await living(books) == {job.id for job in ended}
