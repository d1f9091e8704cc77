"""Ends that somebody is to be told of, on PostgreSQL. Statements that end runs write them down themselves."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dueline.domain.ids import RunId
from dueline.domain.run import NewRun
from dueline.store.notices import DueNotice
from dueline.store.postgres.part import Part, queries
from dueline.store.postgres.runs import enqueue_arguments
from dueline.store.records import to_run

_SQL = queries("notices")
_RUNS = queries("runs")


class NoticePart(Part):
    async def notices(self, *, limit: int) -> list[DueNotice]:
        rows = await self._database.fetch(_SQL["due"], limit)
        return [
            DueNotice(run_id, None if row[0] is None else to_run(row, tuple(row[8])), spec)
            for run_id, spec, *row in rows
        ]

    async def send_notices(self, run_ids: Collection[RunId], notices: Sequence[NewRun]) -> int:
        async with self._database.transaction() as connection:
            taken = {row[0] for row in await connection.fetch(_SQL["take"], list(run_ids))}
            runs = [run for run in notices if run.parent_id in taken]
            if runs:
                ranks = await self._ranks.of_new(runs)
                await connection.execute(_RUNS["enqueue"], *enqueue_arguments(runs, ranks))
        self._notices.announce(*(["waiting"] if runs else ()), *{f"ready/{run.queue}" for run in runs})
        return len(runs)
