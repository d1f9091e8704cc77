"""The runs of decided occurrences."""

from __future__ import annotations

from dueline.domain.fairness import rank
from dueline.domain.ids import occurrence_run_id
from dueline.domain.job import JobVersion
from dueline.domain.overlap import Overlap
from dueline.domain.planning import Plan
from dueline.domain.run import NewRun
from dueline.domain.states import RunKind


def make_runs(version: JobVersion, plan: Plan, *, now_ms: int, token: int) -> tuple[NewRun, ...]:
    """The runs of a plan; the same ids whoever makes them."""
    missed = [make_run(version, at_ms, token=token, missed_at_ms=now_ms) for at_ms in plan.missed_ms]
    on_time = [make_run(version, at_ms, token=token) for at_ms in plan.on_time_ms]
    return (*missed, *on_time)


def make_run(version: JobVersion, scheduled_ms: int, *, token: int, missed_at_ms: int | None = None) -> NewRun:
    """The run of one occurrence; one that was missed takes its turn from when that was found, behind those on time."""
    definition = version.definition
    return NewRun(
        id=occurrence_run_id(version.job_id, scheduled_ms, RunKind.SCHEDULED),
        job_id=version.job_id,
        version=version.version,
        tenant=version.tenant,
        kind=RunKind.SCHEDULED,
        queue=definition.queue,
        priority=definition.priority,
        rank=rank(
            due_ms=scheduled_ms if missed_at_ms is None else missed_at_ms,
            priority=definition.priority,
            missed=missed_at_ms is not None,
        ),
        region=definition.region,
        exclusive=definition.overlap is not Overlap.ALLOW,
        timeout_ms=definition.execution.timeout_ms,
        scheduled_ms=scheduled_ms,
        due_ms=scheduled_ms,
        tags=definition.tags,
        token=token,
    )
