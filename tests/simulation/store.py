"""The store of a simulation: the embedded one, in memory, which looks over its own shoulder."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from dueline.domain.gates import Gate, Seen
from dueline.domain.ids import BootId, RunId, run_text
from dueline.runtime.clock import Clock
from dueline.store.fleet import NO_RATES, Beat, ShardLease
from dueline.store.shapes import Claimed, DuePlan, Upcoming
from dueline.store.sqlite.part import pack_ids
from dueline.store.sqlite.session import Session
from dueline.store.sqlite.store import SqliteStore

_NEVER_MS = 1 << 62
_LEFT_BEHIND = {
    "runs": "SELECT count(*) FROM runs",
    "places": "SELECT count(*) FROM places",
    "places at gates": "SELECT count(*) FROM gate_places",
    "plans": "SELECT count(*) FROM plans",
    "processes": "SELECT count(*) FROM nodes",
    "progress": "SELECT count(*) FROM run_progress",
    "shards with an owner": "SELECT count(*) FROM shards WHERE owner IN (SELECT boot_id FROM nodes)",
}
_PASSED_OVER = """
SELECT id FROM runs
WHERE
    queue = ?1 AND lane = ?2 AND state = 'ready' AND due_ms <= now_ms() + ?3
    AND (expires_ms IS NULL OR expires_ms > now_ms() OR begun_ms IS NOT NULL)
    AND rank < (SELECT max(t.rank) FROM runs AS t WHERE t.id IN (SELECT unhex(value) FROM json_each(?4)))
"""
_FIRST_DUE = "SELECT min(due_ms) FROM plans WHERE due_ms IS NOT NULL"


class SimStore(SqliteStore):
    """It also tells what is left in its tables, and whether claims keep to the order of ranks.

    Many processes ask the same again and again, and mostly nothing was written in between, but for beats. Answers in which no time plays a
    part are kept until something is. And who asks for what cannot be there, by such an answer, is told so without a look.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__(":memory:", clock, inline=True)
        self._clock = clock
        self._shards: list[ShardLease] | None = None
        self._changes: Callable[[], int] = lambda: 0
        self._beats = 0
        self._kept: dict[Any, Any] = {}
        self._kept_since = -1
        self.wrong: list[str] = []

    async def open(self) -> None:
        await super().open()
        self._changes = await self._database.read(lambda session: session._connection.total_changes)

    async def beat(
        self, boot_id: BootId, *, lease_s: float, busy: int = 0, rates: Mapping[str, float] = NO_RATES
    ) -> Beat:
        beat = await super().beat(boot_id, lease_s=lease_s, busy=busy, rates=rates)
        self._beats += 1
        return beat

    async def shards(self) -> list[ShardLease]:
        """Read by every scheduler all the time, and changed rarely."""
        if self._shards is None:
            self._shards = await super().shards()
        return self._shards

    async def take_shards(self, owner: BootId, seen: Mapping[int, int]) -> dict[int, int]:
        self._shards = None
        return await super().take_shards(owner, seen)

    async def drop_shards(self, owner: BootId, epochs: Mapping[int, int]) -> None:
        self._shards = None
        await super().drop_shards(owner, epochs)

    async def queues(self) -> list[tuple[str, str]]:
        kept = self._still()
        if "queues" not in kept:
            kept["queues"] = await super().queues()
        queues: list[tuple[str, str]] = kept["queues"]
        return queues

    async def upcoming(self) -> Upcoming:
        kept = self._still()
        if "upcoming" not in kept:
            kept["upcoming"] = await super().upcoming()
        upcoming: Upcoming = kept["upcoming"]
        return upcoming

    async def look_at(self, gate: Gate) -> tuple[Seen, int]:
        kept = self._still()
        if gate not in kept:
            kept[gate], _ = await super().look_at(gate)
        return msgspec.structs.replace(kept[gate]), self._clock.wall_ms()

    async def due_plans(self, shards: Collection[int], *, since_ms: int, until_ms: int, limit: int) -> list[DuePlan]:
        kept = self._still()
        if "first due" not in kept:
            first_ms = await self._database.read(_first_due_ms)
            kept["first due"] = _NEVER_MS if first_ms is None else first_ms
        if until_ms < kept["first due"]:
            return []
        return await super().due_plans(shards, since_ms=since_ms, until_ms=until_ms, limit=limit)

    async def claim(self, worker: BootId, queue: str, lane: str, *, ahead_ms: int, limit: int) -> Claimed:
        if (queue, lane) not in await self.queues():
            return Claimed([], [])
        claimed = await super().claim(worker, queue, lane, ahead_ms=ahead_ms, limit=limit)
        if claimed.claims and not claimed.blocked:
            taken = [claim.run_id for claim in claimed.claims]
            for run_id in await self._database.read(_passed_over, queue, lane, ahead_ms, taken):
                self.wrong.append(
                    f"I16: {run_text(run_id)} stood in front of one that was claimed, and was passed over"
                )
        return claimed

    async def left_behind(self) -> dict[str, int]:
        return await self._database.read(_left_behind)

    def _still(self) -> dict[Any, Any]:
        """What was read since something was last written."""
        since = self._changes() - self._beats
        if since != self._kept_since:
            self._kept_since = since
            self._kept = {}
        return self._kept


def _first_due_ms(session: Session) -> int | None:
    first_ms: int | None = session.value(_FIRST_DUE)
    return first_ms


def _left_behind(session: Session) -> dict[str, int]:
    return {name: session.value(statement) for name, statement in _LEFT_BEHIND.items()}


def _passed_over(session: Session, queue: str, lane: str, ahead_ms: int, taken: list[RunId]) -> list[RunId]:
    return [row[0] for row in session.rows(_PASSED_OVER, queue, lane, ahead_ms, pack_ids(taken))]
