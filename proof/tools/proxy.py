"""A network that can be made slow, narrow, dark or hostile: a TCP proxy of ours before a target, in a thread of this process."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, TypeAlias

from proof.tools.evidence import Evidence

CHUNK_BYTES = 65_536
CHUNKS_ON_THE_WAY_MAX = 64
BACKLOG = 512
SWITCH_S_MAX = 5.0
PROBE_S_MAX = 1.0
REOPEN_S = 0.01

Chunks: TypeAlias = "asyncio.Queue[tuple[float, bytes]]"


@dataclass(frozen=True)
class Weather:
    """How what is on the way travels. Order is kept: a chunk never overtakes another of its connection."""

    latency_s: float = 0.0
    jitter_s: float = 0.0
    bytes_per_s: float | None = None

    def arrival(self, now: float, previous: float, size: int) -> float:
        """When a chunk that sets out now arrives, behind the previous one."""
        arrival = max(previous, now + self.latency_s + random.uniform(0.0, self.jitter_s))
        return arrival + (size / self.bytes_per_s if self.bytes_per_s else 0.0)


@dataclass
class Network:
    """What all connections share: where they lead, what befalls them now, and what has befallen them."""

    target: tuple[str, int]
    weather: Weather = field(default_factory=Weather)
    reply_bytes_max: int | None = None
    moving: asyncio.Event = field(default_factory=asyncio.Event)
    counts: Counter[str] = field(default_factory=Counter)


class Proxy:
    """Listens on a port of its own and passes everything on to the target. Each switch has taken effect when it returns.

    Entering starts it, leaving resets what is still open. The faults do not exclude one another, and `heal` ends all of them.
    """

    def __init__(self, target: tuple[str, int], *, host: str = "127.0.0.1") -> None:
        self.host = host
        self._door = _door_on_a_free_port(host)
        self.port: int = self._door.getsockname()[1]
        self._network = Network(target)
        self._open = asyncio.Event()
        self._lines: set[Line] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="proof-proxy", daemon=True)

    def __enter__(self) -> Self:
        self._open.set()
        self._network.moving.set()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SWITCH_S_MAX)

    def slow(self, *, latency_s: float = 0.0, jitter_s: float = 0.0, bytes_per_s: float | None = None) -> Evidence:
        """Let all arrive later by the latency and up to the jitter, in each direction, and a connection no faster than the bandwidth."""

        def switch() -> None:
            self._network.weather = Weather(latency_s, jitter_s, bytes_per_s)

        self._switch(switch)
        return {"latency_s": latency_s, "jitter_s": jitter_s, "bytes_per_s": bytes_per_s or 0.0}

    def go_dark(self) -> Evidence:
        """Accept connections and move nothing. What is sent meanwhile arrives after `heal`, as after a partition."""
        self._switch(self._network.moving.clear)
        return {"in_the_dark": len(self._lines)}

    def refuse(self) -> Evidence:
        """Refuse new connections; those that exist go on."""

        def switch() -> None:
            if self._open.is_set():
                self._open.clear()
                # A listening socket that is shut down keeps its port, and the kernel refuses for it.
                self._door.shutdown(socket.SHUT_RD)

        self._switch(switch)
        return {"refused": self._is_refusing()}

    def reset(self) -> Evidence:
        """Reset every connection that exists."""
        lines = list(self._lines)

        def switch() -> None:
            for line in lines:
                line.reset()

        self._switch(switch)
        self._network.counts["reset"] += len(lines)
        return {"reset": len(lines)}

    def cut_replies(self, *, after_bytes: int) -> Evidence:
        """Reset each connection, old and new, once so many bytes have come back on it: what was asked is done, and nobody hears of it."""

        def switch() -> None:
            self._limit_replies(after_bytes)

        self._switch(switch)
        return {"after_bytes": after_bytes, "lines": len(self._lines)}

    def heal(self) -> Evidence:
        """Pass everything on at once again; answers what was done so far."""

        def switch() -> None:
            self._network.weather = Weather()
            self._limit_replies(None)
            self._network.moving.set()
            if not self._open.is_set():
                self._door.listen(BACKLOG)
                self._open.set()

        self._switch(switch)
        return self.counted()

    def counted(self) -> Evidence:
        """What was done since the start: connections accepted, reset and cut; bytes both ways; chunks delayed, or held in the dark."""
        return dict(self._network.counts)

    def _limit_replies(self, bytes_max: int | None) -> None:
        self._network.reply_bytes_max = bytes_max
        for line in self._lines:
            line.reply_bytes_left = bytes_max

    def _switch(self, switch: Callable[[], None]) -> None:
        async def apply() -> None:
            switch()

        asyncio.run_coroutine_threadsafe(apply(), self._loop).result(SWITCH_S_MAX)

    def _is_refusing(self) -> bool:
        try:
            socket.create_connection((self.host, self.port), timeout=PROBE_S_MAX).close()
        except ConnectionRefusedError:
            return True
        return False

    def _run(self) -> None:
        accepting = self._loop.create_task(self._accept())
        self._loop.run_forever()
        accepting.cancel()
        for line in self._lines:
            line.reset()
        self._loop.run_until_complete(asyncio.gather(*asyncio.all_tasks(self._loop), return_exceptions=True))
        self._door.close()
        self._loop.close()

    async def _accept(self) -> None:
        while True:
            await self._open.wait()
            try:
                client, _ = await self._loop.sock_accept(self._door)
            except OSError:
                # The door was shut meanwhile, or there are no more descriptors.
                await asyncio.sleep(REOPEN_S)
                continue
            self._network.counts["accepted"] += 1
            line = Line(self._network, client)
            self._lines.add(line)
            line.task.add_done_callback(lambda _task, line=line: self._lines.discard(line))  # type: ignore[misc]


class Line:
    """One connection of a client, and the one to the target for it."""

    def __init__(self, network: Network, client: socket.socket) -> None:
        self.reply_bytes_left = network.reply_bytes_max
        self._network = network
        self._client = client
        self._target = socket.socket()
        self._target.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self.task = self._loop.create_task(self._serve())

    def reset(self) -> None:
        self._forget_manners()
        self.task.cancel()

    def _forget_manners(self) -> None:
        """Have both ends closed without a farewell, which their peers see as a reset."""
        for end in (self._client, self._target):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async def _serve(self) -> None:
        asked: Chunks = asyncio.Queue(CHUNKS_ON_THE_WAY_MAX)
        replied: Chunks = asyncio.Queue(CHUNKS_ON_THE_WAY_MAX)
        try:
            await self._network.moving.wait()
            await self._loop.sock_connect(self._target, self._network.target)
            for end in (self._client, self._target):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._read(self._client, asked))
                group.create_task(self._write(asked, self._target, "asked_bytes"))
                group.create_task(self._read(self._target, replied))
                group.create_task(self._write(replied, self._client, "replied_bytes"))
        except* OSError:
            self._forget_manners()
        finally:
            self._client.close()
            self._target.close()

    async def _read(self, source: socket.socket, chunks: Chunks) -> None:
        arrival = 0.0
        data = b"-"
        while data:
            await self._network.moving.wait()
            data = await self._loop.sock_recv(source, CHUNK_BYTES)
            arrival = self._network.weather.arrival(self._loop.time(), arrival, len(data))
            await chunks.put((arrival, data))

    async def _write(self, chunks: Chunks, sink: socket.socket, counted: str) -> None:
        while True:
            arrival, data = await chunks.get()
            if (wait_s := arrival - self._loop.time()) > 0:
                self._network.counts["delayed"] += 1
                await asyncio.sleep(wait_s)
            if not self._network.moving.is_set():
                self._network.counts["held"] += 1
                await self._network.moving.wait()
            if not data:
                sink.shutdown(socket.SHUT_WR)
                return
            left = self.reply_bytes_left if sink is self._client else None
            # Counted before: whoever has heard it finds it counted.
            self._network.counts[counted] += len(data[:left])
            await self._loop.sock_sendall(sink, data[:left])
            if left is not None:
                self.reply_bytes_left = max(0, left - len(data))
                if len(data) > left:
                    self._network.counts["cut"] += 1
                    raise ConnectionAbortedError


def _door_on_a_free_port(host: str) -> socket.socket:
    """Bound to its port by number: the kernel takes a port that it chose itself away from a door that is shut."""
    with socket.socket() as chooser:
        chooser.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        chooser.bind((host, 0))
        door = socket.create_server(chooser.getsockname(), backlog=BACKLOG)
    door.setblocking(False)
    return door
