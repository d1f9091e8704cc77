"""Waiting for a run to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dueline.sdk.calls import Call
from dueline.sdk.errors import StillRunning, Unavailable, Unreachable
from dueline.sdk.flows import Operation, Pause, Terms

if TYPE_CHECKING:
    from dueline.wire.runs import RunView

_FIRST_S = 0.05
_GROWTH = 1.5
_LONGEST_S = 5.0
_LOOK_S_MIN = 1.0
"""A look gets so much time, also when less is left of the wait: otherwise a short wait would see nothing."""


def waiting(look: Call[RunView], run_id: str, terms: Terms, *, timeout_s: float | None) -> Operation[RunView]:
    """Look at a run until it has ended, or the time is over. What passes is waited out: the run goes on without the server that is
    asked."""
    begun_s = terms.clock.monotonic_s()
    run: RunView | None = None
    looks = 0
    while True:
        left_s = None if timeout_s is None else begun_s + timeout_s - terms.clock.monotonic_s()
        look_s = None if left_s is None else max(left_s, _LOOK_S_MIN)
        try:
            run = yield msgspec.structs.replace(look, timeout_s=look_s)
        except (Unavailable, Unreachable):
            if timeout_s is None and run is None:
                raise
        if run is not None and run.finished_at is not None:
            return run
        if timeout_s is not None:
            left_s = begun_s + timeout_s - terms.clock.monotonic_s()
            if left_s <= 0:
                raise StillRunning(run_id, run, timeout_s=timeout_s)
        yield _until_next_look(looks, left_s, fraction=terms.chance.fraction())
        looks += 1


def _until_next_look(looks: int, left_s: float | None, *, fraction: float) -> Pause:
    """The one place that knows how news of a run come: by looking again, less and less often. Whoever is told of changes as they happen
    ends the pause then, and leaves the rest as it is."""
    longest_s = min(_LONGEST_S, _FIRST_S * _GROWTH ** min(looks, 32))
    pause_s = longest_s * (1 + fraction) / 2
    return Pause(pause_s if left_s is None else min(pause_s, left_s))
