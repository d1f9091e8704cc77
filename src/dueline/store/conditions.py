"""A store that is only looked at, while others use it: how it is kept, and what stands in it."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import msgspec

from dueline.domain.errors import Invalid
from dueline.runtime.clock import Clock
from dueline.store.opening import is_embedded
from dueline.store.protocol import Store


class Snapshot(msgspec.Struct, frozen=True):
    """Somebody's view of the past, for which nothing that has changed since can be cleared away."""

    age_s: float
    holder: str


class FileCondition(msgspec.Struct, frozen=True, kw_only=True):
    """How the file of an embedded store is kept."""

    path: str
    version: str
    """Of SQLite, in this program."""
    size_bytes: int
    free_bytes: int
    """What is left on its disk, for whoever looks."""
    disk_bytes: int
    mode: int
    """Who may read and write it, as the file system has it."""
    holder: int | None
    """The process that has the file, or had it and died without letting go."""
    holder_lives: bool


class ServerCondition(msgspec.Struct, frozen=True, kw_only=True):
    """How a PostgreSQL is kept."""

    version: str
    size_bytes: int
    settings: dict[str, str]
    """Those on which promises rest, as they are for our database and our account."""
    connections: int
    connections_max: int
    oldest_snapshot: Snapshot | None


class LookedAt(Store, Protocol):
    """A store of which only the reads are of use."""

    async def condition(self) -> FileCondition | ServerCondition: ...


def look_at(address: str, clock: Clock) -> LookedAt:
    """The store at an address, to be looked at. Nothing is written, created or taken, and nobody is kept waiting."""
    if not is_embedded(address):
        from dueline.store.postgres.looking import PostgresLookedAt

        return PostgresLookedAt(address, connections_max=1)
    path = address.removeprefix("sqlite:///")
    if "://" in path or not path:
        raise Invalid(("db", f"{address!r} is neither postgresql://…, sqlite:///path nor a file path"))
    from dueline.store.sqlite.looking import SqliteLookedAt

    return SqliteLookedAt(Path(path), clock)
