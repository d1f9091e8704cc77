"""Jobs on PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dueline.domain import limits
from dueline.domain.changes import check_open
from dueline.domain.errors import NamesTaken, NotFound
from dueline.domain.ids import JobId, job_text
from dueline.domain.job import Job, JobVersion
from dueline.domain.sharding import shard_of
from dueline.domain.states import JobState
from dueline.domain.words import words_in
from dueline.store.history import Finished
from dueline.store.names import Names
from dueline.store.pages import FoundJobs
from dueline.store.postgres.calendars import use_calendars
from dueline.store.postgres.part import Part, position_columns, queries
from dueline.store.postgres.reaching import Connection
from dueline.store.postgres.retentions import keep_runs
from dueline.store.postgres.tenants import check_jobs, lock_tenant
from dueline.store.records import (
    calendar_names,
    created_job,
    decode_definition,
    delay_ms,
    encode_definition,
    is_zoned,
    join_tags,
    target_type,
    to_job,
)
from dueline.store.requests import NothingDone, only
from dueline.store.shapes import JobFilter, NewJob, VersionInForce

_SQL = queries("jobs")
_LAST_ID = b"\xff" * 16
_FEW = 10_000
"""Jobs that a filter may let through to be few: so many are read by their ids in some ten milliseconds."""
_LOOKED_FOR_ONE = 10
"""Jobs that a search looks at for each that is wanted, before it asks the index of words: one in so many is taken for few."""
_IDS = "SELECT id FROM dueline.jobs WHERE tenant = $1 AND id < $2 AND deleted_ms IS NULL"
_TAGGED = "SELECT id FROM dueline.job_tags WHERE tenant = $1 AND tag = ${} AND id < $2"
_FILTERS = {
    "state": (f"{_IDS} AND state = ${{}}", 3),
    "queue": (f"{_IDS} AND queue = ${{}}", 4),
    "tag": (_TAGGED, 5),
    "target_type": (f"{_IDS} AND target_type = ${{}}", 6),
}
"""How the ids of what each filter lets through are read by its index, and its place among the arguments."""


def _by_index(statement: str) -> dict[str, str]:
    """A statement as it stands, and with its ids read by the index of each filter."""
    found = {name: statement.replace(_IDS, ids.format(place)) for name, (ids, place) in _FILTERS.items()}
    return {"": statement, **found}


_PAGES = _by_index(_SQL["page"])
_SEARCHES = _by_index(_SQL["search"])
_EDGES = {"": _SQL["edge"], **{name: _SQL["edge"].replace(_IDS, ids.format(4)) for name, (ids, _) in _FILTERS.items()}}
_FIRST_ID = bytes(16)
_BLOCK = "\x1e"
"""What stands for a block in what is sought in each of them."""


class JobPart(Part):
    async def create_jobs(
        self, jobs: Sequence[NewJob], *, atomic: bool = False, jobs_max: int | None = None
    ) -> list[Job | None]:
        # In the order of their names, for which those who want the same ones wait.
        in_order = sorted(jobs, key=lambda job: (job.tenant, job.definition.name))
        try:
            created_ms = await self._create(in_order, atomic=atomic, jobs_max=jobs_max)
        except NothingDone:
            return [None] * len(jobs)
        return [created_job(job, created_ms=created_ms[job.id]) if job.id in created_ms else None for job in jobs]

    async def _create(self, jobs: Sequence[NewJob], *, atomic: bool, jobs_max: int | None) -> dict[bytes, int]:
        """When each of those was created that were."""
        definitions = [job.definition for job in jobs]
        args = [
            [job.id for job in jobs],
            [job.tenant for job in jobs],
            [definition.name for definition in definitions],
            [definition.queue for definition in definitions],
            [definition.region for definition in definitions],
            [target_type(definition) for definition in definitions],
            [join_tags(definition.tags) for definition in definitions],
            [encode_definition(definition) for definition in definitions],
            [shard_of(job.id) for job in jobs],
            *position_columns([job.position for job in jobs]),
            [delay_ms(definition) for definition in definitions],
            [is_zoned(definition) for definition in definitions],
            [bool(calendar_names(definition)) for definition in definitions],
            [job.paused for job in jobs],
        ]
        uses = [(job.tenant, name, job.id) for job in jobs for name in calendar_names(job.definition)]
        about = only(job.id for job in jobs)
        keeping = [job.id for job in jobs if job.definition.retention_ms is not None]
        if not uses and not keeping and not atomic and jobs_max is None:
            async with self._lone_effect(about) as connection:
                rows = await connection.fetch(_SQL["create"], *args)
                if not rows:
                    raise NothingDone({})
        else:
            async with self._effect(about) as connection:
                if jobs_max is not None:
                    await lock_tenant(connection, jobs[0].tenant)
                rows = await connection.fetch(_SQL["create"], *args)
                created = {row[0] for row in rows}
                if atomic and (taken := {job.id for job in jobs} - created):
                    raise NamesTaken(taken)
                if not created:
                    raise NothingDone({})
                await use_calendars(connection, [use for use in uses if use[2] in created])
                await keep_runs(connection, [job_id for job_id in keeping if job_id in created])
                if jobs_max is not None:
                    await check_jobs(connection, jobs[0].tenant, jobs_max=jobs_max, created=len(created))
        self._notices.announce("plans", *(["stale"] if uses else ()))
        return {row[0]: row[1] for row in rows}

    async def job(self, tenant: str, job_id: JobId) -> Job | None:
        rows = await self._database.fetch(_SQL["get"], tenant, job_id)
        return to_job(rows[0]) if rows else None

    async def jobs_page(self, match: JobFilter, *, before: JobId | None, limit: int) -> list[Job]:
        args = (match.tenant, before or _LAST_ID, *_filters(match), limit)
        rows = await self._database.fetch(_PAGES[await self._rarest(match)], *args)
        return [to_job(row) for row in rows]

    async def jobs_with(self, match: JobFilter, words: Sequence[str], *, before: JobId | None, limit: int) -> FoundJobs:
        """A word that many have is found among the newest; only one that few of those have is asked of the index of words. What that finds
        is looked up, because it does not know every filter."""
        name, below = await self._rarest(match), before or _LAST_ID
        edge = await self._edge(match, name, below, max(limits.JOBS_LOOKED_FIRST, _LOOKED_FOR_ONE * limit))
        args = (match.tenant, below, *_filters(match), limit, _sought(match, words), edge or _FIRST_ID)
        rows = await self._database.fetch(_SEARCHES[name], *args)
        if len(rows) == limit or edge is None:
            return FoundJobs([to_job(row) for row in rows])
        most = limit if match.state is None and match.tag is None else limits.JOBS_LOOKED_UP_MAX
        sought = _sought(match, words, front=_BLOCK)
        args = (match.tenant, below, match.state, match.tag, limit, sought, most, limits.SEARCH_PATIENCE_MS)
        rows = await self._database.fetch(_SQL["search_blocks"], *args)
        return FoundJobs([to_job(row) for row in rows if row[0] is not None], _above(rows[0]["rest"]))

    async def _edge(self, match: JobFilter, name: str, below: bytes, rows: int) -> bytes | None:
        """How far the newest reach. It is known before they are read, so that whatever is deleted meanwhile, all down to it were."""
        by = (getattr(match, name),) if name else ()
        edge: bytes | None = await self._database.fetchval(_EDGES[name], match.tenant, below, rows, *by)
        return edge

    async def _rarest(self, match: JobFilter) -> str:
        """The filter that lets the fewest through, by whose index to read; empty without any."""
        asked = [name for name in _FILTERS if getattr(match, name) is not None]
        if len(asked) > 1:
            return min((len(ids), name) for name, ids in (await self._few(match)).items())[1]
        return asked[0] if asked else ""

    async def jobs_named(self, match: JobFilter, names: Names, *, limit: int) -> list[Job]:
        args = (match.tenant, names.first, *_filters(match), limit, names.end)
        few = min((await self._few(match)).values(), key=len, default=None)
        if few is None or len(few) > _FEW:
            rows = await self._database.fetch(_SQL["page_of_names"], *args)
        else:
            rows = await self._database.fetch(_SQL["page_of_few_names"], *args, few)
        return [to_job(row) for row in rows]

    async def _few(self, match: JobFilter) -> dict[str, list[bytes]]:
        """Ids of what each filter that is there lets through, one more than few at most."""
        filters = _filters(match)
        if not any(filters):
            return {}
        rows = await self._database.fetch(_SQL["few"], match.tenant, *filters, _FEW + 1)
        return {name: ids for name, ids in rows[0].items() if ids is not None}

    async def finished_jobs(self, *, kept_ms: int, after: Finished, limit: int) -> list[Job]:
        return [to_job(row) for row in await self._database.fetch(_SQL["finished"], *after, kept_ms, limit)]

    async def versions_of(self, job_id: JobId) -> list[VersionInForce]:
        rows = await self._database.fetch(_SQL["versions_of"], job_id)
        return [VersionInForce(row[0], row[1], decode_definition(row[2])) for row in rows]

    async def versions_page(self, job_id: JobId, *, before: int | None, limit: int) -> list[VersionInForce]:
        below = limits.VERSION_MAX + 1 if before is None else before
        rows = await self._database.fetch(_SQL["versions_page"], job_id, below, limit)
        return [VersionInForce(row[0], row[1], decode_definition(row[2])) for row in rows]

    async def job_versions(self, keys: Collection[tuple[JobId, int]]) -> list[JobVersion]:
        rows = await self._database.fetch(_SQL["versions"], [key[0] for key in keys], [key[1] for key in keys])
        return [JobVersion(JobId(row[0]), row[1], row[2], decode_definition(row[3])) for row in rows]


async def hold_open(connection: Connection, job_id: JobId) -> None:
    """Refuse runs of a job that was deleted or cancelled, as a change of it would be refused. Until the transaction ends nobody does
    either; then whoever does finds the runs that were written."""
    state = await connection.fetchval(_SQL["hold_open"], job_id)
    if state is None:
        raise NotFound("job", job_text(job_id))
    check_open(JobState(state))


def _filters(match: JobFilter) -> tuple[str | None, ...]:
    return match.state, match.queue, match.tag, match.target_type


def _sought(match: JobFilter, words: Sequence[str], *, front: str = "") -> str:
    """What the index of words is asked for, as `words_of` of the database writes it: words that begin so, and those of the filters.
    In front of each may stand what does in the index."""
    filters = (("=", match.target_type), ("@", match.queue))
    whole = [*words_in(match.tag or ""), *(f"{sign}{value}" for sign, value in filters if value is not None)]
    tenant = front + match.tenant
    begun = [f"{_quoted(tenant, word)}:*" for word in words]
    return " & ".join([*begun, *(_quoted(tenant, word) for word in whole)])


def _quoted(tenant: str, word: str) -> str:
    escaped = f"{tenant}\x1f{word}".replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _above(job_id: bytes | None) -> JobId | None:
    """The id behind which a list goes on with another."""
    return None if job_id is None else JobId((int.from_bytes(job_id, "big") + 1).to_bytes(len(job_id), "big"))
