"""Lists of runs: a page looks at so many of them, and the pages together find all. And what single ones told of themselves."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dueline.domain import limits
from dueline.domain.ids import BootId, RunId
from dueline.domain.run import NewRun
from dueline.engine.insights import Insights
from dueline.runtime.clock import StoreTime
from dueline.store.shapes import RunFilter, Saved
from tests.support.cluster import NodeClock
from tests.support.stores import START_MS, TENANT, StoreUnderTest, a_finish, a_reclaim, a_run, enqueue, run_and_claim

RARE = RunFilter(tenant=TENANT, tag="rare")
PAGES_MAX = 100


@pytest.fixture
def insights(under_test: StoreUnderTest, monkeypatch: pytest.MonkeyPatch) -> Insights:
    monkeypatch.setattr(limits, "RUNS_LOOKED_FIRST", 3)
    monkeypatch.setattr(limits, "RUNS_LOOKED_MAX", 7)
    clock = NodeClock(under_test.clock)
    time = StoreTime(clock)
    time.measured(under_test.clock.now_ms, sent_s=clock.monotonic_s())
    return Insights(under_test.store, lambda: time)


async def fill(under_test: StoreUnderTest, count: int, *, rare: set[int]) -> list[NewRun]:
    """Runs a second apart, the latest first; the odd ones have ended."""
    runs = [
        a_run(due_ms=START_MS - 1_000 * number, tags=("rare",) if number in rare else ()) for number in range(count)
    ]
    claims = await run_and_claim(under_test.store, *runs[1::2])
    await under_test.store.finish([a_finish(claimed) for claimed in claims])
    await enqueue(under_test.store, *runs[::2])
    return runs


async def walk(insights: Insights, match: RunFilter, *, limit: int) -> list[list[RunId]]:
    """All pages of a list, read as the API does."""
    pages: list[list[RunId]] = []
    before: RunId | None = None
    for _ in range(PAGES_MAX):
        found = await insights.runs(match, before=before, limit=limit + 1)
        shown = [run.id for run in found.runs[:limit]]
        pages.append(shown)
        before = shown[-1] if len(found.runs) > limit else found.edge
        if before is None:
            return pages
    raise AssertionError("the list does not end")


@pytest.mark.parametrize("limit", [1, 2, 5, 50])
@pytest.mark.parametrize("rare", [{0}, {59}, {0, 1, 30, 58, 59}, set(range(60)), set(), {9, 10, 11, 19, 20, 21}])
async def test_the_pages_together_are_complete_and_in_order(
    under_test: StoreUnderTest, insights: Insights, rare: set[int], limit: int
) -> None:
    runs = await fill(under_test, 60, rare=rare)
    pages = await walk(insights, RARE, limit=limit)
    assert [run_id for page in pages for run_id in page] == [runs[number].id for number in sorted(rare)]
    assert all(len(page) <= limit for page in pages)


async def test_a_page_ends_where_it_has_looked_at_enough(under_test: StoreUnderTest, insights: Insights) -> None:
    runs = await fill(under_test, 60, rare={59})
    found = await insights.runs(RARE, before=None, limit=11)
    # Three of each kind are down to the fifth, and seven more of each down to the eighteenth.
    assert (found.runs, found.edge) == ([], runs[17].id)


async def test_a_list_that_fits_a_look_ends(under_test: StoreUnderTest, insights: Insights) -> None:
    runs = await fill(under_test, 16, rare={0, 15})
    found = await insights.runs(RARE, before=None, limit=11)
    assert [run.id for run in found.runs] == [runs[0].id, runs[15].id]
    assert found.edge is None


async def test_a_period_bounds_the_look(under_test: StoreUnderTest, insights: Insights) -> None:
    runs = await fill(under_test, 60, rare={50, 52})
    match = RunFilter(tenant=TENANT, tag="rare", from_ms=START_MS - 52_000, to_ms=START_MS - 49_000)
    found = await insights.runs(match, before=None, limit=11)
    assert ([run.id for run in found.runs], found.edge) == ([runs[50].id, runs[52].id], None)


async def test_runs_of_others_are_looked_at_and_not_told(under_test: StoreUnderTest, insights: Insights) -> None:
    await fill(under_test, 60, rare=set())
    pages = await walk(insights, RunFilter(tenant="nobody"), limit=10)
    assert len(pages) > 1
    assert not any(pages)


async def test_a_run_that_was_broken_off_has_told_something_though_that_attempt_does_not_count(
    under_test: StoreUnderTest, insights: Insights
) -> None:
    store = under_test.store
    (claimed,) = await run_and_claim(store)
    await store.save([Saved(claimed.run_id, claimed.token, progress=0.5)])
    broken_off = replace(a_reclaim(claimed, lost=False, owner=BootId("w1")), counted=False)
    assert await store.reclaim([broken_off]) == {claimed.run_id}
    run = await insights.run(TENANT, claimed.run_id)
    told = await insights.progress(run)
    assert (run.attempt, told and told.progress) == (0, 0.5)
