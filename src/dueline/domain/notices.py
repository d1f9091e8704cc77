"""Notices: somebody asked to be told of the end of a run, and a call of its own tells it."""

from __future__ import annotations

import msgspec

from dueline.domain.events import EventType, end_type
from dueline.domain.ids import derived_run_id, job_text, run_text
from dueline.domain.instants import format_instant
from dueline.domain.job import Execution, HttpTarget
from dueline.domain.run import NewRun, Run
from dueline.domain.states import TERMINAL, RunKind, RunState

VERSION = 1
"""Of the body. It grows when a member goes or changes its meaning, and not when one is added."""
_MADE_UP_FOR = frozenset({RunKind.BACKFILL, RunKind.REDRIVE})
_JSON = {"Content-Type": "application/json"}
_encoder = msgspec.json.Encoder()


class NoticeRun(msgspec.Struct, frozen=True, kw_only=True):
    """The run that ended."""

    id: str
    job_id: str | None
    tenant: str
    kind: RunKind
    state: RunState
    queue: str
    tags: tuple[str, ...]
    scheduled_at: str
    due_at: str
    started_at: str | None
    finished_at: str
    attempt: int
    worker: str | None
    reason: str | None
    parent_run_id: str | None
    status: int | None
    error: str | None


class NoticeJob(msgspec.Struct, frozen=True, kw_only=True):
    """Its job, by the version that it ran."""

    id: str
    name: str
    version: int


class NoticeBody(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent."""

    version: int = VERSION
    type: EventType
    at: str
    late: bool
    """Whether the end came later than was asked for."""
    run: NoticeRun
    job: NoticeJob | None


def notice_of(run: Run, execution: Execution, *, job_name: str | None, now_ms: int) -> NewRun | None:
    """The run that tells of another one's end, or None where nobody asked for that. The same end makes the same run."""
    notify = execution.notify
    if notify is None or run.finished_ms is None or run.state not in TERMINAL:
        return None
    late = notify.late_after_ms is not None and run.finished_ms - _expected_ms(run) > notify.late_after_ms
    if not late and run.state not in notify.on:
        return None
    target = HttpTarget(
        url=notify.url,
        headers=_JSON | notify.headers,
        body_bytes=_encoder.encode(_body(run, finished_ms=run.finished_ms, late=late, job_name=job_name)),
        sign=notify.sign,
    )
    telling = Execution(target=target)
    return NewRun(
        id=derived_run_id(run.id, "notice"),
        job_id=None,
        version=None,
        tenant=run.tenant,
        kind=RunKind.ADHOC,
        queue=run.queue,
        priority=run.priority,
        region="",
        exclusive=False,
        timeout_ms=telling.timeout_ms,
        scheduled_ms=run.scheduled_ms,
        due_ms=now_ms,
        spec=_encoder.encode(telling).decode(),
        parent_id=run.id,
        lane=telling.lane,
    )


def _expected_ms(run: Run) -> int:
    """The time that lateness counts from. What is made up for was scheduled long ago, and asked for when it was created."""
    return run.created_ms if run.kind in _MADE_UP_FOR else run.scheduled_ms


def _body(run: Run, *, finished_ms: int, late: bool, job_name: str | None) -> NoticeBody:
    last = run.attempts[-1].outcome if run.attempts else None
    told = NoticeRun(
        id=run_text(run.id),
        job_id=None if run.job_id is None else job_text(run.job_id),
        tenant=run.tenant,
        kind=run.kind,
        state=run.state,
        queue=run.queue,
        tags=run.tags,
        scheduled_at=format_instant(run.scheduled_ms),
        due_at=format_instant(run.due_ms),
        started_at=None if run.started_ms is None else format_instant(run.started_ms),
        finished_at=format_instant(finished_ms),
        attempt=run.attempt,
        worker=run.worker,
        reason=run.reason,
        parent_run_id=None if run.parent_id is None else run_text(run.parent_id),
        status=last.status if last else None,
        error=last.error if last else None,
    )
    job = None
    if run.job_id is not None and run.version is not None and job_name is not None:
        job = NoticeJob(id=job_text(run.job_id), name=job_name, version=run.version)
    return NoticeBody(type=end_type(run.state), at=told.finished_at, late=late, run=told, job=job)
