"""Writing answers: JSON through one encoder, entity tags, places."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from dueline.domain import limits
from dueline.domain.ids import RunId, id_ms
from dueline.domain.job import Job
from dueline.domain.run import Run
from dueline.domain.states import RunKind, RunState
from dueline.wire.jobs import job_view
from dueline.wire.reading import encode
from dueline.wire.runs import run_view

JSON = "application/json"


def json_answer(value: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(encode(value), status, media_type=JSON, headers=headers)


def job_answer(job: Job, *, status: int = 200) -> Response:
    """A job with its version as a strong entity tag; a new one with its place."""
    view = job_view(job)
    headers = {"etag": f'"v{job.version}"'}
    if status == 201:
        headers["location"] = f"/v1/jobs/{view.id}"
    return json_answer(view, status=status, headers=headers)


def new_run_answer(
    run_id: RunId,
    *,
    job: Job | None,
    tenant: str,
    kind: RunKind,
    queue: str,
    priority: int,
    tags: tuple[str, ...],
    now_ms: int,
) -> Response:
    """A run as it was written a moment ago. It is not read back: that could fail, and the caller would ask for another."""
    due_ms = id_ms(run_id)
    run = Run(
        id=run_id,
        job_id=job.id if job else None,
        version=job.version if job else None,
        tenant=tenant,
        kind=kind,
        state=RunState.SCHEDULED if due_ms > now_ms + limits.AHEAD_MS else RunState.READY,
        queue=queue,
        priority=priority,
        tags=tags,
        scheduled_ms=due_ms,
        due_ms=due_ms,
        created_ms=now_ms,
        claimed_ms=None,
        started_ms=None,
        finished_ms=None,
        attempt=0,
        lost=0,
        worker=None,
        reason=None,
        parent_id=None,
        attempts=(),
    )
    view = run_view(run, {job.id: job.definition.name} if job else {})
    return json_answer(view, status=201, headers={"location": f"/v1/runs/{view.id}"})
