"""A copy leaves nothing behind that it does not know of."""

from __future__ import annotations

from pathlib import Path

import apsw
import asyncpg
import pytest

from dueline.runtime.clock import SystemClock
from dueline.store.copying.tables import COPIED, DERIVED, LEFT, Key, decode_key, encode_key
from dueline.store.sqlite.store import SqliteStore

KINDS = {"BLOB": {"uuid", "bytea"}, "TEXT": {"text", "ARRAY"}, "REAL": {"double precision"}}
KINDS["INTEGER"] = {"smallint", "integer", "bigint", "boolean"}


async def sqlite_columns(path: Path) -> dict[str, dict[str, str]]:
    store = SqliteStore(path, SystemClock())
    await store.open()
    await store.migrate()
    await store.close()
    connection = apsw.Connection(str(path))
    found: dict[str, dict[str, str]] = {}
    rows = connection.execute(
        "SELECT t.name, c.name, c.type FROM sqlite_schema AS t, pragma_table_info(t.name) AS c"
        " WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'"
    )
    for table, column, kind in rows:
        found.setdefault(table, {})[column] = kind
    connection.close()
    return found


async def postgres_columns(dsn: str) -> dict[str, dict[str, str]]:
    connection = await asyncpg.connect(dsn)
    rows = await connection.fetch(
        "SELECT c.table_name, c.column_name, c.data_type FROM information_schema.columns AS c"
        " JOIN pg_class AS t ON t.oid = to_regclass('dueline.' || c.table_name)"
        " WHERE c.table_schema = 'dueline' AND t.relkind IN ('r', 'p') AND NOT t.relispartition"
    )
    await connection.close()
    found: dict[str, dict[str, str]] = {}
    for table, column, kind in rows:
        found.setdefault(table, {})[column] = kind
    return found


async def test_every_table_is_copied_or_left_on_purpose(tmp_path: Path, postgres_dsn: str) -> None:
    copied = {table.name for table in COPIED}
    assert set(await sqlite_columns(tmp_path / "a.db")) == copied | LEFT | {"job_words"}
    assert set(await postgres_columns(postgres_dsn)) == copied | LEFT | DERIVED


async def test_both_stores_have_the_same_columns_of_like_types(tmp_path: Path, postgres_dsn: str) -> None:
    sqlite, postgres = await sqlite_columns(tmp_path / "a.db"), await postgres_columns(postgres_dsn)
    for table in COPIED:
        here, there = sqlite[table.name], postgres[table.name]
        assert set(there) - set(here) == set(table.postgres_only)
        assert set(table.key) <= set(here)
        assert {name: there[name] in KINDS[kind] for name, kind in here.items()} == dict.fromkeys(here, True)


@pytest.mark.parametrize("key", [None, (b"\x00\xff", "", 7), ("ü'[]", 0), (b"",)])
def test_how_far_a_table_is_can_be_written_down(key: Key | None) -> None:
    assert decode_key(encode_key(key)) == key
