"""Lanes: who carries out moves. Each has a connection of its own and takes one thing at a time."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Protocol, TypeVar

import apsw

from dueline.domain.errors import StoreUnavailable
from dueline.store.sqlite.groups import Move, Outcome, commit_together
from dueline.store.sqlite.session import Session, explain

T = TypeVar("T")
Announce = Callable[[set[str]], None]
Call = tuple[Move, asyncio.Future[Any]]

_GROUP_MOVES_MAX = 256
"""Moves in one commit: enough to share one wait for the disk among all who wait, few enough that the first does not wait for long."""


class Lane(Protocol):
    async def run(self, move: Callable[[Session], T]) -> T:
        """Carry out a move, and return once it is committed."""
        ...

    async def close(self) -> None: ...


class InlineLane:
    """Carries out every move at once, in the caller: no threads, the same order every time."""

    def __init__(self, session: Session, announce: Announce) -> None:
        self._session = session
        self._announce = announce
        self._closed = False

    async def run(self, move: Callable[[Session], T]) -> T:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        outcomes, topics = commit_together(self._session, [move])
        value, error = outcomes[0]
        if error is not None:
            raise error
        self._announce(topics)
        return value  # type: ignore[no-any-return]  # what the move returned

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._session.close()


class InlineReadLane:
    """Carries out reads at once, on the writer's connection, which nobody writes by meanwhile: they need no transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def run(self, move: Callable[[Session], T]) -> T:
        self._session.begin_move()
        try:
            return move(self._session)
        except apsw.Error as error:
            raise explain(error) from error

    async def close(self) -> None:
        """The connection is the writer's."""


class _ThreadLane(ABC):
    """A thread that sleeps until there is something to do."""

    def __init__(self, session: Session, *, name: str) -> None:
        self._session = session
        self._loop = asyncio.get_running_loop()
        self._ended = self._loop.create_future()
        self._queue: SimpleQueue[Call | None] = SimpleQueue()
        self._closing = False
        self._thread = Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    async def run(self, move: Callable[[Session], T]) -> T:
        if self._closing:
            raise StoreUnavailable("the store is closed")
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.put((move, future))
        return await future

    async def close(self) -> None:
        """Carry out what was asked for so far, then end the thread."""
        if not self._closing:
            self._closing = True
            self._queue.put(None)
        await asyncio.shield(self._ended)
        self._thread.join()

    def _serve(self) -> None:
        try:
            while (call := self._queue.get()) is not None:
                if not self._carry_out(call):
                    break
        finally:
            # Closing may fail to copy the log back into the file. What was committed is safe in the log all the same.
            with suppress(apsw.Error):
                self._session.close()
            self._on_loop(self._end)

    @abstractmethod
    def _carry_out(self, first: Call) -> bool:
        """Do one round, beginning with a call. False: the end of the queue was seen."""

    def _on_loop(self, function: Callable[..., None], *args: Any) -> None:
        # A loop that was closed without closing the store has nobody left to tell.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function, *args)

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)


class WriteLane(_ThreadLane):
    """The only writer. Everything that waits when it becomes free is committed together, up to a move that takes long."""

    def __init__(self, session: Session, announce: Announce) -> None:
        self._announce = announce
        super().__init__(session, name="dueline-write")

    def _carry_out(self, first: Call) -> bool:
        group, more = [first], True
        with suppress(Empty):
            while len(group) < _GROUP_MOVES_MAX:
                call = self._queue.get_nowait()
                if call is None:
                    more = False
                    break
                group.append(call)
        while group:
            outcomes, topics = commit_together(self._session, [move for move, _ in group])
            futures = [future for _, future in group[: len(outcomes)]]
            self._on_loop(self._report, futures, outcomes, topics)
            del group[: len(outcomes)]
        return more

    def _report(self, futures: list[asyncio.Future[Any]], outcomes: list[Outcome], topics: set[str]) -> None:
        for future, outcome in zip(futures, outcomes, strict=True):
            _resolve(future, outcome)
        self._announce(topics)


class ReadLane(_ThreadLane):
    """A reader of committed data. It waits for no writer, and no writer waits for it."""

    def _carry_out(self, first: Call) -> bool:
        move, future = first
        self._session.begin_move()
        try:
            outcome = Outcome(move(self._session), None)
        except Exception as error:  # reason: whatever ends one read must reach its caller, and must not end the lane.
            outcome = Outcome(None, explain(error))
        self._on_loop(_resolve, future, outcome)
        return True


def _resolve(future: asyncio.Future[Any], outcome: Outcome) -> None:
    if future.done():
        return  # The caller was cancelled; what it asked for has happened all the same.
    if outcome.error is not None:
        future.set_exception(outcome.error)
    else:
        future.set_result(outcome.value)
