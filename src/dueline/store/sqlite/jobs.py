"""Jobs on SQLite: made and looked up."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dueline.domain import limits
from dueline.domain.changes import check_open
from dueline.domain.errors import NamesTaken, NotFound
from dueline.domain.events import Told
from dueline.domain.ids import JobId, job_text
from dueline.domain.job import Job, JobVersion
from dueline.domain.states import JobState
from dueline.store.history import Finished
from dueline.store.names import Names
from dueline.store.pages import FoundJobs
from dueline.store.records import (
    calendar_names,
    created_job,
    decode_definition,
    encode_definition,
    target_type,
    to_job,
    wrap_tags,
)
from dueline.store.requests import NothingDone, only
from dueline.store.shapes import JobFilter, NewJob, VersionInForce
from dueline.store.sqlite.calendars import use_calendars
from dueline.store.sqlite.events import tell
from dueline.store.sqlite.part import Part, is_exhausted, pack, plan_row, queries, search_arguments, tag_pattern
from dueline.store.sqlite.retentions import keep_runs
from dueline.store.sqlite.session import Session
from dueline.store.sqlite.tenants import check_jobs

_SQL = queries("jobs")
_LAST_ID = b"\xff" * 16


class JobPart(Part):
    async def create_jobs(
        self, jobs: Sequence[NewJob], *, atomic: bool = False, jobs_max: int | None = None
    ) -> list[Job | None]:
        return await self._effect(only(job.id for job in jobs), _create_jobs, jobs, atomic=atomic, jobs_max=jobs_max)

    async def job(self, tenant: str, job_id: JobId) -> Job | None:
        return await self._database.read(_job, tenant, job_id)

    async def jobs_page(self, match: JobFilter, *, before: JobId | None, limit: int) -> list[Job]:
        return await self._database.page(_jobs_page, match, before, limit)

    async def jobs_with(self, match: JobFilter, words: Sequence[str], *, before: JobId | None, limit: int) -> FoundJobs:
        return FoundJobs(await self._database.page(_jobs_with, match, words, before, limit))

    async def jobs_named(self, match: JobFilter, names: Names, *, limit: int) -> list[Job]:
        return await self._database.page(_jobs_named, match, names, limit)

    async def finished_jobs(self, *, kept_ms: int, after: Finished, limit: int) -> list[Job]:
        return await self._database.page(_finished_jobs, kept_ms, after, limit)

    async def versions_of(self, job_id: JobId) -> list[VersionInForce]:
        return await self._database.page(_versions_of, job_id)

    async def versions_page(self, job_id: JobId, *, before: int | None, limit: int) -> list[VersionInForce]:
        return await self._database.page(_versions_page, job_id, before, limit)

    async def job_versions(self, keys: Collection[tuple[JobId, int]]) -> list[JobVersion]:
        return await self._database.read(_job_versions, keys)


def _create_jobs(session: Session, jobs: Sequence[NewJob], *, atomic: bool, jobs_max: int | None) -> list[Job | None]:
    created_ms: dict[bytes, int] = dict(session.rows(_SQL["create"], pack([_job_row(job) for job in jobs])))
    if atomic and (taken := {job.id for job in jobs} - created_ms.keys()):
        raise NamesTaken(taken)
    if jobs_max is not None:
        check_jobs(session, jobs[0].tenant, jobs_max=jobs_max, created=len(created_ms))
    created = [created_job(job, created_ms=created_ms.pop(job.id)) if job.id in created_ms else None for job in jobs]
    if not any(created):
        raise NothingDone(created)
    tell(session, Told.CREATED, [job.id for job in created if job is not None])
    planned = [job for job in created if job is not None and not is_exhausted(job.position)]
    plans = [plan_row(job, generation=1, stale=bool(calendar_names(job.definition))) for job in planned]
    session.rows(_SQL["replan"], pack(plans))
    if plans:
        session.wake("plans")
    uses = [(job.tenant, name, job.id) for job in created if job is not None for name in calendar_names(job.definition)]
    if uses:
        use_calendars(session, uses)
        session.wake("stale")
    keep_runs(session, [job.id for job in created if job is not None and job.definition.retention_ms is not None])
    return created


def _job(session: Session, tenant: str, job_id: JobId) -> Job | None:
    rows = session.rows(_SQL["get"], tenant, job_id)
    return to_job(rows[0]) if rows else None


def hold_open(session: Session, job_id: JobId) -> None:
    """Refuse runs of a job that was deleted or cancelled, as a change of it would be refused. The writer is alone, so it stays what it is
    until they are written."""
    rows = session.rows(_SQL["hold_open"], job_id)
    if not rows:
        raise NotFound("job", job_text(job_id))
    check_open(JobState(rows[0][0]))


def _jobs_page(session: Session, match: JobFilter, before: JobId | None, limit: int) -> list[Job]:
    rows = session.rows(
        _SQL["page"],
        match.tenant,
        before or _LAST_ID,
        match.state,
        match.queue,
        tag_pattern(match.tag),
        match.target_type,
        limit,
    )
    return [to_job(row) for row in rows]


def _jobs_with(session: Session, match: JobFilter, words: Sequence[str], before: JobId | None, limit: int) -> list[Job]:
    rows = session.rows(
        _SQL["search"],
        match.tenant,
        before or _LAST_ID,
        match.state,
        match.queue,
        tag_pattern(match.tag),
        match.target_type,
        limit,
        *search_arguments(words),
    )
    return [to_job(row) for row in rows]


def _jobs_named(session: Session, match: JobFilter, names: Names, limit: int) -> list[Job]:
    rows = session.rows(
        _SQL["page_of_names"],
        match.tenant,
        names.first,
        match.state,
        match.queue,
        tag_pattern(match.tag),
        match.target_type,
        limit,
        names.end,
    )
    return [to_job(row) for row in rows]


def _finished_jobs(session: Session, kept_ms: int, after: Finished, limit: int) -> list[Job]:
    return [to_job(row) for row in session.rows(_SQL["finished"], *after, kept_ms, limit)]


def _versions_of(session: Session, job_id: JobId) -> list[VersionInForce]:
    rows = session.rows(_SQL["versions_of"], job_id)
    return [VersionInForce(version, since_ms, decode_definition(text)) for version, since_ms, text in rows]


def _versions_page(session: Session, job_id: JobId, before: int | None, limit: int) -> list[VersionInForce]:
    below = limits.VERSION_MAX + 1 if before is None else before
    rows = session.rows(_SQL["versions_page"], job_id, below, limit)
    return [VersionInForce(version, since_ms, decode_definition(text)) for version, since_ms, text in rows]


def _job_versions(session: Session, keys: Collection[tuple[JobId, int]]) -> list[JobVersion]:
    rows = session.rows(_SQL["versions"], pack([(job_id.hex(), version) for job_id, version in keys]))
    return [JobVersion(JobId(row[0]), row[1], row[2], decode_definition(row[3])) for row in rows]


def _job_row(job: NewJob) -> tuple[str | int, ...]:
    definition = job.definition
    return (
        job.id.hex(),
        job.tenant,
        definition.name,
        definition.queue,
        definition.region,
        target_type(definition),
        wrap_tags(definition.tags),
        encode_definition(definition),
        int(job.paused),
    )
