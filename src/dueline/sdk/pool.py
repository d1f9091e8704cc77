"""The connections of a client, for all threads of a program."""

from __future__ import annotations

import os
import threading

from dueline.runtime.clock import Clock
from dueline.sdk.address import Address
from dueline.sdk.answers import Answer
from dueline.sdk.calls import Request
from dueline.sdk.connection import Connection
from dueline.sdk.errors import Unreachable
from dueline.sdk.flows import SEND_S_MIN, Send

CONNECTIONS_MAX = 16
"""As many calls as one program has under way at a time; others wait for their turn. A server serves many programs."""


class Pool:
    """Connections are opened when they are needed and kept for the next call. Safe for threads, and after a fork, where the
    connections of the parent are left alone."""

    def __init__(self, address: Address, clock: Clock, *, connections_max: int = CONNECTIONS_MAX) -> None:
        self.address = address
        self._clock = clock
        self._connections_max = connections_max
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._under_way: set[Connection] = set()
        self._places = threading.BoundedSemaphore(connections_max)
        self._interrupted = threading.Event()

    def send(self, step: Send) -> Answer:
        """The answer, or Unreachable."""
        deadline_s = self._clock.monotonic_s() + step.timeout_s
        places = self._places_of_this_process()
        if not places.acquire(timeout=step.timeout_s):
            reason = f"all {self._connections_max} connections to {self.address.url} were in use"
            raise Unreachable(f"{reason} for {step.timeout_s:g} s", sent=False)
        try:
            left_s = max(deadline_s - self._clock.monotonic_s(), SEND_S_MIN)
            return self._send(step.request, left_s)
        finally:
            places.release()

    def pause(self, for_s: float) -> None:
        """Let time pass; Unreachable when somebody interrupts it."""
        if self._interrupted.wait(for_s):
            raise Unreachable(f"interrupted while waiting for {self.address.url}")

    def interrupt(self) -> None:
        """Break off every call that other threads wait for: each ends as Unreachable."""
        with self._lock:
            interrupted, self._interrupted = self._interrupted, threading.Event()
            under_way = list(self._under_way)
        interrupted.set()
        for connection in under_way:
            connection.interrupt()

    def close(self) -> None:
        """Close the connections that are kept. The next call opens another."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _places_of_this_process(self) -> threading.BoundedSemaphore:
        if self._pid != os.getpid():
            # Everything anew: another thread of the parent may have held the lock in the moment of the fork.
            Pool.__init__(self, self.address, self._clock, connections_max=self._connections_max)
        return self._places

    def _send(self, request: Request, timeout_s: float) -> Answer:
        with self._lock:
            connection = self._idle.pop() if self._idle else Connection(self.address)
            self._under_way.add(connection)
        answered = False
        try:
            answer = connection.send(request, timeout_s=timeout_s)
            answered = True
        finally:
            with self._lock:
                self._under_way.discard(connection)
                if answered:
                    self._idle.append(connection)
            if not answered:
                connection.close()
        return answer
