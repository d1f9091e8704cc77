"""A small disk that fills up to its last byte, and is freed again."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from proof.tools.evidence import Evidence
from proof.tools.root import lacking, run
from proof.tools.undo import Undo

CHUNK_BYTES = 65_536
BASE_DIR = Path("/tmp")
"""Short, and every account may traverse it."""


def why_not() -> str | None:
    if (missing := lacking("mount", "umount")) is not None:
        return missing
    return None if "\ttmpfs\n" in Path("/proc/filesystems").read_text() else "the kernel has no tmpfs"


@dataclass(frozen=True)
class Disk:
    folder: Path

    def fill(self) -> Evidence:
        """Take every byte that is left."""
        with self._filler.open("ab", buffering=0) as filler:
            for chunk_bytes in (CHUNK_BYTES, 1):
                with suppress(OSError):
                    while filler.write(b"-" * chunk_bytes):
                        pass
        return {"filled_bytes": self._filler.stat().st_size, "free_bytes": self.free_bytes()}

    def free(self) -> Evidence:
        self._filler.unlink(missing_ok=True)
        return {"free_bytes": self.free_bytes()}

    def free_bytes(self) -> int:
        room = os.statvfs(self.folder)
        return room.f_bavail * room.f_frsize

    @property
    def _filler(self) -> Path:
        return self.folder / "filler"


@contextmanager
def small_disk(size_bytes: int) -> Iterator[Disk]:
    """A filesystem in memory, which every account may write to; gone with all that is in it, however this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="dueline-disk-", dir=BASE_DIR))
    with Undo() as undo:
        undo.later("rmdir", folder)
        undo.later("umount", "--lazy", folder)
        run("mount", "-t", "tmpfs", "-o", f"size={size_bytes},mode=1777", "dueline-disk", folder)
        yield Disk(folder)
