"""Questions that many have at once, put to the store once for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from dueline.runtime.clock import Clock

T = TypeVar("T")


class Look(Generic[T]):
    """An answer that is at most `fresh_s` old. Whoever comes while the store is being asked waits, and never gets the answer before."""

    def __init__(self, ask: Callable[[], Awaitable[T]], clock: Clock, *, fresh_s: float) -> None:
        self._ask = ask
        self._clock = clock
        self._fresh_s = fresh_s
        self._asking = asyncio.Lock()
        self._answer: T | None = None
        self._asked_s = float("-inf")

    async def take(self, *, spare_s: float = 0.0) -> T:
        """With `spare_s` it will do for so much longer."""
        async with self._asking:
            now_s = self._clock.monotonic_s()
            if self._answer is None or now_s + spare_s - self._asked_s > self._fresh_s:
                # Stamped before the answer: what is forgotten meanwhile is asked for again.
                self._answer, self._asked_s = None, now_s
                self._answer = await self._ask()
            return self._answer

    def forget(self) -> None:
        """Something has changed: an answer to a question that was put before is old."""
        self._asked_s = float("-inf")
