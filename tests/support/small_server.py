"""A server in a thread that says what a test wants, and remembers what it was asked."""

from __future__ import annotations

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import NamedTuple, Self


class Question(NamedTuple):
    path: str
    key: str | None
    """What came as authorization."""
    body: bytes


Answer = tuple[int, bytes]


class SmallServer:
    """Over HTTP/1.1, with connections that stay open."""

    def __init__(self, answer: Callable[[Question], Answer]) -> None:
        self.asked: list[Question] = []
        self.connections_total = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                server.connections_total += 1
                super().setup()

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                asked = Question(self.path, self.headers["authorization"], body)
                server.asked.append(asked)
                status, said = answer(asked)
                self.send_response(status)
                self.send_header("content-length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            do_POST = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
