"""Whose turn it is: ready runs are claimed in rank order, lowest first, and ranks share a line between tenants by their weights.

A line is a lane of a queue. It has a virtual time, which is where the run at its head stands, and every run takes up a stretch of it. A
run stands where its flow's last one ended, or where the line is now, whichever is later: so who waits for much stands far back, and who
comes with little stands in front. That is start-time fair queueing; nothing starves, because whoever comes later stands further back in
the end.

The runs of a tenant that are of one priority, standing and fairness key are a flow. A step of priority is worth twice the share, among
whoever waits for much; who comes with little stands in front anyway. What a tenant gets at one priority is divided between those of its
fairness keys that wait, which take turns: nobody gets more by using more of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

import msgspec

from dueline.domain.job import DEFAULT_PRIORITY
from dueline.domain.run import NewRun
from dueline.domain.states import RunState

COST = 1 << 20
"""What a run of ordinary priority takes of its line's virtual time, where its tenant has the weight 1."""
HEAD_START = 20 * COST
"""What a step of priority is worth at once, so that a run overtakes those of other tenants too, if only by so much."""
MISSED_PENALTY = 100 * COST
"""How far behind those on time a missed occurrence stands."""
KEYS_TOLD_APART = 1_000
"""Keys of one level that take turns. They are counted whenever a run comes, and so many in about a tenth of a millisecond; where more of
them wait, whoever comes stands behind all of them, as if there were no keys."""
_MISSED_FACTOR = 1 / 16
SHARE_MIN = 1 / 4096
"""The smallest share, whatever the weight and the priority: of such runs alone a line can have two thousand million before its numbers
end, and of ordinary ones millions of millions."""


class Standing(StrEnum):
    """Why a run becomes ready."""

    FRESH = "fresh"
    AGAIN = "again"
    """It was tried or put off before: it does not stand behind what its tenant has waiting."""
    MISSED = "missed"
    """Its occurrence was missed, or it is a dead letter's second try: what is on time goes first."""


class Level(NamedTuple):
    """What a tenant has at one priority and standing in a line."""

    queue: str
    lane: str
    tenant: str
    name: str


class Flow(NamedTuple):
    """Runs that stand behind one another."""

    level: Level
    key: str
    factor: float
    """What its level makes of the tenant's weight."""


class Stretch(msgspec.Struct, frozen=True):
    """What some runs of a flow take of their line: the first stands at the start, each other a step behind the one before."""

    start: int
    step: int
    finish: int

    def ending(self, finish: int) -> Stretch:
        """The same further back."""
        return Stretch(self.start + finish - self.finish, self.step, finish)


class Seen(msgspec.Struct, frozen=True):
    """What matters of a level when runs of it become ready."""

    clock: int
    """Its line's virtual time."""
    weight: float
    others: int
    """How many keys it has waiting, besides those of the runs in question. It need not be counted further than KEYS_TOLD_APART."""


def flow_of(
    queue: str, lane: str, tenant: str, *, priority: int, standing: Standing = Standing.FRESH, fairness_key: str = ""
) -> Flow:
    factor = 2.0 ** (priority - DEFAULT_PRIORITY) * (_MISSED_FACTOR if standing is Standing.MISSED else 1.0)
    return Flow(Level(queue, lane, tenant, f"{priority}{standing[0]}"), fairness_key, factor)


def whole(flow: Flow) -> Flow:
    """The flow of all keys of its level together: where they end that wait, if each had waited for all before it."""
    return Flow(flow.level._replace(name=f"{flow.level.name}*"), "", flow.factor)


def allot(wanted: Mapping[Flow, int], seen: Mapping[Level, Seen]) -> dict[Flow, Stretch]:
    """What so many runs of some flows take, if nothing of the flows waits; behind what waits otherwise, so that a flow's finish is the
    later of this one and of its last one with the same length added.

    A flow that is left out shares the stretch of the `whole` with others that are.
    """
    levels: dict[Level, dict[Flow, int]] = {}
    for flow, count in wanted.items():
        levels.setdefault(flow.level, {})[flow] = count
    stretches = {}
    for level, flows in levels.items():
        look = seen[level]
        keys = look.others + len(flows)
        if keys <= KEYS_TOLD_APART:
            for place, (flow, count) in enumerate(flows.items(), start=look.others):
                stretches[flow] = _stretch(look, flow.factor, keys=keys, place=place, count=count)
        if keys > 1:
            flow = next(iter(flows))
            stretches[whole(flow)] = _stretch(look, flow.factor, keys=1, place=0, count=sum(flows.values()))
    return stretches


def _stretch(look: Seen, factor: float, *, keys: int, place: int, count: int) -> Stretch:
    """Keys that wait take turns: each has one of so many, and one that comes has its first when those before it have had theirs."""
    turn = COST / max(look.weight * factor, SHARE_MIN)
    step = max(int(turn * keys), 1)
    start = look.clock + int(turn * place)
    return Stretch(start, step, start + step * count)


def rank(start: int, *, priority: int, missed: bool = False) -> int:
    """The number that a run is claimed by."""
    return start - (priority - DEFAULT_PRIORITY) * HEAD_START + (MISSED_PENALTY if missed else 0)


def clock_of(head_rank: int, *, priority: int) -> int:
    """The virtual time of a line whose first run has this rank."""
    return head_rank + (priority - DEFAULT_PRIORITY) * HEAD_START


Contender = tuple[str, str, str, int, Standing, str]
"""What decides where a run stands: queue, lane, tenant, priority, standing and fairness key."""


def contenders(runs: Iterable[NewRun]) -> list[Contender]:
    fresh, missed = Standing.FRESH, Standing.MISSED
    return [
        (run.queue, run.lane, run.tenant, run.priority, missed if run.missed else fresh, run.fairness_key)
        for run in runs
    ]


def again(queue: str, lane: str, tenant: str, priority: int, fairness_key: str | None) -> Contender:
    return (queue, lane, tenant, priority, Standing.AGAIN, fairness_key or "")


def promoted(
    queue: str,
    lane: str,
    tenant: str,
    priority: int,
    state: str,
    reason: str | None,
    missed: bool | None,
    fairness_key: str | None,
) -> Contender:
    """A run that waited, as a store keeps it: one that was put off has a reason."""
    if state == RunState.RETRYING or reason is not None:
        return again(queue, lane, tenant, priority, fairness_key)
    standing = Standing.MISSED if missed else Standing.FRESH
    return (queue, lane, tenant, priority, standing, fairness_key or "")


class Lineup:
    """Runs that become ready together, by their flows; of one flow, those given first stand first."""

    def __init__(self, contenders: Iterable[Contender]) -> None:
        self._positions: defaultdict[Contender, list[int]] = defaultdict(list)
        for position, one in enumerate(contenders):
            self._positions[one].append(position)
        self.flows = {
            one: flow_of(*one[:3], priority=one[3], standing=one[4], fairness_key=one[5]) for one in self._positions
        }

    @property
    def positions(self) -> Mapping[Contender, list[int]]:
        """Where the runs of each flow are among those given."""
        return self._positions

    @property
    def wanted(self) -> dict[Flow, int]:
        return {flow: len(self._positions[one]) for one, flow in self.flows.items()}

    def ranks(self, stretches: Mapping[Flow, Stretch]) -> list[int]:
        """Their ranks, in the order in which they were given, for what was allotted to their flows."""
        ranks = [0] * sum(map(len, self._positions.values()))
        taken: dict[Flow, int] = {}
        for one, positions in self._positions.items():
            flow = self.flows[one]
            if flow not in stretches:
                flow = whole(flow)
            stretch = stretches[flow]
            before = taken.get(flow, 0)
            taken[flow] = before + len(positions)
            first = rank(stretch.start + before * stretch.step, priority=one[3], missed=one[4] is Standing.MISSED)
            for number, position in enumerate(positions):
                ranks[position] = first + number * stretch.step
        return ranks
