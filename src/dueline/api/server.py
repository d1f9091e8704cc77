"""The HTTP server: uvicorn inside the running loop, without its signal handlers, log and lifespan."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from dueline.api.transport import Transport
from dueline.domain.errors import DuelineError

GRACE_S = 5
"""How long requests under way may take to end when the server stops."""
KEEP_ALIVE_S = 65
"""Longer than the idle time of common proxies (60 s), so that it is they who close and no request crosses a close."""
BACKLOG = 2_048
START_POLL_S = 0.005


class CannotListen(DuelineError):
    """The address is taken, or is not this machine's."""


class ApiServer:
    """Serves from `start` to `stop`. Port 0 takes a free one; `port` is the real one from `start` on."""

    def __init__(self, app: ASGIApp, host: str, port: int, *, stopping: Callable[[], None] = lambda: None) -> None:
        """`stopping` is called before requests under way are waited for."""
        self._app = app
        self._stopping = stopping
        self.host = host
        self.port = port
        self._listener: socket.socket | None = None
        self._server: _Server | None = None
        self._serving: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def hold(self) -> None:
        """Take the port, or raise CannotListen. Whoever calls is refused until `start`."""
        self._listener = _listen(self.host, self.port)
        self.port = self._listener.getsockname()[1]

    async def start(self) -> None:
        """Return when connections are accepted, or raise CannotListen."""
        if self._listener is None:
            self.hold()
        assert self._listener is not None, "it was just taken"
        config = uvicorn.Config(
            self._app,
            http=Transport,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=GRACE_S,
        )
        server = _Server(config)
        serving = asyncio.create_task(server.serve(sockets=[self._listener]))
        while not server.started:
            if serving.done():
                # Two may take a port at once; the first that listens has it.
                raise CannotListen(f"cannot listen on {self.host}:{self.port}") from serving.exception()
            await asyncio.sleep(START_POLL_S)
        self._server, self._serving = server, serving

    async def stop(self) -> None:
        """Stop accepting, let requests end for a few seconds, then close; give the port back."""
        if self._server is not None and self._serving is not None:
            self._stopping()
            self._server.should_exit = True
            await self._serving
            self._server = self._serving = None
        if self._listener is not None:
            self._listener.close()
            self._listener = None


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Signals belong to the process, which stops its parts in order."""
        yield


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.setblocking(False)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise CannotListen(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
    return listener
