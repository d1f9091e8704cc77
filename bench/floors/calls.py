"""libcurl's multi interface in a thread of its own, and nothing more: no timeouts, no rules, no retries."""

from __future__ import annotations

import asyncio
import os
import select
import threading
import traceback
from collections import deque
from contextlib import suppress

import pycurl

_CONNECTIONS = 64
_EVENTS = 512
_WATCHED = {
    pycurl.POLL_IN: select.EPOLLIN,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
}


class _Batch:
    """Calls whose end is awaited together."""

    def __init__(self, bodies: list[str], ended: asyncio.Future[None]) -> None:
        self.bodies = bodies
        self.left = len(bodies)
        self.ended = ended


class Caller:
    """Posts to one URL, on connections that are kept."""

    def __init__(self, url: str, loop: asyncio.AbstractEventLoop) -> None:
        self._url = url
        self._loop = loop
        self._waiting: deque[tuple[_Batch, str]] = deque()
        self._orders: deque[_Batch] = deque()
        self._wake_fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._closing = False
        self._epoll = select.epoll()
        self._epoll.register(self._wake_fd, select.EPOLLIN)
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_MAXCONNECTS, _CONNECTIONS)
        self._watched: set[int] = set()
        self._idle = [self._make_handle() for _ in range(_CONNECTIONS)]
        self._under_way: dict[pycurl.Curl, _Batch] = {}
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    async def call(self, bodies: list[str]) -> None:
        """Returns when all of them were answered with a success."""
        batch = _Batch(bodies, self._loop.create_future())
        self._orders.append(batch)
        os.eventfd_write(self._wake_fd, 1)
        await batch.ended

    def close(self) -> None:
        self._closing = True
        os.eventfd_write(self._wake_fd, 1)
        self._thread.join()
        self._epoll.close()
        os.close(self._wake_fd)

    def _make_handle(self) -> pycurl.Curl:
        handle = pycurl.Curl()
        handle.setopt(pycurl.URL, self._url)
        handle.setopt(pycurl.POST, 1)
        handle.setopt(pycurl.NOSIGNAL, 1)
        handle.setopt(pycurl.HTTPHEADER, ["Content-Type: application/json"])
        handle.setopt(pycurl.WRITEFUNCTION, len)
        return handle

    def _run(self) -> None:
        try:
            self._serve()
        except BaseException:  # reason: nobody would hear of it, and the rest would wait for ever.
            traceback.print_exc()
            os._exit(1)

    def _serve(self) -> None:
        multi = self._multi
        while not self._closing:
            timeout_ms = multi.timeout()
            for fd, happened in self._epoll.poll(timeout_ms / 1000 if timeout_ms >= 0 else -1, _EVENTS):
                if fd == self._wake_fd:
                    self._take_orders()
                else:
                    multi.socket_action(fd, 1 if happened & select.EPOLLIN else 2)
            if multi.timeout() == 0:
                multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
            self._collect()
            self._start()
        multi.close()

    def _take_orders(self) -> None:
        os.eventfd_read(self._wake_fd)
        while self._orders:
            batch = self._orders.popleft()
            self._waiting.extend((batch, body) for body in batch.bodies)

    def _start(self) -> None:
        while self._idle and self._waiting:
            handle = self._idle.pop()
            batch, body = self._waiting.popleft()
            handle.setopt(pycurl.POSTFIELDS, body)
            self._under_way[handle] = batch
            self._multi.add_handle(handle)

    def _collect(self) -> None:
        _, succeeded, failed = self._multi.info_read()
        assert not failed, failed
        for handle in succeeded:
            assert handle.getinfo(pycurl.RESPONSE_CODE) == 200
            self._multi.remove_handle(handle)
            self._idle.append(handle)
            batch = self._under_way.pop(handle)
            batch.left -= 1
            if not batch.left:
                self._loop.call_soon_threadsafe(batch.ended.set_result, None)

    def _on_socket(self, what: int, fd: int, _multi: pycurl.CurlMulti, _assigned: object) -> None:
        if what == pycurl.POLL_REMOVE:
            if fd in self._watched:
                self._watched.discard(fd)
                with suppress(FileNotFoundError):  # It is closed.
                    self._epoll.unregister(fd)
        elif fd in self._watched:
            self._epoll.modify(fd, _WATCHED[what])
        else:
            self._epoll.register(fd, _WATCHED[what])
            self._watched.add(fd)
