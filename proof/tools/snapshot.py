"""A snapshot that is held open: nothing that was deleted or changed since can be cleaned away."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

from proof.tools.evidence import Evidence


@dataclass(frozen=True)
class Snapshot:
    connection: psycopg.Connection
    held_since: float

    def evidence(self) -> Evidence:
        """How long it is held, and how many transactions began meanwhile whose leavings it keeps."""
        row = self.connection.execute(
            "SELECT pg_backend_pid(), age(backend_xmin) FROM pg_stat_activity WHERE pid = pg_backend_pid()"
        ).fetchone()
        assert row is not None
        return {"pid": row[0], "held_s": round(time.monotonic() - self.held_since, 3), "transactions_behind": row[1]}


@contextmanager
def held_snapshot(dsn: str) -> Iterator[Snapshot]:
    """From entering to leaving."""
    with psycopg.connect(dsn, application_name="proof-snapshot") as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        # The snapshot is taken with the first statement, not with the transaction.
        connection.execute("SELECT 1")
        yield Snapshot(connection, time.monotonic())
