"""A PostgreSQL that is looked at."""

from __future__ import annotations

from dueline.store.conditions import ServerCondition, Snapshot
from dueline.store.postgres.part import queries
from dueline.store.postgres.store import PostgresStore

_SQL = queries("conditions")
_SETTINGS = ("fsync", "full_page_writes", "synchronous_commit")
"""Without them what was told to be written may be gone after a crash."""
_CONNECTIONS_MAX = "max_connections"


class PostgresLookedAt(PostgresStore):
    """Any number of processes may look, as any number may use it."""

    async def condition(self) -> ServerCondition:
        async with self._database.snapshot() as connection:
            server = await connection.fetchrow(_SQL["server"])
            settings = await connection.fetch(_SQL["settings"], [*_SETTINGS, _CONNECTIONS_MAX])
            oldest = await connection.fetchrow(_SQL["oldest_snapshot"])
        assert server is not None, "every server can tell of itself"
        version, size_bytes, connections = server
        values: dict[str, str] = {row[0]: row[1] for row in settings}
        return ServerCondition(
            version=version,
            size_bytes=size_bytes,
            settings={name: values[name] for name in _SETTINGS},
            connections=connections,
            connections_max=int(values[_CONNECTIONS_MAX]),
            oldest_snapshot=None if oldest is None else Snapshot(*oldest),
        )
