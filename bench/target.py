"""A target that is not the bottleneck, as a process of its own: python -m bench.target.

It answers every request with 200 on connections that are kept. `GET /hits` tells how many there were; after `POST /times` it keeps for each
the time of its arrival and what the header `Dueline-Scheduled-At` said, and `GET /times` tells them.
"""

from __future__ import annotations

import asyncio
import sys
import time
import urllib.request
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import cast

import msgspec
import uvloop

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
_SCHEDULED = b"dueline-scheduled-at: "


class Hit(msgspec.Struct, frozen=True, array_like=True):
    """By the wall clock of the machine, which everyone on it shares."""

    arrived_s: float
    scheduled_s: float | None

    @property
    def lag_s(self) -> float:
        assert self.scheduled_s is not None
        return self.arrived_s - self.scheduled_s


class TargetProcess:
    """The target, seen from the bench."""

    def __init__(self, pid: int, port: int) -> None:
        self.pid = pid
        self.url = f"http://127.0.0.1:{port}"

    async def hits(self) -> int:
        return msgspec.json.decode(await self._ask("/hits"), type=int)

    async def keep_times(self) -> None:
        """From now on; what was kept is forgotten."""
        await self._ask("/times", b"")

    async def times(self) -> list[Hit]:
        return msgspec.json.decode(await self._ask("/times"), type=list[Hit])

    async def _ask(self, path: str, body: bytes | None = None) -> bytes:
        def ask() -> bytes:
            with urllib.request.urlopen(self.url + path, body, timeout=30) as answer:
                answered: bytes = answer.read()
            return answered

        return await asyncio.to_thread(ask)


@asynccontextmanager
async def target() -> AsyncIterator[TargetProcess]:
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "bench.target", stdin=PIPE, stdout=PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield TargetProcess(process.pid, int(await process.stdout.readline()))
    finally:
        process.stdin.close()
        await process.wait()


class _Counted:
    def __init__(self) -> None:
        self.hits = 0
        self.times: list[tuple[float, bytes]] | None = None


class _Connection(asyncio.Protocol):
    """One request after the other, also where several come at once."""

    def __init__(self, counted: _Counted) -> None:
        self._counted = counted
        self._rest = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its class.

    def data_received(self, data: bytes) -> None:
        data = self._rest + data if self._rest else data
        while data and (end := data.find(b"\r\n\r\n")) >= 0:
            end += 4
            head = data[:end].lower()
            at = head.find(b"content-length: ")
            length = 0 if at < 0 else int(head[at + 16 : head.index(b"\r", at)])
            if len(data) < end + length:
                break
            data = data[end + length :]
            self._answer(head)
        self._rest = data

    def _answer(self, head: bytes) -> None:
        assert self._transport is not None
        if head.startswith((b"get /hits ", b"get /times ", b"post /times ")):
            self._transport.write(self._told(head))
            return
        self._transport.write(_ANSWER)
        self._counted.hits += 1
        if self._counted.times is not None:
            at = head.find(_SCHEDULED)
            said = b"" if at < 0 else head[at + len(_SCHEDULED) : head.index(b"\r", at)]
            self._counted.times.append((time.time(), said))

    def _told(self, head: bytes) -> bytes:
        if head.startswith(b"post /times "):
            self._counted.times = []
            body = b""
        elif head.startswith(b"get /hits "):
            body = msgspec.json.encode(self._counted.hits)
        else:
            body = msgspec.json.encode([Hit(at_s, _instant_s(said)) for at_s, said in self._counted.times or ()])
        return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def _instant_s(said: bytes) -> float | None:
    return datetime.fromisoformat(said.decode().upper()).timestamp() if said else None


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    counted = _Counted()
    server = await loop.create_server(lambda: _Connection(counted), "127.0.0.1", 0, backlog=4_096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    uvloop.run(_serve())
