"""The runs of decided occurrences."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

from dueline.domain.firetimes import FireTimes
from dueline.domain.ids import JobId, occurrence_run_id
from dueline.domain.job import JobVersion
from dueline.domain.overlap import Overlap
from dueline.domain.planning import Plan
from dueline.domain.run import NewRun
from dueline.domain.states import RunKind


def make_runs(
    version: JobVersion,
    times: FireTimes,
    plan: Plan,
    *,
    now_ms: int,
    token: int,
    missed_due_ms: Callable[[int], int] | None = None,
) -> tuple[NewRun, ...]:
    """The runs of a plan; the same ids whoever makes them. `missed_due_ms` gives each missed one the time from which it may start."""
    runs = []
    for at_ms in plan.missed_ms:
        due_ms = now_ms if missed_due_ms is None else missed_due_ms(now_ms)
        runs.append(make_run(version, at_ms, due_ms=due_ms, missed=True, token=token))
    schedule = version.definition.schedule
    jitter_ms = 0 if schedule is None else schedule.jitter_ms
    for at_ms in plan.on_time_ms:
        due_ms = at_ms
        if jitter_ms:
            due_ms += jitter_of(version.job_id, at_ms, jitter_ms=jitter_ms, following_ms=times.next_fire_after(at_ms))
        runs.append(make_run(version, at_ms, due_ms=due_ms, token=token))
    return tuple(runs)


def jitter_of(job_id: JobId, scheduled_ms: int, *, jitter_ms: int, following_ms: int | None) -> int:
    """How long after its scheduled time an occurrence is due: the same for everyone, and never as late as the following one."""
    room_ms = jitter_ms if following_ms is None else min(jitter_ms, following_ms - scheduled_ms)
    digest = blake2b(b"%b%d" % (job_id, scheduled_ms), digest_size=8, person=b"jitter").digest()
    return int.from_bytes(digest, "big") % room_ms


def make_run(
    version: JobVersion,
    scheduled_ms: int,
    *,
    due_ms: int,
    token: int,
    missed: bool = False,
    kind: RunKind = RunKind.SCHEDULED,
    overlap: Overlap | None = None,
) -> NewRun:
    """The run of one occurrence. One that was missed waits behind those on time. `overlap` takes the place of the job's policy."""
    definition = version.definition
    return NewRun(
        id=occurrence_run_id(version.job_id, scheduled_ms, kind),
        job_id=version.job_id,
        version=version.version,
        tenant=version.tenant,
        kind=kind,
        queue=definition.queue,
        priority=definition.priority,
        region=definition.region,
        exclusive=(overlap or definition.overlap) is not Overlap.ALLOW,
        timeout_ms=definition.execution.timeout_ms,
        scheduled_ms=scheduled_ms,
        due_ms=due_ms,
        tags=definition.tags,
        token=token,
        overlap=overlap,
        lane=definition.execution.lane,
        expires_ms=definition.execution.expires_ms(due_ms),
        fairness_key=definition.fairness_key,
        missed=missed,
        notifies=definition.execution.notifies,
    )
