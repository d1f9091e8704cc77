"""The change of a job on PostgreSQL: the job, its plan and its unstarted runs, in one transaction."""

from __future__ import annotations

import asyncpg
import msgspec

from dueline.domain.changes import DecideChange, JobChange, JobInHand, changed_job
from dueline.domain.errors import Conflict, NotFound
from dueline.domain.fairness import again
from dueline.domain.ids import JobId, job_text
from dueline.domain.job import Job
from dueline.domain.limiting import changed_gate
from dueline.domain.run import first_token
from dueline.domain.sharding import shard_of
from dueline.domain.states import HeldReason, RunState
from dueline.store.postgres.calendars import read_calendars, unuse_calendars, use_calendars
from dueline.store.postgres.events import tell_change
from dueline.store.postgres.limits import set_job_gate
from dueline.store.postgres.part import Part, Ranks, queries, told_columns
from dueline.store.postgres.reaching import Connection
from dueline.store.postgres.retentions import keep_runs
from dueline.store.postgres.runs import enqueue_arguments
from dueline.store.records import (
    calendar_names,
    delay_ms,
    encode_definition,
    is_zoned,
    join_tags,
    keeps_anew,
    target_type,
    to_job,
    to_live_run,
)

_SQL = queries("jobs")
_RUNS = queries("runs")
_LEDGER = queries("ledger")
_NO_PLAN = (None, None, None, None)


class ChangePart(Part):
    async def change_job(self, tenant: str, job_id: JobId, decide: DecideChange) -> Job:
        async with self._effect(job_id) as connection:
            hand = await _lock(connection, tenant, job_id)
            change = decide(hand)
            try:
                job = await _write(connection, self._ranks, hand, change)
            except asyncpg.UniqueViolationError:
                raise Conflict(f"the name {change.definition.name!r} is taken") from None
        topics = {"plans", f"ready/{job.definition.queue}"}
        if change.runs:
            topics.add("waiting")
        if change.stale:
            topics.add("stale")
        if change.stop is not None:
            topics.add("cancel")
        self._notices.announce(*topics)
        return job


async def _lock(connection: Connection, tenant: str, job_id: JobId) -> JobInHand:
    """Lock plan, job and runs, in the order that firing takes them, and only then read the clock."""
    plan = await connection.fetchrow(_SQL["lock_plan"], job_id)
    row = await connection.fetchrow(_SQL["lock"], tenant, job_id)
    if row is None:
        raise NotFound("job", job_text(job_id))
    runs = await connection.fetch(_SQL["lock_runs"], job_id)
    now_ms = await connection.fetchval(_SQL["clock"])
    job = to_job((*row[:5], *(plan or _NO_PLAN), *row[5:]))
    return JobInHand(
        job=job,
        now_ms=now_ms,
        # The statement looked at the clock before the locks were there.
        runs=tuple(to_live_run(run) for run in runs if run[2] != RunState.RUNNING or run[4] > now_ms),
        calendars=await read_calendars(connection, tenant, calendar_names(job.definition)),
    )


async def _write(connection: Connection, ranks: Ranks, hand: JobInHand, change: JobChange) -> Job:
    job = changed_job(hand, change)
    definition = job.definition
    await _write_uses(connection, hand.job, job, deleted=change.deleted)
    if job.version != hand.job.version:
        await connection.execute(_SQL["keep_version"], job.id)
    generation = await connection.fetchval(
        _SQL["change"],
        job.id,
        definition.name,
        job.state,
        job.version,
        definition.queue,
        definition.region,
        target_type(definition),
        join_tags(definition.tags),
        encode_definition(definition),
        job.pause_note,
        job.updated_ms,
        job.since_ms,
        change.deleted,
    )
    await _write_plan(connection, job, generation, stale=change.stale)
    await tell_change(connection, hand.job, job, deleted=change.deleted)
    if keeps_anew(hand.job, job):
        await keep_runs(connection, [job.id])
    await _move_runs(connection, ranks, change)
    if change.stop is not None:
        await connection.execute(_SQL["stop_runs"], job.id, change.stop)
    gate = changed_gate(hand.job, job)
    if gate is not None:
        await set_job_gate(connection, gate, job.id)
    if change.unfired:
        told = [(job.id, hand.job.version, unfired) for unfired in change.unfired]
        await connection.execute(_LEDGER["tell"], *told_columns(told))
    if change.runs:
        runs = [msgspec.structs.replace(run, token=first_token(generation)) for run in change.runs]
        await connection.execute(_RUNS["enqueue"], *enqueue_arguments(runs, await ranks.of_new(runs)))
    return job


async def _write_plan(connection: Connection, job: Job, generation: int, *, stale: bool) -> None:
    position, definition = job.position, job.definition
    if position.next_ms is None and position.awaiting is None:
        await connection.execute(_SQL["unplan"], job.id)
        return
    await connection.execute(
        _SQL["replan"],
        job.id,
        shard_of(job.id),
        job.version,
        generation,
        position.next_ms,
        position.due_ms,
        position.awaiting,
        position.runs_left,
        delay_ms(definition),
        is_zoned(definition),
        stale,
    )


async def _write_uses(connection: Connection, before: Job, after: Job, *, deleted: bool) -> None:
    """Which calendars the job names, if that changes."""
    old = set(calendar_names(before.definition))
    new = set() if deleted else set(calendar_names(after.definition))
    await unuse_calendars(connection, [(after.tenant, name, after.id) for name in sorted(old - new)])
    await use_calendars(connection, [(after.tenant, name, after.id) for name in sorted(new - old)])


async def _move_runs(connection: Connection, ranks: Ranks, change: JobChange) -> None:
    if change.unplan:
        await connection.execute(_SQL["unplan_runs"], change.unplan)
    if change.hold:
        await connection.execute(_SQL["hold_runs"], change.hold, HeldReason.PAUSED)
    if change.free:
        held = await connection.fetch(_SQL["held_runs"], change.free)
        ready = await ranks.of_ready([again(*row[1:]) for row in held])
        await connection.execute(_SQL["free_runs"], [row[0] for row in held], ready)
    if change.cancel:
        await connection.execute(
            _SQL["cancel_runs"], [run_id for run_id, _ in change.cancel], [reason for _, reason in change.cancel]
        )
