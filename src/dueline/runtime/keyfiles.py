"""The files in which a server on this machine leaves its first key, where commands of the same user find it: one for each port."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

_LOCAL = ("127.", "::1", "localhost")
_PORTS = {"http": 80, "https": 443}
_KEY_BYTES_MAX = 1024


def find_key(folder: Path, url: str) -> str | None:
    """The key of the server at an address, if it is on this machine. Nothing is shown to any other."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return None
    return _read(_path(folder, port)) if host.startswith(_LOCAL) else None


def keep_key(folder: Path, port: int, key: str) -> Path:
    """Write the key of the server at a port of this machine, for its user alone. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = _path(folder, port)
    draft = path.with_suffix(f".{os.getpid()}")
    with suppress(FileNotFoundError):
        draft.unlink()
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(f"{key}\n")
    draft.replace(path)
    return path


def kept_keys(folder: Path) -> Iterator[str]:
    """All keys that are there."""
    for path in sorted(folder.glob("*.key")):
        key = _read(path)
        if key is not None:
            yield key


def _path(folder: Path, port: int) -> Path:
    return folder / f"{port}.key"


def _read(path: Path) -> str | None:
    try:
        with path.open(encoding="ascii") as file:
            return file.read(_KEY_BYTES_MAX).strip() or None
    except (OSError, UnicodeDecodeError):
        return None
