"""From a database address to its store."""

from __future__ import annotations

from pathlib import Path

from dueline.domain.errors import Invalid
from dueline.runtime.clock import Clock
from dueline.store.postgres.store import PostgresStore
from dueline.store.protocol import Store
from dueline.store.sqlite.store import SqliteStore


def is_embedded(address: str) -> bool:
    """Whether an address means the embedded store, which lives in one process."""
    return not address.startswith(("postgresql://", "postgres://"))


def make_store(address: str, clock: Clock) -> Store:
    """`postgresql://…` (several hosts allowed), `sqlite:///path`, or a file path."""
    if not is_embedded(address):
        return PostgresStore(address)
    path = address.removeprefix("sqlite:///")
    if "://" in path or not path:
        raise Invalid(("db", f"{address!r} is neither postgresql://…, sqlite:///path nor a file path"))
    return SqliteStore(Path(path), clock)
