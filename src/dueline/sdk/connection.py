"""One kept-alive HTTP connection. A request is sent once: what may have reached the server is never repeated behind its caller's back."""

from __future__ import annotations

import select
import socket
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection

from dueline.sdk.address import Address
from dueline.sdk.answers import Answer
from dueline.sdk.calls import Request
from dueline.sdk.errors import Unreachable


class Connection:
    """Not for several threads at a time."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._connection = (
            HTTPConnection(address.host, address.port)
            if address.tls is None
            else HTTPSConnection(address.host, address.port, context=address.tls)
        )

    def send(self, request: Request, *, timeout_s: float) -> Answer:
        """The answer, or Unreachable. `timeout_s` bounds each wait for the server."""
        if self._hung_up():
            self._connection.close()
        self._connection.timeout = timeout_s
        try:
            if self._connection.sock is None:
                self._connection.connect()
            else:
                self._connection.sock.settimeout(timeout_s)
        except (OSError, UnicodeError) as error:
            self._connection.close()
            raise not_reached(self._address, error) from error
        try:
            target = self._address.base + request.target
            self._connection.request(request.method, target, body=request.body, headers=request.headers)
            return _read(self._connection.getresponse())
        except (OSError, HTTPException) as error:
            self._connection.close()
            raise no_answer(self._address, error) from error

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
        return self._connection.sock is not None and has_news(self._connection.sock.fileno())


def has_news(descriptor: int) -> bool:
    """Whether something came over a socket that nobody has read, its end included."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    return bool(poll.poll(0))


def not_reached(address: Address, error: Exception) -> Unreachable:
    """There was no connection to send anything over."""
    hint = "; is a server running there? DUELINE_URL names another" if isinstance(error, ConnectionRefusedError) else ""
    return Unreachable(f"no answer from {address.url}: {told(error)}{hint}", sent=False)


def no_answer(address: Address, error: Exception) -> Unreachable:
    """The connection broke, or the time was over, after something was sent."""
    return Unreachable(f"no answer from {address.url}: {told(error)}")


def told(error: Exception) -> str:
    """An error of a connection in words."""
    if isinstance(error, TimeoutError):
        return "it took too long"
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


def _read(response: HTTPResponse) -> Answer:
    with response:
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, response.read())
