"""Where servers of tests have their data, which goes away with them."""

import os
import shutil
from pathlib import Path

# Both are short, because the path of a Unix socket is limited to 107 bytes; and every account may traverse them.
DISK = Path("/tmp")
_MEMORY = Path("/dev/shm")
_ROOM_BYTES_MIN = 6 * 1024**3
"""What the servers have at a time, with the largest database, and as much again."""


def quick_folder() -> Path:
    """In memory where there is room: a disk may take half a second for the files of a database that a test needs for a tenth of that."""
    if not _MEMORY.is_dir() or not os.access(_MEMORY, os.W_OK) or os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC:
        return DISK
    return _MEMORY if shutil.disk_usage(_MEMORY).free >= _ROOM_BYTES_MIN else DISK
