"""A sleep that can be cut short."""

from __future__ import annotations

import asyncio


class Wakeup:
    """Remembers a call that came before the sleep, so that it is not lost."""

    def __init__(self) -> None:
        self._called = False
        self._sleeper: asyncio.Future[None] | None = None

    def wake(self) -> None:
        self._called = True
        if self._sleeper is not None and not self._sleeper.done():
            self._sleeper.set_result(None)

    def take(self) -> bool:
        """Whether it was called since the last sleep or take."""
        called, self._called = self._called, False
        return called

    async def sleep(self, delay_s: float) -> None:
        """Sleep for a while, or until called; at least give way to others."""
        if self._called or delay_s <= 0:
            self._called = False
            await asyncio.sleep(0)
            return
        loop = asyncio.get_running_loop()
        self._sleeper = loop.create_future()
        timer = loop.call_later(delay_s, self.wake)
        try:
            await self._sleeper
        finally:
            timer.cancel()
            self._sleeper = None
            self._called = False
