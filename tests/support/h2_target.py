"""A target that speaks HTTP/2 over TLS, and does what the path says: /ok, /large, /hang, /reset, /refused (a stream that was never looked
at), /goaway. It remembers the path and the headers of every request."""

import asyncio
import ssl
import tempfile
from types import TracebackType
from typing import Self, cast

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import DataReceived, RequestReceived, StreamEnded

from tests.support.target import KEY_AND_CERTIFICATE

LARGE = b"x" * 20_000


class H2Target:
    def __init__(self) -> None:
        self.hits: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.connections_total = 0
        self._connections: set[asyncio.Transport] = set()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"https://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> Self:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.set_alpn_protocols(["h2"])
        with tempfile.NamedTemporaryFile("w") as certificate:
            certificate.write(KEY_AND_CERTIFICATE)
            certificate.flush()
            context.load_cert_chain(certificate.name)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", 0, ssl=context)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for transport in list(self._connections):
            transport.abort()
        await self._server.wait_closed()

    def opened(self, transport: asyncio.Transport) -> None:
        self.connections_total += 1
        self._connections.add(transport)

    def lost(self, transport: asyncio.Transport) -> None:
        self._connections.discard(transport)


class _Connection(asyncio.Protocol):
    transport: asyncio.Transport

    def __init__(self, target: H2Target) -> None:
        self._target = target
        self._paths: dict[int, str] = {}
        self._h2 = H2Connection(H2Configuration(client_side=False))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._target.opened(self.transport)
        self._h2.initiate_connection()
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._target.lost(self.transport)

    def data_received(self, data: bytes) -> None:
        for event in self._h2.receive_data(data):
            if isinstance(event, RequestReceived):
                headers = {name.decode(): value.decode() for name, value in event.headers or []}
                self._target.headers.append(headers)
                self._paths[event.stream_id or 0] = headers[":path"]
            elif isinstance(event, DataReceived):
                self._h2.acknowledge_received_data(event.flow_controlled_length or 0, event.stream_id or 0)
            elif isinstance(event, StreamEnded):
                self._answer(event.stream_id or 0)
        self._flush()

    def _answer(self, stream: int) -> None:
        path = self._paths.pop(stream)
        self._target.hits.append(path)
        match path:
            case "/ok" | "/large":
                body = LARGE if path == "/large" else b"ok"
                self._h2.send_headers(
                    stream, [(":status", "200"), ("content-type", "text/plain"), ("x-request-id", "7")]
                )
                for start in range(0, len(body), 10_000):
                    self._h2.send_data(stream, body[start : start + 10_000])
                self._h2.end_stream(stream)
            case "/reset":
                self._h2.reset_stream(stream, ErrorCodes.INTERNAL_ERROR)
            case "/refused":
                self._h2.reset_stream(stream, ErrorCodes.REFUSED_STREAM)
            case "/goaway":
                self._h2.close_connection(ErrorCodes.NO_ERROR, last_stream_id=0)
                self._flush()
                self.transport.close()

    def _flush(self) -> None:
        self.transport.write(self._h2.data_to_send())
