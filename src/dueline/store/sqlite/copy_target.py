"""An SQLite file that a copy goes into."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

from dueline.domain.errors import Conflict, StoreUnavailable
from dueline.runtime.clock import Clock
from dueline.store.copying.sides import Changes, Loaded, Standing
from dueline.store.copying.tables import COPIED, Key, Row, Table, decode_key, encode_key
from dueline.store.migrations import COPYING
from dueline.store.sqlite import copy_statements as sql
from dueline.store.sqlite.copy_statements import Statements
from dueline.store.sqlite.filelock import FileLock
from dueline.store.sqlite.session import explain
from dueline.store.sqlite.store import SqliteStore


class SqliteTarget:
    def __init__(self, path: str, clock: Clock) -> None:
        self.address = os.path.realpath(path)
        self._clock = clock
        self._lock = FileLock(self.address)
        self._connection: apsw.Connection | None = None
        self._statements: dict[tuple[str, ...], Statements] = {}

    async def open(self) -> None:
        if not _is_begun(self.address):
            store = SqliteStore(self.address, self._clock)
            await store.open()
            try:
                await store.migrate()
            finally:
                await store.close()
        self._lock.take()
        self._connection = apsw.Connection(self.address)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._lock.release()

    async def standing(self) -> Standing:
        begun = self._rows("SELECT name, checksum FROM migrations WHERE version = ?", COPYING)
        return Standing(*begun[0]) if begun else Standing()

    async def insist_empty(self) -> None:
        for table in COPIED:
            if not self._rows(self._of(table, table.key).is_empty)[0][0]:
                raise Conflict(f"{self.address} is not empty, it has rows in {table.name}: take a new file")

    async def begin(self, copy_id: str, source: str) -> None:
        with self._opened():
            for table in COPIED:
                self._rows(self._of(table, table.key).empty)
            self._rows("DROP TABLE IF EXISTS copy_loaded")
            self._rows(sql.LOADED)
            self._rows("DELETE FROM migrations WHERE version = ?", COPYING)
            self._rows("INSERT INTO migrations VALUES (?, ?, ?, ?)", COPYING, copy_id, source, self._clock.wall_ms())

    async def loaded(self) -> Mapping[str, Loaded]:
        rows = self._rows("SELECT name, after, rows, done FROM copy_loaded")
        return {name: Loaded(decode_key(after), count, bool(done)) for name, after, count, done in rows}

    async def load(self, table: Table, columns: Sequence[str], rows: Sequence[Row], so_far: Loaded) -> None:
        with self._opened() as connection:
            self._give_way(table, columns, rows)
            connection.executemany(self._of(table, columns).insert, rows)
            self._rows(
                "INSERT OR REPLACE INTO copy_loaded VALUES (?, ?, ?, ?)",
                table.name,
                encode_key(so_far.after),
                so_far.rows,
                int(so_far.done),
            )

    async def apply(self, table: Table, columns: Sequence[str], changes: Changes) -> None:
        statements = self._of(table, columns)
        with self._opened() as connection:
            connection.executemany(statements.delete, changes.keys)
            self._give_way(table, columns, changes.rows)
            connection.executemany(statements.insert, changes.rows)

    async def between(self, table: Table, columns: Sequence[str], after: Key | None, last: Key | None) -> list[Row]:
        statements = self._of(table, columns)
        if after is None:
            return self._rows(statements.all) if last is None else self._rows(statements.up_to, *last)
        if last is None:
            return self._rows(statements.behind, *after)
        return self._rows(statements.between, *after, *last)

    async def at(self, table: Table, columns: Sequence[str], keys: Sequence[Key]) -> list[Row]:
        return self._opened().executemany(self._of(table, columns).at, keys).fetchall()

    async def gather_statistics(self) -> None:
        """SQLite plans by rules."""

    async def set_zones(self, tzdata: str) -> None:
        self._rows("UPDATE shards SET tzdata = ?", tzdata)

    async def spoil(self) -> None:
        self._rows("UPDATE migrations SET name = '' WHERE version = ?", COPYING)

    async def release(self) -> None:
        with self._opened():
            self._rows("DROP TABLE copy_loaded")
            self._rows("DELETE FROM migrations WHERE version = ?", COPYING)

    def _give_way(self, table: Table, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """A job that had the name of another before goes: its own change is in the log, and brings it back."""
        if table.name != "jobs":
            return
        tenant, name, deleted = (columns.index(column) for column in ("tenant", "name", "deleted_ms"))
        taken = [(row[tenant], row[name]) for row in rows if row[deleted] is None]
        self._opened().executemany("DELETE FROM jobs WHERE tenant = ? AND name = ? AND deleted_ms IS NULL", taken)

    def _rows(self, statement: str, *args: Any) -> list[Any]:
        return self._opened().execute(statement, args).fetchall()

    def _of(self, table: Table, columns: Sequence[str]) -> Statements:
        known = self._statements.get((table.name, *columns))
        if known is None:
            known = self._statements[table.name, *columns] = Statements(table, columns)
        return known

    def _opened(self) -> apsw.Connection:
        if self._connection is None:
            raise StoreUnavailable("the target is closed")
        return self._connection


def _is_begun(path: str) -> bool:
    """Whether a copy was begun in a file: then no store opens it."""
    if not Path(path).exists():
        return False
    connection = apsw.Connection(path)
    try:
        return bool(connection.execute("SELECT 1 FROM migrations WHERE version = ?", (COPYING,)).fetchall())
    except apsw.SQLError:
        return False
    except apsw.Error as error:
        raise explain(error) from error
    finally:
        connection.close()
