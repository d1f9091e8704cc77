"""Numbers of the record that cannot be seen yet, on PostgreSQL: somebody who writes is seen before the number that it gets."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from dueline.domain.events import Horizon
from dueline.store.postgres.store import PostgresStore
from dueline.store.queries import load_queries
from tests.support.stores import create
from tests.tidy.tree import PACKAGE, ROOT

TELL = load_queries("postgres", "events")["tell"]


@pytest.fixture
async def store(postgres_dsn: str) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(postgres_dsn)
    await store.open()
    yield store
    await store.close()


@pytest.fixture
async def slow(postgres_dsn: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """Somebody whose transactions take long."""
    connection = await asyncpg.connect(postgres_dsn)
    yield connection
    await connection.close()


async def look(store: PostgresStore, horizon: Horizon) -> int:
    bounds = await store.event_bounds()
    return horizon.saw(bounds.last, bounds.writing)


async def test_a_row_that_is_committed_late_is_waited_for(
    store: PostgresStore, slow: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    horizon = Horizon()
    before = await look(store, horizon)
    transaction = slow.transaction()
    await transaction.start()
    await slow.execute(TELL, "created", [bytes(16).hex()], None, None)
    await create(store)
    for _ in range(3):
        assert await look(store, horizon) == before, "the job's row has a higher number, and is seen first"
    await transaction.commit()
    assert await look(store, horizon) == before + 2
    rows = (await store.changes_from(before + 1, until=before + 2, limit=10)).rows
    assert [row.seq for row in rows] == [before + 1, before + 2]


async def test_whoever_began_later_is_not_waited_for(
    store: PostgresStore, slow: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    horizon = Horizon()
    await create(store)
    before = await look(store, horizon)
    transaction = slow.transaction()
    await transaction.start()
    await slow.execute("SELECT pg_current_xact_id()")
    await create(store)
    assert await look(store, horizon) == before + 1, (
        "a transaction that tells nothing is in nobody's way, however long it takes"
    )
    await transaction.rollback()


async def test_a_number_whose_transaction_failed_is_passed_over(
    store: PostgresStore, slow: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    horizon = Horizon()
    before = await look(store, horizon)
    transaction = slow.transaction()
    await transaction.start()
    await slow.execute(TELL, "created", [bytes(16).hex()], None, None)
    await transaction.rollback()
    await create(store)
    assert await look(store, horizon) == before + 2
    rows = (await store.changes_from(before + 1, until=before + 2, limit=10)).rows
    assert [row.seq for row in rows] == [before + 2]


@pytest.mark.parametrize(
    "noun", sorted(file.stem for file in (ROOT / PACKAGE / "store/postgres/queries").glob("*.sql"))
)
def test_every_statement_that_ends_runs_tells_of_it(noun: str) -> None:
    for name, text in load_queries("postgres", noun).items():
        if "INSERT INTO dueline.history (" in text:
            assert "INSERT INTO dueline.changes (at_ms, told, ids) SELECT dueline.now_ms(), 'ended'" in text, name
