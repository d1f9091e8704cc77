"""Receivers with connections of every driver that an inbox takes, all used in the same way."""

import asyncio
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, TypeVar, cast

import asyncpg
import psycopg
from psycopg.rows import dict_row

from dueline.inbox import Delivery, Inbox

T = TypeVar("T")


class Party(ABC):
    """One connection of a receiver, in a transaction from `begin` to `commit` or `rollback`. Blocking drivers wait on a thread."""

    def __init__(self, inbox: Inbox) -> None:
        self.inbox = inbox
        self.connection: Any = None

    @abstractmethod
    async def open(self, where: str) -> None: ...

    @abstractmethod
    async def begin(self) -> None: ...

    @abstractmethod
    async def commit(self) -> None: ...

    @abstractmethod
    async def rollback(self) -> None: ...

    @abstractmethod
    async def close(self) -> None: ...

    @abstractmethod
    async def ask(self, question: Callable[[], T | Awaitable[T]]) -> T:
        """What the inbox answers, on a thread or awaited."""

    async def execute(self, sql: str) -> None:
        await self.ask(lambda: self.connection.execute(sql))

    async def fetch(self, sql: str) -> list[tuple[Any, ...]]:
        """Past the inbox, by the driver itself."""
        cursor = await self.ask(lambda: self.connection.execute(sql))
        return [tuple(row.values()) for row in await self.ask(cursor.fetchall)]

    async def first(self, delivery: Delivery) -> bool:
        return await self.ask(lambda: self.inbox.first(self.connection, delivery))

    async def answer(self, delivery: Delivery, text: str) -> None:
        await self.ask(lambda: self.inbox.answer(self.connection, delivery, text))

    async def answered(self, delivery: Delivery) -> str | None:
        return await self.ask(lambda: self.inbox.answered(self.connection, delivery))

    async def forget(self, older_than: timedelta) -> int:
        return await self.ask(lambda: self.inbox.forget(self.connection, older_than=older_than))


class Blocking(Party):
    async def ask(self, question: Callable[[], T | Awaitable[T]]) -> T:
        return cast("T", await asyncio.to_thread(question))

    async def commit(self) -> None:
        await asyncio.to_thread(self.connection.commit)

    async def rollback(self) -> None:
        await asyncio.to_thread(self.connection.rollback)

    async def close(self) -> None:
        self.connection.close()


class Awaiting(Party):
    async def ask(self, question: Callable[[], T | Awaitable[T]]) -> T:
        return await cast("Awaitable[T]", question())

    async def close(self) -> None:
        await self.connection.close()


class Sqlite(Blocking):
    """With rows that cannot be asked by position, as those of psycopg below."""

    async def open(self, where: str) -> None:
        self.connection = sqlite3.connect(where, timeout=30, check_same_thread=False)
        self.connection.row_factory = _dict_row

    async def execute(self, sql: str) -> None:
        """One statement after the other, which sqlite3 itself does only with a commit before them."""
        for statement in sql.split(";"):
            await super().execute(statement)

    async def begin(self) -> None:
        """The first write does it."""


class Psycopg(Blocking):
    async def open(self, where: str) -> None:
        self.connection = await asyncio.to_thread(psycopg.connect, where, row_factory=dict_row)

    async def begin(self) -> None:
        """The first statement does it."""


class PsycopgAsync(Awaiting):
    async def open(self, where: str) -> None:
        self.connection = await psycopg.AsyncConnection.connect(where, row_factory=dict_row)

    async def begin(self) -> None:
        """The first statement does it."""

    async def commit(self) -> None:
        await self.connection.commit()

    async def rollback(self) -> None:
        await self.connection.rollback()


class Asyncpg(Awaiting):
    async def open(self, where: str) -> None:
        self.connection = await asyncpg.connect(where)

    async def begin(self) -> None:
        self._transaction = self.connection.transaction()
        await self._transaction.start()

    async def commit(self) -> None:
        await self._transaction.commit()

    async def rollback(self) -> None:
        await self._transaction.rollback()

    async def fetch(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await self.connection.fetch(sql)]


class AsyncpgPooled(Asyncpg):
    async def open(self, where: str) -> None:
        self._pool = await asyncpg.create_pool(where, min_size=1, max_size=1)
        self.connection = await self._pool.acquire()

    async def close(self) -> None:
        await self._pool.release(self.connection)
        await self._pool.close()


def _dict_row(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip([column[0] for column in cursor.description], row, strict=True))


PARTIES: list[type[Party]] = [Sqlite, Psycopg, PsycopgAsync, Asyncpg, AsyncpgPooled]
