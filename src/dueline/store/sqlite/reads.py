"""Reads on SQLite."""

from __future__ import annotations

from collections.abc import Sequence

from dueline.domain.ids import RunId
from dueline.domain.run import Run
from dueline.store.pages import RunPage, edge_arguments, id_bounds, way_to
from dueline.store.records import SHOWN, to_at_gate, to_run, unwrap_tags
from dueline.store.shapes import RunFilter
from dueline.store.sqlite.part import Part, queries, search_arguments, tag_pattern
from dueline.store.sqlite.session import Session
from dueline.store.standings import Standing, Waiting

_SQL = queries("reads")
_PAGES = {
    RunPage.ANY: _SQL["runs_page"],
    RunPage.OF_JOB: _SQL["runs_page_of_job"],
    RunPage.SUCCEEDED: _SQL["runs_page_succeeded"],
    RunPage.UNSUCCESSFUL: _SQL["runs_page_unsuccessful"],
    RunPage.RUNNING: _SQL["runs_page_running"],
    RunPage.WAITING: _SQL["runs_page_waiting"],
}
_SEARCHES = {
    RunPage.ANY: _SQL["runs_page_searched"],
    RunPage.OF_JOB: _SQL["runs_page_of_job_searched"],
    RunPage.SUCCEEDED: _SQL["runs_page_succeeded_searched"],
    RunPage.UNSUCCESSFUL: _SQL["runs_page_unsuccessful_searched"],
    RunPage.RUNNING: _SQL["runs_page_running_searched"],
    RunPage.WAITING: _SQL["runs_page_waiting_searched"],
}
_EDGES = {
    RunPage.ANY: _SQL["edge"],
    RunPage.OF_JOB: _SQL["edge_of_job"],
    RunPage.SUCCEEDED: _SQL["edge"],
    RunPage.UNSUCCESSFUL: _SQL["edge_unsuccessful"],
    RunPage.WAITING: _SQL["edge"],
}
"""How far a page looks. Those that are running are all looked at: they are few."""


class ReadPart(Part):
    async def now_ms(self) -> int:
        return await self._database.read(_now_ms)

    async def run(self, tenant: str, run_id: RunId) -> Run | None:
        return await self._database.read(_run, tenant, run_id)

    async def standing(self, tenant: str, run_id: RunId, *, counted: int) -> Standing | None:
        return await self._database.read(_standing, tenant, run_id, counted)

    async def waiting_in(self, queue: str, *, limit: int) -> list[Waiting]:
        return await self._database.read(_waiting_in, queue, limit)

    async def runs_page(
        self,
        match: RunFilter,
        words: Sequence[str] = (),
        *,
        before: RunId | None,
        limit: int,
        down_to: RunId | None = None,
    ) -> list[Run]:
        return await self._database.page(_runs_page, match, words, before, limit, down_to)

    async def runs_edge(self, match: RunFilter, *, before: RunId | None, rows: int) -> RunId | None:
        return await self._database.page(_runs_edge, match, before, rows)


def _now_ms(session: Session) -> int:
    now_ms: int = session.value(_SQL["clock"])
    return now_ms


def _run(session: Session, tenant: str, run_id: RunId) -> Run | None:
    rows = session.rows(_SQL["run"], tenant, run_id)
    return to_run(rows[0], unwrap_tags(rows[0][8])) if rows else None


def _standing(session: Session, tenant: str, run_id: RunId, counted: int) -> Standing | None:
    for queue, lane, rank, gate, other, now_ms in session.rows(_SQL["standing"], tenant, run_id):
        before = dict(session.rows(_SQL["before"], queue, lane, rank, run_id, counted))
        found = session.rows(_SQL["gate"], gate, rank, run_id, counted)
        at_gate = to_at_gate(found[0] if found else None, session.rows(_SQL["under_way"], gate, SHOWN))
        return Standing(lane, before, at_gate, other, now_ms)
    return None


def _waiting_in(session: Session, queue: str, limit: int) -> list[Waiting]:
    return [Waiting(*row) for row in session.rows(_SQL["waiting_in"], queue, limit)]


def _runs_page(
    session: Session, match: RunFilter, words: Sequence[str], before: RunId | None, limit: int, down_to: RunId | None
) -> list[Run]:
    low, high = id_bounds(match, before=before, down_to=down_to)
    args = (match.tenant, low, high, match.state, match.kind, tag_pattern(match.tag), limit, match.queue)
    if words:
        rows = session.rows(_SEARCHES[way_to(match)], *args, match.job_id, *search_arguments(words))
    else:
        of_job = () if match.job_id is None else (match.job_id,)
        rows = session.rows(_PAGES[way_to(match)], *args, *of_job)
    return [to_run(row, unwrap_tags(row[8])) for row in rows]


def _runs_edge(session: Session, match: RunFilter, before: RunId | None, rows: int) -> RunId | None:
    statement = _EDGES.get(way_to(match))
    if statement is None:
        return None
    found = session.rows(statement, *id_bounds(match, before=before), rows, *edge_arguments(match))
    return RunId(found[0][0]) if found and found[0][0] is not None else None
