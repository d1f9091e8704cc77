"""What an inbox refuses to do, because it could not keep its promise, and what it brings along."""

import sqlite3
import subprocess
import sys
from typing import Any

import asyncpg
import psycopg
import pytest

from dueline.inbox import Inbox, Misused
from tests.inbox.deliveries import a_delivery

IMPORTED = """
import sys
before = set(sys.modules)
import dueline.inbox
print(*sorted(set(sys.modules) - before))
"""


def test_a_receiver_gets_no_server_and_no_driver() -> None:
    ended = subprocess.run([sys.executable, "-c", IMPORTED], check=True, capture_output=True, text=True)
    modules = set(ended.stdout.split())
    ours = {name for name in modules if name.partition(".")[0] == "dueline"}
    parts = {".".join(name.split(".")[:2]) for name in ours}
    assert parts == {"dueline", "dueline.domain", "dueline.drivers", "dueline.inbox", "dueline.runtime"}
    assert {name for name in ours if name.startswith("dueline.runtime.")} == {"dueline.runtime.clock"}
    foreign = {name.partition(".")[0] for name in modules} - sys.stdlib_module_names - {"dueline"}
    assert foreign <= {"msgspec", "typing_extensions"}
    assert modules.isdisjoint({"sqlite3", "asyncio", "socket", "ssl"})


def test_sqlite_without_a_transaction_is_refused() -> None:
    inbox = Inbox()
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(inbox.schema)
    with pytest.raises(Misused, match="no transaction"):
        inbox.first(connection, a_delivery())
    connection.execute("BEGIN")
    assert inbox.first(connection, a_delivery())
    connection.execute("COMMIT")
    with pytest.raises(Misused, match="no transaction"):
        inbox.answer(connection, a_delivery(), "late")
    assert inbox.answered(connection, a_delivery()) is None
    connection.close()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sqlite3 has the attribute from Python 3.12 on")
def test_sqlite_that_commits_by_itself_is_refused() -> None:
    inbox = Inbox()
    options: dict[str, Any] = {"autocommit": True}
    connection = sqlite3.connect(":memory:", **options)
    connection.executescript(inbox.schema)
    with pytest.raises(Misused, match="no transaction"):
        inbox.first(connection, a_delivery())
    connection.close()


def test_psycopg_without_a_transaction_is_refused(postgres_dsn: str) -> None:
    inbox = Inbox()
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute(inbox.schema.encode())
        with pytest.raises(Misused, match="no transaction"):
            inbox.first(connection, a_delivery())
        with connection.transaction():
            assert inbox.first(connection, a_delivery())
        assert inbox.answered(connection, a_delivery()) is None


async def test_asynchronous_drivers_without_a_transaction_are_refused(postgres_dsn: str) -> None:
    inbox = Inbox()
    async with await psycopg.AsyncConnection.connect(postgres_dsn, autocommit=True) as connection:
        await connection.execute(inbox.schema.encode())
        with pytest.raises(Misused, match="no transaction"):
            await inbox.first(connection, a_delivery())
        async with connection.transaction():
            assert await inbox.first(connection, a_delivery(1))
    plain = await asyncpg.connect(postgres_dsn)
    with pytest.raises(Misused, match="no transaction"):
        await inbox.first(plain, a_delivery())
    async with plain.transaction():
        assert await inbox.first(plain, a_delivery(2))
    await plain.close()


async def test_a_forgotten_await_is_an_error_and_not_a_first_delivery(postgres_dsn: str) -> None:
    inbox = Inbox()
    connection = await asyncpg.connect(postgres_dsn)
    async with connection.transaction():
        with pytest.raises(Misused, match="await"):
            bool(inbox.first(connection, a_delivery()))
    await connection.close()


async def test_what_is_no_connection_is_refused(postgres_dsn: str) -> None:
    """A pool would do each statement in a transaction of its own."""
    inbox: Any = Inbox()
    database = sqlite3.connect(":memory:")
    async with asyncpg.create_pool(postgres_dsn, min_size=0) as pool:
        for connection in (pool, database.cursor(), object(), None):
            with pytest.raises(Misused, match="is no connection"):
                inbox.first(connection, a_delivery())
    database.close()


def test_a_connection_of_a_class_of_the_receivers_own_will_do() -> None:
    class Database(sqlite3.Connection):
        pass

    inbox = Inbox()
    connection = sqlite3.connect(":memory:", factory=Database)
    connection.executescript(inbox.schema)
    assert inbox.first(connection, a_delivery())
    connection.close()
