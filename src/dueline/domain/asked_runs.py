"""Runs that people ask for: of a job, now, or without one."""

from __future__ import annotations

import msgspec

from dueline.domain.ids import RunId
from dueline.domain.job import DEFAULT_PRIORITY, DEFAULT_QUEUE, Execution, Job
from dueline.domain.overlap import Overlap
from dueline.domain.run import NewRun
from dueline.domain.states import RunKind

_encoder = msgspec.json.Encoder()


class AdhocRun(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A run without a job: what to execute, where and when."""

    execution: Execution
    queue: str = DEFAULT_QUEUE
    priority: int = DEFAULT_PRIORITY
    fairness_key: str = ""
    region: str = ""
    tags: tuple[str, ...] = ()
    due_ms: int | None = None


def manual_run(job: Job, run_id: RunId, *, now_ms: int, force: bool) -> NewRun:
    """A run of a job at once. Forced, it minds no other run of the job."""
    definition = job.definition
    return NewRun(
        id=run_id,
        job_id=job.id,
        version=job.version,
        tenant=job.tenant,
        kind=RunKind.MANUAL,
        queue=definition.queue,
        priority=definition.priority,
        region=definition.region,
        exclusive=definition.overlap is not Overlap.ALLOW and not force,
        overlap=Overlap.ALLOW if force else None,
        timeout_ms=definition.execution.timeout_ms,
        scheduled_ms=now_ms,
        due_ms=now_ms,
        tags=definition.tags,
        lane=definition.execution.lane,
        expires_ms=definition.execution.expires_ms(now_ms),
        fairness_key=definition.fairness_key,
        notifies=definition.execution.notifies,
    )


def adhoc_run(tenant: str, asked: AdhocRun, run_id: RunId, *, due_ms: int) -> NewRun:
    """A run without a job, which carries all that it is to do."""
    return NewRun(
        id=run_id,
        job_id=None,
        version=None,
        tenant=tenant,
        kind=RunKind.ADHOC,
        queue=asked.queue,
        priority=asked.priority,
        region=asked.region,
        exclusive=False,
        timeout_ms=asked.execution.timeout_ms,
        scheduled_ms=due_ms,
        due_ms=due_ms,
        tags=asked.tags,
        lane=asked.execution.lane,
        expires_ms=asked.execution.expires_ms(due_ms),
        spec=_encoder.encode(asked.execution).decode(),
        fairness_key=asked.fairness_key,
        notifies=asked.execution.notifies,
    )
