"""A PostgreSQL database that is copied elsewhere, at rest: no process works in it, and nobody writes from `track` to the seal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import asyncpg
from asyncpg.transaction import Transaction

from dueline.domain.errors import Conflict, Invalid, StoreUnavailable
from dueline.domain.urls import without_password
from dueline.store.copying.sides import Changes, Standing
from dueline.store.copying.tables import COPIED, DERIVED, LEFT, Key, Row, Table
from dueline.store.migrations import MOVED, load_migrations, pending
from dueline.store.postgres import copy_statements as sql
from dueline.store.postgres.copy_statements import Statements
from dueline.store.postgres.database import CONNECT_S, MOVED_TO, prepare, unavailable_when_broken
from dueline.store.postgres.reaching import Connection, reach

_LOCK = 0x6C656176696E67
"""Advisory lock number of a copy to elsewhere: the letters of "leaving"."""
_SETTINGS = {"application_name": "dueline-copy", "jit": "off", "idle_in_transaction_session_timeout": "0"}


class PostgresSource:
    """One transaction from `track` to the seal, in which every table is locked. Where it ends early, the next copy starts over."""

    stops_at_once = True

    def __init__(self, dsn: str) -> None:
        self.address = without_password(dsn)
        self._dsn = dsn
        self._connection: Connection | None = None
        self._locked: Transaction | None = None
        self._statements: dict[str, Statements] = {}

    async def open(self) -> None:
        async with unavailable_when_broken():
            self._connection = await reach(self._dsn, timeout=CONNECT_S, server_settings=_SETTINGS)
            await prepare(self._connection)
            if not await self._connection.fetchval("SELECT pg_try_advisory_lock($1)", _LOCK):
                raise Conflict(f"another copy of {self.address} is under way")
            if not await self._connection.fetchval("SELECT to_regclass('dueline.migrations') IS NOT NULL"):
                raise Invalid(("from", f"{self.address} is not a database of Dueline's"))
        applied = {row[0]: row[1] for row in await self._fetch("SELECT version, checksum FROM dueline.migrations")}
        if MOVED not in applied and pending(load_migrations("postgres"), applied):
            raise Conflict(f"{self.address} has an older schema: bring it up to date first, with dueline db migrate")
        known = {table.name for table in COPIED} | LEFT | DERIVED
        if strange := [row[0] for row in await self._fetch(sql.TABLES) if row[0] not in known]:
            raise Conflict(f"{self.address} has tables that a copy would leave behind: {', '.join(strange)}")

    async def close(self) -> None:
        self._locked = None
        if self._connection is not None:
            connection, self._connection = self._connection, None
            with suppress(OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
                await connection.close(timeout=CONNECT_S)

    async def standing(self) -> Standing:
        moved = await self._fetch("SELECT name, checksum FROM dueline.migrations WHERE version = $1", MOVED)
        return Standing(moved[0][0], moved[0][1], moved=True) if moved else Standing()

    async def columns(self, table: Table) -> tuple[str, ...]:
        types = {row[0]: row[1] for row in await self._fetch(sql.COLUMNS, table.name)}
        columns = tuple([name for name in types if name not in table.postgres_only])
        self._statements[table.name] = Statements(table, columns, types)
        return columns

    async def count(self, table: Table) -> int:
        count: int = (await self._fetch(self._statements[table.name].count))[0][0]
        return count

    async def track(self, copy_id: str, target: str) -> None:  # noqa: ARG002  # There is nothing to be told apart: it is not resumed.
        async with unavailable_when_broken():
            locked = self._opened().transaction()
            await locked.start()
            await self._opened().execute("SET LOCAL lock_timeout = 10000")
            await self._opened().execute(sql.locking([*(table.name for table in COPIED), *sorted(LEFT | DERIVED)]))
            if await self._opened().fetch("SELECT FROM dueline.nodes WHERE expires_ms >= dueline.now_ms() LIMIT 1"):
                await locked.rollback()
                raise Conflict(f"processes work in {self.address}: stop them all, then copy")
        self._locked = locked

    async def forget(self) -> None:
        """A copy leaves nothing behind here."""

    async def page(self, table: Table, after: Key | None, limit: int) -> list[Row]:
        statements = self._statements[table.name]
        if after is None:
            return statements.from_rows(await self._fetch(statements.first, limit))
        return statements.from_rows(await self._fetch(statements.following, *after, limit))

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[None]:
        yield

    async def pending(self, table: Table) -> set[Key]:  # noqa: ARG002  # Nothing changes.
        return set()

    async def changes(self, table: Table, limit: int) -> Changes:  # noqa: ARG002  # Nothing changes.
        return Changes([], [], 0, more=False)

    async def forget_changes(self, table: Table, last: int) -> None:
        """There are none."""

    async def hold_starts(self, hold_ms: int) -> None:
        """There are none."""

    async def running(self) -> int:
        running: int = (await self._fetch("SELECT count(*) FROM dueline.runs WHERE worker IS NOT NULL"))[0][0]
        return running

    @asynccontextmanager
    async def write_stop(self) -> AsyncIterator[None]:
        yield
        assert self._locked is not None
        async with unavailable_when_broken():
            await self._locked.commit()
        self._locked = None

    async def insist_tracked(self) -> None:
        if self._locked is None:
            raise Conflict(f"{self.address} was not locked all the time: run it again to start over")

    async def zones(self) -> str:
        tzdata: str = (await self._fetch('SELECT min(tzdata COLLATE "C") FROM dueline.shards'))[0][0]
        return tzdata

    async def seal(self, copy_id: str, target: str) -> None:
        insert = "INSERT INTO dueline.migrations VALUES ($1, $2, $3, dueline.now_ms())"
        await self._fetch(insert, MOVED, copy_id, target)
        await self._fetch(sql.REFUSE)
        for table in [*(table.name for table in COPIED), *sorted((LEFT | DERIVED) - {"migrations"})]:
            await self._fetch(sql.guarding(table, f"{MOVED_TO}{target}"))

    async def _fetch(self, statement: str, *args: object) -> list[asyncpg.Record]:
        async with unavailable_when_broken():
            return await self._opened().fetch(statement, *args)

    def _opened(self) -> Connection:
        if self._connection is None:
            raise StoreUnavailable("the source is closed")
        return self._connection
