"""Types of jobs on SQLite: what workers say that they can carry out."""

from __future__ import annotations

from collections.abc import Sequence

from dueline.store.fleet import JobType
from dueline.store.records import to_job_type
from dueline.store.sqlite.part import Part, pack, queries
from dueline.store.sqlite.session import Session

_SQL = queries("jobtypes")


class JobTypePart(Part):
    async def publish_job_types(self, types: Sequence[JobType], *, keep_ms: int) -> None:
        await self._database.write(_publish_job_types, types, keep_ms)

    async def job_types(self) -> list[JobType]:
        return await self._database.page(_job_types)


def _publish_job_types(session: Session, types: Sequence[JobType], keep_ms: int) -> None:
    session.rows(_SQL["publish"], pack([(one.name, one.queue, one.description, one.parameters) for one in types]))
    session.rows(_SQL["forget"], keep_ms)


def _job_types(session: Session) -> list[JobType]:
    return [to_job_type(row) for row in session.rows(_SQL["list"])]
