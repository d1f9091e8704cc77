"""One SQLite file: its lock, its connections, and the lanes that use them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import apsw

from dueline.domain.errors import DuelineError, SchemaRefused, StoreUnavailable
from dueline.runtime.clock import Clock
from dueline.store.protocol import WakeUp
from dueline.store.sqlite.filelock import FileLock
from dueline.store.sqlite.lanes import InlineLane, InlineReadLane, Lane, ReadLane, WriteLane
from dueline.store.sqlite.session import MEMORY, Session, explain, set_up_reader, set_up_writer

P = ParamSpec("P")
T = TypeVar("T")
Prepare = Callable[[Session], None]


class Database:
    """Writes go through one lane in order. Reads have two: one for the engine, and one for pages that people ask for, which may take
    long and must not keep the scheduler from seeing what is due. In memory one lane does everything, and inline one connection does.
    """

    def __init__(self, path: str, clock: Clock, *, inline: bool) -> None:
        self._path = path if path == MEMORY else os.path.realpath(path)
        self._clock = clock
        self._inline = inline
        self._lock = FileLock(self._path)
        self._listeners: list[WakeUp] = []
        self._writes: Lane | None = None
        self._reads: Lane | None = None
        self._pages: Lane | None = None

    async def open(self, inspect: Prepare, settle: Prepare) -> None:
        """Take the file. `inspect` may refuse it before anything is written; `settle` puts in order what the last owner left."""
        alone = self._inline or self._path == MEMORY
        # In the caller's thread: a caller that is cancelled half-way must not leave the file taken.
        writer, *readers = self._connect(inspect, settle, readers=0 if alone else 2)
        lane = InlineLane if self._inline else WriteLane
        self._writes = self._reads = self._pages = lane(writer, self._announce)
        if self._inline:
            self._reads = self._pages = InlineReadLane(writer)
        elif readers:
            self._reads = ReadLane(readers[0], name="dueline-read")
            self._pages = ReadLane(readers[1], name="dueline-pages")

    async def close(self) -> None:
        """Carry out what was asked for so far, and let go of the file."""
        # The writer goes last: whoever closes last also copies the log back into the file.
        lanes = [self._pages, self._reads, self._writes]
        self._pages = self._reads = self._writes = None
        for lane in lanes:
            if lane is not None:
                await lane.close()
        self._lock.release()

    async def write(self, move: Callable[Concatenate[Session, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await _open(self._writes).run(lambda session: move(session, *args, **kwargs))

    async def read(self, move: Callable[Concatenate[Session, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """For the engine: short reads by an index."""
        return await _open(self._reads).run(lambda session: move(session, *args, **kwargs))

    async def page(self, move: Callable[Concatenate[Session, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """For people: reads that may have to look at many rows."""
        return await _open(self._pages).run(lambda session: move(session, *args, **kwargs))

    def listen(self, wake: WakeUp) -> None:
        self._listeners.append(wake)

    def _announce(self, topics: set[str]) -> None:
        for topic in sorted(topics):
            for wake in self._listeners:
                wake(topic)

    def _connect(self, inspect: Prepare, settle: Prepare, *, readers: int) -> list[Session]:
        sessions: list[Session] = []
        try:
            if self._path != MEMORY:
                _create_file(Path(self._path))
                self._lock.take()
            writer = Session(self._path, self._clock)
            sessions.append(writer)
            inspect(writer)
            set_up_writer(writer, self._path)
            settle(writer)
            for _ in range(readers):
                reader = Session(self._path, self._clock)
                sessions.append(reader)
                set_up_reader(reader)
        except (OSError, apsw.Error, DuelineError) as error:
            for session in sessions:
                session.close()
            self._lock.release()
            if isinstance(error, OSError):
                raise StoreUnavailable(f"{self._path}: {error.strerror}") from error
            known = explain(error)
            raise SchemaRefused(f"{self._path}: {known}") if isinstance(known, SchemaRefused) else known from error
        return sessions


def _create_file(path: Path) -> None:
    """An empty file that only its owner can read, in folders that only their owner can enter. What exists stays as it is."""
    missing = [folder for folder in path.parents if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _open(lane: Lane | None) -> Lane:
    if lane is None:
        raise StoreUnavailable("the store is closed")
    return lane
