"""After an outage: at what pace the occurrences that were missed are caught up."""

from __future__ import annotations


class Pace:
    """Times from which missed runs may start, one after the other, so many a second. On-time runs do not wait for them."""

    def __init__(self, per_second: float) -> None:
        self._gap_ms = 1000 / per_second
        self._free_ms = 0.0

    def next_ms(self, now_ms: int) -> int:
        """The next free time, now or later."""
        at_ms = max(self._free_ms, float(now_ms))
        self._free_ms = at_ms + self._gap_ms
        return int(at_ms)
