"""Ends that somebody is to be told of, on SQLite. `places.end_runs` writes them down."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dueline.domain.ids import RunId
from dueline.domain.run import NewRun
from dueline.store.notices import DueNotice
from dueline.store.records import to_run, unwrap_tags
from dueline.store.sqlite.part import Part, pack_ids, queries
from dueline.store.sqlite.runs import enqueue
from dueline.store.sqlite.session import Session

_SQL = queries("notices")


class NoticePart(Part):
    async def notices(self, *, limit: int) -> list[DueNotice]:
        return await self._database.read(_notices, limit)

    async def send_notices(self, run_ids: Collection[RunId], notices: Sequence[NewRun]) -> int:
        return await self._database.write(_send_notices, run_ids, notices)


def _notices(session: Session, limit: int) -> list[DueNotice]:
    return [
        DueNotice(run_id, None if row[0] is None else to_run(row, unwrap_tags(row[8])), spec)
        for run_id, spec, *row in session.rows(_SQL["due"], limit)
    ]


def _send_notices(session: Session, run_ids: Collection[RunId], notices: Sequence[NewRun]) -> int:
    taken = {row[0] for row in session.rows(_SQL["take"], pack_ids(run_ids))}
    runs = [run for run in notices if run.parent_id in taken]
    if runs:
        enqueue(session, runs)
    return len(runs)
