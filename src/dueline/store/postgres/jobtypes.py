"""Types of jobs on PostgreSQL: what workers say that they can carry out."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from dueline.store.fleet import JobType
from dueline.store.postgres.part import Part, queries
from dueline.store.records import to_job_type

_SQL = queries("jobtypes")
_by_name = attrgetter("name")


class JobTypePart(Part):
    async def publish_job_types(self, types: Sequence[JobType], *, keep_ms: int) -> None:
        ordered = sorted(types, key=_by_name)
        async with self._database.transaction() as connection:
            await connection.execute(
                _SQL["publish"],
                [one.name for one in ordered],
                [one.queue for one in ordered],
                [one.description for one in ordered],
                [one.parameters for one in ordered],
            )
            await connection.execute(_SQL["forget"], keep_ms)

    async def job_types(self) -> list[JobType]:
        return [to_job_type(row) for row in await self._database.fetch(_SQL["list"])]
