"""Connections to one PostgreSQL: a pool for moves, one connection for heartbeats, one for wake-ups."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

import asyncpg

from dueline.domain.errors import StoreMoved, StoreUnavailable
from dueline.store.postgres.arrays import set_array_codecs
from dueline.store.postgres.pool import Loan, Pool
from dueline.store.postgres.reaching import Connection, reach

P = ParamSpec("P")
T = TypeVar("T")

CONNECT_S = 5.0
STATEMENT_S = 30.0
IDLE_S = 60.0
STATEMENTS_KEPT = 200
"""Prepared statements of a connection: more than there are."""
SETTINGS = {
    "application_name": "dueline",
    # An owner that is stopped inside a transaction must not keep others out for longer than this.
    "idle_in_transaction_session_timeout": "5000",
    "statement_timeout": str(int(STATEMENT_S * 1000)),
    "lock_timeout": "5000",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    # The same for one to whom something was sent, and who did not say that it came: nobody asks whether it is alive.
    "tcp_user_timeout": "11000",
    # Compiling a statement of a millisecond takes longer than running it.
    "jit": "off",
    # Every statement of ours is small and comes again and again, and an index serves it. Planning it for its arguments takes longer than
    # running it; and a plan that reads a table from end to end, because it was made while the table was empty, outlives that by far:
    # these tables hold nothing now and a million runs in a minute, and nobody has counted them yet.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_mergejoin": "off",
}
MOVED_TO = "moved to "
"""What a trigger says that refuses a write, because everything was moved; the address follows."""
_MOVED = "DUMOV"
_UNAVAILABLE = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.exceptions.OperatorInterventionError,
    asyncpg.exceptions.InsufficientResourcesError,
    asyncpg.exceptions.TransactionRollbackError,
    asyncpg.exceptions.LockNotAvailableError,
    asyncpg.exceptions.IdleInTransactionSessionTimeoutError,
    asyncpg.exceptions.ReadOnlySQLTransactionError,
    asyncpg.exceptions.InvalidAuthorizationSpecificationError,
    asyncpg.exceptions.InvalidCatalogNameError,
    asyncpg.exceptions.TargetServerAttributeNotMatched,
)


class _Telling:
    async def __aenter__(self) -> None:
        return None

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, _UNAVAILABLE):
            raise StoreUnavailable(f"PostgreSQL: {str(error) or type(error).__name__}") from error
        if isinstance(error, asyncpg.PostgresError) and error.sqlstate == _MOVED:
            raise StoreMoved(str(error).removeprefix(MOVED_TO)) from error


_TELLING = _Telling()


def unavailable_when_broken() -> AbstractAsyncContextManager[None]:
    """Say StoreUnavailable for everything that means: not now, or not known."""
    return _TELLING


class Database:
    """Every statement runs on its own pooled connection and commits by itself, unless inside `transaction`."""

    def __init__(self, dsn: str, *, connections_max: int = 8) -> None:
        self._dsn = dsn
        self._connections_max = connections_max
        self._pool: Pool | None = None
        self._own: dict[str, Connection] = {}
        self._own_locks: dict[str, asyncio.Lock] = {}

    async def open(self) -> None:
        async with unavailable_when_broken():
            pool = Pool(self._connect, size=self._connections_max, patience_s=STATEMENT_S, idle_s=IDLE_S)
            pool.release(await pool.acquire())
            self._pool = pool

    async def close(self) -> None:
        for connection in self._own.values():
            connection.terminate()
        self._own.clear()
        if self._pool is not None:
            pool, self._pool = self._pool, None
            await pool.close(CONNECT_S)

    async def fetch(self, sql: str, *args: Any) -> list[asyncpg.Record]:
        async with unavailable_when_broken(), self._lent() as connection:
            return await connection.fetch(sql, *args)

    async def execute(self, sql: str, *args: Any) -> str:
        """Answers what the statement did, as `INSERT 0 3`."""
        async with unavailable_when_broken(), self._lent() as connection:
            return await connection.execute(sql, *args)

    async def fetchval(self, sql: str, *args: Any) -> Any:
        async with unavailable_when_broken(), self._lent() as connection:
            return await connection.fetchval(sql, *args)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        async with unavailable_when_broken(), self._lent() as connection, connection.transaction():
            yield connection

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection whose statements commit by themselves."""
        async with unavailable_when_broken(), self._lent() as connection:
            yield connection

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Connection]:
        """For several reads that see one moment."""
        async with (
            unavailable_when_broken(),
            self._lent() as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            yield connection

    async def on_own(self, name: str, ask: Callable[[Connection], Awaitable[T]], *, timeout_s: float) -> T:
        """Ask on a connection that nobody else uses, made anew when it broke: it never waits for the pool."""
        async with self._own_locks.setdefault(name, asyncio.Lock()), unavailable_when_broken():
            async with asyncio.timeout(timeout_s):
                connection = self._own.get(name)
                if connection is None or connection.is_closed():
                    connection = self._own[name] = await self._connect()
                try:
                    return await ask(connection)
                except (TimeoutError, asyncio.CancelledError):
                    connection.terminate()
                    raise

    async def _connect(self) -> Connection:
        connection = await reach(
            self._dsn,
            timeout=CONNECT_S,
            command_timeout=STATEMENT_S,
            server_settings=SETTINGS,
            statement_cache_size=STATEMENTS_KEPT,
        )
        await prepare(connection)
        return connection

    def _lent(self) -> Loan:
        if self._pool is None:
            raise StoreUnavailable("the store is closed")
        return self._pool.lend()


async def prepare(connection: Any) -> None:
    """Ids travel as 16 raw bytes in both directions."""
    await connection.set_type_codec("uuid", schema="pg_catalog", encoder=bytes, decoder=bytes, format="binary")
    set_array_codecs(connection)
