"""Which workers may execute a run: those that have every label it requires. Runs that require the same stand in one lane.

A lane is one text, so that claiming stays a single scan of one index per queue and lane, however many runs wait for others.
"""

from __future__ import annotations

from collections.abc import Collection

TASK = "task"
"""What every worker with an application has: it can execute Python tasks."""
HTTP = "http"
"""What a worker has that makes HTTP calls, where that does not go without saying."""
RESERVED = frozenset({TASK, HTTP})
"""Labels that say what a worker is, and that nobody gives or requires by hand."""
PLAIN = ""
"""The lane of runs that any worker may execute."""


def lane_of(requires: Collection[str], *, task: bool) -> str:
    if not requires:
        return TASK if task else PLAIN
    return ",".join(sorted({*requires, TASK} if task else set(requires)))


def serves(lane: str, labels: Collection[str]) -> bool:
    """Whether a worker with these labels may claim from a lane."""
    return not lane or all(label in labels for label in lane.split(","))


def is_task(lane: str) -> bool:
    """Whether the runs of a lane are tasks."""
    return TASK in lane.split(",")
