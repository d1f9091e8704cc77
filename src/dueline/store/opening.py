"""From a database address to its store."""

from __future__ import annotations

from pathlib import Path

from dueline.domain.errors import Invalid
from dueline.runtime.clock import Clock
from dueline.store.protocol import Store


def is_embedded(address: str) -> bool:
    """Whether an address means the embedded store, which lives in one process."""
    return not address.startswith(("postgresql://", "postgres://"))


def make_store(address: str, clock: Clock) -> Store:
    """`postgresql://…` (several hosts allowed), `sqlite:///path`, or a file path. Only the driver it needs is loaded. For processes of our
    own: drivers are set up for all of the process.
    """
    if not is_embedded(address):
        from dueline.store.postgres.store import PostgresStore

        return PostgresStore(address)
    from dueline.store.sqlite.session import stop_counting_memory
    from dueline.store.sqlite.store import SqliteStore

    stop_counting_memory()
    return SqliteStore(file_of(address), clock)


def file_of(address: str, *, field: str = "db") -> Path:
    """The file of an embedded store."""
    path = address.removeprefix("sqlite:///")
    if "://" in path or not path:
        raise Invalid((field, f"{address!r} is neither postgresql://…, sqlite:///path nor a file path"))
    return Path(path)
