"""A held snapshot keeps what others leave behind, and a server without free connections refuses; both end when told to."""

from __future__ import annotations

import time

import psycopg
import pytest

from dueline.domain.errors import StoreUnavailable
from dueline.store.postgres.store import PostgresStore
from proof.tools.pool import exhausted_connections
from proof.tools.snapshot import held_snapshot
from tests.support.postgres import PostgresServer

CLEAN_S_MAX = 10.0
"""As a rule the first time cleans everything, unless the server itself looks at the table just then."""


def test_a_held_snapshot_keeps_dead_rows(postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:

        def pages() -> int:
            """After cleaning up, of a table that is emptied each time."""
            connection.execute("VACUUM mark")
            row = connection.execute("SELECT pg_relation_size('mark')").fetchone()
            assert row is not None
            return int(row[0])

        connection.execute("CREATE TABLE mark (n int)")
        with held_snapshot(postgres_dsn) as snapshot:
            for _ in range(5):
                connection.execute("INSERT INTO mark SELECT generate_series(1, 1000)")
                connection.execute("DELETE FROM mark")
            assert pages() > 0
            evidence = snapshot.evidence()
            assert int(evidence["transactions_behind"]) >= 10
            assert evidence["pid"] == snapshot.connection.info.backend_pid
        deadline = time.monotonic() + CLEAN_S_MAX
        while pages() > 0:
            assert time.monotonic() < deadline


async def test_a_store_without_connections_says_so_and_recovers() -> None:
    with PostgresServer(max_connections=20) as server:
        store = PostgresStore(server.dsn())
        with exhausted_connections(server.dsn()) as evidence:
            assert 10 <= int(evidence["taken"]) <= 20
            assert "too many clients" in str(evidence["refused"])
            with pytest.raises(StoreUnavailable, match="too many clients"):
                await store.open()
        await store.open()
        try:
            assert await store.migrate()
        finally:
            await store.close()
