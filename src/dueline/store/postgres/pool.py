"""Connections to share: whoever asks something has one to itself meanwhile.

The pool of the driver takes longer to lend a connection than PostgreSQL takes for a small statement: a loan is a task and two timers there.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import TypeAlias

import asyncpg

from dueline.domain.errors import DuelineError, StoreUnavailable
from dueline.store.postgres.reaching import Connection
from dueline.store.requests import NothingDone

Waiter: TypeAlias = "asyncio.Future[Connection | None]"


_HARMLESS = (asyncpg.PostgresError, DuelineError, NothingDone)
"""The server refused a statement, or we left a transaction."""
_FATAL = (asyncpg.PostgresConnectionError, asyncpg.exceptions.OperatorInterventionError)


class Pool:
    """Up to `size` connections, made when they are needed. Who comes when all are lent waits in line for `patience_s`. The last that came
    back goes out first, so what is not needed lies idle; after `idle_s` of that it is closed."""

    def __init__(
        self, connect: Callable[[], Awaitable[Connection]], *, size: int, patience_s: float, idle_s: float
    ) -> None:
        self._connect = connect
        self._size = size
        self._patience_s = patience_s
        self._idle_s = idle_s
        self._idle: deque[tuple[Connection, float]] = deque()
        """And since when."""
        self._lent: set[Connection] = set()
        self._connecting = 0
        self._waiting: deque[Waiter] = deque()
        self._sweeping: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._all_back = asyncio.Event()
        """Set where nothing is lent once it is closed."""

    def lend(self) -> Loan:
        """A connection for the block that follows."""
        return Loan(self)

    async def acquire(self) -> Connection:
        """Raises TimeoutError when none came back in time, StoreUnavailable when the pool is closed, and whatever connecting raises."""
        while not self._is_closed:
            while self._idle:
                connection, _ = self._idle.pop()
                if not connection.is_closed():
                    self._lent.add(connection)
                    return connection
            if len(self._lent) + self._connecting < self._size:
                return await self._made()
            handed = await self._handed()
            if handed is not None:
                return handed
        raise StoreUnavailable("the store is closed")

    def release(self, connection: Connection, *, broken: bool = False) -> None:
        """Give one back. One that is broken is not lent again, nor one that is in the middle of something."""
        if connection in self._lent:
            self._lent.remove(connection)
            if broken or self._is_closed or connection.is_closed() or connection.is_in_transaction():
                connection.terminate()
                self._hand(None)
            else:
                self._hand(connection)
            if self._is_closed and not self._lent:
                self._all_back.set()

    async def close(self, patience_s: float) -> None:
        """Nothing is lent from now on. What is lent may come back for so long, and is then cut off."""
        self._is_closed = True
        if self._sweeping is not None:
            self._sweeping.cancel()
        while self._waiting:
            self._hand(None)
        idle = [connection for connection, _ in self._idle]
        self._idle.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await asyncio.gather(*(_bid_farewell(connection, patience_s) for connection in idle))
                if self._lent:
                    await self._all_back.wait()
        for connection in self._lent:
            connection.terminate()
        # They are closed in the next turn of the loop.
        await asyncio.sleep(0)

    async def _made(self) -> Connection:
        self._connecting += 1
        connection = None
        try:
            connection = await self._connect()
        finally:
            self._connecting -= 1
            if connection is None:
                # The place is free again, and whoever is next may have more luck.
                self._hand(None)
        self._lent.add(connection)
        return connection

    async def _handed(self) -> Connection | None:
        """The connection that somebody gives back; None when there is a place for a new one instead."""
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            async with asyncio.timeout(self._patience_s):
                return await waiter
        except BaseException:  # reason: what was handed over must not be lost, whoever ends the wait.
            if waiter.done() and not waiter.cancelled():
                # It came in the same moment as the end of patience.
                self._pass_on(waiter.result())
            raise

    def _pass_on(self, handed: Connection | None) -> None:
        if handed is None:
            self._hand(None)
        else:
            self.release(handed)

    def _hand(self, connection: Connection | None) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(connection)
                if connection is not None:
                    self._lent.add(connection)
                return
        if connection is not None:
            loop = asyncio.get_running_loop()
            self._idle.append((connection, loop.time()))
            if self._sweeping is None:
                self._sweeping = loop.call_later(self._idle_s, self._sweep)

    def _sweep(self) -> None:
        """The first has been idle for longest."""
        loop = asyncio.get_running_loop()
        self._sweeping = None
        while self._idle and self._idle[0][1] + self._idle_s <= loop.time():
            self._idle.popleft()[0].terminate()
        if self._idle:
            self._sweeping = loop.call_at(self._idle[0][1] + self._idle_s, self._sweep)


class Loan:
    __slots__ = ("_connection", "_pool")

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def __aenter__(self) -> Connection:
        self._connection = await self._pool.acquire()
        return self._connection

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # After anything else a statement may be under way still, or the connection on its way out.
        whole = kind is None or (issubclass(kind, _HARMLESS) and not issubclass(kind, _FATAL))
        self._pool.release(self._connection, broken=not whole)


async def _bid_farewell(connection: Connection, patience_s: float) -> None:
    try:
        await connection.close(timeout=patience_s)
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
        connection.terminate()
