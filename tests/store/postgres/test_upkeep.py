"""What rows leave behind, and how it goes: real rows, a real vacuum, and somebody who can still see what was there."""

import json
from collections.abc import AsyncIterator

import asyncpg
import pytest

from dueline.store.protocol import Store
from tests.support.stores import StoreUnderTest, a_finish, a_run, claim, enqueue, postgres_under_test, register

DEAD = 500
FILL = "INSERT INTO dueline.places SELECT gen_random_uuid(), gen_random_uuid() FROM generate_series(1, $1::integer)"
BY_HAND = """
ALTER TABLE dueline.places SET (autovacuum_enabled = off);
ALTER TABLE dueline.runs SET (autovacuum_enabled = off);
"""
"""The server's own vacuum must not come first."""
LOOK = """
EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)
SELECT FROM dueline.runs WHERE queue = 'default' AND lane = '' AND state = 'ready' ORDER BY rank, id LIMIT 1
"""


@pytest.fixture
async def under_test(postgres_dsn: str) -> AsyncIterator[StoreUnderTest]:
    async with postgres_under_test(postgres_dsn) as under_test:
        await under_test.tamper(BY_HAND)
        yield under_test


@pytest.fixture
async def hand(postgres_dsn: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(
        postgres_dsn, server_settings={"enable_seqscan": "off", "enable_bitmapscan": "off"}
    )
    yield connection
    await connection.close()


async def leave_places(hand: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Rows that come and go; the server tells of it at once, as it otherwise does within a second."""
    await hand.execute(FILL, DEAD)
    await hand.execute("DELETE FROM dueline.places")
    await hand.execute("SELECT pg_stat_force_next_flush()")


async def test_a_table_is_told_from_so_many_dead_rows_on(
    store: Store, hand: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    assert await store.littered(least=1) == []
    await leave_places(hand)
    assert await store.littered(least=DEAD) == ["places"]
    assert await store.littered(least=DEAD + 1) == []


async def test_what_was_cleared_is_not_told_again(store: Store, hand: "asyncpg.Connection[asyncpg.Record]") -> None:
    await leave_places(hand)
    await store.clear("places")
    assert await store.littered(least=1) == []


async def test_what_somebody_can_still_see_stays_until_he_is_gone(
    store: Store, postgres_dsn: str, hand: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    reader = await asyncpg.connect(postgres_dsn)
    try:
        async with reader.transaction(isolation="repeatable_read"):
            await reader.execute("SELECT FROM dueline.places")
            await leave_places(hand)
            await store.clear("places")
            assert await store.littered(least=DEAD) == ["places"]
        await store.clear("places")
        assert await store.littered(least=1) == []
    finally:
        await reader.close()


async def test_one_table_that_somebody_has_locked_is_left_alone(
    store: Store, hand: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await leave_places(hand)
    async with hand.transaction():
        await hand.execute("LOCK TABLE dueline.places IN SHARE UPDATE EXCLUSIVE MODE")
        await store.clear("places")
        assert await store.littered(least=DEAD) == ["places"]


async def test_a_line_that_was_worked_off_is_short_again(
    store: Store, hand: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    async def pages_to_the_front() -> int:
        plan = json.loads(await hand.fetchval(LOOK))[0]["Plan"]
        pages: int = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        return pages

    worker = await register(store)
    for _ in range(4):
        await enqueue(store, *(a_run() for _ in range(DEAD)))
        await store.finish([a_finish(claimed) for claimed in await claim(store, worker, limit=DEAD)])
    before = await pages_to_the_front()
    await store.clear("runs")
    assert await pages_to_the_front() < before / 4
