"""One kept-alive HTTP connection. A request is sent once: what may have reached the server is never repeated behind its caller's back."""

from __future__ import annotations

import select
import socket
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import NamedTuple
from urllib.parse import urlsplit

from dueline.sdk.errors import Unreachable


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    """Names are in lower case."""
    body: bytes


class Connection:
    """Not for several threads at a time."""

    def __init__(self, url: str, *, timeout_s: float) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not an address such as http://127.0.0.1:8700")
        self._url = url
        self._base = parts.path.rstrip("/")
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = kind(parts.hostname, parts.port, timeout=timeout_s)

    def send(self, method: str, path: str, *, body: bytes | None, headers: dict[str, str]) -> Answer:
        if self._hung_up():
            self._connection.close()
        try:
            self._connection.request(method, self._base + path, body=body, headers=headers)
            return _read(self._connection.getresponse())
        except (OSError, HTTPException) as error:
            self._connection.close()
            raise Unreachable(f"no answer from {self._url}: {_told(error)}") from error

    def close(self) -> None:
        self._connection.close()

    def interrupt(self) -> None:
        """Let a request that another thread waits for end at once."""
        sock = self._connection.sock
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _hung_up(self) -> bool:
        """Whether the server has closed the connection since the last answer: nothing else may be waiting to be read there."""
        sock = self._connection.sock
        if sock is None:
            return False
        poll = select.poll()
        poll.register(sock, select.POLLIN | select.POLLHUP)
        return bool(poll.poll(0))


def _read(response: HTTPResponse) -> Answer:
    return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())


def _told(error: OSError | HTTPException) -> str:
    if isinstance(error, TimeoutError):
        return "it took too long"
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
