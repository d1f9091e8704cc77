"""Connections lead to the host that can be written to, whatever the others do."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from dueline.domain.errors import StoreUnavailable
from dueline.store.postgres.database import CONNECT_S
from dueline.store.postgres.reaching import one_per_host, reach
from dueline.store.postgres.store import PostgresStore
from tests.support.stores import register


@pytest.fixture
def silent() -> Iterator[str]:
    """A host that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        yield f"127.0.0.1:{door.getsockname()[1]}"


@pytest.fixture
def refusing() -> str:
    with socket.create_server(("127.0.0.1", 0)) as door:
        return f"127.0.0.1:{door.getsockname()[1]}"


@pytest.mark.parametrize(
    ("dsn", "each"),
    [
        ("postgresql://a/db", ["postgresql://a/db"]),
        ("postgresql://", ["postgresql://"]),
        ("postgresql:///db?host=/run", ["postgresql:///db?host=/run"]),
        (
            "postgresql://u:p@a:1,[::1]:2/db?x=y,z",
            ["postgresql://u:p@a:1/db?x=y,z", "postgresql://u:p@[::1]:2/db?x=y,z"],
        ),
        ("postgres://a,b?x=y", ["postgres://a?x=y", "postgres://b?x=y"]),
    ],
)
def test_an_address_with_several_hosts_is_several_addresses(dsn: str, each: list[str]) -> None:
    assert one_per_host(dsn) == each


async def test_a_silent_host_costs_no_time(silent: str, refusing: str, postgres_dsn: str) -> None:
    """The machine of the first host is gone: the pool and the heartbeat, which has less patience, reach the other at once."""
    store = PostgresStore(postgres_dsn.replace("@", f"@{silent},{refusing},"))
    begun = time.monotonic()
    await store.open()
    try:
        await store.beat(await register(store), lease_s=60)
        assert time.monotonic() - begun < CONNECT_S
    finally:
        await store.close()


async def test_no_host_at_all_is_an_unavailable_store(refusing: str) -> None:
    store = PostgresStore(f"postgresql://postgres@{refusing},{refusing}/postgres")
    with pytest.raises(StoreUnavailable):
        await store.open()
    await store.close()


async def test_of_several_that_could_be_used_one_is(postgres_dsn: str) -> None:
    host = postgres_dsn.partition("@")[2].partition("/")[0]
    connection = await reach(postgres_dsn.replace(host, f"{host},{host},{host}"), timeout=CONNECT_S)
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    deadline = time.monotonic() + CONNECT_S
    while await connection.fetchval(others) > 0:
        assert time.monotonic() < deadline
    await connection.close()
