"""Days of history that go as a whole: with nobody kept waiting, nothing lost that ended since, and by one of many."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from dueline.domain import limits
from dueline.domain.durations import DAY_MS
from dueline.domain.ids import JobId, RunId
from dueline.domain.quotas import Quotas
from dueline.domain.states import RunState
from dueline.store.postgres.store import PostgresStore
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
)

KEEP = 10
DAY_S = 86_400
SAMPLE = """
SELECT max(CASE attstattarget WHEN -1 THEN current_setting('default_statistics_target')::integer ELSE attstattarget END)
FROM pg_attribute
WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped
"""
DAYS = "SELECT relname FROM pg_class WHERE relname ~ '^history_[0-9]{8}$' AND relkind = 'r' ORDER BY 1"


@pytest.fixture
async def under_test(postgres_dsn: str) -> AsyncIterator[StoreUnderTest]:
    """With room for the first four days of the year."""
    async with postgres_under_test(postgres_dsn) as under_test:
        await under_test.store.prepare_history(days_ahead=3)
        yield under_test


@pytest.fixture
async def hand(postgres_dsn: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(postgres_dsn, server_settings={"search_path": "dueline"})
    yield connection
    await connection.close()


async def days(hand: "asyncpg.Connection[asyncpg.Record]") -> list[str]:
    return [row[0].removeprefix("history_2026") for row in await hand.fetch(DAYS)]


async def end(
    store: Store, *, due_ms: int, count: int = 1, state: RunState = RunState.SUCCEEDED, worker: str = "w1"
) -> list[RunId]:
    """Runs that end 5 ms from now, in a queue of their worker's own."""
    boot_id = await register(store, worker)
    runs = [a_run(due_ms=due_ms, queue=worker) for _ in range(count)]
    run_ids = await enqueue(store, *runs)
    await store.finish([a_finish(one, state) for one in await claim(store, boot_id, queue=worker, limit=1_000)])
    return run_ids


async def kept(store: Store) -> set[RunId]:
    return {run.id for run in await store.runs_page(RunFilter(tenant=TENANT), before=None, limit=10_000)}


async def sweep(store: Store) -> int:
    for passes in range(100):
        if not await store.sweep_history(keep_days=KEEP, limit=100):
            return passes
    raise AssertionError("there is no end of it")


async def test_a_day_goes_when_all_of_it_is_too_old(
    store: Store, clock: StoreClock, hand: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await end(store, due_ms=START_MS)
    await clock.set_ms(START_MS + DAY_MS)
    second = await end(store, due_ms=START_MS + DAY_MS)
    await clock.set_ms(START_MS + (1 + KEEP) * DAY_MS - 1)
    assert await sweep(store) == 0
    assert await days(hand) == ["0101", "0102", "0103", "0104"]
    await clock.set_ms(START_MS + (1 + KEEP) * DAY_MS)
    assert await sweep(store) == 1
    assert await days(hand) == ["0102", "0103", "0104"]
    assert await kept(store) == set(second)
    assert await store.history_since(TENANT, JobId(bytes(16))) == START_MS + DAY_MS
    await clock.advance(30 * DAY_S)
    assert await sweep(store) == 3
    assert await days(hand) == []


async def test_what_ended_lately_outlives_its_day(
    store: Store, clock: StoreClock, hand: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await end(store, due_ms=START_MS, state=RunState.FAILED)
    await clock.set_ms(START_MS + 5 * DAY_MS)
    late = await end(store, due_ms=START_MS, state=RunState.FAILED)
    await clock.set_ms(START_MS + (1 + KEEP) * DAY_MS)
    assert await sweep(store) == 1
    assert await days(hand) == ["0102", "0103", "0104"]
    assert await kept(store) == set(late)
    letters = await store.dead_letters(DeadLetterFilter(tenant=TENANT), before=None, limit=10)
    assert [letter.run.id for letter in letters] == late
    await clock.set_ms(START_MS + (5 + KEEP) * DAY_MS + 5)
    await sweep(store)
    assert await kept(store) == set(late)
    await clock.advance(0.001)
    await sweep(store)
    assert await kept(store) == set()
    assert await store.dead_letter_count(DeadLetterFilter(tenant=TENANT)) == 0


async def test_a_day_of_which_much_ended_lately_stays_and_the_others_go(
    store: Store, clock: StoreClock, hand: "asyncpg.Connection[asyncpg.Record]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "HISTORY_MOVED_MAX", 2)
    await clock.set_ms(START_MS + 5 * DAY_MS)
    await end(store, due_ms=START_MS, count=3)
    moved = await end(store, due_ms=START_MS + DAY_MS, count=2)
    await clock.set_ms(START_MS + (2 + KEEP) * DAY_MS)
    await sweep(store)
    assert await days(hand) == ["0101", "0103", "0104"]
    assert await kept(store) >= set(moved)
    assert len(await kept(store)) == 5
    await clock.set_ms(START_MS + (5 + KEEP) * DAY_MS + 6)
    await sweep(store)
    assert (await days(hand), await kept(store)) == ([], set())


async def test_who_reads_for_long_keeps_a_day_and_nobody_waits_for_that(
    store: Store, clock: StoreClock, hand: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    old = await end(store, due_ms=START_MS)
    await clock.advance(40 * DAY_S)
    async with hand.transaction():
        await hand.fetch("SELECT id FROM dueline.history")
        sweeping = asyncio.create_task(store.sweep_history(keep_days=KEEP, limit=100))
        async with asyncio.timeout(4):
            assert await kept(store) == set(old)
            await end(store, due_ms=clock.now_ms)
            assert await sweeping is False
    assert await days(hand) == ["0101", "0102", "0103", "0104"]
    await sweep(store)
    assert await days(hand) == []


async def test_days_go_while_runs_end_and_are_read_whoever_else_sweeps(
    store: Store, clock: StoreClock, hand: "asyncpg.Connection[asyncpg.Record]", postgres_dsn: str
) -> None:
    await store.put_tenant(Tenant(tenant=TENANT, quotas=Quotas(retention_days=KEEP - 1)))
    for day in range(4):
        await clock.set_ms(START_MS + day * DAY_MS)
        await end(store, due_ms=clock.now_ms, count=50, state=RunState.FAILED)
    await clock.set_ms(START_MS + (KEEP + 4) * DAY_MS)
    others = [PostgresStore(postgres_dsn) for _ in range(2)]
    for other in others:
        await other.open()
    try:
        new = asyncio.gather(
            *(end(store, due_ms=clock.now_ms - number * DAY_MS, worker=f"w{number}") for number in range(2, 16))
        )
        await asyncio.gather(*(_sweep_patiently(one) for one in (store, *others) for _ in range(2)), new)
    finally:
        for other in others:
            await other.close()
    # A lock that was not to be had in time leaves a day to the next sweep.
    await sweep(store)
    assert await days(hand) == []
    assert await kept(store) == {run_id for run_ids in await new for run_id in run_ids}
    assert await store.dead_letter_count(DeadLetterFilter(tenant=TENANT)) == 0


async def _sweep_patiently(store: Store) -> None:
    """A pass that another process has taken is no end of it."""
    for _ in range(3):
        await sweep(store)
        await kept(store)


async def test_a_run_that_has_ended_before_keeps_its_first_end_and_the_others_of_its_batch_theirs(
    under_test: StoreUnderTest, hand: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    """It was written again by somebody who did not see it end."""
    store = under_test.store
    boot_id = await register(store, "w1")
    run_ids = await enqueue(store, a_run(), a_run())
    claims = await claim(store, boot_id, limit=2)
    await hand.execute("CREATE TABLE once AS SELECT * FROM runs")
    (first,) = [one for one in claims if one.run_id == run_ids[0]]
    await store.finish([a_finish(first)])
    await hand.execute("INSERT INTO runs SELECT * FROM once WHERE id NOT IN (SELECT id FROM runs)")
    ended = await store.finish([a_finish(one, RunState.FAILED) for one in claims])
    assert ended == {run_ids[1]}
    states = {run.id: run.state for run in await store.runs_page(RunFilter(tenant=TENANT), before=None, limit=10)}
    assert states == {run_ids[0]: RunState.SUCCEEDED, run_ids[1]: RunState.FAILED}


async def test_statistics_of_what_is_kept_take_a_small_sample(
    under_test: StoreUnderTest, hand: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    """While a large one is read, nobody can clear away what claims leave behind."""
    del under_test
    for table in ("history", "history_20260101", "history_20260104", "changes", "runs"):
        assert await hand.fetchval(SAMPLE, table) <= 10, table
