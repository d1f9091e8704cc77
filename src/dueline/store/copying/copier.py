"""Copies a store into another one while processes work in it, then moves them over.

In order: changes are logged in the source → every table is loaded in pages → what changed meanwhile is applied, again and again → every
row is compared → no new run starts for a moment → nobody writes: the last changes are applied → the source is sealed → the target is
released. Until the seal is committed the source is the truth, and the target refuses to be served; from there on the source refuses every
write. A copier that dies is started again: it goes on where it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol

from dueline.domain.errors import Conflict
from dueline.runtime.chance import Chance
from dueline.runtime.clock import Clock
from dueline.store.copying.sides import Changes, Loaded, Source, Standing, Target
from dueline.store.copying.tables import COPIED, Key, Row, Table, key_of

PAGE_ROWS = 2_000
"""Rows in one transaction of the target: enough to make its commit cheap, few enough to hold in memory whatever they are."""
ROUND_S = 1.0
"""Once all that changed is applied in so little time, the rest takes less: then writes are stopped."""
ROUNDS_MAX = 100
STOP_S_MAX = 4.0
"""Writers wait five seconds for the source. A write stop that would take longer is given up, and tried again later."""
STOPS_MAX = 5
POLL_S = 0.02


class Listener(Protocol):
    """Who is told how far a copy is."""

    def said(self, text: str) -> None: ...

    def moved_on(self, doing: str, table: str, rows: int, total: int) -> None: ...


class Report(NamedTuple):
    rows: Mapping[str, int]
    """By table, as they were compared."""
    write_stop_s: float
    under_way: int
    """Runs that had started and not ended when writes were stopped: they are carried out again."""


class _TooLong(Exception):
    """The write stop would take longer than writers wait."""


class Copier:
    def __init__(self, source: Source, target: Target, clock: Clock, chance: Chance, listener: Listener) -> None:
        self._source = source
        self._target = target
        self._clock = clock
        self._chance = chance
        self._listener = listener
        self._columns: dict[str, tuple[str, ...]] = {}
        self._copy_id = ""
        self._stopped_s = 0.0
        """Since when nobody writes to the source."""
        self.sealed = False
        """Whether the source refuses every write, as far as is known."""

    async def run(self, *, settle_s: float) -> Report:
        """Both sides are open. Raises Conflict where it cannot go on, and says what to do."""
        standing, half = await self._source.standing(), await self._target.standing()
        self.sealed = standing.moved
        if standing.moved:
            return await self._finish(standing, half)
        for table in COPIED:
            self._columns[table.name] = await self._source.columns(table)
        await self._begin(standing, half)
        await self._load()
        self._listener.said("Everything is loaded; applying what changed meanwhile.")
        await self._catch_up()
        await self._target.gather_statistics()
        rows = await self._compare()
        await self._catch_up()
        for _ in range(STOPS_MAX):
            with suppress(_TooLong):
                return await self._move(rows, settle_s)
            self._listener.said(f"The rest took more than {STOP_S_MAX:g} s: writes go on, and it is tried again.")
            await self._catch_up()
        raise Conflict("the source changes too fast for a short write stop: try again when there is less to do")

    async def _finish(self, standing: Standing, half: Standing) -> Report:
        """The last copier died between the seal and the release, if it was a copy into this target."""
        if not half.copy_id or half.copy_id != standing.copy_id:
            raise Conflict(f"{self._source.address} was moved to {standing.other} already")
        await self._target.release()
        self._listener.said("The source was sealed already, and the target is released now.")
        return Report({}, 0.0, 0)

    async def _begin(self, standing: Standing, half: Standing) -> None:
        if standing.copy_id and standing.other != self._target.address:
            raise Conflict(
                f"a copy of {self._source.address} to {standing.other} was begun: finish that one, or give it up with --abandon"
            )
        if half.other and half.other != self._source.address:
            raise Conflict(
                f"{self._target.address} holds a copy of {half.other} that is not finished: finish that one, or take an empty database"
            )
        if half.copy_id and half.copy_id == standing.copy_id:
            self._copy_id = half.copy_id
            self._listener.said("Going on where the last copy ended.")
            return
        if not half.other:
            await self._target.insist_empty()
        self._copy_id = self._chance.entropy().hex()
        # First the target: one that was begun by a copy that the source does not know is begun anew.
        await self._target.begin(self._copy_id, self._source.address)
        await self._source.track(self._copy_id, self._target.address)
        if self._source.stops_at_once:
            self._begin_stop()

    async def _load(self) -> None:
        loaded = await self._target.loaded()
        for table in COPIED:
            so_far = loaded.get(table.name, Loaded())
            total = 0 if so_far.done else await self._source.count(table)
            while not so_far.done:
                rows = await self._source.page(table, so_far.after, PAGE_ROWS)
                after = key_of(rows[-1], self._places(table)) if rows else so_far.after
                so_far = Loaded(after, so_far.rows + len(rows), len(rows) < PAGE_ROWS)
                await self._target.load(table, self._columns[table.name], rows, so_far)
                self._listener.moved_on("copied", table.name, so_far.rows, max(total, so_far.rows))

    async def _catch_up(self) -> None:
        """Apply what changed, until little is left."""
        for _ in range(ROUNDS_MAX):
            began_s = self._clock.monotonic_s()
            await self._apply_all(None)
            if self._clock.monotonic_s() - began_s < ROUND_S:
                return
        raise Conflict("the source changes faster than it can be copied: try again when there is less to do")

    async def _apply_all(self, deadline_s: float | None) -> int:
        """Apply all that is in the log, table by table; answers how many rows that were."""
        applied = 0
        for table in COPIED:
            more = True
            while more:
                if deadline_s is not None and self._clock.monotonic_s() > deadline_s:
                    raise _TooLong
                changes = await self._source.changes(table, PAGE_ROWS)
                more = changes.more
                if changes.keys:
                    await self._apply(table, changes)
                    applied += len(changes.keys)
        return applied

    async def _apply(self, table: Table, changes: Changes) -> None:
        """The target is asked afterwards whether it has what the source has."""
        columns = self._columns[table.name]
        await self._target.apply(table, columns, changes)
        there = await self._target.at(table, columns, changes.keys)
        await self._insist_same(table, changes.rows, there, ())
        await self._source.forget_changes(table, changes.last)

    async def _compare(self) -> dict[str, int]:
        """Every row on both sides, in pages. What differs must be in the log: it has not been applied yet."""
        compared: dict[str, int] = {}
        for table in COPIED:
            columns, places = self._columns[table.name], self._places(table)
            total, seen, after, more = await self._source.count(table), 0, None, True
            while more:
                async with self._source.snapshot():
                    rows = await self._source.page(table, after, PAGE_ROWS)
                    more = len(rows) == PAGE_ROWS
                    last = key_of(rows[-1], places) if more else None
                    there = await self._target.between(table, columns, after, last)
                    if not _same(rows, there):
                        await self._insist_same(table, rows, there, await self._source.pending(table))
                after = last
                seen += len(rows)
                self._listener.moved_on("compared", table.name, seen, max(total, seen))
            compared[table.name] = seen
            await self._apply_all(None)
        return compared

    async def _insist_same(
        self, table: Table, rows: Sequence[Row], there: Sequence[Row], pending: set[Key] | tuple[()]
    ) -> None:
        places = self._places(table)
        ours = {key_of(row, places): row for row in rows}
        theirs = {key_of(row, places): row for row in there}
        wrong = [key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key) and key not in pending]
        if wrong:
            await self._target.spoil()
            first = ", ".join(part.hex() if isinstance(part, bytes) else str(part) for part in min(wrong))
            raise Conflict(
                f"{len(wrong)} rows of {table.name} differ in the target, the first is {first}: somebody else wrote there, or it is "
                "damaged. The source is as it was; run it again to start over"
            )

    async def _move(self, rows: dict[str, int], settle_s: float) -> Report:
        await self._settle(settle_s)
        async with self._source.write_stop():
            if not self._source.stops_at_once:
                self._begin_stop()
            await self._source.insist_tracked()
            applied = await self._apply_all(None if self._source.stops_at_once else self._stopped_s + STOP_S_MAX)
            under_way = await self._source.running()
            await self._target.set_zones(await self._source.zones())
            await self._source.seal(self._copy_id, self._target.address)
        self.sealed = True
        await self._target.release()
        stop_s = self._clock.monotonic_s() - self._stopped_s
        self._listener.said(
            f"The write stop took {stop_s:.2f} s, for {applied} changes. {self._target.address} can be served."
        )
        return Report(rows, stop_s, under_way)

    def _begin_stop(self) -> None:
        self._stopped_s = self._clock.monotonic_s()
        self._listener.said(f"Write stop: {self._source.address} takes no writes now.")

    async def _settle(self, settle_s: float) -> None:
        """Let no run start, so that those under way can end: whoever has started when writes stop is carried out again."""
        if not settle_s or self._source.stops_at_once:
            return
        hold_ms = int((settle_s + STOP_S_MAX) * 1000)
        self._listener.said(f"No run starts now; those under way have {settle_s:g} s to end.")
        await self._source.hold_starts(hold_ms)
        until_s = self._clock.monotonic_s() + settle_s
        while self._clock.monotonic_s() < until_s:
            if not await self._source.running():
                return
            await asyncio.sleep(POLL_S)

    def _places(self, table: Table) -> tuple[int, ...]:
        columns = self._columns[table.name]
        return tuple([columns.index(name) for name in table.key])


def _same(rows: Sequence[Row], there: Sequence[Row]) -> bool:
    return len(rows) == len(there) and set(rows) == set(there)
