"""How requests come in: uvicorn's protocol on a parser in C, and a bound for heads, which it does not have."""

from __future__ import annotations

from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dueline.domain.limits import HEAD_BYTES_MAX


class Transport(HttpToolsProtocol):
    """One connection. A head that goes on for more than `HEAD_BYTES_MAX` after what it began with is refused with 431: the parser would
    gather it for ever."""

    _in_head = False
    _head_bytes = 0

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
