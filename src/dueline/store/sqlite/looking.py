"""A file that is looked at while another process has it, or nobody."""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from dueline.domain.errors import StoreUnavailable
from dueline.runtime.clock import Clock
from dueline.store.conditions import FileCondition
from dueline.store.sqlite.database import Database, Prepare
from dueline.store.sqlite.lanes import InlineReadLane
from dueline.store.sqlite.part import queries
from dueline.store.sqlite.session import Session, explain, set_up_reader
from dueline.store.sqlite.store import SqliteStore

_SQL = queries("conditions")


class SqliteLookedAt(SqliteStore):
    """Reads work as ever; moves raise StoreUnavailable. The file is not taken, and one that is not there is not made."""

    def __init__(self, path: Path, clock: Clock) -> None:
        super().__init__(path, clock)
        self._database = _LookedAtDatabase(str(path), clock, inline=True)
        self._file = Path(os.path.realpath(path))

    async def condition(self) -> FileCondition:
        path = self._file
        version, size_bytes = await self._database.read(_server)
        try:
            status, disk = path.stat(), os.statvfs(path)
        except OSError as error:
            raise StoreUnavailable(f"{path}: {error.strerror}") from error
        holder = _holder(path)
        return FileCondition(
            path=str(path),
            version=version,
            size_bytes=size_bytes,
            free_bytes=disk.f_bavail * disk.f_frsize,
            disk_bytes=disk.f_blocks * disk.f_frsize,
            mode=status.st_mode & 0o777,
            holder=holder,
            holder_lives=holder is not None and _lives(holder),
        )


class _LookedAtDatabase(Database):
    """One connection that cannot write."""

    async def open(self, _inspect: Prepare, _settle: Prepare) -> None:
        """Neither inspected nor settled: what the file holds is told as it is, and the owner it had is not buried."""
        self._reads = self._pages = _OwnLane(self._look())

    def _look(self) -> Session:
        if not os.path.exists(self._path):
            raise StoreUnavailable(f"{self._path}: there is no such file")
        try:
            session = Session(self._path, self._clock, read_only=True)
            set_up_reader(session)
        except apsw.Error as error:
            raise explain(error) from error
        return session


class _OwnLane(InlineReadLane):
    """Its connection is nobody else's."""

    async def close(self) -> None:
        self._session.close()


def _server(session: Session) -> tuple[str, int]:
    ((version, size_bytes),) = session.rows(_SQL["server"])
    return version, size_bytes


def _holder(path: Path) -> int | None:
    """The process that the lock names. One that ends in order takes its name out."""
    try:
        said = Path(f"{path}.lock").read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None
    return int(said) if said.isdecimal() else None


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
