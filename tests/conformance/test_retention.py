"""Finished runs are kept as long as they are to be, to the millisecond, and their dead letters with them."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from dueline.domain.durations import DAY_MS
from dueline.domain.ids import JobId, RunId
from dueline.domain.quotas import Quotas
from dueline.domain.states import EndReason, RunState
from dueline.store.protocol import Store
from dueline.store.shapes import DeadLetterFilter, RunFilter, Tenant
from tests.support.stores import (
    START_MS,
    TENANT,
    StoreClock,
    StoreUnderTest,
    a_finish,
    a_run,
    claim,
    enqueue,
    postgres_under_test,
    register,
    sqlite_under_test,
)

KEEP = 10
DAY_S = 86_400
PASSES_MAX = 200
NO_JOB = JobId(bytes(16))


@pytest.fixture(params=["sqlite", "postgres"])
async def under_test(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[StoreUnderTest]:
    """Each store, without any days that have a partition: whole days are told of in `tests/store/postgres`."""
    if request.param == "postgres":
        opening = postgres_under_test(request.getfixturevalue("postgres_dsn"))
    else:
        opening = sqlite_under_test(tmp_path / "dueline.db")
    async with opening as under_test:
        yield under_test


async def sweep(store: Store, *, limit: int = 100) -> int:
    """To the end; answers in how many passes."""
    for passes in range(PASSES_MAX):
        if not await store.sweep_history(keep_days=KEEP, limit=limit):
            return passes
    raise AssertionError("there is no end of it")


async def end(store: Store, *tenants: str, state: RunState = RunState.SUCCEEDED, due_ms: int = START_MS) -> list[RunId]:
    """Runs that end now and 5 ms later, one of each tenant."""
    worker = await register(store)
    run_ids = await enqueue(store, *(a_run(tenant=tenant, due_ms=due_ms) for tenant in tenants))
    claims = await claim(store, worker, limit=1_000)
    assert {one.run_id for one in claims} == set(run_ids)
    await store.finish([a_finish(one, state) for one in claims])
    return run_ids


async def kept(store: Store, *tenants: str) -> list[int]:
    """How many finished runs each of them has."""
    return [len(await store.runs_page(RunFilter(tenant=one), before=None, limit=1_000)) for one in tenants]


async def keep(store: Store, tenants: Sequence[str], days: int | None) -> None:
    for tenant in tenants:
        await store.put_tenant(Tenant(tenant=tenant, quotas=Quotas(retention_days=days)))


async def test_nothing_is_forgotten_before_its_time_and_all_of_it_after(store: Store, clock: StoreClock) -> None:
    await end(store, TENANT, TENANT)
    ended_ms = START_MS + 5
    await clock.set_ms(ended_ms + KEEP * DAY_MS)
    assert await sweep(store) == 0
    assert await kept(store, TENANT) == [2]
    assert await store.history_since(TENANT, NO_JOB) == 0
    await clock.set_ms(ended_ms + KEEP * DAY_MS + 1)
    assert await sweep(store) == 1
    assert await kept(store, TENANT) == [0]
    assert await store.history_since(TENANT, NO_JOB) == ended_ms + 1


async def test_a_run_that_is_not_finished_is_not_old(store: Store, clock: StoreClock) -> None:
    (live,) = await enqueue(store, a_run())
    await clock.advance(100 * DAY_S)
    assert await sweep(store) == 0
    assert await store.run(TENANT, live) is not None


async def test_what_counts_is_when_a_run_ended_and_not_what_it_was_for(store: Store, clock: StoreClock) -> None:
    await clock.advance(100 * DAY_S)
    await end(store, TENANT, due_ms=START_MS)
    assert await sweep(store) == 0
    await clock.advance(KEEP * DAY_S)
    assert await sweep(store) == 0
    await clock.advance(1)
    await sweep(store)
    assert await kept(store, TENANT) == [0]


async def test_a_tenant_keeps_its_runs_for_as_long_as_its_quota_says(store: Store, clock: StoreClock) -> None:
    await end(store, "short", "long", "none", "short")
    await keep(store, ["short"], 3)
    await keep(store, ["long"], 30)
    ended_ms = START_MS + 5
    await clock.set_ms(ended_ms + 3 * DAY_MS)
    await sweep(store)
    assert await kept(store, "short", "long", "none") == [2, 1, 1]
    await clock.set_ms(ended_ms + 3 * DAY_MS + 1)
    await sweep(store)
    assert await kept(store, "short", "long", "none") == [0, 1, 1]
    assert await store.history_since("short", NO_JOB) == ended_ms + 1
    assert await store.history_since("none", NO_JOB) == 0
    await clock.set_ms(ended_ms + KEEP * DAY_MS + 1)
    await sweep(store)
    assert await kept(store, "short", "long", "none") == [0, 0, 0]
    assert await store.history_since("none", NO_JOB) == ended_ms + 1


async def test_runs_go_on_to_be_forgotten_day_by_day(store: Store, clock: StoreClock) -> None:
    await keep(store, ["a", "b"], 2)
    for day in range(1, 8):
        await end(store, "a", "b", "c")
        await clock.advance(DAY_S)
        await sweep(store)
        # Those of the day before yesterday ended a moment later.
        assert await kept(store, "a", "b", "c") == [min(day, 2), min(day, 2), day]
        assert await sweep(store) == 0


async def test_a_quota_that_is_shortened_forgets_what_it_kept_and_one_that_is_lengthened_keeps_more(
    store: Store, clock: StoreClock
) -> None:
    for _ in range(6):
        await end(store, "a")
        await clock.advance(DAY_S)
    for days, left in ((5, 5), (2, 2), (4, 2)):
        await keep(store, ["a"], days)
        await sweep(store)
        assert await kept(store, "a") == [left]
    for left in (3, 4, 4):
        await end(store, "a")
        await clock.advance(DAY_S)
        await sweep(store)
        assert await kept(store, "a") == [left]
    await keep(store, ["a"], None)
    await end(store, "a")
    await clock.advance(DAY_S)
    await sweep(store)
    assert await kept(store, "a") == [5]


async def test_dead_letters_go_with_their_runs_and_others_stay(store: Store, clock: StoreClock) -> None:
    match = [DeadLetterFilter(tenant=tenant) for tenant in ("a", "b")]
    await end(store, "a", "b", state=RunState.FAILED)
    await clock.advance(DAY_S)
    await end(store, "a", state=RunState.FAILED)
    await keep(store, ["a"], 1)
    await clock.advance(3_600)
    await sweep(store)
    assert [await store.dead_letter_count(one) for one in match] == [1, 1]
    await clock.advance(KEEP * DAY_S)
    await sweep(store)
    assert [await store.dead_letter_count(one) for one in match] == [0, 0]


async def test_a_pass_looks_at_no_more_than_it_may(store: Store, clock: StoreClock) -> None:
    await keep(store, ["a"], 1)
    for _ in range(6):
        await end(store, "a", "b")
        await clock.advance(1)
    await clock.advance(DAY_S)
    left = []
    while await store.sweep_history(keep_days=KEEP, limit=4):
        left.append(await kept(store, "a", "b"))
    assert left == [[4, 6], [2, 6], [0, 6]]
    await clock.advance(KEEP * DAY_S)
    left = []
    while await store.sweep_history(keep_days=KEEP, limit=4):
        left.append(await kept(store, "a", "b"))
    assert left == [[0, 2], [0, 0]]


async def test_many_that_ended_in_one_millisecond_are_no_obstacle(store: Store, clock: StoreClock) -> None:
    await keep(store, ["a"], 1)
    run_ids = await enqueue(store, *(a_run(tenant="b") for _ in range(20)))
    await store.cancel_runs("b", run_ids, reason=EndReason.REQUESTED)
    await clock.advance(0.001)
    await end(store, "a")
    await clock.advance(2 * DAY_S)
    assert await sweep(store, limit=5) <= 3
    assert await kept(store, "a", "b") == [0, 20]
