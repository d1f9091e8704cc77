"""Performs HTTP calls, ten thousand at a time, in one thread of its own.

Usual ones without TLS go over connections of our own (links.py), all others through libcurl (transfers.py).
"""

import asyncio
import contextlib
import math
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dueline.domain import limits
from dueline.engine.execution.exchange import HttpCall, HttpFailure, HttpReply
from dueline.worker.executors.authorities import system_ca_file
from dueline.worker.executors.hosts import Errand, Hosts
from dueline.worker.executors.links import Links
from dueline.worker.executors.plain import plain_request
from dueline.worker.executors.sockets import Connections, Sockets
from dueline.worker.executors.transfer import JudgeAddress, Transfer
from dueline.worker.executors.transfers import Transfers

__all__ = ["HttpCall", "HttpExecutor", "HttpFailure", "HttpReply"]

STARTS_PER_PASS = 256
"""Calls begun between two looks at the sockets: replies must not wait behind a burst of starts."""

WAIT_S_MAX = 1.0
"""The longest sleep while calls are in flight. libcurl says when to wake; this is for the day when it is wrong."""

CLOSE_WAIT_S = 5.0
"""How long `close` waits for the last replies. They take milliseconds, unless a callback of the caller hangs."""

JOIN_WAIT_S = 0.5
"""How long `close` then waits for the thread, which libcurl holds until the last name look-up has come back."""

FAULT_PAUSE_S = 0.05
"""The pause after a fault of the executor itself, so that one that stays does not take a processor."""

CONNECTIONS_PER_HOST_MAX = 256
"""Further calls to the host wait for a place, outside of libcurl. It walks through all connections to a host before each call: with
10,000 of them that alone takes 100 µs."""


class HttpExecutor:
    """Every submitted call gets exactly one reply, whatever happens to it, and its request is sent at most once.

    All methods belong to the thread of the event loop, and `deliver` is called there. Replies come in lists: while one
    list waits for the loop, further replies join it.

    No connection is opened to an address that `judge_address` refuses; without it, every address is called. `may_send` is asked right
    before each request is sent, however long the call has waited for that, and on the executor's own thread.
    """

    def __init__(
        self,
        *,
        deliver: Callable[[list[HttpReply]], None],
        monotonic: Callable[[], float],
        connections_per_host_max: int = CONNECTIONS_PER_HOST_MAX,
        connect_timeout_ms: int = limits.CONNECT_TIMEOUT_MS_DEFAULT,
        judge_address: JudgeAddress | None = None,
        may_send: Callable[[], bool] = lambda: True,
        ca_file: str | None = None,
    ) -> None:
        self._deliver = deliver
        self._monotonic = monotonic
        self._connections_per_host_max = connections_per_host_max
        self._connect_timeout_ms = connect_timeout_ms
        self._judge_address = judge_address
        self._may_send = may_send
        self._ca_file = ca_file or system_ca_file()
        # The loop's side.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="dueline-http", daemon=True)
        self._submitted_total = 0
        self._delivered_total = 0
        # Between the two, under the lock. An order is the calls to start, or the set of keys to cancel.
        self._lock = threading.Lock()
        self._orders: list[tuple[HttpCall, ...] | frozenset[Any]] = []
        self._replies: list[HttpReply] = []
        self._waking = False
        self._handing_over = False
        self._closing = False
        self._ended = False
        self._answered = threading.Event()
        # The thread's side.
        self._wake_fd = -1
        self._hosts = Hosts(connections_per_host_max)
        self._done: list[HttpReply] = []

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the thread; replies go to `loop` from now on."""
        self._loop = loop
        self._wake_fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._set_up()
        self._thread.start()

    def submit(self, calls: Sequence[HttpCall]) -> None:
        """Perform the calls; never blocks. After `close` they are answered as closed."""
        self._order(tuple(calls))
        self._submitted_total += len(calls)

    def cancel(self, keys: Iterable[Any]) -> None:
        """End the calls with these keys that were submitted before and are not answered yet."""
        self._order(frozenset(keys))

    @property
    def in_flight(self) -> int:
        """Calls submitted whose reply has not been delivered."""
        return self._submitted_total - self._delivered_total

    def close(self) -> None:
        """End every call, deliver the last replies, and end the thread. Blocks for milliseconds, at most 5.5 s."""
        if self._loop is None:
            return
        self._closing = True
        if self._thread.is_alive():
            os.eventfd_write(self._wake_fd, 1)
            self._answered.wait(CLOSE_WAIT_S)
            self._answer_all()  # The thread has, unless it is stuck.
        self._hand_over()
        self._thread.join(JOIN_WAIT_S)
        if not self._thread.is_alive() and self._wake_fd >= 0:
            os.close(self._wake_fd)
            self._wake_fd = -1

    def _order(self, order: tuple[HttpCall, ...] | frozenset[Any]) -> None:
        if self._loop is None:
            raise RuntimeError("the HTTP executor is not open")
        with self._lock:
            if not self._ended:
                self._orders.append(order)
                wake = not self._waking
                self._waking = True
            else:
                wake = False
                if isinstance(order, tuple):
                    self._replies += [self._failed(call, HttpFailure.CLOSED) for call in order]
                    self._loop.call_soon(self._hand_over)
        if wake:
            os.eventfd_write(self._wake_fd, 1)

    def _hand_over(self) -> None:
        with self._lock:
            batch = self._replies
            self._replies = []
            self._handing_over = False
        if batch:
            self._delivered_total += len(batch)
            self._deliver(batch)

    def _answer_all(self) -> None:
        """Take no more orders, and answer what has no reply: for the thread, as it ends or because it is stuck."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
            self._replies += self._done
            now_s = self._monotonic()
            self._replies += [errand.failed(HttpFailure.CLOSED, "", now_s) for errand in self._errands()]
            unstarted = [call for call, _ in self._hosts.waiting()]
            for order in self._orders:
                unstarted += order if isinstance(order, tuple) else ()
            self._replies += [self._failed(call, HttpFailure.CLOSED) for call in unstarted]

    def _failed(
        self, call: HttpCall, failure: HttpFailure, detail: str = "", started_s: float | None = None
    ) -> HttpReply:
        now_s = self._monotonic()
        return HttpReply(call.key, None, failure, detail, None, b"", False, started_s or now_s, now_s)

    # From here on: the thread.

    def _set_up(self) -> None:
        self._broken: Exception | None = None
        self._connections = Connections()
        self._sockets = Sockets(self._connections, self._wake_fd)
        self._links = Links(epoll=self._sockets.epoll, may_send=self._may_send, answer=self._answer)
        self._transfers = Transfers(
            sockets=self._sockets,
            connections_per_host_max=self._connections_per_host_max,
            new=self._new_transfer,
            answer=self._answer,
            connected=self._links.take_on,
            expand=self._hosts.expand,
        )

    def _new_transfer(self) -> Transfer:
        return Transfer(
            connections=self._connections,
            connect_timeout_ms=self._connect_timeout_ms,
            judge_address=self._judge_address,
            may_send=self._may_send,
            ca_file=self._ca_file,
        )

    def _run(self) -> None:
        try:
            while not self._closing:
                try:
                    self._pass()
                except Exception as error:  # reason: whatever broke, the calls in flight get their replies.
                    now_s = self._monotonic()
                    for errand in self._errands():
                        self._answer(errand, errand.failed(HttpFailure.INTERNAL, repr(error), now_s))
                    self._offer()
                    self._tear_down()
                    self._answered.wait(FAULT_PAUSE_S)
                    self._set_up()
                self._offer()
        finally:
            self._answer_all()
            self._answered.set()
            self._wake_loop()
            self._tear_down()  # Last: libcurl may hold the thread until a name look-up comes back.

    def _pass(self) -> None:
        """Wait for something to do, do it, and collect what ended by it."""
        links, transfers, sockets = self._links, self._transfers, self._sockets
        for fd, happened in sockets.poll(self._wait_s()):
            if fd in links:
                links.serve(fd, happened)
            elif fd == self._wake_fd:
                self._take_orders()
            elif action := sockets.action(fd, happened):
                transfers.act(fd, action)
        now_s = self._monotonic()
        links.collect(now_s)
        transfers.collect(now_s)
        self._start_some(now_s)
        broken = self._broken or sockets.broken
        if broken is not None:
            raise broken

    def _wait_s(self) -> float:
        if self._hosts.ready:
            return 0
        wait_s = self._transfers.wait_s()
        next_s = min(self._hosts.next_s, self._links.next_s)
        if wait_s is None and next_s == math.inf and not self._transfers.is_busy:
            return -1
        until_next_s = max(next_s - self._monotonic(), 0.0)
        return min(WAIT_S_MAX, until_next_s, WAIT_S_MAX if wait_s is None else wait_s)

    def _take_orders(self) -> None:
        os.eventfd_read(self._wake_fd)
        with self._lock:
            orders = self._orders
            self._orders = []
            self._waking = False
        for order in orders:
            if isinstance(order, tuple):
                self._take_in(order)
                continue
            try:
                self._cancel(order)
            except Exception as error:  # reason: the orders after it must not be lost.
                self._broken = error

    def _take_in(self, calls: tuple[HttpCall, ...]) -> None:
        now_s = self._monotonic()
        for call in calls:
            try:
                self._hosts.add(call, now_s)
            except Exception as error:  # reason: a call that nobody foresaw must not end the others.
                self._done.append(self._failed(call, HttpFailure.INTERNAL, repr(error)))

    def _start_some(self, now_s: float) -> None:
        for call, since_s in self._hosts.expire(now_s):
            self._done.append(self._failed(call, HttpFailure.TIMEOUT, "no connection was free in time", since_s))
        self._hosts.look(now_s)
        for errand in self._hosts.take(now_s, STARTS_PER_PASS):
            try:
                self._start(errand, now_s)
            except Exception as error:  # reason: a call that nobody foresaw must not end the others.
                self._answer(errand, errand.failed(HttpFailure.INTERNAL, repr(error), now_s))

    def _start(self, errand: Errand, now_s: float) -> None:
        request = None if errand.host.is_secure else plain_request(errand.call)
        if request is None or errand.time_left_ms(now_s) <= 0 or not self._links.take(errand, request, now_s):
            self._transfers.start(errand, request, now_s)

    def _cancel(self, keys: frozenset[Any]) -> None:
        for call, since_s in self._hosts.cancel(keys):
            self._done.append(self._failed(call, HttpFailure.CANCELLED, "", since_s))
        self._transfers.cancel(keys, self._monotonic())
        self._links.cancel(keys)

    def _answer(self, errand: Errand, reply: HttpReply) -> None:
        self._done.append(reply)
        self._hosts.leave(errand.host)

    def _errands(self) -> list[Errand]:
        """Under way, and not answered."""
        return self._links.errands() + self._transfers.errands()

    def _offer(self) -> None:
        """Bring the finished replies to the loop, with one wake-up for all that gather until it comes."""
        if not self._done:
            return
        with self._lock:
            if not self._ended:
                self._replies += self._done
        self._done.clear()
        self._wake_loop()

    def _wake_loop(self) -> None:
        with self._lock:
            wake = not self._handing_over and bool(self._replies)
            self._handing_over = self._handing_over or wake
        if wake and self._loop is not None:
            with contextlib.suppress(RuntimeError):  # The loop is closed; `close` can still deliver.
                self._loop.call_soon_threadsafe(self._hand_over)

    def _tear_down(self) -> None:
        self._links.close()
        self._transfers.close()
        self._sockets.close()
