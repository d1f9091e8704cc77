"""The change of a job on SQLite: the job, its plan and its unstarted runs, in one transaction."""

from __future__ import annotations

from collections.abc import Collection

import apsw
import msgspec

from dueline.domain.changes import DecideChange, JobChange, JobInHand, changed_job
from dueline.domain.errors import Conflict, NotFound
from dueline.domain.fairness import again
from dueline.domain.ids import JobId, job_text
from dueline.domain.job import Job
from dueline.domain.limiting import changed_gate
from dueline.domain.run import first_token
from dueline.domain.states import HeldReason
from dueline.store.records import (
    calendar_names,
    encode_definition,
    keeps_anew,
    target_type,
    to_job,
    to_live_run,
    wrap_tags,
)
from dueline.store.sqlite.calendars import calendars_named, unuse_calendars, use_calendars
from dueline.store.sqlite.events import tell_change
from dueline.store.sqlite.flows import rank_all
from dueline.store.sqlite.ledger import tell
from dueline.store.sqlite.limits import set_job_gate
from dueline.store.sqlite.part import Part, is_exhausted, pack, pack_ids, plan_row, queries
from dueline.store.sqlite.places import end_runs, vacate
from dueline.store.sqlite.retentions import keep_runs
from dueline.store.sqlite.runs import enqueue
from dueline.store.sqlite.session import Session, is_refused

_SQL = queries("jobs")


class ChangePart(Part):
    async def change_job(self, tenant: str, job_id: JobId, decide: DecideChange) -> Job:
        """The writer is alone, so reading is locking. `decide` is called in the writer's thread."""
        return await self._effect(job_id, _change_job, tenant, job_id, decide)


def _change_job(session: Session, tenant: str, job_id: JobId, decide: DecideChange) -> Job:
    hand = _in_hand(session, tenant, job_id)
    change = decide(hand)
    job = changed_job(hand, change)
    if job.version != hand.job.version:
        session.rows(_SQL["keep_version"], job_id)
    generation = _write_job(session, job, deleted=change.deleted)
    if is_exhausted(job.position):
        session.rows(_SQL["unplan"], job_id)
    else:
        session.rows(_SQL["replan"], pack([plan_row(job, generation=generation, stale=change.stale)]))
    tell_change(session, hand.job, job, deleted=change.deleted)
    _move_uses(session, hand.job, () if change.deleted else calendar_names(job.definition))
    if keeps_anew(hand.job, job):
        keep_runs(session, [job_id])
    _move_runs(session, change)
    if change.stop is not None and session.rows(_SQL["stop_runs"], job_id, change.stop):
        session.wake("cancel")
    gate = changed_gate(hand.job, job)
    if gate is not None:
        set_job_gate(session, gate, job_id)
    enqueue(session, [msgspec.structs.replace(run, token=first_token(generation)) for run in change.runs])
    tell(session, [(job_id, hand.job.version, unfired) for unfired in change.unfired])
    session.wake("plans")
    if change.stale:
        session.wake("stale")
    return job


def _in_hand(session: Session, tenant: str, job_id: JobId) -> JobInHand:
    rows = session.rows(_SQL["get"], tenant, job_id)
    if not rows:
        raise NotFound("job", job_text(job_id))
    job = to_job(rows[0])
    return JobInHand(
        job=job,
        now_ms=session.value(_SQL["clock"]),
        runs=tuple(to_live_run(run) for run in session.rows(_SQL["lock_runs"], job_id)),
        calendars=calendars_named(session, tenant, calendar_names(job.definition)),
    )


def _write_job(session: Session, job: Job, *, deleted: bool) -> int:
    definition = job.definition
    try:
        generation: int = session.value(
            _SQL["change"],
            job.id,
            definition.name,
            job.state,
            job.version,
            definition.queue,
            definition.region,
            target_type(definition),
            wrap_tags(definition.tags),
            encode_definition(definition),
            job.pause_note,
            job.updated_ms,
            job.since_ms,
            deleted,
        )
    except apsw.ConstraintError as error:
        if is_refused(error):
            raise
        raise Conflict(f"the name {definition.name!r} is taken") from None
    return generation


def _move_uses(session: Session, before: Job, names: Collection[str]) -> None:
    """Keep which calendars the job names. A job that names none, and named none before, costs no statement."""
    old, new = set(calendar_names(before.definition)), set(names)
    if old - new:
        unuse_calendars(session, [(before.tenant, name, before.id) for name in old - new])
    if new - old:
        use_calendars(session, [(before.tenant, name, before.id) for name in new - old])


def _move_runs(session: Session, change: JobChange) -> None:
    if change.unplan:
        vacate(session, session.rows(_SQL["unplan_runs"], pack_ids(change.unplan)))
    if change.hold:
        session.rows(_SQL["hold_runs"], pack_ids(change.hold), HeldReason.PAUSED)
    if change.free:
        held = session.rows(_SQL["held_runs"], pack_ids(change.free))
        ranks = rank_all(session, (again(*row[1:]) for row in held))
        ranked = [(row[0].hex(), rank) for row, rank in zip(held, ranks, strict=True)]
        session.wake(*{f"ready/{row[0]}" for row in session.rows(_SQL["free_runs"], pack(ranked))})
    if change.cancel:
        ended = session.rows(_SQL["cancel_runs"], pack([(run_id.hex(), reason) for run_id, reason in change.cancel]))
        end_runs(session, [row[0] for row in ended])
        vacate(session, ended)
