"""Wake-ups between processes, through LISTEN and NOTIFY. They are hints: one may be lost, and polling will find what it was about."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import Any

from dueline.domain import limits
from dueline.domain.errors import StoreUnavailable
from dueline.store.postgres.database import Database
from dueline.store.postgres.reaching import Connection
from dueline.store.protocol import WakeUp

CHANNEL = "dueline"
_RECONNECT_S = 1.0
_TOPICS_PER_NOTICE = 50
_MISSED = ("plans", "waiting", "stale", "cancel")
"""What may have been announced while nobody listened."""


class Notices:
    """Topics are sent at once when the line was quiet, otherwise together after a short gap.

    A NOTIFY takes a lock of the whole cluster across its commit, so there is never one per write.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._listeners: list[WakeUp] = []
        self._topics: set[str] = set()
        self._sending: asyncio.Task[None] | None = None
        self._hearing: asyncio.Task[None] | None = None

    def listen(self, wake: WakeUp) -> None:
        self._listeners.append(wake)
        if self._hearing is None:
            self._hearing = asyncio.get_running_loop().create_task(self._hear())

    def announce(self, *topics: str) -> None:
        """Tell listeners here now, and those elsewhere soon."""
        for topic in topics:
            self._tell(topic)
        self._topics.update(topics)
        if self._topics and self._sending is None:
            self._sending = asyncio.get_running_loop().create_task(self._send())

    async def close(self) -> None:
        """Send what is left: the last thing a process announces is what it hands over."""
        for task in (self._sending, self._hearing):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        self._sending = self._hearing = None
        if self._topics:
            with suppress(StoreUnavailable):
                await self._notify()

    def _tell(self, topic: str) -> None:
        for wake in self._listeners:
            wake(topic)

    async def _send(self) -> None:
        while self._topics:
            with suppress(StoreUnavailable):
                await self._notify()
            await asyncio.sleep(limits.WAKEUP_GAP_S)
        self._sending = None

    async def _notify(self) -> None:
        topics = sorted(self._topics)[:_TOPICS_PER_NOTICE]
        self._topics.difference_update(topics)
        await self._database.fetch("SELECT pg_notify($1, $2)", CHANNEL, "\n".join(topics))

    async def _hear(self) -> None:
        """Keep one connection listening; after an interruption anything may have been missed, so wake everyone."""
        while True:
            broken = asyncio.Event()
            try:
                await self._database.on_own("notices", partial(self._subscribe, broken), timeout_s=10)
            except StoreUnavailable:
                await asyncio.sleep(_RECONNECT_S)
                continue
            for topic in _MISSED:
                self._tell(topic)
            await broken.wait()

    async def _subscribe(self, broken: asyncio.Event, connection: Connection) -> None:
        def heard(_connection: Any, _pid: int, _channel: str, payload: Any) -> None:
            for topic in str(payload).split("\n"):
                self._tell(topic)

        connection.add_termination_listener(lambda _connection: broken.set())
        await connection.add_listener(CHANNEL, heard)
