"""Answers about queues, limits, tenants and workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dueline.api.openapi.examples.names import CREATED, DUE, JOB_ID, RUN_ID, STARTED, WORKER_ID
from dueline.domain.gates import Scope
from dueline.domain.states import RunKind
from dueline.wire.desk import AcceptedView, CancelView, HeartbeatView, LeasedView, LeaseView, RegisteredView
from dueline.wire.jobtypes import JobTypeView
from dueline.wire.limits import LimitView, RateForm
from dueline.wire.queues import QueueView
from dueline.wire.targets import TaskTargetForm
from dueline.wire.tenants import QuotasForm, TenantView, UsedView
from dueline.wire.whys import SharesView, TenantShareView
from dueline.wire.workers import WorkerState, WorkerView

ANSWERS: Mapping[Any, Any] = {
    QueueView: QueueView(
        name="mail",
        paused=False,
        note=None,
        ready=12,
        running=4,
        held=1,
        waiting=30,
        reasons={"concurrency": 1},
        oldest_due_at=DUE,
        oldest_age_s=0.4,
        rate=11.5,
        workers=2,
        slots=8,
        busy=4,
        busy_share=0.5,
    ),
    SharesView: SharesView(
        queue="mail",
        window_s=30.0,
        items=[
            TenantShareView(
                tenant="default",
                weight=1.0,
                ready=12,
                oldest_age_s=0.4,
                rate=11.5,
                used_share=1.0,
                entitled_share=1.0,
                delayed_by={},
            )
        ],
    ),
    LimitView: LimitView(
        scope=Scope.QUEUE,
        name="mail",
        concurrency=10,
        rate=RateForm(limit=50, per="PT1S", burst=1),
        running=4,
        updated_at=CREATED,
    ),
    TenantView: TenantView(
        name="default",
        weight=2.0,
        quotas=QuotasForm(jobs=1000, running=50),
        used=UsedView(jobs=17, running=4, run_now_per_minute=None),
        updated_at=CREATED,
    ),
    WorkerView: WorkerView(
        id=WORKER_ID,
        role="worker",
        host="worker-1",
        pid=4711,
        version="0.1.0",
        queues=("mail",),
        labels=("task",),
        tasks=("mail.send",),
        slots=4,
        busy=2,
        state=WorkerState.ALIVE,
        started_at=CREATED,
        beat_at=DUE,
    ),
    RegisteredView: RegisteredView(id=WORKER_ID, lease="PT8S", beat="PT2S"),
    HeartbeatView: HeartbeatView(
        now=STARTED, drain=False, cancels=[CancelView(id=RUN_ID, token=1, reason="requested")]
    ),
    LeaseView: LeaseView(
        [
            LeasedView(
                id=RUN_ID,
                token=1,
                job_id=JOB_ID,
                tenant="default",
                queue="mail",
                kind=RunKind.SCHEDULED,
                attempt=1,
                scheduled_at=DUE,
                due_at=DUE,
                timeout="PT30S",
                target=TaskTargetForm(task="mail.send", args={"to": "c-17"}),
                checkpoint=None,
            )
        ]
    ),
    AcceptedView: AcceptedView(accepted=[RUN_ID], refused=[]),
    JobTypeView: JobTypeView(
        name="mail.send",
        description="Send a mail.",
        queue="mail",
        parameters={"type": "object", "properties": {"to": {"type": "string"}}},
        workers=2,
        seen_at=DUE,
    ),
}
