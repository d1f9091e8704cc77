"""Somebody who listens to a store."""

import asyncio

from dueline.store.protocol import Store

WITHIN_S = 5.0
"""Only a test that is about to fail waits this long."""


class Ear:
    """Remembers topics, and waits for one."""

    def __init__(self, store: Store) -> None:
        self._heard: set[str] = set()
        self._news = asyncio.Event()
        store.listen(self._hear)

    async def hears(self, topic: str) -> None:
        async with asyncio.timeout(WITHIN_S):
            while topic not in self._heard:
                self._news.clear()
                await self._news.wait()
        self._heard.discard(topic)

    def _hear(self, topic: str) -> None:
        self._heard.add(topic)
        self._news.set()
