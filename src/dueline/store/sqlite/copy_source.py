"""An SQLite file that is copied elsewhere while its owner works in it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import apsw

from dueline.domain.errors import Conflict, Invalid, StoreUnavailable
from dueline.runtime.clock import Clock
from dueline.store.copying.sides import Changes, Standing
from dueline.store.copying.tables import COPIED, DERIVED, LEFT, Key, Row, Table
from dueline.store.migrations import MOVED, load_migrations, pending
from dueline.store.sqlite import copy_statements as sql
from dueline.store.sqlite.copy_statements import Statements
from dueline.store.sqlite.filelock import FileLock
from dueline.store.sqlite.session import MOVED_TO, STARTS_WAIT, explain

_BUSY_S = 20.0
"""How long a write of ours waits between those of the owner."""
_BUSY_POLL_S = 0.001
"""Often: the owner lets go of the file for moments only."""


class SqliteSource:
    """It does not take the file, which belongs to its owner; a lock of its own keeps other copiers away."""

    stops_at_once = False

    def __init__(self, path: str, clock: Clock) -> None:
        self.address = os.path.realpath(path)
        self._clock = clock
        self._lock = FileLock(f"{self.address}.copy")
        self._connection: apsw.Connection | None = None
        self._statements: dict[str, Statements] = {}

    async def open(self) -> None:
        _insist_file(self.address)
        try:
            self._lock.take()
        except StoreUnavailable:
            raise Conflict(f"another copy of {self.address} is under way") from None
        try:
            self._connect()
        except apsw.Error as error:
            raise explain(error) from error

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._lock.release()

    async def standing(self) -> Standing:
        moved = self._rows("SELECT name, checksum FROM migrations WHERE version = ?", MOVED)
        if moved:
            copy_id, other = moved[0]
            return Standing(copy_id, other, moved=True)
        if not self._rows("SELECT 1 FROM sqlite_schema WHERE name = 'copy_state'"):
            return Standing()
        return Standing(*self._rows("SELECT copy_id, other FROM copy_state")[0])

    async def columns(self, table: Table) -> tuple[str, ...]:
        columns = tuple([name for (name,) in self._rows(sql.columns_of(table.name))])
        self._statements[table.name] = Statements(table, columns)
        return columns

    async def count(self, table: Table) -> int:
        count: int = self._rows(self._of(table).count)[0][0]
        return count

    async def track(self, copy_id: str, target: str) -> None:
        statements = [statement for table in COPIED for statement in sql.tracking(table)]
        async with self._writing():
            self._drop_own()
            self._run(statements)
            self._run([sql.STATE])
            triggers = self._rows(sql.TRACKING)[0][0]
            self._rows("INSERT INTO copy_state VALUES (?, ?, ?)", copy_id, target, triggers)

    async def forget(self) -> None:
        async with self._writing():
            self._drop_own()

    async def page(self, table: Table, after: Key | None, limit: int) -> list[Row]:
        statements = self._of(table)
        if after is None:
            return self._rows(statements.first, limit)
        return self._rows(statements.following, *after, limit)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[None]:
        with self._opened():
            yield

    async def pending(self, table: Table) -> set[Key]:
        return set(self._rows(self._of(table).pending))

    async def changes(self, table: Table, limit: int) -> Changes:
        statements = self._of(table)
        changes = Changes([], [], 0, more=False)
        with self._opened():
            last, logged = self._rows(statements.log_end, limit)[0]
            if last is not None:
                keys, rows = self._rows(statements.changed, last), self._rows(statements.changed_rows, last)
                changes = Changes(keys, rows, last, more=logged == limit)
        return changes

    async def forget_changes(self, table: Table, last: int) -> None:
        async with self._writing():
            self._rows(self._of(table).forget_changes, last)

    async def hold_starts(self, hold_ms: int) -> None:
        async with self._writing():
            self._run([sql.LET_START, sql.holding_starts(self._clock.wall_ms() + hold_ms, STARTS_WAIT)])

    async def running(self) -> int:
        running: int = self._rows("SELECT count(*) FROM runs WHERE worker IS NOT NULL")[0][0]
        return running

    @asynccontextmanager
    async def write_stop(self) -> AsyncIterator[None]:
        async with self._writing():
            yield

    async def insist_tracked(self) -> None:
        """A migration may have made tables anew, without their triggers."""
        missing = pending(load_migrations("sqlite"), self._applied())
        tracked = self._rows("SELECT triggers FROM copy_state")[0][0] == self._rows(sql.TRACKING)[0][0]
        if missing or not tracked:
            raise Conflict(
                f"the schema of {self.address} was changed meanwhile: give the copy up with --abandon, and start over"
            )

    async def zones(self) -> str:
        tzdata: str = self._rows("SELECT min(tzdata) FROM shards")[0][0]
        return tzdata

    async def seal(self, copy_id: str, target: str) -> None:
        self._drop_own()
        self._rows("INSERT INTO migrations VALUES (?, ?, ?, ?)", MOVED, copy_id, target, self._clock.wall_ms())
        for (name,) in self._rows(sql.TABLES):
            if name != "migrations":
                self._run(sql.guarding(name, f"{MOVED_TO}{target}"))

    def _connect(self) -> None:
        self._connection = apsw.Connection(self.address, flags=apsw.SQLITE_OPEN_READWRITE)
        self._connection.execute("PRAGMA synchronous = FULL")
        applied = self._applied()
        if MOVED not in applied and pending(load_migrations("sqlite"), applied):
            raise Conflict(f"{self.address} has an older schema: bring it up to date first, with dueline db migrate")
        known = {table.name for table in COPIED} | LEFT | DERIVED
        strange = [name for (name,) in self._rows(sql.TABLES) if name not in known and not name.startswith("copy_")]
        if strange:
            raise Conflict(f"{self.address} has tables that a copy would leave behind: {', '.join(strange)}")

    def _drop_own(self) -> None:
        """Triggers first: they write to the tables."""
        self._run([sql.dropping(kind, name) for kind, name in self._rows(sql.OWN)])

    def _applied(self) -> dict[int, str]:
        if not self._rows("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'"):
            raise Invalid(("from", f"{self.address} is not a database of Dueline's"))
        return dict(self._rows("SELECT version, checksum FROM migrations"))

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[None]:
        """A transaction that writes, once the owner lets us; or part of the one that we are in."""
        connection = self._opened()
        if connection.in_transaction:
            yield
            return
        await self._begin(connection)
        try:
            yield
            connection.execute("COMMIT")
        except apsw.Error as error:
            raise explain(error) from error
        finally:
            self._roll_back()

    def _roll_back(self) -> None:
        """What was not committed."""
        if self._opened().in_transaction:
            self._opened().execute("ROLLBACK")

    async def _begin(self, connection: apsw.Connection) -> None:
        until_s = self._clock.monotonic_s() + _BUSY_S
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except apsw.BusyError as error:
                if self._clock.monotonic_s() > until_s:
                    raise StoreUnavailable(f"{self.address} is never free to be written to") from error
                await asyncio.sleep(_BUSY_POLL_S)

    def _run(self, statements: Iterable[str]) -> None:
        for statement in statements:
            self._opened().execute(statement)

    def _rows(self, statement: str, *args: Any) -> list[Any]:
        return self._opened().execute(statement, args).fetchall()

    def _of(self, table: Table) -> Statements:
        return self._statements[table.name]

    def _opened(self) -> apsw.Connection:
        if self._connection is None:
            raise StoreUnavailable("the source is closed")
        return self._connection


def _insist_file(path: str) -> None:
    if not os.path.isfile(path):
        raise Invalid(("from", f"there is no file {path}"))
