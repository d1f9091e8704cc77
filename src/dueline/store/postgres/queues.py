"""Queues on PostgreSQL: what they hold, and whether they give it."""

from __future__ import annotations

from dueline.store.postgres.part import Part, queries
from dueline.store.requests import NothingDone
from dueline.store.shapes import QueueState

_SQL = queries("queues")
_RUNS = queries("runs")


class QueuePart(Part):
    async def queues(self) -> list[tuple[str, str]]:
        return [(row[0], row[1]) for row in await self._database.fetch(_RUNS["queues"])]

    async def queue_states(self) -> list[QueueState]:
        reasons: dict[str, dict[str, int]] = {}
        for queue, reason, count in await self._database.fetch(_SQL["reasons"]):
            reasons.setdefault(queue, {})[reason] = count
        rows = await self._database.fetch(_SQL["states"])
        return [QueueState(**row, reasons=reasons.get(row["queue"], {})) for row in rows]

    async def pause_queue(self, queue: str, *, note: str | None) -> None:
        await self._database.fetch(_SQL["pause"], queue, note)

    async def resume_queue(self, queue: str) -> bool:
        try:
            async with self._lone_effect() as connection:
                if not await connection.fetch(_SQL["resume"], queue):
                    raise NothingDone(False)
        except NothingDone:
            return False
        self._notices.announce(f"ready/{queue}")
        return True
