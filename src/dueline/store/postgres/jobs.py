"""Jobs on PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import asyncpg
import msgspec

from dueline.domain.errors import Conflict, NotFound
from dueline.domain.ids import JobId, RunId, job_text
from dueline.domain.job import Definition, Job
from dueline.domain.run import first_token
from dueline.domain.sharding import shard_of
from dueline.domain.states import HeldReason, JobState, RunKind, RunState
from dueline.store.postgres.database import Connection
from dueline.store.postgres.part import Part, queries
from dueline.store.postgres.runs import enqueue_arguments
from dueline.store.records import decode_definition, encode_definition, join_tags, target_type, to_job
from dueline.store.shapes import DecideChange, JobChange, JobFilter, JobInHand, JobVersion, LiveRun, NewJob

_SQL = queries("jobs")
_RUNS = queries("runs")
_LAST_ID = b"\xff" * 16


class JobPart(Part):
    async def create_jobs(self, jobs: Sequence[NewJob]) -> list[Job | None]:
        definitions = [job.definition for job in jobs]
        rows = await self._database.fetch(
            _SQL["create"],
            [job.id for job in jobs],
            [job.tenant for job in jobs],
            [definition.name for definition in definitions],
            [definition.queue for definition in definitions],
            [definition.region for definition in definitions],
            [target_type(definition) for definition in definitions],
            [join_tags(definition.tags) for definition in definitions],
            [encode_definition(definition) for definition in definitions],
            [shard_of(job.id) for job in jobs],
            [job.next_ms for job in jobs],
        )
        created_ms: dict[bytes, int] = {row[0]: row[1] for row in rows}
        self._notices.announce("plans")
        return [_created(job, created_ms[job.id]) if job.id in created_ms else None for job in jobs]

    async def change_job(self, tenant: str, job_id: JobId, decide: DecideChange) -> Job:
        async with self._database.transaction() as connection:
            hand = await _lock(connection, tenant, job_id)
            change = decide(hand)
            try:
                job = await _write(connection, hand, change)
            except asyncpg.UniqueViolationError:
                raise Conflict(f"the name {change.definition.name!r} is taken") from None
        self._notices.announce("plans", f"ready/{job.definition.queue}")
        return job

    async def job(self, tenant: str, job_id: JobId) -> Job | None:
        rows = await self._database.fetch(_SQL["get"], tenant, job_id)
        return to_job(rows[0]) if rows else None

    async def jobs_page(self, match: JobFilter, *, before: JobId | None, limit: int) -> list[Job]:
        rows = await self._database.fetch(
            _SQL["page"],
            match.tenant,
            before or _LAST_ID,
            match.state,
            match.queue,
            match.tag,
            match.target_type,
            match.name_prefix,
            limit,
        )
        return [to_job(row) for row in rows]

    async def job_versions(self, keys: Collection[tuple[JobId, int]]) -> list[JobVersion]:
        rows = await self._database.fetch(_SQL["versions"], [key[0] for key in keys], [key[1] for key in keys])
        return [JobVersion(JobId(row[0]), row[1], row[2], decode_definition(row[3])) for row in rows]


def _created(job: NewJob, created_ms: int) -> Job:
    return Job(
        id=job.id,
        tenant=job.tenant,
        state=JobState.ACTIVE,
        version=1,
        definition=job.definition,
        next_ms=job.next_ms,
        pause_note=None,
        created_ms=created_ms,
        updated_ms=created_ms,
    )


async def _lock(connection: Connection, tenant: str, job_id: JobId) -> JobInHand:
    """Lock plan, job and runs, in the order that firing takes them, and only then read the clock."""
    next_ms = await connection.fetchval(_SQL["lock_plan"], job_id)
    row = await connection.fetchrow(_SQL["lock"], tenant, job_id)
    if row is None:
        raise NotFound("job", job_text(job_id))
    runs = await connection.fetch(_SQL["lock_runs"], job_id)
    now_ms = await connection.fetchval(_SQL["clock"])
    return JobInHand(
        job=to_job((*row[:5], next_ms, *row[5:])),
        now_ms=now_ms,
        runs=tuple(
            LiveRun(
                id=RunId(run[0]),
                kind=RunKind(run[1]),
                state=RunState(run[2]),
                scheduled_ms=run[3],
                due_ms=run[4],
                attempt=run[5],
                reason=run[6],
            )
            for run in runs
            if run[2] != RunState.RUNNING or run[4] > now_ms
        ),
    )


async def _write(connection: Connection, hand: JobInHand, change: JobChange) -> Job:
    job, definition = hand.job, change.definition
    version = job.version
    if definition != job.definition:
        version += 1
        await connection.execute(_SQL["keep_version"], job.id)
    generation = await connection.fetchval(
        _SQL["change"],
        job.id,
        definition.name,
        change.state,
        version,
        definition.queue,
        definition.region,
        target_type(definition),
        join_tags(definition.tags),
        encode_definition(definition),
        change.pause_note,
        hand.now_ms,
        change.deleted,
    )
    next_ms = None if change.deleted else change.next_ms
    if next_ms is None:
        await connection.execute(_SQL["unplan"], job.id)
    else:
        due_ms = None if change.state is JobState.PAUSED else next_ms
        await connection.execute(_SQL["replan"], job.id, shard_of(job.id), version, generation, next_ms, due_ms)
    await _move_runs(connection, change)
    if change.runs:
        runs = [msgspec.structs.replace(run, token=first_token(generation)) for run in change.runs]
        await connection.execute(_RUNS["enqueue"], *enqueue_arguments(runs))
    return _changed(job, change, version, next_ms, hand.now_ms)


async def _move_runs(connection: Connection, change: JobChange) -> None:
    if change.unplan:
        await connection.execute(_SQL["unplan_runs"], change.unplan)
    if change.hold:
        await connection.execute(_SQL["hold_runs"], change.hold, HeldReason.PAUSED)
    if change.free:
        await connection.execute(_SQL["free_runs"], change.free)
    if change.cancel:
        await connection.execute(
            _SQL["cancel_runs"], [run_id for run_id, _ in change.cancel], [reason for _, reason in change.cancel]
        )


def _changed(job: Job, change: JobChange, version: int, next_ms: int | None, now_ms: int) -> Job:
    definition: Definition = change.definition
    return Job(
        id=job.id,
        tenant=job.tenant,
        state=change.state,
        version=version,
        definition=definition,
        next_ms=next_ms,
        pause_note=change.pause_note,
        created_ms=job.created_ms,
        updated_ms=now_ms,
    )
