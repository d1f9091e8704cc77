"""Runs that people ask for: of a job, now, or without one."""

from __future__ import annotations

from collections.abc import Sequence

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


def adhoc_runs(
    tenant: str, asked: Sequence[AdhocRun], run_ids: Sequence[RunId], dues_ms: Sequence[int]
) -> list[NewRun]:
    """Runs without a job, which carry all that they are to do. What is the same as in the run before is taken from there, in a third of the
    time."""
    runs: list[NewRun] = []
    like: AdhocRun | None = None
    run: NewRun | None = None
    for one, run_id, due_ms in zip(asked, run_ids, dues_ms, strict=True):
        execution = one.execution
        if run is None or like is None or not _are_alike(one, like):
            run = _adhoc_run(tenant, one, run_id, due_ms=due_ms)
        else:
            run = msgspec.structs.replace(
                run,
                id=run_id,
                scheduled_ms=due_ms,
                due_ms=due_ms,
                expires_ms=execution.expires_ms(due_ms),
                spec=_encoder.encode(execution).decode(),
                fairness_key=one.fairness_key,
            )
        like = one
        runs.append(run)
    return runs


def _are_alike(one: AdhocRun, other: AdhocRun) -> bool:
    """By what was copied from one to the other."""
    first, second = one.execution, other.execution
    return (
        one.queue is other.queue
        and one.tags is other.tags
        and one.priority == other.priority
        and one.region is other.region
        and first.requires is second.requires
        and first.timeout_ms == second.timeout_ms
        and first.notify is second.notify
        and type(first.target) is type(second.target)
    )


def _adhoc_run(tenant: str, asked: AdhocRun, run_id: RunId, *, due_ms: int) -> NewRun:
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
