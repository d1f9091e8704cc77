"""From the schema of an earlier release to this one, with runs under way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from uuid import UUID

import asyncpg
import pytest

from dueline.store.migrations import load_migrations
from dueline.store.postgres.store import PostgresStore
from tests.support.postgres import PostgresServer

_BEFORE_COLUMNS = 23
"""The last schema in which live runs had their columns in the order in which they had been thought of."""
_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid)
FROM pg_attribute AS a LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = 'dueline.runs'::regclass AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attname
"""
_INDEXES = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'dueline' AND tablename = 'runs' ORDER BY indexdef"
_OPTIONS = "SELECT reloptions FROM pg_class WHERE oid = 'dueline.runs'::regclass"
_WRITE = "INSERT INTO dueline.runs SELECT r.* FROM jsonb_populate_record(NULL::dueline.runs, $1::jsonb) AS r"
_READ = "SELECT to_jsonb(r) FROM dueline.runs AS r"
_VALUES: dict[str, Callable[[int], object]] = {
    "uuid": lambda number: str(UUID(int=number)),
    "text": lambda number: f"text {number}",
    "text[]": lambda number: [f"tag {number}"],
    "boolean": lambda number: number % 2 == 0,
}


@pytest.fixture
def empty_dsn(postgres_server: PostgresServer) -> Iterator[str]:
    postgres_server.create_database("upgraded")
    yield postgres_server.dsn("upgraded")
    postgres_server.drop_database("upgraded")


async def test_live_runs_keep_all_they_have_in_their_new_columns(empty_dsn: str) -> None:
    look = await asyncpg.connect(empty_dsn)
    try:
        await _migrate_to(look, _BEFORE_COLUMNS)
        columns = await look.fetch(_COLUMNS)
        run = {name: _VALUES.get(kind, int)(number) for number, (name, kind, _, _) in enumerate(columns, start=1)}
        await look.execute(_WRITE, json.dumps(run))
        shape = [await look.fetch(question) for question in (_COLUMNS, _INDEXES, _OPTIONS)]

        store = PostgresStore(empty_dsn)
        await store.open()
        await store.migrate()
        await store.close()

        ((row,),) = await look.fetch(_READ)
        assert json.loads(row) == run
        assert [await look.fetch(question) for question in (_COLUMNS, _INDEXES, _OPTIONS)] == shape
    finally:
        await look.close()


async def _migrate_to(look: asyncpg.Connection[asyncpg.Record], version: int) -> None:
    await look.execute(
        "CREATE SCHEMA dueline; CREATE TABLE dueline.migrations"
        " (version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_ms bigint NOT NULL)"
    )
    for migration in load_migrations("postgres"):
        if migration.version <= version:
            await look.execute(migration.sql)
            await look.execute(
                "INSERT INTO dueline.migrations VALUES ($1, $2, $3, 0)",
                migration.version,
                migration.name,
                migration.checksum,
            )
