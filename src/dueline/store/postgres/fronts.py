"""From where lines are read.

Whoever claims runs reads the index of a line from its front. Entries of runs that were claimed before are dead, and are passed over once
nobody can see their old versions any more. While somebody can, a report that reads for minutes or an ANALYZE, every look at the front walks
through all of them: a look that costs more and more. So a line is read from where the last ones ended, and its front only as often as that
costs a small part of the time. What stands in between, as it came back with an old rank, waits that long. Where a line runs out, whoever
reads it has time to spare: its front is looked at more often, but not each time, because a line that is worked off as it comes runs out
with every look.

Where a look at the front costs no more than another, as is the rule, every look is one.
"""

from __future__ import annotations

from collections import deque

from dueline.domain.fairness import HEAD_START
from dueline.domain.job import PRIORITIES

FRONT = -(1 << 63)
"""The lowest rank there is."""

_REST = 50
"""How many times as long as a look at the front took too long the next one is put off, at most."""
_REST_RAN_OUT = 4
"""The same where the line ran out since."""
_DOUBT_S = 0.1
"""How long it is put off after the first that took too long: a server that was away or busy for a moment makes a look slow as well, and the
next one tells. It is twice as long after each that took too long again."""
_USUAL_S = 20e-6
"""What a look takes for each run that it finds, about; it is measured from then on."""
_FEW = 100
"""With fewer runs than these a look takes no less time."""
_NOISE_S = 0.003
"""What a look may take longer than another for no reason."""
_BACK_S = 0.3
"""How far behind the last look another begins: runs that were ranked before it may not have been there yet, because whoever writes them has
to wait for a processor on a full machine."""
_BACK_EVERY_S = 0.1
"""How often one begins there."""
_RAN_OUT_BACK_S = 0.1
"""How far behind the last look all others begin where the line ran out: each of them passes over what was claimed since."""
_MARGIN = HEAD_START * (len(PRIORITIES) - 1)
"""How far in front of the line whoever comes with the highest priority may stand."""
_LINES_MAX = 10_000


class Front:
    """One line, as one process reads it."""

    def __init__(self) -> None:
        self._ends: deque[tuple[float, int]] = deque()
        """When looks ended, and at which rank: all of the last moments, and one before."""
        self._usual_s = _USUAL_S
        self._front_s = 0.0
        """When the last look at the front ended."""
        self._dear_s = 0.0
        """What it took too long."""
        self._doubt_s = 0.0
        self._ran_out = False
        """Whether the last look found fewer than it asked for."""
        self._back_s = 0.0
        """When the last look ended that began further back than where the one before it ended."""

    def begin(self, now_s: float) -> int:
        """The rank to read from."""
        while len(self._ends) > 1 and self._ends[1][0] <= now_s - _BACK_S:
            self._ends.popleft()
        rest = _REST_RAN_OUT if self._ran_out else _REST
        again_s = self._front_s + min(self._dear_s * rest, self._doubt_s)
        if now_s >= again_s or not self._ends or self._ends[0][0] > now_s - _BACK_S:
            return FRONT
        if now_s >= self._back_s + _BACK_EVERY_S:
            end = self._ends[0]
        elif self._ran_out:
            end = next(end for end in reversed(self._ends) if end[0] <= now_s - _RAN_OUT_BACK_S)
        else:
            end = self._ends[-1]
        return end[1] - _MARGIN

    def looked(self, since: int, last_rank: int | None, *, found: int, asked: int, took_s: float, now_s: float) -> None:
        """A look ended. It found so many of as many as it asked for, up to a rank if any."""
        if not self._ends or since <= self._ends[0][1] - _MARGIN:
            self._back_s = now_s
        if last_rank is not None:
            self._ends.append((now_s, last_rank))
        self._ran_out = found < asked
        runs = max(found, _FEW)
        if since == FRONT:
            self._front_s = now_s
            self._dear_s = max(took_s - self._usual_s * runs - _NOISE_S, 0.0)
            self._doubt_s = max(self._doubt_s * 2, _DOUBT_S) if self._dear_s else 0.0
        else:
            self._usual_s = (self._usual_s * 3 + took_s / runs) / 4


class Fronts:
    """The lines that one process reads."""

    def __init__(self) -> None:
        self._fronts: dict[tuple[str, str], Front] = {}

    def of(self, queue: str, lane: str) -> Front:
        front = self._fronts.get((queue, lane))
        if front is None:
            if len(self._fronts) >= _LINES_MAX:
                self._fronts.clear()
            front = self._fronts[queue, lane] = Front()
        return front
