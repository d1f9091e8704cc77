"""The schema: brought up to date once, and refused when it is not what it says it is."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dueline.domain.errors import SchemaRefused
from dueline.store.migrations import load_migrations, pending
from dueline.store.shapes import Migration
from tests.support.postgres import PostgresServer
from tests.support.stores import StoreUnderTest, postgres_under_test, sqlite_under_test


@pytest.fixture(params=["sqlite", "postgres"])
async def blank(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[StoreUnderTest]:
    """A store that was never migrated."""
    if request.param == "sqlite":
        async with sqlite_under_test(tmp_path / "blank.db", migrated=False) as under_test:
            yield under_test
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    server.create_database("blank")
    try:
        async with postgres_under_test(server.dsn("blank"), migrated=False) as under_test:
            yield under_test
    finally:
        server.drop_database("blank")


@pytest.fixture
async def migrated(blank: StoreUnderTest) -> StoreUnderTest:
    """A store of its own: these tests break it."""
    await blank.store.migrate()
    return blank


async def test_a_blank_store_has_nothing_applied(blank: StoreUnderTest) -> None:
    states = await blank.store.schema()
    assert [state.version for state in states] == [found.version for found in load_migrations(blank.dialect)]
    assert not any(state.applied for state in states)


async def test_migrating_applies_everything_once(blank: StoreUnderTest) -> None:
    first = await blank.store.migrate()
    assert first != []
    assert all(state.applied for state in first)
    assert await blank.store.migrate() == first
    assert await blank.store.schema() == first


async def test_migrating_keeps_what_is_there(migrated: StoreUnderTest) -> None:
    await migrated.tamper("UPDATE shards SET epoch = 7 WHERE shard = 3")
    await migrated.store.migrate()
    assert [lease.epoch for lease in await migrated.store.shards() if lease.shard == 3] == [7]


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("UPDATE migrations SET checksum = 'altered' WHERE version = 1", "other contents"),
        ("INSERT INTO migrations VALUES (9999, 'from_the_future', 'unknown', 0)", "newer Dueline"),
    ],
)
async def test_a_schema_that_is_altered_or_newer_is_refused(
    migrated: StoreUnderTest, statement: str, complaint: str
) -> None:
    await migrated.tamper(statement)
    with pytest.raises(SchemaRefused, match=complaint):
        await migrated.store.migrate()
    with pytest.raises(SchemaRefused, match=complaint):
        await migrated.store.schema()


def test_a_gap_below_what_is_applied_is_refused() -> None:
    known = [Migration(number, f"m{number}", f"sum{number}", "") for number in (1, 2, 3)]
    assert [found.version for found in pending(known, {1: "sum1"})] == [2, 3]
    with pytest.raises(SchemaRefused, match="migration 2 is missing"):
        pending(known, {1: "sum1", 3: "sum3"})
