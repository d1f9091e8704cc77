"""The historian: room for the days to come, and an end to what is too old, with an account that bears it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import closing

import pytest

from dueline.domain import limits
from dueline.domain.job import DEFAULT_TENANT
from dueline.domain.quotas import Quotas
from dueline.domain.schedule import Every
from dueline.engine.historian import Historian
from dueline.store.shapes import Tenant
from tests.engine.books import DAY_MS, DAY_S, Books
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Target

HOUR_S = 3_600.0


class Passes:
    """History that is swept in so many passes, and so many requests and changes that are too old."""

    def __init__(
        self, passes: int, requests: int = 0, changes: int = 0, jobs: int = 0, told: int = 0, deleted: int = 0
    ) -> None:
        self.left = passes
        self.told = told
        self.deleted = deleted
        self.jobs = jobs
        self.requests = requests
        self.changes = changes
        self.calls: list[str] = []

    async def forget_requests(self, *, limit: int) -> int:
        forgotten = min(self.requests, limit)
        self.requests -= forgotten
        return forgotten

    async def forget_changes(self, *, kept_ms: int, limit: int) -> int:
        assert kept_ms == limits.EVENTS_KEPT_MS
        forgotten = min(self.changes, limit)
        self.changes -= forgotten
        return forgotten

    async def prepare_history(self, *, days_ahead: int) -> None:
        assert days_ahead == limits.HISTORY_DAYS_AHEAD
        self.calls.append("prepare")

    async def sweep_jobs(self, *, limit: int) -> bool:
        assert limit == limits.HISTORY_SWEPT_MAX
        self.jobs -= 1
        return self.jobs > 0

    async def forget_told(self, *, keep_days: int, limit: int) -> bool:
        assert (keep_days, limit) == (7, limits.HISTORY_SWEPT_MAX)
        self.told -= 1
        return self.told > 0

    async def forget_deleted(self, *, keep_days: int, limit: int) -> bool:
        assert (keep_days, limit) == (7, limits.JOBS_FORGOTTEN_MAX)
        self.deleted -= 1
        return self.deleted > 0

    async def sweep_history(self, *, keep_days: int, limit: int) -> bool:
        assert (keep_days, limit) == (7, limits.HISTORY_SWEPT_MAX)
        self.calls.append("sweep")
        self.left -= 1
        return self.left > 0


async def test_passes_follow_one_another_until_all_is_swept() -> None:
    history = Passes(3)
    historian = Historian(history, keep_days=7)
    delays = [await historian.step() for _ in range(4)]
    assert delays[2:] == [HOUR_S, HOUR_S]
    assert max(delays[:2]) < 0.1
    assert history.calls == ["prepare", "sweep", "sweep", "sweep", "prepare", "sweep"]


async def test_they_follow_until_all_requests_are_forgotten_that_are_too_old() -> None:
    history = Passes(0, requests=2 * limits.HISTORY_SWEPT_MAX)
    historian = Historian(history, keep_days=7)
    delays = [await historian.step() for _ in range(3)]
    assert (history.requests, delays[2]) == (0, HOUR_S)
    assert max(delays[:2]) < 0.1


async def test_they_follow_until_all_changes_are_forgotten_that_are_too_old() -> None:
    history = Passes(0, changes=2 * limits.HISTORY_SWEPT_MAX)
    historian = Historian(history, keep_days=7)
    delays = [await historian.step() for _ in range(3)]
    assert (history.changes, delays[2]) == (0, HOUR_S)
    assert max(delays[:2]) < 0.1


@pytest.mark.parametrize("of", ["jobs", "told", "deleted"])
async def test_they_follow_until_all_is_looked_at(of: str) -> None:
    history = Passes(0, **{of: 3})
    historian = Historian(history, keep_days=7)
    delays = [await historian.step() for _ in range(3)]
    assert delays[2] == HOUR_S
    assert max(delays[:2]) < 0.1


@pytest.fixture
async def books(under_test: StoreUnderTest, target: Target) -> AsyncIterator[Books]:
    with closing(Books(under_test, target)) as books:
        await books.add()
        yield books


async def test_an_audit_does_not_miss_what_its_job_forgot_though_it_keeps_more_by_now(books: Books) -> None:
    job = await books.job(Every(DAY_MS, START_MS), retention_ms=2 * DAY_MS)
    other = await books.job(Every(DAY_MS, START_MS))
    await books.leap(3)
    for _ in range(5):
        await books.leap(DAY_S - 6)
        await books.advance(6, tick_s=0.5)
    await books.edit(job, retention_ms=None)
    account = await books.auditor.audit(DEFAULT_TENANT, job.id, from_ms=START_MS, to_ms=books.now_ms)
    assert (account.missed, account.doubled) == (0, 0)
    assert START_MS < account.from_ms <= books.now_ms - 2 * DAY_MS
    assert 2 <= account.expected < 5
    account = await books.auditor.audit(DEFAULT_TENANT, other.id, from_ms=START_MS, to_ms=books.now_ms)
    assert (account.from_ms, account.missed, account.expected) == (START_MS, 0, 5)


async def test_an_audit_does_not_miss_what_was_forgotten(books: Books) -> None:
    await books.store.put_tenant(Tenant(tenant=DEFAULT_TENANT, quotas=Quotas(retention_days=2)))
    job = await books.job(Every(DAY_MS, START_MS))
    await books.leap(3)
    for _ in range(5):
        await books.leap(DAY_S - 6)
        await books.advance(6, tick_s=0.5)
    account = await books.auditor.audit(DEFAULT_TENANT, job.id, from_ms=START_MS, to_ms=books.now_ms)
    assert (account.missed, account.doubled) == (0, 0)
    assert START_MS < account.from_ms <= books.now_ms - 2 * DAY_MS
    assert 2 <= account.expected < 5
