"""Runs that lost their owner, or their turn, on SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dueline.domain import limits
from dueline.domain.ids import RunId
from dueline.domain.states import RunState
from dueline.store.shapes import Chores, Reclaim, Stray
from dueline.store.sqlite.gates import leave_gates
from dueline.store.sqlite.part import Part, pack, queries
from dueline.store.sqlite.places import end_runs, follow, keep_failed, leave_places
from dueline.store.sqlite.session import Session

_SQL = queries("runs")


class StrayPart(Part):
    async def free_held(self, *, limit: int) -> int:
        return await self._database.write(_free_held, limit)

    async def chores(self) -> Chores:
        return await self._database.read(_chores)

    async def strays(self, *, grace_ms: int, limit: int) -> list[Stray]:
        return await self._database.read(_strays, grace_ms, limit)

    async def reclaim(self, reclaims: Sequence[Reclaim]) -> set[RunId]:
        return await self._database.write(_reclaim, reclaims)


def _chores(session: Session) -> Chores:
    (row,) = session.rows(_SQL["chores"])
    return Chores(*map(bool, row))


def _free_held(session: Session, limit: int) -> int:
    session.rows(_SQL["sweep_places"])
    rows = session.rows(_SQL["free_held"], limit)
    session.wake(*{f"ready/{row[0]}" for row in rows})
    return len(rows)


def _strays(session: Session, grace_ms: int, limit: int) -> list[Stray]:
    return [_to_stray(row) for row in session.rows(_SQL["strays"], grace_ms, limit)]


def _to_stray(row: Any) -> Stray:
    fields = (*row[:8], bool(row[8]), *row[9:])
    return Stray(*fields)


def _reclaim(session: Session, reclaims: Sequence[Reclaim]) -> set[RunId]:
    wanted = pack(
        [
            (
                taken.run_id.hex(),
                taken.token,
                taken.state,
                int(taken.lost),
                taken.due_ms,
                taken.reason,
                taken.attempt,
                taken.owner,
                int(taken.counted),
            )
            for taken in reclaims
        ]
    )
    back = session.rows(_SQL["reclaim"], wanted, limits.TIMEOUT_GRACE_MS)
    for queue, state in {row[1:] for row in back}:
        session.wake(f"ready/{queue}" if state == RunState.READY else "waiting")
    dead = session.rows(_SQL["reclaim_dead"], wanted, limits.TIMEOUT_GRACE_MS)
    end_runs(session, [row[0] for row in dead])
    failed = {taken.run_id for taken in reclaims if taken.state is RunState.FAILED}
    keep_failed(session, [row[0] for row in dead if row[0] in failed])
    leave_places(session, dead)
    follow(session, dead)
    leave_gates(session, [row[0] for row in [*back, *dead]])
    return {row[0] for row in back} | {row[0] for row in dead}
