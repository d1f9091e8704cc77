"""Crowds: seconds in which so many occurrences are due that their runs are written ahead, spread over the seconds before."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from statistics import median

import msgspec

from dueline.domain import limits

SECOND_MS = 1_000
_COUNTED_MS = 3 * SECOND_MS
"""So many seconds are counted at once: there is time enough, and a question for each would be most of what a scheduler at rest asks."""
_AGAIN_MS = 8 * SECOND_MS
"""So long before a second it is counted once more: by then it may have what nobody knew of when it came into sight, jobs that were created
since, and those that run every few seconds."""
_USUAL_S = limits.CROWD_AHEAD_MS // SECOND_MS
"""Out of so many seconds it is told what one usually has."""
_PAGE = limits.FIRE_BATCH // 2
"""What a page brings at least, about: every shard has its share of it, and some have no more to give. So the last ones need not hurry."""


def ready_ahead_ms(count: int) -> int:
    """How long before their time so many that are due together are made ready: so long that all of them are when workers may claim them."""
    return min(limits.AHEAD_MS + count * 1000 // limits.MADE_READY_PER_S, limits.READY_AHEAD_MS_MAX)


class Crowd(msgspec.Struct):
    """One of those seconds, named by its first millisecond."""

    at_ms: int
    count: int
    left: int
    """Plans of it that are not written yet, about."""
    left_out: int = 0
    """Those of them that are not to be written ahead."""


class Crowds:
    """What one scheduler knows of the crowds to come. A second is counted when it comes into sight, and again when it is near; what is not
    right any more by the time it is written costs nothing but a look."""

    def __init__(self) -> None:
        self._crowds: list[Crowd] = []
        self._in_sight: deque[int] = deque(maxlen=_USUAL_S)
        self._near: deque[int] = deque(maxlen=_USUAL_S)
        self._counted_ms = 0
        self._counted_again_ms = 0
        self._written_ms = 0

    def forget(self) -> None:
        """Count everything again: other plans are in hand than before."""
        self._crowds.clear()
        self._in_sight.clear()
        self._near.clear()
        self._counted_ms = self._counted_again_ms = 0

    def uncounted(self, now_ms: int) -> tuple[int, int] | None:
        """The seconds that came into sight or are near, from a first to before a last millisecond. What is due soon needs no counting."""
        soonest_ms = _second_after(now_ms + limits.AHEAD_MS)
        since_ms, until_ms = max(self._counted_ms, soonest_ms), _second_after(now_ms + limits.CROWD_AHEAD_MS)
        if until_ms - since_ms >= _COUNTED_MS:
            return since_ms, until_ms
        since_ms, until_ms = max(self._counted_again_ms, soonest_ms), _second_after(now_ms + _AGAIN_MS)
        return (since_ms, until_ms) if until_ms - since_ms >= _COUNTED_MS else None

    def counted(self, since_ms: int, until_ms: int, many: Mapping[int, int]) -> None:
        """Take in the seconds in which many are due. Where that is so of most of them, there is no quiet one to write ahead in, and that
        would cost a second write: a crowd is twice as many as the other seconds have, those in sight and those that are near. Of jobs that
        run every few seconds there is nothing in sight. The first of many looked like a crowd, and is none."""
        near_ms = until_ms
        if until_ms > self._counted_ms:
            self._counted_ms = until_ms
            self._in_sight.extend(many.get(at_ms, 0) for at_ms in range(since_ms, until_ms, SECOND_MS))
            near_ms += _AGAIN_MS - limits.CROWD_AHEAD_MS
        if since_ms < near_ms:
            self._counted_again_ms = near_ms
            self._near.extend(many.get(at_ms, 0) for at_ms in range(since_ms, near_ms, SECOND_MS))
        known = {crowd.at_ms: crowd for crowd in self._crowds}
        for at_ms, count in many.items():
            crowd = known.setdefault(at_ms, Crowd(at_ms, count, count))
            crowd.count, crowd.left = max(crowd.count, count), count
        usual = max(median(counts) for counts in (self._in_sight, self._near) if counts)
        self._crowds = [known[at_ms] for at_ms in sorted(known) if known[at_ms].count >= 2 * usual]

    def next(self, now_ms: int) -> tuple[Crowd, int] | None:
        """Whose turn it is, and when: early enough for all of them to be written before they are made ready, and no earlier."""
        self._crowds = [crowd for crowd in self._crowds if crowd.at_ms > now_ms + limits.AHEAD_MS]
        if not self._crowds:
            return None
        pages, gaps_ms = 0, []
        for crowd in self._crowds:
            pages += -(-crowd.left // _PAGE)
            gaps_ms.append((crowd.at_ms - ready_ahead_ms(crowd.count) - now_ms) // pages)
        return self._crowds[0], self._written_ms + min(gaps_ms)

    def written(self, crowd: Crowd, *, now_ms: int, written: int, left_out: int) -> None:
        """A page of a crowd was written, or tried to be. One of which nothing is left that may be is over: the rest has its time."""
        self._written_ms = now_ms
        crowd.left = max(crowd.left - written, 1)
        crowd.left_out = left_out
        if not written:
            self._crowds.remove(crowd)


def _second_after(at_ms: int) -> int:
    return (at_ms // SECOND_MS + 1) * SECOND_MS
