"""Files with rows in every table that a copy takes along, and what stands in either store, read without the copier's help."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw
import asyncpg

from dueline.runtime.clock import SystemClock
from dueline.store.copying.tables import COPIED
from dueline.store.sqlite.store import SqliteStore

FEW = 7
TRUTHS = frozenset({"exclusive", "missed", "notifies", "stale", "zoned"})
"""Columns of numbers that are booleans in PostgreSQL."""
TODAY_MS = SystemClock().wall_ms()

Contents = dict[str, Counter[tuple[Any, ...]]]
"""The rows of each table, as SQLite keeps them."""


async def a_file(path: Path, **rows: int) -> Path:
    """A file with rows in every table: few, or as many as are asked for by name."""
    store = SqliteStore(path, SystemClock())
    await store.open()
    await store.migrate()
    await store.close()
    for table in COPIED:
        add(path, table.name, range(rows.get(table.name, FEW)))
    return path


def add(path: Path, table: str, numbers: Sequence[int]) -> None:
    """Rows that are made of their numbers: in every column that may be empty, every third is."""
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(5_000)
        columns = connection.execute(_columns(table)).fetchall()
        with connection:
            connection.executemany(_insert(table, len(columns)), [_row(columns, number) for number in numbers])
    finally:
        connection.close()


def change(path: Path, *statements: str) -> None:
    """What somebody else does to a file."""
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(5_000)
        for statement in statements:
            connection.execute(statement)
    finally:
        connection.close()


def contents(path: Path) -> Contents:
    connection = apsw.Connection(str(path))
    try:
        found = {}
        for table in COPIED:
            names = [row[0] for row in connection.execute(_columns(table.name))]
            rows = [dict(zip(names, row, strict=True)) for row in connection.execute(_select(table.name))]
            found[table.name] = Counter([tuple(sorted(row.items())) for row in rows])
        return found
    finally:
        connection.close()


async def contents_of_postgres(dsn: str) -> Contents:
    connection = await asyncpg.connect(dsn, server_settings={"search_path": "dueline"})
    try:
        found = {}
        for table in COPIED:
            rows = await connection.fetch(_select(table.name))
            left = table.postgres_only
            found[table.name] = Counter(
                [
                    tuple(sorted((name, _plain(value)) for name, value in row.items() if name not in left))
                    for row in rows
                ]
            )
        return found
    finally:
        await connection.close()


def _row(columns: Sequence[tuple[Any, ...]], number: int) -> tuple[Any, ...]:
    return tuple([_value(name, kind, number, required=bool(required)) for name, kind, required in columns])


def _value(name: str, kind: str, number: int, *, required: bool) -> Any:
    if not required and (number + len(name)) % 3 == 0:
        return None
    if kind == "BLOB":
        return ((TODAY_MS + number * 1000).to_bytes(6, "big") + name.encode()[:2]).ljust(12, b"\x07") + number.to_bytes(
            4, "big"
        )
    if name == "tags":
        return "\x1fa\x1f" + f"tag {number % 3} ü\x1f" if number % 2 else ""
    if kind == "TEXT":
        return f"{name} ' {number} ☂"
    if kind == "REAL":
        return number / 8
    if name in TRUTHS:
        return number % 2
    if name.endswith(("_ms", "_us")) and name not in ("timeout_ms",):
        return TODAY_MS + number
    return number % 200


def _plain(value: Any) -> Any:
    if isinstance(value, uuid.UUID):
        return value.bytes
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, list):
        return "\x1f" + "\x1f".join(value) + "\x1f" if value else ""
    return value


def _columns(table: str) -> str:
    return f"SELECT name, type, \"notnull\" OR pk > 0 FROM pragma_table_info('{table}') ORDER BY cid"


def _insert(table: str, columns: int) -> str:
    return f"INSERT INTO {table} VALUES ({', '.join('?' * columns)})"


def _select(table: str) -> str:
    return f"SELECT * FROM {table}"
