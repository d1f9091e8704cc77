"""How requests come in: uvicorn's protocol on a parser in C, and a bound for heads, which it does not have."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dueline.domain.limits import HEAD_BYTES_MAX


class _Joined:
    """A transport that keeps what is written until more follows, or for a turn of the loop: so the head and the body of an answer are one
    packet, and wake their reader once."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._kept = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if self._kept:
            self._kept += data
            self._send()
        else:
            self._kept = data
            self._loop.call_soon(self._send)

    def close(self) -> None:
        self._send()
        self._transport.close()

    def _send(self) -> None:
        data, self._kept = self._kept, b""
        # Its reader may have gone in the meantime.
        if data and not self._transport.is_closing():
            self._transport.write(data)


class Transport(HttpToolsProtocol):
    """One connection. A head that goes on for more than `HEAD_BYTES_MAX` after what it began with is refused with 431: the parser would
    gather it for ever."""

    _in_head = False
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(_Joined(transport, self.loop))  # type: ignore[arg-type]

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > HEAD_BYTES_MAX and not self.transport.is_closing():
            self._refuse_head()

    def on_message_begin(self) -> None:
        self._in_head = True
        self._head_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def _refuse_head(self) -> None:
        status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        self.transport.write(
            f"HTTP/1.1 {status.value} {status.phrase}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".encode()
        )
        self.transport.close()
