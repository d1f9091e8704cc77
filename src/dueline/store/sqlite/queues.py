"""Queues on SQLite: paused by people, and looked at by them."""

from __future__ import annotations

from typing import Any

from dueline.store.requests import NothingDone
from dueline.store.shapes import QueueState
from dueline.store.sqlite.part import Part, queries
from dueline.store.sqlite.session import Session

_SQL = queries("queues")


class QueuePart(Part):
    async def queue_states(self) -> list[QueueState]:
        return await self._database.page(_queue_states)

    async def pause_queue(self, queue: str, *, note: str | None) -> None:
        await self._database.write(_pause_queue, queue, note)

    async def resume_queue(self, queue: str) -> bool:
        return await self._effect(b"", _resume_queue, queue)


def _queue_states(session: Session) -> list[QueueState]:
    reasons: dict[str, dict[str, int]] = {}
    for queue, reason, count in session.rows(_SQL["reasons"]):
        reasons.setdefault(queue, {})[reason] = count
    return [_to_queue_state(row, reasons.get(row[0], {})) for row in session.rows(_SQL["states"])]


def _pause_queue(session: Session, queue: str, note: str | None) -> None:
    session.rows(_SQL["pause"], queue, note)


def _resume_queue(session: Session, queue: str) -> bool:
    if not session.rows(_SQL["resume"], queue):
        raise NothingDone(False)
    session.wake(f"ready/{queue}")
    return True


def _to_queue_state(row: Any, reasons: dict[str, int]) -> QueueState:
    return QueueState(
        queue=row[0],
        ready=row[1],
        running=row[2],
        held=row[3],
        waiting=row[4],
        oldest_ms=row[5],
        paused=bool(row[6]),
        note=row[7],
        reasons=reasons,
    )
