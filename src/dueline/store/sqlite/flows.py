"""Ranks on SQLite: whose turn it is, by what waits in every line. The writer is alone, so whoever looks has reserved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dueline.domain import limits
from dueline.domain.fairness import (
    COST,
    KEYS_TOLD_APART,
    MISSED_PENALTY,
    Contender,
    Flow,
    Level,
    Lineup,
    Seen,
    Standing,
    Stretch,
    allot,
    clock_of,
    contenders,
)
from dueline.domain.job import PRIORITIES
from dueline.domain.run import NewRun
from dueline.store.sqlite.part import Part, pack, queries, run_row
from dueline.store.sqlite.session import Session

_SQL = queries("flows")
_RUNS = queries("runs")
_WORTH = pack([clock_of(0, priority=priority) for priority in PRIORITIES])
_WORTH_MOST = clock_of(0, priority=PRIORITIES[-1])


class FlowPart(Part):
    async def forget_flows(self, *, limit: int) -> int:
        return await self._database.write(_forget_flows, limit)


def write_runs(session: Session, statement: str, runs: Sequence[NewRun]) -> list[Any]:
    """Write runs with their ranks, by a statement that takes them as `run_row` makes them, and give its answer. All that writes runs goes
    through here, inside whatever transaction it is in."""
    ranks = _rank_near(session, runs)
    answer = session.rows(statement, pack(list(map(run_row, runs, ranks))), limits.AHEAD_MS)
    apart = [
        (run.id.hex(), run.fairness_key or None, run.missed, run.notifies or None)
        for run in runs
        if run.fairness_key or run.missed or run.notifies
    ]
    if apart:
        session.rows(_RUNS["set_apart"], pack(apart))
    return answer


def _rank_near(session: Session, runs: Sequence[NewRun]) -> list[int]:
    """Those that are due soon stand in that order. Those that will wait have no rank yet, which is 0."""
    near_ms = session.now_ms + limits.AHEAD_MS
    due_ms = [run.due_ms for run in runs]
    near = [position for position, at_ms in enumerate(due_ms) if at_ms <= near_ms]
    near.sort(key=due_ms.__getitem__)
    ranks = [0] * len(runs)
    for position, rank in zip(near, rank_all(session, contenders([runs[one] for one in near])), strict=True):
        ranks[position] = rank
    return ranks


def rank_all(session: Session, ready: Iterable[Contender]) -> list[int]:
    """The ranks of runs that become ready; of one flow, those given first stand first."""
    lineup = Lineup(ready)
    wanted = lineup.wanted
    return lineup.ranks(_reserve(session, allot(wanted, _look(session, wanted)))) if wanted else []


def _look(session: Session, flows: Iterable[Flow]) -> dict[Level, Seen]:
    levels: dict[Level, list[str]] = {}
    for flow in flows:
        levels.setdefault(flow.level, []).append(flow.key)
    return {level: _look_at(session, level, keys) for level, keys in levels.items()}


def _look_at(session: Session, level: Level, keys: list[str]) -> Seen:
    args = (*level, pack(keys), _WORTH, KEYS_TOLD_APART + len(keys), _WORTH_MOST)
    ((clock, known, weight, waiting, given),) = session.rows(_SQL["look"], *args)
    if not known:
        standings = (Standing.FRESH[0], Standing.AGAIN[0], Standing.MISSED[0])
        session.rows(_SQL["rebuild"], level.queue, level.lane, _WORTH, *standings, MISSED_PENALTY, COST)
        ((clock, known, weight, waiting, given),) = session.rows(_SQL["look"], *args)
    return Seen(clock, weight, waiting - given)


def _reserve(session: Session, stretches: dict[Flow, Stretch]) -> dict[Flow, Stretch]:
    rows = [(*flow.level, flow.key, taken.finish, taken.finish - taken.start) for flow, taken in stretches.items()]
    finishes = {(Level(*row[:4]), row[4]): row[5] for row in session.rows(_SQL["reserve"], pack(rows))}
    return {flow: taken.ending(finishes[flow.level, flow.key]) for flow, taken in stretches.items()}


def _forget_flows(session: Session, limit: int) -> int:
    """Lines keep where they are before they forget how they came there."""
    lines = session.rows(_SQL["clocks"], _WORTH, _WORTH_MOST)
    session.rows(_SQL["reserve"], pack([(queue, lane, "", "", "", clock, 0) for queue, lane, clock in lines]))
    return len(session.rows(_SQL["forget"], pack(lines), limit))
