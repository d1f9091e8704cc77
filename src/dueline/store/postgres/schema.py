"""Migrations on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from dueline.domain.errors import SchemaRefused
from dueline.store.migrations import load_migrations, pending, states
from dueline.store.postgres.part import Part
from dueline.store.postgres.reaching import Connection
from dueline.store.shapes import MigrationState

_LOCK = 0x6475656C696E65
"""Advisory lock number of a migration: the letters of "dueline"."""
_VERSION_MIN = 150000
_MIGRATION_S = 3600.0
"""A migration may write every row anew, which takes longer than any other statement may."""


class SchemaPart(Part):
    async def migrate(self) -> Sequence[MigrationState]:
        known = load_migrations("postgres")
        async with self._database.transaction() as connection:
            if int(await connection.fetchval("SELECT current_setting('server_version_num')")) < _VERSION_MIN:
                raise SchemaRefused("PostgreSQL 15 or later is needed")
            await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
            await connection.execute("CREATE SCHEMA IF NOT EXISTS dueline")
            await connection.execute(
                "CREATE TABLE IF NOT EXISTS dueline.migrations"
                " (version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_ms bigint NOT NULL)"
            )
            await connection.execute("SET LOCAL statement_timeout = 0")
            for migration in pending(known, await _applied(connection)):
                await connection.execute(migration.sql, timeout=_MIGRATION_S)
                await connection.execute(
                    "INSERT INTO dueline.migrations VALUES ($1, $2, $3, dueline.now_ms())",
                    migration.version,
                    migration.name,
                    migration.checksum,
                )
            return states(known, await _applied(connection))

    async def schema(self) -> Sequence[MigrationState]:
        known = load_migrations("postgres")
        async with self._database.transaction() as connection:
            exists = await connection.fetchval("SELECT to_regclass('dueline.migrations') IS NOT NULL")
            applied = await _applied(connection) if exists else {}
        pending(known, applied)
        return states(known, applied)


async def _applied(connection: Connection) -> dict[int, str]:
    try:
        rows = await connection.fetch("SELECT version, checksum FROM dueline.migrations")
    except asyncpg.UndefinedColumnError as error:
        raise SchemaRefused("the schema dueline holds something that is not Dueline's") from error
    return {row[0]: row[1] for row in rows}
