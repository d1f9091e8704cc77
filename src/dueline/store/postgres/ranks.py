"""Ranks on PostgreSQL: whose turn it is, by what waits in every line.

Where a flow's runs stand is reserved before they are written, in a transaction of its own that waits for no disk: otherwise all that write
runs of one tenant would wait for each other's commits. A reservation whose runs are not written after all costs its flow a little of its
turn, and one that a crash of the server lost gives it a little; nothing else depends on them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from functools import partial

from dueline.domain import limits
from dueline.domain.errors import StoreUnavailable
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
from dueline.store.postgres.database import STATEMENT_S, Connection, Database
from dueline.store.postgres.part import Part, queries

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
        order = sorted(range(len(runs)), key=lambda position: runs[position].due_ms)
        ordered = [runs[position] for position in order]
        ranks: list[int | None] = [None] * len(runs)
        found = await self._of(contenders(ordered), [run.due_ms for run in ordered])
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
        seen, now_ms = await _look(connection, Lineup(group.ready).wanted)
        near = [position for position, due_ms in enumerate(group.due_ms) if due_ms <= now_ms + limits.AHEAD_MS]
        ranks: list[int | None] = [None] * len(group.ready)
        if near:
            lineup = Lineup(group.ready[position] for position in near)
            stretches = await _reserve(connection, allot(lineup.wanted, seen))
            for position, rank in zip(near, lineup.ranks(stretches), strict=True):
                ranks[position] = rank
        return ranks

    def _close(self, group: _Group) -> None:
        """Whoever comes from here on is of the next group."""
        if self._open is not None and self._open[0] is group:
            self._open = None


class FlowPart(Part):
    async def forget_flows(self, *, limit: int) -> int:
        """Lines keep where they are before they forget how they came there."""
        rows = await self._database.fetch(_SQL["clocks"], _WORTH, _UNWRITTEN_MS)
        if not rows:
            return 0
        queues, lanes, clocks = ([row[column] for row in rows] for column in range(3))
        nobody = [""] * len(rows)
        await self._database.fetch(_SQL["reserve"], queues, lanes, nobody, nobody, nobody, clocks, [0] * len(rows))
        return len(await self._database.fetch(_SQL["forget"], queues, lanes, clocks, limit))


async def _look(connection: Connection, flows: Collection[Flow]) -> tuple[dict[Level, Seen], int]:
    """What matters of the levels of some flows, and what time it is."""
    args = (*_columns(flows), _WORTH, _UNWRITTEN_MS, KEYS_TOLD_APART + len(flows))
    rows = await connection.fetch(_SQL["look"], *args)
    strange = {(row["queue"], row["lane"]) for row in rows if not row["known"]}
    if strange:
        standings = (Standing.FRESH[0], Standing.AGAIN[0], Standing.MISSED[0])
        lines = ([queue for queue, _ in strange], [lane for _, lane in strange])
        await connection.execute(_SQL["rebuild"], *lines, _WORTH, *standings, MISSED_PENALTY, COST)
        rows = await connection.fetch(_SQL["look"], *args)
    seen = {Level(*row[:4]): Seen(row["clock"], row["weight"], row["others"]) for row in rows}
    return seen, rows[0]["now_ms"]


async def _reserve(connection: Connection, stretches: dict[Flow, Stretch]) -> dict[Flow, Stretch]:
    taken = stretches.values()
    rows = await connection.fetch(
        _SQL["reserve"],
        *_columns(stretches),
        [stretch.finish for stretch in taken],
        [stretch.finish - stretch.start for stretch in taken],
    )
    finishes = {(Level(*row[:4]), row["key"]): row["finish"] for row in rows}
    return {flow: stretch.ending(finishes[flow.level, flow.key]) for flow, stretch in stretches.items()}


def _columns(flows: Iterable[Flow]) -> list[list[str]]:
    named = [(*flow.level, flow.key) for flow in flows]
    return [[names[column] for names in named] for column in range(5)]
