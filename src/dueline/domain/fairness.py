"""Whose turn it is: ready runs are claimed in rank order, lowest first, and ranks share a line between tenants by their weights.

A line is a lane of a queue. It has a virtual time, which is where the run at its head stands, and every run takes up a stretch of it. A
run stands where its flow's last one ended, or where the line is now, whichever is later: so who waits for much stands far back, and who
comes with little stands in front. That is start-time fair queueing; nothing starves, because whoever comes later stands further back in
the end.

The runs of a tenant that are of one priority, standing and fairness key are a flow. A step of priority is worth twice the share, among
whoever waits for much; who comes with little stands in front anyway. What a tenant gets at one priority is divided between those of its
fairness keys that wait, so that nobody gets more by using more of them.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from dueline.domain.job import DEFAULT_PRIORITY

COST = 1 << 20
"""What a run of ordinary priority takes of its line's virtual time, where its tenant has the weight 1."""
HEAD_START = 20 * COST
"""What a step of priority is worth at once, so that a run overtakes those of other tenants too, if only by so much."""
MISSED_PENALTY = 100 * COST
"""How far behind those on time a missed occurrence stands."""
_MISSED_FACTOR = 1 / 16


class Standing(StrEnum):
    """Why a run becomes ready."""

    FRESH = "fresh"
    AGAIN = "again"
    """It was tried or put off before: it does not stand behind what its tenant has waiting."""
    MISSED = "missed"
    """Its occurrence was missed, or it is a dead letter's second try: what is on time goes first."""


class Flow(msgspec.Struct, frozen=True):
    """Runs that stand behind one another."""

    queue: str
    lane: str
    tenant: str
    level: str
    """Priority and standing."""
    key: str
    factor: float
    """What its level makes of the tenant's weight."""


class Stretch(msgspec.Struct, frozen=True):
    """What some runs of a flow take of their line: the first stands at the start, each other a step behind the one before."""

    start: int
    step: int
    finish: int


def flow_of(
    queue: str, lane: str, tenant: str, *, priority: int, standing: Standing = Standing.FRESH, fairness_key: str = ""
) -> Flow:
    factor = 2.0 ** (priority - DEFAULT_PRIORITY) * (_MISSED_FACTOR if standing is Standing.MISSED else 1.0)
    return Flow(queue, lane, tenant, f"{priority}{standing[0]}", fairness_key, factor)


def stretch(*, clock: int, finish: int | None, factor: float, others: int, weight: float, count: int) -> Stretch:
    """Where the next `count` runs of a flow stand. `clock` is the line's virtual time, `finish` where the flow's last run ended (None: it
    has none), `others` how many other keys the tenant has waiting at this level."""
    step = max(int(COST * (1 + others) / (weight * factor)), 1)
    start = clock if finish is None else max(clock, finish)
    return Stretch(start, step, start + step * count)


def rank(start: int, *, priority: int, missed: bool = False) -> int:
    """The number that a run is claimed by."""
    return start - (priority - DEFAULT_PRIORITY) * HEAD_START + (MISSED_PENALTY if missed else 0)


def clock_of(head_rank: int, *, priority: int) -> int:
    """The virtual time of a line whose first run has this rank."""
    return head_rank + (priority - DEFAULT_PRIORITY) * HEAD_START
