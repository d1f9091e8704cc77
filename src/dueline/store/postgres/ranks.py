"""Ranks on PostgreSQL: whose turn it is, by what waits in every line.

Where a flow's runs stand is reserved before they are written, in a transaction of its own that waits for no disk: otherwise all that write
runs of one tenant would wait for each other's commits. A reservation whose runs are not written after all costs its flow a little of its
turn, and one that a crash of the server lost gives it a little; nothing else depends on them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import le

import asyncpg

from dueline.domain import limits
from dueline.domain.errors import StoreMoved, StoreUnavailable
from dueline.domain.fairness import (
    COST,
    KEYS_TOLD_APART,
    MISSED_PENALTY,
    SHARE_MIN,
    Contender,
    Flow,
    Level,
    Lineup,
    Standing,
    Stretch,
    clock_of,
    contenders,
    whole,
)
from dueline.domain.job import PRIORITIES
from dueline.domain.run import NewRun
from dueline.store.postgres.database import STATEMENT_S, Database
from dueline.store.postgres.part import Part, queries
from dueline.store.postgres.reaching import Connection

_SQL = queries("flows")
_WORTH = [clock_of(0, priority=priority) for priority in PRIORITIES]
_UNWRITTEN_MS = int(STATEMENT_S * 1000)
"""How long the runs of a reservation may not be there yet: no statement takes longer."""
_READY_MS = 0
"""The due time of runs that become ready whatever the clock says."""


class _Group:
    """Runs that are ranked together, each with its due time."""

    def __init__(self) -> None:
        self.ready: list[Contender] = []
        self.due_ms: list[int] = []


class ReservedRanks:
    """The ranks of one process. While a reservation is under way, all who come meanwhile share the next: many who write single runs at once
    cost a few reservations. It has a connection of its own, so that those who are in a transaction need not wait for the pool."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._open: tuple[_Group, asyncio.Task[list[int | None]]] | None = None

    async def of_new(self, runs: Sequence[NewRun]) -> list[int | None]:
        """The ranks of runs to write. Those that are due soon stand in that order; the others are to wait, and have none."""
        due_ms = [run.due_ms for run in runs]
        if all(map(le, due_ms, due_ms[1:])):
            return await self._of(contenders(runs), due_ms)
        order = sorted(range(len(runs)), key=due_ms.__getitem__)
        ranks: list[int | None] = [None] * len(runs)
        found = await self._of(contenders(runs[position] for position in order), sorted(due_ms))
        for position, rank in zip(order, found, strict=True):
            ranks[position] = rank
        return ranks

    async def of_ready(self, ready: Sequence[Contender]) -> list[int | None]:
        """The ranks of runs that become ready; of one flow, those given first stand first."""
        return await self._of(ready, [_READY_MS] * len(ready))

    async def _of(self, ready: Sequence[Contender], due_ms: Sequence[int]) -> list[int | None]:
        if not ready:
            return []
        if self._open is None:
            group = _Group()
            self._open = group, asyncio.get_running_loop().create_task(self._answer(group))
        group, answer = self._open
        first = len(group.ready)
        group.ready.extend(ready)
        group.due_ms.extend(due_ms)
        try:
            # Somebody who gives up does not take the others' ranks away.
            ranks = await asyncio.shield(answer)
        except StoreMoved as error:
            raise StoreMoved(error.address) from error
        except StoreUnavailable as error:
            raise StoreUnavailable(str(error)) from error
        return ranks[first : first + len(ready)]

    async def _answer(self, group: _Group) -> list[int | None]:
        try:
            return await self._database.on_own("ranks", partial(self._rank, group), timeout_s=STATEMENT_S)
        finally:
            self._close(group)

    async def _rank(self, group: _Group, connection: Connection) -> list[int | None]:
        self._close(group)
        ranks: list[int | None] = [None] * len(group.ready)
        lineup = Lineup(group.ready)
        taken = await _take(connection, lineup, group.due_ms)
        if not taken:
            return ranks
        near_ms = taken[0]["reserved_ms"] + limits.AHEAD_MS
        if max(group.due_ms) <= near_ms:
            return [*lineup.ranks(_stretches(lineup.wanted, taken))]
        near = [position for position, due_ms in enumerate(group.due_ms) if due_ms <= near_ms]
        lineup = Lineup(group.ready[position] for position in near)
        for position, rank in zip(near, lineup.ranks(_stretches(lineup.wanted, taken)), strict=True):
            ranks[position] = rank
        return ranks

    def _close(self, group: _Group) -> None:
        """Whoever comes from here on is of the next group."""
        if self._open is not None and self._open[0] is group:
            self._open = None


class FlowPart(Part):
    async def forget_flows(self, *, limit: int) -> int:
        """Lines keep where they are before they forget how they came there."""
        rows = await self._database.fetch(_SQL["clocks"], _WORTH, _UNWRITTEN_MS, max(_WORTH))
        if not rows:
            return 0
        queues, lanes, clocks = ([row[column] for row in rows] for column in range(3))
        nobody = [""] * len(rows)
        await self._database.fetch(_SQL["reserve"], queues, lanes, nobody, nobody, nobody, clocks, [0] * len(rows))
        return len(await self._database.fetch(_SQL["forget"], queues, lanes, clocks, limit))


async def _take(connection: Connection, lineup: Lineup, due_ms: Sequence[int]) -> list[asyncpg.Record]:
    """How far the flows of those runs went that are due soon: none where none is. Each run has its due time."""
    flows = lineup.flows.values()
    waiting = [
        (number, at_ms, runs)
        for number, one in enumerate(lineup.flows, start=1)
        for at_ms, runs in Counter(map(due_ms.__getitem__, lineup.positions[one])).items()
    ]
    args = (
        *_columns(flows),
        [flow.factor for flow in flows],
        *([row[column] for row in waiting] for column in range(3)),
        _WORTH,
        _UNWRITTEN_MS,
        KEYS_TOLD_APART,
        limits.AHEAD_MS,
        float(COST),
        SHARE_MIN,
        max(_WORTH),
    )
    taken = await connection.fetch(_SQL["take"], *args)
    strange = [row for row in taken if row["finish"] is None]
    if strange:
        standings = (Standing.FRESH[0], Standing.AGAIN[0], Standing.MISSED[0])
        lines = ([row["queue"] for row in strange], [row["lane"] for row in strange])
        await connection.execute(_SQL["rebuild"], *lines, _WORTH, *standings, MISSED_PENALTY, COST)
        taken = await connection.fetch(_SQL["take"], *args)
    return taken


def _stretches(wanted: Mapping[Flow, int], taken: Iterable[asyncpg.Record]) -> dict[Flow, Stretch]:
    """What the flows of so many runs each took."""
    named: dict[tuple[Level, str], Flow] = {}
    counts = Counter(wanted)
    for flow, count in wanted.items():
        together = whole(flow)
        named[flow.level, flow.key] = flow
        named[together.level, together.key] = together
        counts[together] += count
    stretches = {}
    for row in taken:
        flow, finish, added = named[Level(*row[:4]), row["key"]], row["finish"], row["added"]
        stretches[flow] = Stretch(finish - added, added // counts[flow], finish)
    return stretches


def _columns(flows: Iterable[Flow]) -> list[list[str]]:
    named = [(*flow.level, flow.key) for flow in flows]
    return [[names[column] for names in named] for column in range(5)]
