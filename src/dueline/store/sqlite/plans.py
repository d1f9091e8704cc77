"""Plans on SQLite: what is due, and the firing of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dueline.domain import limits
from dueline.domain.events import Told
from dueline.domain.ids import JobId
from dueline.store.shapes import DuePlan, Firing
from dueline.store.sqlite import events
from dueline.store.sqlite.flows import write_runs
from dueline.store.sqlite.ledger import tell
from dueline.store.sqlite.part import Part, hex_of, is_exhausted, pack, pack_ids, queries
from dueline.store.sqlite.session import Session

_SQL = queries("plans")
_SHARDS_ADOPTED = 8
"""Shards whose plans are made stale in one transaction: of a million plans some 30,000, so that beats need not wait for long."""


class PlanPart(Part):
    async def due_plans(self, shards: Collection[int], *, since_ms: int, until_ms: int, limit: int) -> list[DuePlan]:
        return await self._database.read(_due_plans, shards, since_ms, until_ms, limit)

    async def crowds(self, shards: Collection[int], *, since_ms: int, until_ms: int, least: int) -> dict[int, int]:
        return await self._database.read(_crowds, shards, since_ms, until_ms, least)

    async def fire(self, firings: Sequence[Firing], epochs: Mapping[int, int]) -> set[JobId]:
        return await self._database.write(_fire, firings, epochs)

    async def next_due_ms(self) -> int | None:
        return await self._database.read(_next_due_ms)

    async def stale_plans(self, shards: Collection[int], *, limit: int) -> list[tuple[str, JobId]]:
        return await self._database.read(_stale_plans, shards, limit)

    async def adopt_zones(self, epochs: Mapping[int, int], tzdata: str) -> int:
        older = await self._database.read(_older_zones, epochs, tzdata)
        adopted = 0
        for first in range(0, len(older), _SHARDS_ADOPTED):
            adopted += await self._database.write(_adopt_zones, older[first : first + _SHARDS_ADOPTED], tzdata)
        return adopted


def _due_plans(session: Session, shards: Collection[int], since_ms: int, until_ms: int, limit: int) -> list[DuePlan]:
    return [DuePlan(*row) for row in session.rows(_SQL["due"], pack(list(shards)), since_ms, until_ms, limit)]


def _crowds(session: Session, shards: Collection[int], since_ms: int, until_ms: int, least: int) -> dict[int, int]:
    return dict(session.rows(_SQL["crowds"], pack(list(shards)), since_ms, until_ms, least))


def _fire(session: Session, firings: Sequence[Firing], epochs: Mapping[int, int]) -> set[JobId]:
    fired = {JobId(row[0]) for row in session.rows(_SQL["fire_move"], _moves(firings, epochs))}
    last = [firing for firing in firings if is_exhausted(firing.position)]
    if last:
        exhausted = [JobId(row[0]) for row in session.rows(_SQL["fire_exhaust"], _moves(last, epochs))]
        finished = session.rows(_SQL["fire_finish"], pack_ids(exhausted))
        events.tell(session, Told.FINISHED, [row[0] for row in finished], versions=[row[1] for row in finished])
        fired.update(exhausted)
    effective = [firing for firing in firings if firing.job_id in fired]
    runs = [run for firing in effective for run in firing.runs]
    write_runs(session, _SQL["fire"], runs)
    near_ms = session.now_ms + limits.AHEAD_MS
    session.wake(*{f"ready/{run.queue}" if run.due_ms <= near_ms else "waiting" for run in runs})
    tell(session, [(firing.job_id, firing.version, unfired) for firing in effective for unfired in firing.unfired])
    return fired


def _next_due_ms(session: Session) -> int | None:
    due_ms: int | None = session.value(_SQL["next_due"])
    return due_ms


def _stale_plans(session: Session, shards: Collection[int], limit: int) -> list[tuple[str, JobId]]:
    return [(tenant, JobId(job_id)) for tenant, job_id in session.rows(_SQL["stale"], pack(list(shards)), limit)]


def _older_zones(session: Session, epochs: Mapping[int, int], tzdata: str) -> list[tuple[int, int]]:
    return session.rows(_SQL["older_zones"], pack(list(epochs.items())), tzdata)


def _adopt_zones(session: Session, epochs: list[tuple[int, int]], tzdata: str) -> int:
    shards = [row[0] for row in session.rows(_SQL["adopt_zones"], pack(epochs), tzdata)]
    if session.rows(_SQL["spoil_zoned"], pack(shards)):
        session.wake("stale")
    return len(shards)


def _moves(firings: Sequence[Firing], epochs: Mapping[int, int]) -> str:
    rows: list[tuple[Any, ...]] = [
        (
            firing.job_id.hex(),
            firing.shard,
            epochs.get(firing.shard),
            firing.generation,
            firing.next_ms,
            firing.position.next_ms,
            firing.position.due_ms,
            hex_of(firing.position.awaiting),
            firing.position.runs_left,
        )
        for firing in firings
    ]
    return pack(rows)
