"""How many of a worker's slots one host may have, so that a host that hangs leaves the others the rest; and limited tasks likewise."""

from __future__ import annotations

from dueline.domain import limits


class _Host:
    """Calls under way, and how many were answered in this second and in the one before."""

    __slots__ = ("answered", "answered_before", "next_s", "second", "under_way")

    def __init__(self, second: int) -> None:
        self.under_way = 0
        self.second = second
        self.answered = 0
        self.answered_before = 0
        self.next_s = 0.0

    def recent(self, second: int) -> int:
        if second != self.second:
            self.answered_before = self.answered if second == self.second + 1 else 0
            self.answered = 0
            self.second = second
        return self.answered + self.answered_before


class Shares:
    """A host has its share of the slots, and one more for each call that it answered in the last second or two: a quick host gets all,
    one that hangs never more than its share. What finds no slot is put off, one after the other, at the pace of the answers."""

    def __init__(self, slots: int, *, share: float = limits.HOST_SHARE) -> None:
        self._share = max(1, int(slots * share))
        self._hosts: dict[str, _Host] = {}

    def enter(self, name: str, now_s: float, *, most: int | None = None) -> float | None:
        """None: a call to the host may start, and is counted until `leave`. Otherwise how long to put it off. `most` is how many there may
        be, where somebody said so."""
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = _Host(int(now_s))
        if host.under_way < (self._share + host.recent(int(now_s)) if most is None else most):
            host.under_way += 1
            return None
        pace = max(host.recent(int(now_s)) / 2, limits.HOST_PACE_MIN)
        host.next_s = max(host.next_s, now_s) + 1 / pace
        if host.next_s > now_s + limits.HOST_WAIT_S_MAX:
            host.next_s = now_s
        return limits.PUT_OFF_MS_MIN / 1000 + host.next_s - now_s

    def leave(self, name: str, now_s: float, *, answered: bool) -> None:
        host = self._hosts[name]
        host.under_way -= 1
        if answered:
            host.recent(int(now_s))
            host.answered += 1
        if not host.under_way:
            del self._hosts[name]
