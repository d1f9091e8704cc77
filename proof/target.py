"""The witness: a target as a process of its own, which writes every call down for good before it answers.

`python -m proof.target LOG HOST` prints its port and serves until its standard input closes. Whatever is answered was written and synced
before, many calls with one sync. Paths: /ok, /status/500, /slow/0.5 (seconds), and for the first attempt only, later ones being answered
at once: /first/status/500, /first/retry-after/2 (429), /first/hang, /first/reset, /first/redirect (to /ok), /first/flood.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast

import msgspec
import uvloop

from proof.records import Hit, read_lines
from tests.support.target import BACKLOG, raise_descriptor_limit

_END = b"\r\n\r\n"
_FLOOD = bytes(4 * 1024 * 1024)
_NO_LINGER = struct.pack("ii", 1, 0)


class Target:
    """The witness, seen from the scenario."""

    def __init__(self, log: Path, *, host: str = "127.0.0.1") -> None:
        self._log = log
        self._process = subprocess.Popen(
            [sys.executable, "-m", "proof.target", str(log), host], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdout is not None
        self.url = f"http://{host}:{int(self._process.stdout.readline())}"

    @property
    def pid(self) -> int:
        return self._process.pid

    def hits(self) -> list[Hit]:
        return read_lines(self._log, Hit)

    def follow(self, marker: str) -> Follower:
        return Follower(self._log, marker)

    def close(self) -> None:
        self._process.communicate()


class Follower:
    """Counts calls whose markers begin in a way, as they come: to read all of them again and again takes what they need."""

    def __init__(self, log: Path, marker: str) -> None:
        self._log = log
        self._wanted = f'"marker":"{marker}'.encode()
        self._read_bytes = 0
        self._count = 0

    def count(self) -> int:
        with self._log.open("rb") as log:
            log.seek(self._read_bytes)
            new = log.read()
        end = new.rfind(b"\n") + 1
        self._read_bytes += end
        self._count += new.count(self._wanted, 0, end)
        return self._count


class _Log:
    """Lines that are written and synced together; what is to be done then is done when they are on the disk."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._lines: list[bytes] = []
        self._waiting: list[Callable[[], None]] = []
        self._syncing: asyncio.Task[None] | None = None

    def write(self, line: bytes, then: Callable[[], None]) -> None:
        self._lines.append(line)
        self._waiting.append(then)
        if self._syncing is None:
            self._syncing = asyncio.create_task(self._sync())

    async def _sync(self) -> None:
        loop = asyncio.get_running_loop()
        while self._lines:
            lines, waiting = self._lines, self._waiting
            self._lines, self._waiting = [], []
            await asyncio.to_thread(self._append, b"".join(lines))
            for then in waiting:
                loop.call_soon(then)
        self._syncing = None

    def _append(self, text: bytes) -> None:
        os.write(self._file, text)
        os.fsync(self._file)


class _Connection(asyncio.Protocol):
    """One request at a time: nobody who calls sends a second one before the first is answered."""

    def __init__(self, log: _Log) -> None:
        self._log = log
        self._unread = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its class.

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002
        self._transport = None

    def data_received(self, data: bytes) -> None:
        self._unread += data
        end = self._unread.find(_END)
        if end < 0:
            return
        first, *lines = self._unread[:end].decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        after = end + len(_END) + int(headers.get("content-length", 0))
        if len(self._unread) < after:
            return
        body, self._unread = self._unread[end + len(_END) : after], self._unread[after:]
        hit = _hit(first.split(" ")[1], headers, body)
        self._log.write(msgspec.json.encode(hit) + b"\n", partial(self._answer, hit))

    def _answer(self, hit: Hit) -> None:
        match _behaviour(hit):
            case ["status", status]:
                self._send(int(status))
            case ["retry-after", seconds]:
                self._send(429, f"Retry-After: {seconds}\r\n")
            case ["slow", seconds]:
                asyncio.get_running_loop().call_later(float(seconds), self._send, 200)
            case ["hang"]:
                pass
            case ["reset"]:
                self._reset()
            case ["redirect"]:
                self._send(302, "Location: /ok\r\n")
            case ["flood"]:
                self._flood()
            case _:
                self._send(200)

    def _send(self, status: int, header: str = "") -> None:
        if self._transport is not None:
            self._transport.write(f"HTTP/1.1 {status} Said\r\n{header}Content-Length: 2\r\n\r\nok".encode())

    def _flood(self) -> None:
        """More than anybody should read, and it promises still more."""
        if self._transport is not None:
            self._transport.write(b"HTTP/1.1 200 Said\r\nContent-Length: 1000000000\r\n\r\n" + _FLOOD)

    def _reset(self) -> None:
        if self._transport is not None:
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            self._transport.abort()


def _hit(path: str, headers: dict[str, str], body: bytes) -> Hit:
    return Hit(
        at_s=time.time(),
        monotonic_s=time.monotonic(),
        path=path,
        run=headers.get("dueline-run", ""),
        attempt=int(headers.get("dueline-attempt", 0)),
        token=int(headers.get("dueline-token", 0)),
        job=headers.get("dueline-job", ""),
        scheduled_at=headers.get("dueline-scheduled-at", ""),
        marker=_marker(body),
    )


def _marker(body: bytes) -> str:
    """What the body says that it is for; a body that is not ours has none."""
    try:
        told = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return ""
    return str(told.get("marker", "")) if isinstance(told, dict) else ""


def _behaviour(hit: Hit) -> list[str]:
    parts = hit.path.strip("/").split("/")
    if parts[0] == "first":
        return parts[1:] if hit.attempt == 1 else ["ok"]
    return parts


async def _serve(log: str, host: str) -> None:
    raise_descriptor_limit()
    loop = asyncio.get_running_loop()
    lines = _Log(log)
    server = await loop.create_server(lambda: _Connection(lines), host, 0, backlog=BACKLOG)
    print(server.sockets[0].getsockname()[1], flush=True)
    # Until whoever started it closes the pipe, or is gone.
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    uvloop.run(_serve(sys.argv[1], sys.argv[2]))
