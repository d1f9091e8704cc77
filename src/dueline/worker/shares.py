"""How many of a worker's slots one host may have, so that a host that hangs leaves the others the rest; and limited tasks likewise."""

from __future__ import annotations

from dueline.domain import limits

_UNKNOWN_S = 0.25
"""For so long nobody can tell whether a host answers quickly or hangs."""


class _Host:
    """Calls under way, since when there are some, and how many were answered in this second and in the one before."""

    __slots__ = ("answered", "answered_before", "next_s", "second", "since_s", "under_way")

    def __init__(self, now_s: float) -> None:
        self.under_way = 0
        self.since_s = now_s
        self.second = int(now_s)
        self.answered = 0
        self.answered_before = 0
        self.next_s = 0.0

    def recent(self, second: int) -> int:
        if second != self.second:
            self.answered_before = self.answered if second == self.second + 1 else 0
            self.answered = 0
            self.second = second
        return self.answered + self.answered_before

    def pace(self, now_s: float, most: int) -> float:
        """Answers a second. One that was called only now is taken to answer as many as it may have in no time."""
        answered, since_s = self.recent(int(now_s)), now_s - self.since_s
        if not answered and since_s < _UNKNOWN_S:
            return most / _UNKNOWN_S
        return max(answered / max(min(since_s, 1 + now_s - self.second), _UNKNOWN_S), limits.HOST_PACE_MIN)


class Shares:
    """A host has its share of the slots, and one more for each call that it answered in the last second or two: a quick host gets all,
    one that hangs never more than its share. What finds no slot waits, one after the other, at the pace of the answers."""

    def __init__(self, slots: int, *, share: float = limits.HOST_SHARE) -> None:
        self._share = max(1, int(slots * share))
        self._hosts: dict[str, _Host] = {}

    def enter(self, name: str, now_s: float, *, most: int | None = None) -> float | None:
        """None: a call to the host may start, and is counted until `leave`. Otherwise how long until it is its turn. `most` is how many
        there may be, where somebody said so."""
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = _Host(now_s)
        if host.under_way < (self._share + host.recent(int(now_s)) if most is None else most):
            host.under_way += 1
            return None
        host.next_s = max(host.next_s, now_s) + 1 / host.pace(now_s, most or self._share)
        if host.next_s > now_s + limits.HOST_WAIT_S_MAX:
            host.next_s = now_s
        return host.next_s - now_s

    def leave(self, name: str, now_s: float, *, answered: bool) -> None:
        host = self._hosts[name]
        host.under_way -= 1
        if answered:
            host.recent(int(now_s))
            host.answered += 1
        if not host.under_way:
            del self._hosts[name]
