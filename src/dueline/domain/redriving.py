"""A dead letter tried again: a new run with the old one as its parent. The same wish makes the same run."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from dueline.domain.ids import RunId, derived_run_id
from dueline.domain.job import Execution, JobVersion
from dueline.domain.overlap import Overlap
from dueline.domain.run import NewRun, Run
from dueline.domain.states import RunKind

_encoder = msgspec.json.Encoder()


class RedriveVersion(StrEnum):
    """Which definition a redriven run has: the one it failed with, or the job's current one."""

    PINNED = "pinned"
    LATEST = "latest"


def redriven_id(run_id: RunId, key: str) -> RunId:
    """The id of the run that a wish makes of a dead letter."""
    return derived_run_id(run_id, f"redrive/{key}")


def redriven_run(
    dead: Run, version: JobVersion | None, execution: Execution, *, key: str, due_ms: int, edited: bool
) -> NewRun:
    """The run in place of a dead letter. `execution` is carried along where no version of a job says it: it was edited, or there is
    no job. Somebody asked for it: while another run of its job has not ended it waits, whatever the job does with its occurrences."""
    exclusive = version is not None and version.definition.overlap is not Overlap.ALLOW
    return NewRun(
        id=redriven_id(dead.id, key),
        job_id=dead.job_id,
        version=None if version is None else version.version,
        tenant=dead.tenant,
        kind=RunKind.REDRIVE,
        queue=dead.queue,
        priority=dead.priority,
        region="",
        exclusive=exclusive,
        timeout_ms=execution.timeout_ms,
        scheduled_ms=dead.scheduled_ms,
        due_ms=due_ms,
        tags=dead.tags,
        spec=_encoder.encode(execution).decode() if edited or version is None else None,
        parent_id=dead.id,
        overlap=Overlap.QUEUE_ALL if exclusive else None,
        lane=execution.lane,
        expires_ms=execution.expires_ms(due_ms),
        fairness_key="" if version is None else version.definition.fairness_key,
        missed=True,
        notifies=execution.notifies,
    )
