"""Somebody who listens to a store."""

import asyncio
from collections import Counter

from dueline.store.postgres.store import PostgresStore
from dueline.store.protocol import Store
from tests.support.stores import a_run, enqueue

WITHIN_S = 5.0
"""Only a test that is about to fail waits this long."""
MARK = "mark"


class Ear:
    """Remembers topics, and waits for one."""

    def __init__(self) -> None:
        self._heard = Counter[str]()
        self._news = asyncio.Event()

    async def hears(self, topic: str, *, times: int = 1) -> None:
        async with asyncio.timeout(WITHIN_S):
            while self._heard[topic] < times:
                self._news.clear()
                await self._news.wait()
        del self._heard[topic]

    def forget(self) -> None:
        self._heard.clear()

    def hear(self, topic: str) -> None:
        self._heard[topic] += 1
        self._news.set()


async def listening(store: Store) -> Ear:
    """An ear for what is written from now on.

    Echoes of earlier writes may still be on their way through PostgreSQL: they arrive in order, so a mark that comes back ends them.
    """
    ear = Ear()
    store.listen(ear.hear)
    echoes = isinstance(store, PostgresStore)
    if echoes:
        # Told when the line stands: anything may have been missed before.
        await ear.hears("plans")
        await ear.hears("waiting")
    await enqueue(store, a_run(queue=MARK))
    await ear.hears(f"ready/{MARK}", times=2 if echoes else 1)
    ear.forget()
    return ear
