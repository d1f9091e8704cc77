"""What listeners are told, on SQLite."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from dueline.domain.events import Told, told_of_change
from dueline.domain.ids import ID_BYTES, JobId, RunId
from dueline.domain.job import Job
from dueline.domain.run import Run
from dueline.domain.states import JobState
from dueline.store.events import ChangeRow, ChangeRows, EventBounds
from dueline.store.records import to_run, unwrap_tags
from dueline.store.sqlite.part import Part, pack, pack_ids, queries
from dueline.store.sqlite.session import Session

_SQL = queries("events")
_NOBODY: frozenset[str] = frozenset()
_versions = msgspec.json.Decoder(tuple[int, ...])


class EventPart(Part):
    async def event_bounds(self) -> EventBounds:
        return await self._database.read(_event_bounds)

    async def changes_from(self, seq: int, *, until: int, limit: int) -> ChangeRows:
        return await self._database.page(_changes_from, seq, until, limit)

    async def ended_runs(self, tenant: str, run_ids: Collection[RunId], *, job_id: JobId | None) -> list[Run]:
        return await self._database.page(_ended_runs, tenant, run_ids, job_id)

    async def job_names(self, tenant: str, job_ids: Collection[JobId]) -> dict[JobId, str]:
        return await self._database.page(_job_names, tenant, job_ids)

    async def forget_changes(self, *, kept_ms: int, limit: int) -> int:
        return await self._database.write(_forget_changes, kept_ms, limit)


def tell(session: Session, told: Told, ids: Collection[bytes], *, versions: Collection[int] | None = None) -> None:
    """Tell of runs that ended, or of jobs, inside whatever transaction the caller is in."""
    if ids:
        session.rows(_SQL["tell"], told, b"".join(ids), None if versions is None else pack(list(versions)), None)


def tell_change(session: Session, before: Job, after: Job, *, deleted: bool) -> None:
    """Tell of a change of a job that people would notice."""
    told = told_of_change(before, after, deleted=deleted)
    if told is not None:
        session.rows(_SQL["tell"], told, after.id, pack([after.version]), after.state)


def _event_bounds(session: Session) -> EventBounds:
    ((origin_ms, last),) = session.rows(_SQL["bounds"])
    return EventBounds(origin_ms, last, _NOBODY)


def _changes_from(session: Session, seq: int, until: int, limit: int) -> ChangeRows:
    rows = [_to_change(row) for row in session.rows(_SQL["rows"], seq, until, limit)]
    return ChangeRows(session.value(_SQL["swept"]), rows)


def _ended_runs(session: Session, tenant: str, run_ids: Collection[RunId], job_id: JobId | None) -> list[Run]:
    rows = session.rows(_SQL["ended"], tenant, pack_ids(run_ids), job_id)
    return [to_run(row, unwrap_tags(row[8])) for row in rows]


def _job_names(session: Session, tenant: str, job_ids: Collection[JobId]) -> dict[JobId, str]:
    return dict(session.rows(_SQL["names"], tenant, pack_ids(job_ids)))


def _forget_changes(session: Session, kept_ms: int, limit: int) -> int:
    gone = [row[0] for row in session.rows(_SQL["forget"], kept_ms, limit)]
    if gone:
        session.rows(_SQL["mark"], max(gone))
    return len(gone)


def _to_change(row: Any) -> ChangeRow:
    seq, at_ms, told, ids, versions, state = row
    return ChangeRow(
        seq,
        at_ms,
        Told(told),
        tuple(ids[start : start + ID_BYTES] for start in range(0, len(ids), ID_BYTES)),
        None if versions is None else _versions.decode(versions),
        None if state is None else JobState(state),
    )
