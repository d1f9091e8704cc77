"""The dedupe key of a job is for runs that somebody asks for: its occurrences have their verdicts whoever has it."""

from collections.abc import AsyncIterator
from contextlib import closing

import pytest

from dueline.domain.errors import Conflict
from dueline.domain.job import DEFAULT_TENANT
from dueline.domain.ledger import Verdict
from dueline.domain.schedule import Every
from dueline.domain.uniqueness import Dedupe, OnConflict
from tests.engine.books import HOUR_MS, MINUTE_MS, Books
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Target


@pytest.fixture
async def books(under_test: StoreUnderTest, target: Target) -> AsyncIterator[Books]:
    with closing(Books(under_test, target)) as books:
        await books.add()
        yield books


async def test_occurrences_fire_whatever_run_has_the_key_of_their_job(books: Books) -> None:
    job = await books.job(Every(MINUTE_MS, START_MS), dedupe=Dedupe(key="k", window_ms=HOUR_MS))
    await books.operations.run_job(DEFAULT_TENANT, job.id, force=False)
    with pytest.raises(Conflict, match="the dedupe key is taken"):
        await books.operations.run_job(DEFAULT_TENANT, job.id, force=False)
    await books.advance(130, tick_s=1.0)
    found = await books.ledgers.occurrences(
        DEFAULT_TENANT, job.id, from_ms=START_MS, to_ms=START_MS + 2 * MINUTE_MS, limit=10
    )
    assert [one.verdict for one in found][-2:] == [Verdict.FIRED] * 2
    assert all(one.reason is None for one in found)


async def test_a_run_that_is_asked_for_again_is_answered_by_the_one_that_stands_for_it(books: Books) -> None:
    job = await books.job(None, dedupe=Dedupe(key="k", on_conflict=OnConflict.IGNORE))
    first = await books.operations.run_job(DEFAULT_TENANT, job.id, force=False)
    assert await books.operations.run_job(DEFAULT_TENANT, job.id, force=False) == first
    assert await books.operations.run_job(DEFAULT_TENANT, job.id, force=True) != first
