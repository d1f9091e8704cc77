"""A target that is not the bottleneck, as a process of its own: python -m bench.target [FILE].

It prints its port, and answers every request with 200 on connections that are kept. If there is a file, it notes there of every call when
it came and for when it was scheduled, before it answers: seconds since 1970 and milliseconds since 1970, two doubles.
"""

from __future__ import annotations

import asyncio
import os
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, cast

import uvloop

from tests.support.target import BACKLOG, raise_descriptor_limit

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
_END = b"\r\n\r\n"
_LENGTH = b"\r\ncontent-length: "
_SCHEDULED = b"\r\ndueline-scheduled-at: "
_NOTE = struct.Struct("dd")


class Lag(NamedTuple):
    scheduled_ms: int
    lag_ms: float


class Target:
    """The target, seen from the bench, and what arrived there if that is noted."""

    def __init__(self, notes: Path | None) -> None:
        self._notes = notes
        arguments = () if notes is None else (str(notes),)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.target", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}/"

    @property
    def pid(self) -> int:
        return self._process.pid

    def count(self) -> int:
        assert self._notes is not None
        return self._notes.stat().st_size // _NOTE.size

    def arrived_s(self) -> list[float]:
        return [hit_s for hit_s, _ in self._read()]

    def lags(self) -> list[Lag]:
        return [Lag(int(at_ms), hit_s * 1000 - at_ms) for hit_s, at_ms in self._read()]

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _read(self) -> Iterator[tuple[float, float]]:
        assert self._notes is not None
        return cast(Iterator[tuple[float, float]], _NOTE.iter_unpack(self._notes.read_bytes()))


@contextmanager
def a_target(notes_in: Path | None = None) -> Iterator[Target]:
    """One that notes what comes if there is a folder for that."""
    target = Target(None if notes_in is None else notes_in / "hits")
    try:
        yield target
    finally:
        target.close()


class _Connection(asyncio.Protocol):
    """One request after the other, also where several come at once."""

    def __init__(self, notes: int | None) -> None:
        self._notes = notes
        self._unread = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its class.

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        data = self._unread + data if self._unread else data
        while (end := data.find(_END)) >= 0:
            head = data[: end + 2].lower()
            length = _field(head, _LENGTH)
            after = end + len(_END) + (int(length) if length else 0)
            if len(data) < after:
                break
            if self._notes is not None:
                os.write(self._notes, _NOTE.pack(time.time(), _instant_ms(_field(head, _SCHEDULED))))
            self._transport.write(_ANSWER)
            data = data[after:]
        self._unread = data


def _field(head: bytes, name: bytes) -> bytes:
    """Empty where the head does not have it. Every line of a head ends."""
    at = head.find(name)
    return b"" if at < 0 else head[at + len(name) : head.index(b"\r", at + len(name))]


@lru_cache(maxsize=4_096)
def _instant_ms(said: bytes) -> float:
    """As a head says it, in small letters; 0 where it says nothing."""
    return round(datetime.fromisoformat(said.decode().upper()).timestamp() * 1000) if said else 0.0


async def _serve(notes: int | None) -> None:
    raise_descriptor_limit()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(notes), "127.0.0.1", 0, backlog=BACKLOG)
    print(server.sockets[0].getsockname()[1], flush=True)
    # Until whoever started it closes the pipe, or is gone.
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    files = [os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) for path in sys.argv[1:]]
    uvloop.run(_serve(files[0] if files else None))
