"""Calls through libcurl's multi interface, and the connections that it opens for others."""

from __future__ import annotations

import socket
from collections.abc import Callable, Container

import pycurl

from dueline.engine.execution.exchange import HttpFailure, HttpReply
from dueline.worker.executors.hosts import Errand, Host
from dueline.worker.executors.plain import PlainRequest
from dueline.worker.executors.sockets import Sockets
from dueline.worker.executors.transfer import NotSent, Transfer

HANDLES_IDLE_MAX = 2_048
"""Handles kept between calls; at 6 KiB each they are not worth more than a new one costs."""

CONNECTIONS_IDLE_MAX = 1_024
"""Connections kept between calls, in all. libcurl's own bound follows the calls in flight and shrinks after a burst."""


class Transfers:
    """Every errand that is started is answered once, by `answer`, unless it gets a connection to go over instead, by `connected`."""

    def __init__(
        self,
        *,
        sockets: Sockets,
        connections_per_host_max: int,
        new: Callable[[], Transfer],
        answer: Callable[[Errand, HttpReply], None],
        connected: Callable[[socket.socket, Errand, PlainRequest, float], None],
        expand: Callable[[Host], None],
    ) -> None:
        """`expand` is told of hosts to which a connection carries several calls at a time."""
        self._sockets = sockets
        self._new = new
        self._answer = answer
        self._connected = connected
        self._expand = expand
        self._transfers: dict[pycurl.Curl, Transfer] = {}
        self._idle: list[Transfer] = []
        self._multi = pycurl.CurlMulti()
        # pycurl's attribute look-up is slow: what each call needs is looked up once.
        self._add_handle = self._multi.add_handle
        self._remove_handle = self._multi.remove_handle
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, sockets.watch)
        self._multi.setopt(pycurl.M_MAX_HOST_CONNECTIONS, connections_per_host_max)
        self._multi.setopt(pycurl.M_MAXCONNECTS, CONNECTIONS_IDLE_MAX)
        self.act = self._multi.socket_action
        """Tells libcurl what happened to a socket."""

    def __len__(self) -> int:
        """How many handles there are."""
        return len(self._transfers)

    def wait_s(self) -> float | None:
        """For how long libcurl has nothing to do unless something happens; None: it does not say.

        It is asked once a pass; its timer callback would come twice a call.
        """
        timeout_ms = self._multi.timeout()
        return None if timeout_ms < 0 else timeout_ms / 1000

    @property
    def is_busy(self) -> bool:
        return len(self._idle) < len(self._transfers)

    def start(self, errand: Errand, request: PlainRequest | None, now_s: float) -> None:
        """With a request, only a connection is opened for it."""
        transfer = None
        try:
            transfer = self._idle.pop() if self._idle else self._add()
            if request is None:
                transfer.prepare(errand.call, errand.time_left_ms(now_s))
            else:
                transfer.prepare_to_dial(errand.call, errand.time_left_ms(now_s), request)
            self._add_handle(transfer.handle)
            transfer.errand = errand
            return
        except NotSent as error:
            reply = errand.failed(error.failure, error.detail, now_s)
        except Exception as error:  # reason: a call that nobody foresaw must not end the others.
            reply = errand.failed(HttpFailure.INTERNAL, repr(error), now_s)
        if transfer is not None:
            self._discard(transfer)
        self._answer(errand, reply)

    def collect(self, now_s: float) -> None:
        """Answer what has ended."""
        if self._multi.timeout() == 0:
            self.act(pycurl.SOCKET_TIMEOUT, 0)
        _, succeeded, failed = self._multi.info_read()
        for handle in succeeded:
            self._finish(self._transfers[handle], pycurl.E_OK, "", now_s)
        for handle, code, words in failed:
            self._finish(self._transfers[handle], code, words, now_s)

    def cancel(self, keys: Container[object], now_s: float) -> None:
        for transfer in list(self._transfers.values()):
            errand = transfer.errand
            if errand is not None and errand.call.key in keys:
                self._put_back(transfer)
                self._answer(errand, errand.failed(HttpFailure.CANCELLED, "", now_s))

    def errands(self) -> list[Errand]:
        """All that are not answered."""
        return [each.errand for each in list(self._transfers.values()) if each.errand is not None]

    def close(self) -> None:
        """What is not answered then is not answered here."""
        handles = list(self._transfers)
        self._transfers.clear()
        self._idle.clear()
        self._multi.close()
        for handle in handles:
            handle.close()

    def _add(self) -> Transfer:
        transfer = self._new()
        self._transfers[transfer.handle] = transfer
        return transfer

    def _finish(self, transfer: Transfer, code: int, words: str, now_s: float) -> None:
        errand, request = transfer.errand, transfer.dials_for
        assert errand is not None
        if code and transfer.start_over(code):
            self._remove_handle(transfer.handle)
            self._add_handle(transfer.handle)
        elif request is not None and not code:
            self._hand_out(transfer, errand, request, now_s)
        else:
            reply = transfer.end(errand, code, words, now_s)
            if errand.host.is_secure and transfer.is_shared():
                self._expand(errand.host)
            self._put_back(transfer)
            self._answer(errand, reply)

    def _hand_out(self, transfer: Transfer, errand: Errand, request: PlainRequest, now_s: float) -> None:
        """The connection that was opened. libcurl closes its own descriptor of it as the handle is removed."""
        try:
            fd, connected = transfer.take_connection()
        except OSError as error:
            self._put_back(transfer)
            self._answer(errand, errand.failed(HttpFailure.CONNECT, repr(error), now_s))
            return
        self._sockets.forget(fd)
        self._put_back(transfer)
        self._connected(connected, errand, request, now_s)

    def _put_back(self, transfer: Transfer) -> None:
        transfer.errand = None
        self._remove_handle(transfer.handle)
        if len(self._idle) < HANDLES_IDLE_MAX:
            self._idle.append(transfer)
        else:
            self._discard(transfer)

    def _discard(self, transfer: Transfer) -> None:
        del self._transfers[transfer.handle]
        transfer.handle.close()
