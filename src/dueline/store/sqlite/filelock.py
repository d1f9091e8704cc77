"""The lock that makes a database file belong to one process."""

from __future__ import annotations

import fcntl
import os

from dueline.domain.errors import StoreInUse


class FileLock:
    """An exclusive lock on PATH.lock, with the holder's process id inside. The kernel lets go of it when the process ends, however.

    The lock file stays: removing it would let two processes hold two locks of the same name.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor: int | None = None

    def take(self) -> None:
        descriptor = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            raise StoreInUse(
                f"{self._path} is in use by process {holder or 'unknown'}: an SQLite file belongs to one process; "
                "stop that one, or use PostgreSQL for several"
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None
