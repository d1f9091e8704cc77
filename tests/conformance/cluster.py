"""Several processes on one PostgreSQL, and a hand that can stop them where it matters."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import asyncpg

from dueline.store.postgres.store import PostgresStore
from dueline.store.protocol import Store
from dueline.store.queries import load_queries
from tests.support.stores import StoreClock, postgres_under_test

T = TypeVar("T")
WAITERS = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


@dataclass(frozen=True)
class Cluster:
    """Two processes, and a third hand that can stop the world in the middle of a transaction."""

    first: Store
    second: Store
    hand: "asyncpg.Connection[asyncpg.Record]"
    clock: StoreClock

    @asynccontextmanager
    async def stopped(self, noun: str, name: str, *args: Any) -> AsyncIterator[None]:
        """Run a statement of the store, and keep its transaction open until the block ends."""
        async with self.hand.transaction():
            await self.hand.fetch(load_queries("postgres", noun)[name], *args)
            yield

    async def blocked(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start something, and return when it waits for a lock."""
        before = await self._waiters()
        task = asyncio.create_task(work)
        async with asyncio.timeout(10):
            while await self._waiters() == before:
                assert not task.done(), "it did not wait"
                await asyncio.sleep(0)
        return task

    async def _waiters(self) -> int:
        """A transaction goes on seeing the connections that there were at its first look, unless it forgets them."""
        await self.hand.execute("SELECT pg_stat_clear_snapshot()")
        waiters: int = await self.hand.fetchval(WAITERS)
        return waiters


@asynccontextmanager
async def a_cluster(dsn: str) -> AsyncIterator[Cluster]:
    async with postgres_under_test(dsn) as under_test:
        second = PostgresStore(dsn)
        await second.open()
        hand = await asyncpg.connect(dsn)
        await hand.set_type_codec("uuid", schema="pg_catalog", encoder=bytes, decoder=bytes, format="binary")
        try:
            yield Cluster(under_test.store, second, hand, under_test.clock)
        finally:
            await hand.close()
            await second.close()
