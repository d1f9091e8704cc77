"""Reads on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from dueline.domain.ids import RunId
from dueline.domain.run import Run
from dueline.domain.words import LETTERS
from dueline.store.pages import RunPage, edge_arguments, id_bounds, way_to
from dueline.store.postgres.part import Part, queries
from dueline.store.records import SHOWN, to_at_gate, to_run
from dueline.store.shapes import RunFilter
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
        now_ms: int = await self._database.fetchval(_SQL["clock"])
        return now_ms

    async def run(self, tenant: str, run_id: RunId) -> Run | None:
        rows = await self._database.fetch(_SQL["run"], tenant, run_id)
        return to_run(rows[0], tuple(rows[0][8])) if rows else None

    async def standing(self, tenant: str, run_id: RunId, *, counted: int) -> Standing | None:
        async with self._database.snapshot() as connection:
            row = await connection.fetchrow(_SQL["standing"], tenant, run_id)
            if row is None:
                return None
            queue, lane, rank, gate, other, now_ms = row
            before = await connection.fetch(_SQL["before"], queue, lane, rank, run_id, counted)
            found, under_way = None, []
            if gate is not None:
                found = await connection.fetchrow(_SQL["gate"], gate, rank, run_id, counted)
                under_way = await connection.fetch(_SQL["under_way"], gate, SHOWN)
            at_gate = to_at_gate(found, under_way)
        return Standing(lane, {one[0]: one[1] for one in before}, at_gate, other, now_ms)

    async def waiting_in(self, queue: str, *, limit: int) -> list[Waiting]:
        return [Waiting(*row) for row in await self._database.fetch(_SQL["waiting_in"], queue, limit)]

    async def runs_page(
        self,
        match: RunFilter,
        words: Sequence[str] = (),
        *,
        before: RunId | None,
        limit: int,
        down_to: RunId | None = None,
    ) -> list[Run]:
        low, high = id_bounds(match, before=before, down_to=down_to)
        args = (match.tenant, low, high, match.state, match.kind, match.tag, limit, match.queue)
        of_job = () if match.job_id is None else (match.job_id,)
        sought = (max(words, key=len), [f"[^{LETTERS}]{word}" for word in words]) if words else ()
        statements = _SEARCHES if words else _PAGES
        rows = await self._database.fetch(statements[way_to(match)], *args, *of_job, *sought)
        return [to_run(row, tuple(row[8])) for row in rows]

    async def runs_edge(self, match: RunFilter, *, before: RunId | None, rows: int) -> RunId | None:
        statement = _EDGES.get(way_to(match))
        if statement is None:
            return None
        args = (*id_bounds(match, before=before), rows, *edge_arguments(match))
        edge = await self._database.fetchval(statement, *args)
        return None if edge is None else RunId(edge)
