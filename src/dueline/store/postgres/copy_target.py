"""A PostgreSQL database that a copy goes into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import asyncpg

from dueline.domain import limits
from dueline.domain.durations import DAY_MS
from dueline.domain.errors import Conflict, StoreUnavailable
from dueline.domain.urls import without_password
from dueline.store.copying.sides import Changes, Loaded, Standing
from dueline.store.copying.tables import COPIED, DERIVED, Key, Row, Table, decode_key, encode_key
from dueline.store.migrations import COPYING
from dueline.store.postgres import copy_statements as sql
from dueline.store.postgres.copy_statements import Statements
from dueline.store.postgres.database import CONNECT_S, prepare, unavailable_when_broken
from dueline.store.postgres.part import queries
from dueline.store.postgres.reaching import Connection, reach
from dueline.store.postgres.store import PostgresStore

_HISTORY = queries("history")
_READS = queries("reads")
_LOCK = 0x636F7079696E67
"""Advisory lock number of a copy: the letters of "copying"."""
_DAYS_MAX = 400
"""Days of history that get a partition of their own; what is older goes to the other days."""
_SETTINGS = {
    "application_name": "dueline-copy",
    "jit": "off",
    # Keys that were given are looked up one by one: nobody has counted the tables yet, and a plan that reads all of one would be made.
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}


class PostgresTarget:
    """One connection does everything. Nothing of it waits for long but a load, which may."""

    def __init__(self, dsn: str) -> None:
        self.address = without_password(dsn)
        self._dsn = dsn
        self._connection: Connection | None = None
        self._types: dict[str, dict[str, str]] = {}
        self._statements: dict[tuple[str, ...], Statements] = {}
        self._days: set[int] = set()

    async def open(self) -> None:
        async with unavailable_when_broken():
            self._connection = await reach(self._dsn, timeout=CONNECT_S, server_settings=_SETTINGS)
            await prepare(self._connection)
            if not await self._connection.fetchval("SELECT pg_try_advisory_lock($1)", _LOCK):
                raise Conflict(f"another copy into {self.address} is under way")
            exists = await self._connection.fetchval("SELECT to_regclass('dueline.migrations') IS NOT NULL")
        if not exists or not (await self.standing()).other:
            await self._migrate()
        for table in COPIED:
            self._types[table.name] = {row[0]: row[1] for row in await self._fetch(sql.COLUMNS, table.name)}

    async def close(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                await connection.close(timeout=CONNECT_S)

    async def standing(self) -> Standing:
        begun = await self._fetch("SELECT name, checksum FROM dueline.migrations WHERE version = $1", COPYING)
        return Standing(*begun[0]) if begun else Standing()

    async def insist_empty(self) -> None:
        for table in COPIED:
            if not (await self._fetch(self._of(table, table.key).is_empty))[0][0]:
                raise Conflict(f"{self.address} is not empty, it has rows in {table.name}: take a new database")
        if await self._fetch("SELECT FROM dueline.nodes LIMIT 1"):
            raise Conflict(f"processes work in {self.address}: stop them, and start them again after the copy")

    async def begin(self, copy_id: str, source: str) -> None:
        async with unavailable_when_broken(), self._opened().transaction():
            connection = self._opened()
            await connection.execute(sql.emptying([*(table.name for table in COPIED), *sorted(DERIVED)]))
            await connection.execute("DROP TABLE IF EXISTS dueline.copy_loaded")
            await connection.execute(sql.LOADED)
            await connection.execute("DELETE FROM dueline.migrations WHERE version = $1", COPYING)
            await connection.execute(
                "INSERT INTO dueline.migrations VALUES ($1, $2, $3, dueline.now_ms())", COPYING, copy_id, source
            )

    async def loaded(self) -> Mapping[str, Loaded]:
        rows = await self._fetch("SELECT name, after, rows, done FROM dueline.copy_loaded")
        return {name: Loaded(decode_key(after), count, done) for name, after, count, done in rows}

    async def load(self, table: Table, columns: Sequence[str], rows: Sequence[Row], so_far: Loaded) -> None:
        if table.name == "history":
            await self._make_days(columns, rows)
        async with unavailable_when_broken(), self._opened().transaction():
            await self._insert(table, columns, rows)
            await self._opened().execute(
                "INSERT INTO dueline.copy_loaded VALUES ($1, $2, $3, $4)"
                " ON CONFLICT (name) DO UPDATE SET after = excluded.after, rows = excluded.rows, done = excluded.done",
                table.name,
                encode_key(so_far.after),
                so_far.rows,
                so_far.done,
            )

    async def apply(self, table: Table, columns: Sequence[str], changes: Changes) -> None:
        async with unavailable_when_broken(), self._opened().transaction():
            if table.name == "jobs":
                await self._opened().execute(sql.LEAVE_TAGS, [key[0] for key in changes.keys])
            await self._opened().execute(self._of(table, columns).delete, *_turned(table, changes.keys))
            await self._insert(table, columns, changes.rows)

    async def between(self, table: Table, columns: Sequence[str], after: Key | None, last: Key | None) -> list[Row]:
        statements = self._of(table, columns)
        if after is None:
            found = await self._fetch(statements.all) if last is None else await self._fetch(statements.up_to, *last)
        elif last is None:
            found = await self._fetch(statements.behind, *after)
        else:
            found = await self._fetch(statements.between, *after, *last)
        return statements.from_rows(found)

    async def at(self, table: Table, columns: Sequence[str], keys: Sequence[Key]) -> list[Row]:
        statements = self._of(table, columns)
        return statements.from_rows(await self._fetch(statements.at, *_turned(table, keys)))

    async def gather_statistics(self) -> None:
        for table in COPIED:
            await self._fetch(self._of(table, table.key).analyze)

    async def set_zones(self, tzdata: str) -> None:
        await self._fetch("UPDATE dueline.shards SET tzdata = $1", tzdata)

    async def spoil(self) -> None:
        await self._fetch("UPDATE dueline.migrations SET name = '' WHERE version = $1", COPYING)

    async def release(self) -> None:
        async with unavailable_when_broken(), self._opened().transaction():
            await self._opened().execute("DROP TABLE dueline.copy_loaded")
            await self._opened().execute("DELETE FROM dueline.migrations WHERE version = $1", COPYING)

    async def _migrate(self) -> None:
        store = PostgresStore(self._dsn)
        await store.open()
        try:
            await store.migrate()
            await store.prepare_history(days_ahead=limits.HISTORY_DAYS_AHEAD)
        finally:
            await store.close()

    async def _make_days(self, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Partitions for the days of finished runs, whose ids begin with their time."""
        place = columns.index("id")
        days = {int.from_bytes(row[place][:6], "big") // DAY_MS * DAY_MS for row in rows} - self._days
        if not days:
            return
        self._days |= days
        today_ms = (await self._fetch(_READS["clock"]))[0][0] // DAY_MS * DAY_MS
        for day_ms in sorted(days):
            if today_ms - _DAYS_MAX * DAY_MS <= day_ms <= today_ms + limits.HISTORY_DAYS_AHEAD * DAY_MS:
                # A day that has rows among the other days already stays there.
                with suppress(asyncpg.CheckViolationError):
                    await self._fetch(_HISTORY["add_day"], day_ms)

    async def _insert(self, table: Table, columns: Sequence[str], rows: Sequence[Row]) -> None:
        if table.name == "jobs":
            await self._give_way(columns, rows)
        statements = self._of(table, columns)
        try:
            await self._opened().copy_records_to_table(
                table.name, schema_name="dueline", columns=statements.columns, records=statements.to_rows(rows)
            )
        except (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError) as error:
            raise Conflict(f"PostgreSQL cannot hold a row of {table.name}: {error}") from error

    async def _give_way(self, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """A job that had the name of another before goes: its own change is in the log, and brings it back."""
        tenant, name, deleted = (columns.index(column) for column in ("tenant", "name", "deleted_ms"))
        living = [row for row in rows if row[deleted] is None]
        alike = await self._fetch(sql.NAMED_ALIKE, [row[tenant] for row in living], [row[name] for row in living])
        if alike:
            ids = [row[0] for row in alike]
            await self._opened().execute(sql.LEAVE_TAGS, ids)
            await self._opened().execute("DELETE FROM dueline.jobs WHERE id = ANY($1::uuid[])", ids)

    async def _fetch(self, statement: str, *args: object) -> list[asyncpg.Record]:
        async with unavailable_when_broken():
            return await self._opened().fetch(statement, *args)

    def _of(self, table: Table, columns: Sequence[str]) -> Statements:
        known = self._statements.get((table.name, *columns))
        if known is None:
            types = self._types[table.name]
            strange = set(types) - set(columns) - set(table.postgres_only)
            if not set(columns) <= set(types) or (strange and columns != table.key):
                raise Conflict(f"the columns of {table.name} are not the same on both sides: use one release for both")
            known = self._statements[table.name, *columns] = Statements(table, columns, types)
        return known

    def _opened(self) -> Connection:
        if self._connection is None:
            raise StoreUnavailable("the target is closed")
        return self._connection


def _turned(table: Table, keys: Sequence[Key]) -> list[list[object]]:
    """Keys by column, as statements take them."""
    return [[key[place] for key in keys] for place in range(len(table.key))]
