"""How rarely something is looked for that takes long to look for, so that it never takes much of anybody's time."""

from __future__ import annotations

MOST_S = 30.0
"""However long it takes, it is looked for so often: hints may be lost, and nothing else finds what came without one."""


class Rests:
    """When the next look is due. It is put off by so many `times` as long as looks take.

    Of two looks the quicker one tells how long they take. One alone may have had to wait for a store that was slow or away for a moment,
    and that says nothing about the next. Looks that take long because there is much to walk through do so each time.
    """

    def __init__(self, times: int, *, least_s: float = 0.0) -> None:
        self._times = times
        self._least_s = least_s
        self._last_took_s = 0.0
        self._due_s = 0.0

    def due(self, now_s: float) -> bool:
        return now_s >= self._due_s

    def looked(self, began_s: float, now_s: float) -> None:
        """Take in that a look began, and is over now."""
        took_s = now_s - began_s
        rest_s = min(min(took_s, self._last_took_s) * self._times, MOST_S)
        self._due_s = began_s + max(rest_s, self._least_s)
        self._last_took_s = took_s

    def forget(self) -> None:
        """Have the next look be due at once, however long it takes."""
        self._due_s = 0.0
