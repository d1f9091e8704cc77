"""Stores as earlier releases left them."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dueline.store.migrations import load_migrations
from dueline.store.shapes import Migration
from tests.support.postgres import PostgresServer
from tests.support.stores import StoreUnderTest, postgres_under_test, sqlite_under_test

HERE = Path(__file__).parent


@asynccontextmanager
async def left_behind(
    dialect: str, version: int, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[StoreUnderTest]:
    """A store at a migration, with the rows that it and every one before it left behind."""
    async with _blank(dialect, request) as under_test:
        for number in range(1, version + 1):
            with monkeypatch.context() as patched:
                patched.setattr(f"dueline.store.{dialect}.schema.load_migrations", _up_to(number))
                states = await under_test.store.migrate()
            assert [state.version for state in states] == list(range(1, number + 1))
            await under_test.tamper((HERE / f"rows_of_{number:04}" / f"{dialect}.sql").read_text())
        yield under_test


def _up_to(version: int) -> Callable[[str], Sequence[Migration]]:
    """The migrations that a release knew."""
    return lambda dialect: load_migrations(dialect)[:version]


@asynccontextmanager
async def _blank(dialect: str, request: pytest.FixtureRequest) -> AsyncIterator[StoreUnderTest]:
    if dialect == "sqlite":
        tmp_path: Path = request.getfixturevalue("tmp_path")
        async with sqlite_under_test(tmp_path / "old.db", migrated=False) as under_test:
            yield under_test
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    server.create_database("old")
    try:
        async with postgres_under_test(server.dsn("old"), migrated=False) as under_test:
            yield under_test
    finally:
        server.drop_database("old")
