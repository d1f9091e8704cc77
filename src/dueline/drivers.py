"""One statement on a caller's own connection, whichever driver it is of. Drivers are known by name and never imported."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from enum import Enum
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from dueline.domain.errors import Misused

T = TypeVar("T")

Rows = Sequence[Sequence[Any]]


class SyncConnection(Protocol):
    """A connection of sqlite3, or a `Connection` of psycopg."""

    def commit(self) -> None: ...


class AsyncConnection(Protocol):
    """A connection of asyncpg, from a pool or not, or an `AsyncConnection` of psycopg."""

    def execute(self, *args: Any, **kwargs: Any) -> Awaitable[Any]: ...


class Pending(Generic[T]):
    """What an asynchronous connection will answer, to be awaited once.

    As a condition a forgotten `await` would always be true; so it is an error.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, T]:
        return self._coroutine.__await__()

    def __bool__(self) -> bool:
        self._coroutine.close()
        raise Misused("the connection is asynchronous: await the answer")


class Database(Enum):
    SQLITE = "SQLite"
    POSTGRES = "PostgreSQL"


class Statement(NamedTuple):
    """SQL with a question mark for each argument, and with no other."""

    sql: str
    arguments: tuple[Any, ...]
    needs_transaction: bool = False


class Driver(NamedTuple):
    database: Database
    placeholder: str
    """Of an argument, by its number."""
    in_transaction: Callable[[Any], bool]
    """Whether what the next statement writes waits for the caller's commit."""
    fetch: Callable[[Any, str, Sequence[Any]], Any]
    """The rows, or where the driver is asynchronous a coroutine that answers them."""
    is_async: bool


def run(connection: Any, statement: Statement, read: Callable[[Rows], T]) -> T | Pending[T]:
    """What `read` makes of the rows; pending where the connection is asynchronous."""
    driver = _driver_of(connection)
    if driver.is_async:
        return Pending(_run_later(driver, connection, statement, read))
    _check_transaction(driver, connection, statement)
    return read(driver.fetch(connection, _spell(statement.sql, driver.placeholder), statement.arguments))


async def _run_later(driver: Driver, connection: Any, statement: Statement, read: Callable[[Rows], T]) -> T:
    _check_transaction(driver, connection, statement)
    return read(await driver.fetch(connection, _spell(statement.sql, driver.placeholder), statement.arguments))


def database_of(connection: Any) -> Database:
    """What a connection leads to, or Misused for what is none."""
    return _driver_of(connection).database


def _driver_of(connection: Any) -> Driver:
    for kind in type(connection).__mro__:
        driver = _DRIVERS.get((kind.__module__.partition(".")[0], kind.__qualname__))
        if driver is not None:
            return driver
    kind = type(connection)
    raise Misused(
        f"{kind.__module__}.{kind.__qualname__} is no connection that can be used: give one of sqlite3, psycopg or asyncpg"
    )


def _check_transaction(driver: Driver, connection: Any, statement: Statement) -> None:
    if statement.needs_transaction and not driver.in_transaction(connection):
        raise Misused(
            "there is no transaction: this would stay even if what belongs to it is lost. Begin one, and commit both together"
        )


def _spell(sql: str, placeholder: str) -> str:
    first, *rest = sql.split("?")
    return first + "".join([placeholder.format(number) + piece for number, piece in enumerate(rest, start=1)])


def _sqlite_in_transaction(connection: Any) -> bool:
    """Unless it was told to commit by itself, sqlite3 begins a transaction before it writes."""
    commits_itself = connection.isolation_level is None or getattr(connection, "autocommit", None) is True
    return connection.in_transaction or not commits_itself


def _sqlite_fetch(connection: Any, sql: str, arguments: Sequence[Any]) -> Rows:
    cursor = connection.cursor()
    cursor.row_factory = None
    rows: Rows = cursor.execute(sql, arguments).fetchall()
    return rows


def _psycopg_in_transaction(connection: Any) -> bool:
    """Unless it was told to commit by itself, psycopg begins a transaction before anything."""
    return not connection.autocommit or connection.info.transaction_status.name != "IDLE"


def _psycopg_fetch(connection: Any, sql: str, arguments: Sequence[Any]) -> Rows:
    with connection.cursor(row_factory=_plain_rows) as cursor:
        rows: Rows = cursor.execute(sql, arguments).fetchall()
        return rows


async def _psycopg_fetch_later(connection: Any, sql: str, arguments: Sequence[Any]) -> Rows:
    async with connection.cursor(row_factory=_plain_rows) as cursor:
        await cursor.execute(sql, arguments)
        rows: Rows = await cursor.fetchall()
        return rows


def _plain_rows(_cursor: Any) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Whatever rows the caller likes to have."""
    return tuple


def _asyncpg_in_transaction(connection: Any) -> bool:
    return bool(connection.is_in_transaction())


async def _asyncpg_fetch(connection: Any, sql: str, arguments: Sequence[Any]) -> Rows:
    rows: Rows = await connection.fetch(sql, *arguments)
    return rows


_ASYNCPG = Driver(Database.POSTGRES, "${}", _asyncpg_in_transaction, _asyncpg_fetch, is_async=True)
# By the top module and the name of their class. A pool is none: it has a transaction for each statement.
_DRIVERS = {
    ("sqlite3", "Connection"): Driver(Database.SQLITE, "?", _sqlite_in_transaction, _sqlite_fetch, is_async=False),
    ("psycopg", "Connection"): Driver(Database.POSTGRES, "%s", _psycopg_in_transaction, _psycopg_fetch, is_async=False),
    ("psycopg", "AsyncConnection"): Driver(
        Database.POSTGRES, "%s", _psycopg_in_transaction, _psycopg_fetch_later, is_async=True
    ),
    ("asyncpg", "Connection"): _ASYNCPG,
    ("asyncpg", "PoolConnectionProxy"): _ASYNCPG,
}
