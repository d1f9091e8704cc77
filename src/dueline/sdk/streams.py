"""HTTP over asyncio's streams: one kept-alive connection, and a pool of them. A request is sent once, as over `connection`."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import Any

from dueline.sdk.address import Address
from dueline.sdk.answers import Answer
from dueline.sdk.calls import Request
from dueline.sdk.connection import has_news, no_answer, not_reached
from dueline.sdk.flows import Send

_HEAD_BYTES_MAX = 64 * 1024
_STATUS = re.compile(rb"HTTP/1\.([01]) (\d{3})(?: [^\r\n]*)?")
_GOODBYE_S = 1.0
"""How long a server may take to say that it heard of the end of a connection; nobody misses what it says."""
_BODILESS = frozenset({204, 304})


class Garbled(Exception):
    """What came is not HTTP."""


class StreamConnection:
    """For one call at a time, on the loop that it was opened on."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._reader = _Reader(limit=_HEAD_BYTES_MAX)
        self._writer: asyncio.StreamWriter | None = None

    @property
    def is_open(self) -> bool:
        """Whether a request can be sent over it: nothing came since the last answer, not even an end that the loop has not seen yet."""
        if self._writer is None or self._writer.is_closing() or self._reader.touched:
            return False
        return not has_news(self._writer.get_extra_info("socket").fileno())

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self._reader = reader = _Reader(limit=_HEAD_BYTES_MAX)
        protocol = asyncio.StreamReaderProtocol(reader)
        address = self._address
        transport, _ = await loop.create_connection(
            lambda: protocol,
            address.host,
            address.port,
            ssl=address.tls,
            ssl_shutdown_timeout=None if address.tls is None else _GOODBYE_S,
        )
        self._writer = asyncio.StreamWriter(transport, protocol, reader, loop)

    async def exchange(self, request: Request) -> Answer:
        """Send a request over the open connection, and read its answer."""
        assert self._writer is not None, "it was opened"
        self._writer.write(_head(request, self._address) + (request.body or b""))
        await self._writer.drain()
        status, headers, is_kept = await self._read_head()
        while 100 <= status < 200:
            status, headers, is_kept = await self._read_head()
        body, is_whole = await self._read_body(status, headers)
        self._reader.touched = False
        if not is_kept or not is_whole:
            await self.close()
        return Answer(status, headers, body)

    async def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def abort(self) -> None:
        """Let go of it in the middle of a call."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.transport.abort()

    async def _read_head(self) -> tuple[int, dict[str, str], bool]:
        raw = await self._reader.readuntil(b"\r\n\r\n")
        first, *lines = raw[:-4].split(b"\r\n")
        found = _STATUS.fullmatch(first)
        if found is None:
            raise Garbled("the answer is not HTTP")
        headers: dict[str, str] = {}
        for line in lines:
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.strip().lower()] = value.strip()
        said = headers.get("connection", "").lower()
        is_kept = "close" not in said and (found[1] == b"1" or "keep-alive" in said)
        return int(found[2]), headers, is_kept

    async def _read_body(self, status: int, headers: dict[str, str]) -> tuple[bytes, bool]:
        """The body, and whether it had an end of its own, so that another answer can follow it."""
        if status in _BODILESS:
            return b"", True
        if "chunked" in headers.get("transfer-encoding", "").lower():
            return await self._read_chunks(), True
        length = headers.get("content-length")
        if length is None:
            return await self._reader.read(-1), False
        if not (length.isascii() and length.isdigit()):
            raise Garbled("the length of the answer is not a number")
        return await self._reader.readexactly(int(length)), True

    async def _read_chunks(self) -> bytes:
        body = bytearray()
        while True:
            size = (await self._reader.readuntil(b"\r\n")).partition(b";")[0].strip()
            try:
                count = int(size, 16)
            except ValueError:
                raise Garbled("the answer has a chunk without a size") from None
            if count == 0:
                break
            body += await self._reader.readexactly(count)
            await self._reader.readuntil(b"\r\n")
        while await self._reader.readuntil(b"\r\n") != b"\r\n":
            pass  # Headers behind the body say nothing that anybody asks for.
        return bytes(body)


class StreamPool:
    """The connections of a client, for all coroutines of a loop."""

    def __init__(self, address: Address, *, connections_max: int) -> None:
        self.address = address
        self._connections_max = connections_max
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle: list[StreamConnection] = []
        self._places = asyncio.Semaphore(connections_max)

    async def send(self, step: Send) -> Answer:
        """The answer, or Unreachable. Whoever is cancelled leaves no connection behind."""
        self._keep_to_loop()
        connection: StreamConnection | None = None
        sent = False
        try:
            async with asyncio.timeout(step.timeout_s), self._places:
                connection = self._taken()
                if not connection.is_open:
                    await connection.close()
                    await connection.open()
                sent = True
                answer = await connection.exchange(step.request)
                self._idle.append(connection)
                connection = None
                return answer
        except (OSError, UnicodeError, EOFError, asyncio.LimitOverrunError, Garbled) as error:
            raise (no_answer if sent else not_reached)(self.address, error) from error
        finally:
            if connection is not None:
                connection.abort()

    async def close(self) -> None:
        """Close the connections that are kept. The next call opens another."""
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.close()

    def _taken(self) -> StreamConnection:
        return self._idle.pop() if self._idle else StreamConnection(self.address)

    def _keep_to_loop(self) -> None:
        """Connections belong to a loop: those of another, which has ended, are of no use."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._idle = loop, []
            self._places = asyncio.Semaphore(self._connections_max)


class _Reader(asyncio.StreamReader):
    """Remembers that something came."""

    touched = False

    def feed_data(self, data: Any) -> None:
        self.touched = True
        super().feed_data(data)

    def feed_eof(self) -> None:
        self.touched = True
        super().feed_eof()


def _head(request: Request, address: Address) -> bytes:
    lines = [f"{request.method} {address.base}{request.target} HTTP/1.1", f"host: {address.authority}"]
    lines += [f"{name}: {value}" for name, value in request.headers.items()]
    if request.body is not None or request.method != "GET":
        lines.append(f"content-length: {len(request.body or b'')}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")
