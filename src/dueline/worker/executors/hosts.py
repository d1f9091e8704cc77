"""Calls that wait for a place at their host, first come, first served; libcurl gets only those that have one.

A call that waits inside libcurl costs it time again and again: of a thousand calls to a host that answers at once, each took twice as long.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Container, Iterator

import msgspec

from dueline.engine.execution.exchange import HttpCall, HttpFailure, HttpReply
from dueline.worker.executors.widths import SILENT_S, Width

EXPIRY_STEP_S = 0.01
"""The least time between two looks at all that wait for the sake of their timeouts."""


class Host:
    """Who waits there since when, and how many calls are under way of how many that may be."""

    __slots__ = ("has_turn", "is_secure", "name", "places", "under_way", "waiting", "width")

    def __init__(self, name: str, most: int) -> None:
        self.name = name
        self.is_secure = name[:6].lower() == "https:"
        self.width = Width(most)
        self.places: float = self.width.places
        self.under_way = 0
        self.waiting: deque[tuple[HttpCall, float]] = deque()
        self.has_turn = False


class Errand(msgspec.Struct, frozen=True, gc=False):
    """A call that has a place at its host, and since when it wanted one."""

    host: Host
    call: HttpCall
    since_s: float

    def failed(self, failure: HttpFailure, detail: str, now_s: float) -> HttpReply:
        return HttpReply(self.call.key, None, failure, detail, None, b"", False, self.since_s, now_s)

    def time_left_ms(self, now_s: float) -> int:
        return self.call.timeout_ms - int((now_s - self.since_s) * 1000)


class Hosts:
    """Every call that is taken must be told to have left."""

    def __init__(self, most: int) -> None:
        """`most` is how many calls to one host may be under way."""
        self._most = most
        self._hosts: dict[str, Host] = {}
        self._turns: deque[Host] = deque()
        """Those that may have a place for somebody who waits."""
        self._expires_s = math.inf
        """No call that waits runs out of time before this."""
        self._crowded: set[Host] = set()
        """Those where somebody has to wait."""
        self._look_s = 0.0

    @property
    def ready(self) -> bool:
        """Whether there may be a call to take."""
        return bool(self._turns)

    @property
    def next_s(self) -> float:
        """When there is something to do again: `expire` or `look`."""
        return min(self._expires_s, self._look_s) if self._crowded else self._expires_s

    def add(self, call: HttpCall, now_s: float) -> None:
        self._expires_s = min(self._expires_s, now_s + call.timeout_ms / 1000)
        name = call.url[: call.url.find("/", len("https://"))]
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = Host(name, self._most)
        host.waiting.append((call, now_s))
        if not host.has_turn:
            self._give_turn(host)

    def take(self, now_s: float, most: int) -> Iterator[Errand]:
        """The next calls that have a place. What is not asked for is not taken."""
        turns = self._turns
        while turns:
            host = turns[0]
            while host.waiting and host.under_way < host.places:
                if not most:
                    return
                most -= 1
                host.under_way += 1
                call, since_s = host.waiting.popleft()
                yield Errand(host, call, since_s)
            turns.popleft()
            host.has_turn = False
            if host.waiting and host not in self._crowded:
                self._crowded.add(host)
                host.width.begin(now_s)

    def leave(self, host: Host) -> None:
        host.under_way -= 1
        host.width.answered += 1
        if host.waiting:
            if not host.has_turn:
                self._give_turn(host)
        elif not host.under_way:
            self._hosts.pop(host.name, None)

    def expand(self, host: Host) -> None:
        """Its connections carry many calls each: libcurl finds places for all."""
        host.places = math.inf
        self._give_turn(host)

    def look(self, now_s: float) -> None:
        """Let hosts where somebody waits have as many places as they make use of."""
        if now_s < self._look_s:
            return
        self._look_s = now_s + SILENT_S / 2
        for host in list(self._crowded):
            if not host.waiting:
                self._crowded.discard(host)
            elif host.places < math.inf:
                host.width.adapt(now_s)
                host.places = host.width.places
                self._give_turn(host)

    def expire(self, now_s: float) -> list[tuple[HttpCall, float]]:
        """Take out the calls whose time has run out while they waited."""
        if now_s < self._expires_s:
            return []
        expired = self._take_out(lambda call, since_s: since_s + call.timeout_ms / 1000 <= now_s)
        ends_s = (since_s + call.timeout_ms / 1000 for call, since_s in self.waiting())
        self._expires_s = max(min(ends_s, default=math.inf), now_s + EXPIRY_STEP_S)
        return expired

    def cancel(self, keys: Container[object]) -> list[tuple[HttpCall, float]]:
        return self._take_out(lambda call, _: call.key in keys)

    def waiting(self) -> Iterator[tuple[HttpCall, float]]:
        """All that wait."""
        for host in list(self._hosts.values()):
            yield from list(host.waiting)

    def _take_out(self, which: Callable[[HttpCall, float], bool]) -> list[tuple[HttpCall, float]]:
        out = []
        for host in list(self._hosts.values()):
            taken = [one for one in host.waiting if which(*one)]
            if taken:
                out += taken
                host.waiting = deque(one for one in host.waiting if not which(*one))
            if not host.waiting and not host.under_way:
                del self._hosts[host.name]
        return out

    def _give_turn(self, host: Host) -> None:
        if not host.has_turn and host.under_way < host.places:
            host.has_turn = True
            self._turns.append(host)
