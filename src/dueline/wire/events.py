"""Events, as listeners are told them: one shape for streams and for pages."""

from __future__ import annotations

import msgspec

from dueline.domain.events import Event, EventType, JobTold
from dueline.domain.ids import job_text, run_text
from dueline.domain.instants import format_instant
from dueline.domain.run import OutcomeKind, Run
from dueline.domain.states import JobState, RunKind, RunState
from dueline.wire.reading import encode


class RunEventView(msgspec.Struct, frozen=True, kw_only=True):
    """A run as an event tells it. Its results and attempts are to be had by its id."""

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
    finished_at: str | None
    attempt: int
    worker: str | None
    reason: str | None
    parent_run_id: str | None


class JobEventView(msgspec.Struct, frozen=True, kw_only=True):
    """A job as a change left it. The name is the one that it has by now."""

    id: str
    name: str
    state: JobState
    version: int


class AttemptEventView(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that began, or ended with an `outcome`."""

    attempt: int
    worker: str | None
    outcome: OutcomeKind | None
    status: int | None
    error: str | None


class EventView(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened, to a run or to a job. Whoever passes `id` on is told what follows."""

    id: str | None
    type: EventType
    at: str
    run: RunEventView | None
    job: JobEventView | None
    attempt: AttemptEventView | None


def event_view(event: Event) -> EventView:
    return EventView(
        id=event.id,
        type=event.type,
        at=format_instant(event.at_ms),
        run=None if event.run is None else _run_view(event.run),
        job=None if event.job is None else _job_view(event.job),
        attempt=_attempt_view(event),
    )


def event_block(event: Event) -> bytes:
    return view_block(event_view(event))


def view_block(view: EventView) -> bytes:
    """An event as server-sent events have it. JSON has no line breaks, so its data is one line."""
    name = b"" if view.id is None else b"id: %b\n" % view.id.encode()
    return b"%bevent: %b\ndata: %b\n\n" % (name, view.type.encode(), encode(view))


def beat_block(last_id: str | None) -> bytes:
    """A sign of life: a comment that nobody is shown, and how far the listener was told, which its client remembers."""
    return b": beat\n\n" if last_id is None else b": beat\nid: %b\n\n" % last_id.encode()


def _run_view(run: Run) -> RunEventView:
    return RunEventView(
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
        finished_at=None if run.finished_ms is None else format_instant(run.finished_ms),
        attempt=run.attempt,
        worker=run.worker,
        reason=run.reason,
        parent_run_id=None if run.parent_id is None else run_text(run.parent_id),
    )


def _job_view(job: JobTold) -> JobEventView:
    return JobEventView(id=job_text(job.id), name=job.name, state=job.state, version=job.version)


def _attempt_view(event: Event) -> AttemptEventView | None:
    if event.attempt is not None:
        outcome = event.attempt.outcome
        return AttemptEventView(
            attempt=event.attempt.attempt,
            worker=event.attempt.worker,
            outcome=outcome.kind,
            status=outcome.status,
            error=outcome.error,
        )
    if event.type is EventType.ATTEMPT_STARTED and event.run is not None:
        return AttemptEventView(attempt=event.run.attempt, worker=event.worker, outcome=None, status=None, error=None)
    return None
