"""Dead letters on SQLite: looked at, tried again, or put aside. They are written where runs end; see `places`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from dueline.domain.ids import RunId
from dueline.store.records import to_run, unwrap_tags
from dueline.store.requests import NothingDone, only
from dueline.store.retries import FinishedRun
from dueline.store.shapes import DeadLetter, DeadLetterFilter, Redrive
from dueline.store.sqlite.part import Part, pack, pack_ids, queries
from dueline.store.sqlite.runs import enqueue
from dueline.store.sqlite.session import Session

_SQL = queries("deadletters")
_LAST_ID = b"\xff" * 16


class DeadLetterPart(Part):
    async def dead_letters(self, match: DeadLetterFilter, *, before: RunId | None, limit: int) -> list[DeadLetter]:
        return await self._database.page(_dead_letters, match, before, limit)

    async def dead_letter(self, tenant: str, run_id: RunId) -> DeadLetter | None:
        return await self._database.read(_dead_letter, tenant, run_id)

    async def dead_letter_count(self, match: DeadLetterFilter) -> int:
        return await self._database.page(_dead_letter_count, match)

    async def redrive(self, tenant: str, redrives: Sequence[Redrive]) -> set[RunId]:
        return await self._effect(only(one.run.id for one in redrives), _redrive, tenant, redrives)

    async def finished_run(self, tenant: str, run_id: RunId) -> FinishedRun | None:
        return await self._database.read(_finished_run, tenant, run_id)

    async def try_again(self, tenant: str, redrive: Redrive) -> bool:
        return await self._effect(redrive.run.id, _try_again, tenant, redrive)

    async def purge(self, tenant: str, run_ids: Collection[RunId]) -> int:
        return await self._database.write(_purge, tenant, run_ids)


def _dead_letters(session: Session, match: DeadLetterFilter, before: RunId | None, limit: int) -> list[DeadLetter]:
    rows = session.rows(_SQL["page"], match.tenant, before or _LAST_ID, *_filters(match), limit)
    return [_to_dead_letter(row) for row in rows]


def _dead_letter(session: Session, tenant: str, run_id: RunId) -> DeadLetter | None:
    rows = session.rows(_SQL["get"], tenant, run_id)
    return _to_dead_letter(rows[0]) if rows else None


def _dead_letter_count(session: Session, match: DeadLetterFilter) -> int:
    count: int = session.value(_SQL["count"], match.tenant, *_filters(match))
    return count


def _redrive(session: Session, tenant: str, redrives: Sequence[Redrive]) -> set[RunId]:
    """The writer is alone, so whoever finds a dead letter writes the run in its place. Only with that run there it is dealt with."""
    found = {row[0] for row in session.rows(_SQL["found"], tenant, pack_ids(one.run_id for one in redrives))}
    enqueue(session, [one.run for one in redrives if one.run_id in found])
    pairs = [(one.run_id.hex(), one.run.id.hex()) for one in redrives]
    redriven = {RunId(row[0]) for row in session.rows(_SQL["redriven"], tenant, pack(pairs))}
    if not redriven:
        raise NothingDone(redriven)
    _purge(session, tenant, redriven)
    return redriven


def _finished_run(session: Session, tenant: str, run_id: RunId) -> FinishedRun | None:
    rows = session.rows(_SQL["finished"], tenant, run_id)
    return FinishedRun(to_run(rows[0], unwrap_tags(rows[0][8])), rows[0][21]) if rows else None


def _try_again(session: Session, tenant: str, redrive: Redrive) -> bool:
    """The writer is alone, so what is not there when it looks is written once."""
    if _finished_run(session, tenant, redrive.run_id) is None:
        raise NothingDone(False)
    _purge(session, tenant, [redrive.run_id])
    pair = (redrive.run_id.hex(), redrive.run.id.hex())
    if not session.rows(_SQL["redriven"], tenant, pack([pair])) and not enqueue(session, [redrive.run]):
        raise NothingDone(False)
    return True


def _purge(session: Session, tenant: str, run_ids: Collection[RunId]) -> int:
    return len(session.rows(_SQL["purge"], tenant, pack_ids(run_ids)))


def _filters(match: DeadLetterFilter) -> tuple[Any, ...]:
    return (match.job_id, match.queue, match.reason, match.from_ms, match.to_ms)


def _to_dead_letter(row: Any) -> DeadLetter:
    return DeadLetter(run=to_run(row, unwrap_tags(row[8])), spec=row[21], failed_ms=row[22])
