"""Connections for calls over plain HTTP, kept from one call to the next: there a call needs half of what it takes through libcurl.

libcurl opens them, by all its rules about names, addresses and time.
"""

from __future__ import annotations

import math
import select
import socket
from collections import deque
from collections.abc import Callable, Container

from httptools import HttpParserError

from dueline.domain import limits
from dueline.engine.execution.exchange import HttpFailure, HttpReply
from dueline.worker.executors.hosts import Errand
from dueline.worker.executors.plain import PlainRequest, Responses, ResponseTooLarge
from dueline.worker.executors.transfer import CONNECTION_IDLE_S_MAX

READ_BYTES = 64 * 1024

IDLE_MAX = 1_024
"""Connections kept between calls, in all."""

SWEEP_S = 0.5
"""How often connections that nobody uses any more are looked for."""

EXPIRY_STEP_S = 0.01
EXPIRY_STEP_S_A_LINK = 1e-5
"""The least time between two looks at all calls for the sake of their timeouts, which is longer where there are many."""

_READ = select.EPOLLIN | select.EPOLLRDHUP
_ENDS = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR


class _Link:
    """One connection, and the errand that is on it, if one is."""

    __slots__ = (
        "authority",
        "deadline_s",
        "errand",
        "fd",
        "idle_since_s",
        "is_ending",
        "is_over",
        "problem",
        "responses",
        "socket",
        "unsent",
    )

    def __init__(self, connected: socket.socket, authority: str) -> None:
        self.socket = connected
        self.fd = connected.fileno()
        self.authority = authority
        self.responses = Responses()
        self.errand: Errand | None = None
        self.deadline_s = math.inf
        self.unsent = b""
        self.is_over = False
        """Whether the errand waits to be answered, with the problem if there was one."""
        self.problem: tuple[HttpFailure, str] | None = None
        self.is_ending = False
        """Whether the peer sends nothing more."""
        self.idle_since_s = 0.0


class Links:
    """Every errand that is taken on is answered once, and its request is sent at most once. Whoever gets an answer gives up its place."""

    def __init__(
        self, *, epoll: select.epoll, may_send: Callable[[], bool], answer: Callable[[Errand, HttpReply], None]
    ) -> None:
        self._epoll = epoll
        self._may_send = may_send
        self._answer = answer
        self._links: dict[int, _Link] = {}
        self._idle: dict[str, deque[_Link]] = {}
        """By authority; what was used last is at the end."""
        self._idle_count = 0
        self._over: list[_Link] = []
        self._expires_s = math.inf
        """No errand runs out of time before this."""
        self._sweep_s = 0.0

    def __contains__(self, fd: int) -> bool:
        return fd in self._links

    @property
    def next_s(self) -> float:
        """When there is something to do even if nothing happens."""
        return min(self._expires_s, self._sweep_s) if self._idle_count else self._expires_s

    def take(self, errand: Errand, request: PlainRequest, now_s: float) -> bool:
        """Send the request over a kept connection; False if there is none, and then nothing was sent."""
        idle = self._idle.get(request.authority)
        while idle:
            link = idle.pop()
            self._idle_count -= 1
            if now_s - link.idle_since_s <= CONNECTION_IDLE_S_MAX and self._send(link, errand, request, now_s):
                return True
            self._close(link)
        return False

    def take_on(self, connected: socket.socket, errand: Errand, request: PlainRequest, now_s: float) -> None:
        """Send the request over a connection that was opened for it."""
        link = _Link(connected, request.authority)
        self._epoll.register(link.fd, _READ)
        self._links[link.fd] = link
        if not self._send(link, errand, request, now_s):
            link.errand = errand
            self._end(link, HttpFailure.CONNECT, "the connection ended before the request")

    def serve(self, fd: int, happened: int) -> None:
        """Send or read what can be; what ends by it is answered by `collect`."""
        link = self._links[fd]
        if happened & select.EPOLLOUT and link.unsent:
            self._send_rest(link)
        if happened & ~select.EPOLLOUT:
            link.is_ending = link.is_ending or bool(happened & _ENDS)
            self._read(link)

    def collect(self, now_s: float) -> None:
        """Answer what has ended or run out of time, and close what is not used any more."""
        if now_s >= self._expires_s:
            self._expire(now_s)
        if self._over:
            over, self._over = self._over, []
            for link in over:
                self._finish(link, now_s)
        if self._idle_count and now_s >= self._sweep_s:
            self._sweep(now_s)

    def cancel(self, keys: Container[object]) -> None:
        for link in self._busy():
            if link.errand is not None and link.errand.call.key in keys:
                self._end(link, HttpFailure.CANCELLED, "")

    def errands(self) -> list[Errand]:
        """All that are not answered."""
        return [link.errand for link in list(self._links.values()) if link.errand is not None]

    def close(self) -> None:
        """What is not answered then is not answered here."""
        for link in list(self._links.values()):
            self._close(link)
        self._idle.clear()
        self._over.clear()
        self._idle_count = 0

    def _busy(self) -> list[_Link]:
        return [link for link in self._links.values() if link.errand is not None and not link.is_over]

    def _send(self, link: _Link, errand: Errand, request: PlainRequest, now_s: float) -> bool:
        """False if the connection has ended: then nothing was sent."""
        if not self._may_send():
            self._answer(errand, errand.failed(HttpFailure.WITHHELD, "", now_s))
            self._keep(link, now_s)
            return True
        wire = request.wire
        try:
            sent = link.socket.send(wire)
        except BlockingIOError:
            sent = 0
        except OSError:
            return False
        if sent < len(wire):
            link.unsent = wire[sent:]
            self._epoll.modify(link.fd, _READ | select.EPOLLOUT)
        link.errand = errand
        link.deadline_s = errand.since_s + errand.call.timeout_ms / 1000
        if link.deadline_s < self._expires_s:
            self._expires_s = link.deadline_s
        return True

    def _send_rest(self, link: _Link) -> None:
        try:
            sent = link.socket.send(link.unsent)
        except BlockingIOError:
            return
        except OSError:
            sent = len(link.unsent)  # There may be a response all the same; if not, to read finds the end.
            link.is_ending = True
        link.unsent = link.unsent[sent:]
        if not link.unsent:
            self._epoll.modify(link.fd, _READ)

    def _read(self, link: _Link) -> None:
        try:
            data, broke = link.socket.recv(READ_BYTES), ""
        except BlockingIOError:
            return
        except OSError as error:
            data, broke = b"", f" ({error.strerror})"
        responses = link.responses
        if link.errand is None:
            self._forget(link)  # It ends, or speaks without being asked.
        elif link.is_over:
            link.is_ending = True
        elif data:
            self._take_in(link, data)
        elif responses.ends_with_connection() and not broke:
            link.is_ending = True
            self._end(link)
        elif responses.status:
            self._end(link, HttpFailure.PROTOCOL, f"the connection ended within the response{broke}")
        else:
            detail = f"the connection ended before a response{broke}; the request was not sent again"
            self._end(link, HttpFailure.PROTOCOL, detail)

    def _take_in(self, link: _Link, data: bytes) -> None:
        responses = link.responses
        try:
            responses.feed(data)
        except ResponseTooLarge:
            self._end(link, HttpFailure.TOO_LARGE, "the response has too many headers")
        except HttpParserError as error:
            self._end(link, HttpFailure.PROTOCOL, f"the response is not HTTP: {error}")
        else:
            if responses.is_complete or responses.body_bytes > limits.RESPONSE_READ_BYTES:
                self._end(link)

    def _end(self, link: _Link, failure: HttpFailure | None = None, detail: str = "") -> None:
        """Have the errand answered, by a problem or by the response that was read."""
        link.is_over = True
        if failure is not None:
            link.problem = (failure, detail)
        self._over.append(link)

    def _expire(self, now_s: float) -> None:
        next_s = math.inf
        for link in self._busy():
            if link.deadline_s > now_s:
                next_s = min(next_s, link.deadline_s)
            elif link.responses.status:
                self._end(link, HttpFailure.TIMEOUT, "the response did not end in time")
            else:
                self._end(link, HttpFailure.TIMEOUT, "no response came in time")
        self._expires_s = max(next_s, now_s + max(EXPIRY_STEP_S, len(self._links) * EXPIRY_STEP_S_A_LINK))

    def _finish(self, link: _Link, now_s: float) -> None:
        errand, problem, responses = link.errand, link.problem, link.responses
        assert errand is not None
        call, since_s = errand.call, errand.since_s
        truncated = responses.body_bytes > limits.RESPONSE_KEPT_BYTES
        if problem is None:
            headers, wait = responses.told(call.url)
            if call.options.keep is not None:
                headers = responses.picked(call.options.keep)
            reply = HttpReply(
                call.key, responses.status, None, "", wait, responses.body, truncated, since_s, now_s, headers
            )
        else:
            failure, detail = problem
            reply = HttpReply(call.key, None, failure, detail, None, responses.body, truncated, since_s, now_s)
        self._answer(errand, reply)
        link.errand = None
        if problem is None and responses.is_reusable and not link.is_ending and not link.unsent:
            link.is_over = False
            responses.begin()
            self._keep(link, now_s)
        else:
            self._close(link)

    def _keep(self, link: _Link, now_s: float) -> None:
        if self._idle_count >= IDLE_MAX:
            self._close(link)
            return
        link.idle_since_s = now_s
        self._idle_count += 1
        idle = self._idle.get(link.authority)
        if idle is None:
            idle = self._idle[link.authority] = deque()
        idle.append(link)

    def _forget(self, link: _Link) -> None:
        self._idle[link.authority].remove(link)
        self._idle_count -= 1
        self._close(link)

    def _sweep(self, now_s: float) -> None:
        for authority, idle in list(self._idle.items()):
            while idle and now_s - idle[0].idle_since_s > CONNECTION_IDLE_S_MAX:
                self._forget(idle[0])
            if not idle:
                del self._idle[authority]
        self._sweep_s = now_s + SWEEP_S

    def _close(self, link: _Link) -> None:
        del self._links[link.fd]
        link.socket.close()
        link.responses.close()
