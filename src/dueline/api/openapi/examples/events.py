"""Answers about events: one that a run ended, on a page and on a stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dueline.api.openapi.examples.names import DUE, ENDED, JOB_ID, RUN_ID, STARTED, WORKER_ID
from dueline.domain.events import EventType
from dueline.domain.states import RunKind, RunState
from dueline.wire.events import EventView, RunEventView, beat_block, view_block
from dueline.wire.pages import Page

_EVENT = EventView(
    id="19b1c2d3e40-44-2",
    type=EventType.RUN_FAILED,
    at=ENDED,
    run=RunEventView(
        id=RUN_ID,
        job_id=JOB_ID,
        tenant="default",
        kind=RunKind.SCHEDULED,
        state=RunState.FAILED,
        queue="default",
        tags=("reports",),
        scheduled_at=DUE,
        due_at=DUE,
        started_at=STARTED,
        finished_at=ENDED,
        attempt=1,
        worker=WORKER_ID,
        reason=None,
        parent_run_id=None,
    ),
    job=None,
    attempt=None,
)

ANSWERS: Mapping[Any, Any] = {Page[EventView]: Page([_EVENT], _EVENT.id)}
"""A page of events always tells how to go on, unless it is of a run that has ended."""
STREAM = (beat_block("19b1c2d3e40-41-0") + view_block(_EVENT)).decode()
"""The first blocks of a stream."""
