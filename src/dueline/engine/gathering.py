"""Writes that many want at once, each for itself: what comes while others are being written is written together next."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from dueline.domain.errors import StoreUnavailable

T = TypeVar("T")
R = TypeVar("R")


class Gathering(Generic[T, R]):
    """One that comes alone is written at once. Under load a statement and a commit are shared by as many as wait, up to `most`; `at_once`
    such writes may be under way. One that breaks the write of all is found by writing each alone."""

    def __init__(
        self, write: Callable[[Sequence[T]], Awaitable[Sequence[R]]], *, most: int = 100, at_once: int = 2
    ) -> None:
        self._write = write
        self._most = most
        self._at_once = at_once
        self._waiting: list[tuple[T, asyncio.Future[R]]] = []
        self._writers: set[asyncio.Task[None]] = set()

    async def write(self, one: T) -> R:
        """Whoever leaves is written nevertheless, or not, as with any write."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[R] = loop.create_future()
        self._waiting.append((one, answer))
        if len(self._writers) < self._at_once:
            writer = loop.create_task(self._write_on())
            self._writers.add(writer)
            writer.add_done_callback(self._writers.discard)
        return await answer

    async def _write_on(self) -> None:
        while self._waiting:
            batch = self._waiting[: self._most]
            del self._waiting[: self._most]
            try:
                await self._write_together(batch)
            finally:
                for _, answer in batch:
                    # Where nobody answered, the loop is being stopped.
                    answer.cancel()

    async def _write_together(self, batch: Sequence[tuple[T, asyncio.Future[R]]]) -> None:
        try:
            answers = await self._write([one for one, _ in batch])
        except Exception as error:  # reason: whatever it is, those who asked for it are told.
            if len(batch) > 1 and not isinstance(error, StoreUnavailable):
                for each in batch:
                    await self._write_together([each])
                return
            for _, answer in batch:
                if not answer.done():
                    answer.set_exception(error)
        else:
            for (_, answer), given in zip(batch, answers, strict=True):
                if not answer.done():
                    answer.set_result(given)
