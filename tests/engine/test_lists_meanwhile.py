"""Lists that are read page by page while rows come, change and go: nothing is told twice, and nothing that stayed is left out."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable

import pytest

from dueline.domain import limits
from dueline.domain.ids import JobId, RunId
from dueline.domain.states import JobState
from dueline.engine.insights import Insights
from dueline.runtime.clock import StoreTime
from dueline.store.names import Names
from dueline.store.postgres import jobs as jobs_part
from dueline.store.shapes import JobFilter, RunFilter
from tests.support.cluster import NodeClock
from tests.support.stores import (
    START_MS,
    TENANT,
    StoreUnderTest,
    a_definition,
    a_finish,
    a_job,
    a_run,
    changing,
    claim,
    create,
    enqueue,
    register,
)

JOBS, RUNS = 40, 60
EVERY = JobFilter(tenant=TENANT)
PAGES_MAX = 200


@pytest.fixture
def insights(under_test: StoreUnderTest, monkeypatch: pytest.MonkeyPatch) -> Insights:
    """Pages look at few rows, so that they end in every way in which they can."""
    monkeypatch.setattr(limits, "RUNS_LOOKED_FIRST", 3)
    monkeypatch.setattr(limits, "RUNS_LOOKED_MAX", 7)
    monkeypatch.setattr(limits, "JOBS_LOOKED_FIRST", 4)
    monkeypatch.setattr(limits, "SEARCH_PATIENCE_MS", 0)
    monkeypatch.setattr(jobs_part, "_LOOKED_FOR_ONE", 0)
    clock = NodeClock(under_test.clock)
    time = StoreTime(clock)
    time.measured(under_test.clock.now_ms, sent_s=clock.monotonic_s())
    return Insights(under_test.store, lambda: time)


class Jobs:
    """Jobs of which half are needles, and what becomes of them between two pages."""

    def __init__(self, under_test: StoreUnderTest, seed: int) -> None:
        self._store = under_test.store
        self._chance = random.Random(seed)
        self._names = iter(range(1_000))
        self._living: dict[JobId, str] = {}
        self.stayed: set[JobId] = set()

    async def make(self, count: int) -> None:
        for _ in range(count):
            await self._make()
        self.stayed = {job_id for job_id, name in self._living.items() if name.startswith("needle")}

    async def stir(self) -> None:
        for _ in range(2):
            await self._make()
        gone, renamed, paused = self._chance.sample(sorted(self._living), 3)
        await self._store.change_job(TENANT, gone, changing(deleted=True))
        del self._living[gone]
        await self._store.change_job(TENANT, renamed, changing(definition=a_definition(f"other {next(self._names)}")))
        self._living[renamed] = "other"
        self.stayed -= {gone, renamed}
        await self._store.change_job(TENANT, paused, changing(state=JobState.PAUSED))

    async def _make(self) -> None:
        number = next(self._names)
        name = f"{'needle' if number % 2 else 'hay'} {number:03}"
        self._living[(await create(self._store, a_job(name))).id] = name


async def walk(
    page: Callable[[JobId | None], Awaitable[list[JobId]]], between: Callable[[], Awaitable[None]], limit: int
) -> list[JobId]:
    seen: list[JobId] = []
    for _ in range(PAGES_MAX):
        found = await page(seen[-1] if seen else None)
        seen += found[:limit]
        if len(found) <= limit:
            return seen
        await between()
    raise AssertionError("the list does not end")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("words", [(), ("needle",)], ids=["all", "searched"])
async def test_jobs(under_test: StoreUnderTest, insights: Insights, words: tuple[str, ...], seed: int) -> None:
    jobs = Jobs(under_test, seed)
    await jobs.make(JOBS)

    seen: list[JobId] = []
    before: JobId | None = None
    for _ in range(PAGES_MAX):
        found = await insights.jobs_with(EVERY, words, before=before, limit=4)
        shown = [job.id for job in found.jobs[:3]]
        seen += shown
        before = shown[-1] if len(found.jobs) > 3 else found.edge
        if before is None:
            break
        await jobs.stir()
        if under_test.dialect == "postgres":
            await under_test.tamper("UPDATE job_words SET block = get_byte(uuid_send(id), 15) % 5 WHERE block > 4")
    assert before is None
    assert seen == sorted(set(seen), reverse=True)
    assert jobs.stayed <= set(seen)


@pytest.mark.parametrize("seed", range(3))
async def test_jobs_by_name(under_test: StoreUnderTest, insights: Insights, seed: int) -> None:
    jobs = Jobs(under_test, seed)
    await jobs.make(JOBS)
    last: list[str] = []

    async def page(before: JobId | None) -> list[JobId]:
        found = await insights.jobs_named(EVERY, Names("needle", last[-1] if before else None), limit=4)
        last.extend(job.definition.name for job in found[:3])
        return [job.id for job in found]

    seen = await walk(page, jobs.stir, 3)
    assert last == sorted(set(last))
    assert len(seen) == len(set(seen))
    assert jobs.stayed <= set(seen)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("tag", [None, "rare"])
async def test_runs(under_test: StoreUnderTest, insights: Insights, tag: str | None, seed: int) -> None:
    store, chance = under_test.store, random.Random(seed)
    made = [
        a_run(due_ms=START_MS - 1_000 * number, tags=("rare",) if number % 5 == 0 else ()) for number in range(RUNS)
    ]
    await enqueue(store, *made)
    match = RunFilter(tenant=TENANT, tag=tag)
    stayed = {run.id for run in made if tag is None or tag in run.tags}
    seen: list[RunId] = []
    before: RunId | None = None
    for _ in range(PAGES_MAX):
        found = await insights.runs(match, before=before, limit=4)
        shown = [run.id for run in found.runs[:3]]
        seen += shown
        before = shown[-1] if len(found.runs) > 3 else found.edge
        if before is None:
            break
        # Some end, and others are written above and below what was read.
        claimed = await claim(store, await register(store, f"w{len(seen)}{chance.random()}"), limit=3)
        await store.finish([a_finish(one) for one in claimed])
        await enqueue(
            store, *(a_run(due_ms=START_MS - chance.randrange(1_000 * RUNS), tags=("rare",)) for _ in range(2))
        )
    assert before is None
    assert seen == sorted(set(seen), reverse=True)
    assert stayed <= set(seen)
