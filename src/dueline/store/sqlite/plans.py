"""Plans on SQLite: what is due, and the firing of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dueline.domain.ids import JobId
from dueline.store.shapes import DuePlan, Firing
from dueline.store.sqlite.part import Part, pack, pack_ids, queries, run_row
from dueline.store.sqlite.session import Session

_SQL = queries("plans")


class PlanPart(Part):
    async def due_plans(self, shards: Collection[int], *, since_ms: int, until_ms: int, limit: int) -> list[DuePlan]:
        return await self._database.read(_due_plans, shards, since_ms, until_ms, limit)

    async def fire(self, firings: Sequence[Firing], epochs: Mapping[int, int]) -> set[JobId]:
        return await self._database.write(_fire, firings, epochs)


def _due_plans(session: Session, shards: Collection[int], since_ms: int, until_ms: int, limit: int) -> list[DuePlan]:
    return [DuePlan(*row) for row in session.rows(_SQL["due"], pack(list(shards)), since_ms, until_ms, limit)]


def _fire(session: Session, firings: Sequence[Firing], epochs: Mapping[int, int]) -> set[JobId]:
    fired = {JobId(row[0]) for row in session.rows(_SQL["fire_move"], _moves(firings, epochs))}
    last = [firing for firing in firings if firing.following_ms is None]
    if last:
        exhausted = [JobId(row[0]) for row in session.rows(_SQL["fire_exhaust"], _moves(last, epochs))]
        session.rows(_SQL["fire_finish"], pack_ids(exhausted))
        fired.update(exhausted)
    runs = [run for firing in firings if firing.job_id in fired for run in firing.runs]
    session.rows(_SQL["fire"], pack([run_row(run) for run in runs]))
    session.wake(*{f"ready/{run.queue}" for run in runs})
    return fired


def _moves(firings: Sequence[Firing], epochs: Mapping[int, int]) -> str:
    rows: list[tuple[Any, ...]] = [
        (
            firing.job_id.hex(),
            firing.shard,
            epochs.get(firing.shard),
            firing.generation,
            firing.next_ms,
            firing.following_ms,
        )
        for firing in firings
    ]
    return pack(rows)
