"""The sockets that libcurl wants watched, and what is known about the connections that it keeps."""

import select

import pycurl

EVENTS_PER_PASS = 1_024
"""Sockets served between two hand-overs of replies: they must not wait behind a burst of events."""

CONNECTIONS_KNOWN_MAX = 8_192
"""Connections remembered for the look before the request; closed ones are not forgotten one by one."""

Ends = tuple[str, str, int, int]
"""A connection: remote and local address, remote and local port."""


class Connections:
    """What is known about kept connections: the descriptor of each, and the descriptors whose peer has hung up."""

    def __init__(self) -> None:
        self.hung_up: set[int] = set()
        self._fds: dict[Ends, int] = {}

    def learn(self, ends: Ends, fd: int) -> None:
        if len(self._fds) >= CONNECTIONS_KNOWN_MAX:
            self._fds.clear()
        self._fds[ends] = fd

    def is_hung_up(self, ends: Ends) -> bool:
        return self._fds.get(ends) in self.hung_up


_WATCHED = {
    pycurl.POLL_IN: select.EPOLLIN,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
    pycurl.POLL_REMOVE: select.EPOLLRDHUP | select.EPOLLET,
}
_ACTIONS = {
    select.EPOLLIN: pycurl.CSELECT_IN,
    select.EPOLLOUT: pycurl.CSELECT_OUT,
    select.EPOLLIN | select.EPOLLOUT: pycurl.CSELECT_IN | pycurl.CSELECT_OUT,
}
_ACTION_ON_ERROR = pycurl.CSELECT_IN | pycurl.CSELECT_OUT | pycurl.CSELECT_ERR


class Sockets:
    def __init__(self, connections: Connections, wake_fd: int) -> None:
        """`wake_fd` is watched besides."""
        self._hung_up = connections.hung_up
        self.epoll = select.epoll()
        self.epoll.register(wake_fd, select.EPOLLIN)
        self._watched: set[int] = set()
        self.broken: Exception | None = None

    def poll(self, wait_s: float) -> list[tuple[int, int]]:
        """Wait for something to happen: descriptors and events."""
        return self.epoll.poll(wait_s, EVENTS_PER_PASS)

    def action(self, fd: int, happened: int) -> int:
        """What happened in libcurl's words; 0 if that is nothing to it."""
        if happened & select.EPOLLRDHUP:
            self._hung_up.add(fd)
            return 0
        return _ACTIONS.get(happened, _ACTION_ON_ERROR)

    def forget(self, fd: int) -> None:
        """Before libcurl closes a descriptor whose connection stays open under another: it would be heard of for ever."""
        if fd in self._watched:
            self._watched.discard(fd)
            self.epoll.unregister(fd)

    def watch(self, what: int, fd: int, _multi: pycurl.CurlMulti, _assigned: object) -> None:
        """Watch what libcurl wants watched. The kernel forgets a descriptor that is closed, and a number can come back
        as another socket, so each wish becomes a system call, also one that looks fulfilled."""
        try:
            if fd in self._watched:
                try:
                    self.epoll.modify(fd, _WATCHED[what])
                    return
                except FileNotFoundError:
                    self._watched.discard(fd)
            if what != pycurl.POLL_REMOVE:
                self.epoll.register(fd, _WATCHED[what])
                self._watched.add(fd)
                self._hung_up.discard(fd)
        except Exception as error:  # reason: libcurl would drop it, and wait for a socket that nobody watches.
            self.broken = error

    def close(self) -> None:
        self.epoll.close()
