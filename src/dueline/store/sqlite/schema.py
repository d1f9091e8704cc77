"""Migrations on SQLite."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from dueline.domain.errors import SchemaRefused
from dueline.store.migrations import load_migrations, pending, states
from dueline.store.shapes import Migration, MigrationState
from dueline.store.sqlite.part import Part, queries
from dueline.store.sqlite.session import Session

_MEMBERS = queries("members")
_FOREIGN = "the file holds tables that are not Dueline's"


class SchemaPart(Part):
    async def migrate(self) -> Sequence[MigrationState]:
        """Each migration is a transaction. The lock on the file keeps other processes out."""
        for migration in await self._database.write(_missing):
            await self._database.write(_apply, migration)
        return await self.schema()

    async def schema(self) -> Sequence[MigrationState]:
        return await self._database.read(_states)


def inspect(session: Session) -> None:
    """Refuse a file that this program must not touch."""
    pending(load_migrations("sqlite"), _applied(session))


def settle(session: Session) -> None:
    """Bury the last owner: it held the lock that we hold now, so it is dead, and what it held is free at once."""
    if _applied(session):
        session.rows(_MEMBERS["bury_own"])


def _missing(session: Session) -> list[Migration]:
    return pending(load_migrations("sqlite"), _applied(session))


def _states(session: Session) -> Sequence[MigrationState]:
    known, applied = load_migrations("sqlite"), _applied(session)
    pending(known, applied)
    return states(known, applied)


def _apply(session: Session, migration: Migration) -> None:
    if migration.version in _applied(session):
        return
    session.rows(
        "CREATE TABLE IF NOT EXISTS migrations"
        " (version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_ms INTEGER NOT NULL) STRICT"
    )
    session.rows(migration.sql)
    session.rows(
        "INSERT INTO migrations (version, name, checksum, applied_ms) VALUES (?, ?, ?, now_ms())",
        migration.version,
        migration.name,
        migration.checksum,
    )


def _applied(session: Session) -> dict[int, str]:
    tables = {
        row[0] for row in session.rows("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~'")
    }
    if not tables:
        return {}
    if "migrations" not in tables:
        raise SchemaRefused(_FOREIGN)
    try:
        return dict(session.rows("SELECT version, checksum FROM migrations"))
    except apsw.SQLError as error:
        raise SchemaRefused(_FOREIGN) from error
