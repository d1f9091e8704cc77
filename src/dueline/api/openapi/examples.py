"""An answer of every kind, as it might come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args, get_origin

from dueline.domain.gates import Scope
from dueline.domain.job import Delivery
from dueline.domain.ledger import Verdict
from dueline.domain.overlap import Overlap
from dueline.domain.planning import MisfirePolicy
from dueline.domain.run import OutcomeKind
from dueline.domain.states import JobState, RunKind, RunState
from dueline.wire.audits import AuditView, LateView
from dueline.wire.backfills import BackfillItem, BackfillView
from dueline.wire.bulk import BulkJobsView, BulkRunsView, JobItem, RunItem, RunRef
from dueline.wire.calendars import CalendarView
from dueline.wire.deadletters import BulkRedriveView, DeadLetterView, ExecutedView, PurgeView
from dueline.wire.desk import AcceptedView, CancelView, HeartbeatView, LeasedView, LeaseView, RegisteredView
from dueline.wire.forecasts import ForecastView, HotMinuteView, PeakView, ProposalView, ShareView
from dueline.wire.health import Health
from dueline.wire.jobs import JobView
from dueline.wire.jobtypes import JobTypeView
from dueline.wire.limits import LimitView, RateForm
from dueline.wire.occurrences import OccurrenceView
from dueline.wire.pages import Page
from dueline.wire.policies import MisfireForm, RetryForm
from dueline.wire.previews import FireView, PreviewView
from dueline.wire.problems import Problem
from dueline.wire.queues import QueueView
from dueline.wire.recoveries import JobRecoveryView, RecoveryView
from dueline.wire.runs import AttemptView, RunView
from dueline.wire.schedules import ScheduleForm
from dueline.wire.secrets import NewSecretView, SecretView
from dueline.wire.targets import HttpTargetForm, TaskTargetForm
from dueline.wire.tenants import QuotasForm, TenantView, UsedView
from dueline.wire.whys import GateView, SharesView, TenantShareView, WhyView
from dueline.wire.workers import WorkerState, WorkerView

_JOB_ID = "job_01h455vb4pex5vsknk084sn02q"
_RUN_ID = "run_01h455vb4pex5vsknk084sn02q"
_WORKER_ID = "01h455vb4pex5vsknk084sn02q"
_DUE = "2026-03-30T07:00:00.000Z"
_STARTED = "2026-03-30T07:00:00.012Z"
_ENDED = "2026-03-30T07:00:00.431Z"
_CREATED = "2026-03-29T01:30:00.000Z"
_SCHEDULE = ScheduleForm(cron="0 9 * * 1-5", timezone="Europe/Berlin")
_TARGET = HttpTargetForm(url="https://example.com/reports", body={"kind": "daily"})

_JOB = JobView(
    id=_JOB_ID,
    name="daily-report",
    tenant="default",
    target=_TARGET,
    schedule=_SCHEDULE,
    queue="default",
    priority=5,
    fairness_key="",
    region="",
    retry=RetryForm(),
    timeout="PT30S",
    run_timeout=None,
    expires_after=None,
    requires=(),
    concurrency=None,
    rate=None,
    overlap=Overlap.SKIP,
    misfire=MisfireForm(),
    delivery=Delivery.AT_LEAST_ONCE,
    tags=("reports",),
    state=JobState.ACTIVE,
    pause_note=None,
    version=1,
    next_due_at=_DUE,
    created_at=_CREATED,
    updated_at=_CREATED,
)
_ATTEMPT = AttemptView(
    attempt=1,
    token=1,
    worker=_WORKER_ID,
    claimed_at=_DUE,
    started_at=_STARTED,
    finished_at=_ENDED,
    outcome=OutcomeKind.REFUSED,
    status=404,
    error="the target answered 404",
    result="no such report",
    headers={"content-type": "text/plain"},
)
_RUN = RunView(
    id=_RUN_ID,
    job_id=_JOB_ID,
    job_version=1,
    tenant="default",
    kind=RunKind.SCHEDULED,
    state=RunState.FAILED,
    queue="default",
    priority=5,
    tags=("reports",),
    scheduled_at=_DUE,
    due_at=_DUE,
    created_at=_DUE,
    claimed_at=_DUE,
    started_at=_STARTED,
    finished_at=_ENDED,
    attempt=1,
    lost=0,
    worker=_WORKER_ID,
    reason=None,
    status=404,
    result="no such report",
    headers={"content-type": "text/plain"},
    error="the target answered 404",
    parent_run_id=None,
    attempts=[_ATTEMPT],
)
_EXECUTED = ExecutedView(
    target=_TARGET,
    retry=RetryForm(),
    timeout="PT30S",
    run_timeout=None,
    expires_after=None,
    requires=(),
    concurrency=None,
    rate=None,
    delivery=Delivery.AT_LEAST_ONCE,
)
_REFUSAL = Problem(
    type="urn:dueline:problem:conflict", title="Conflict", status=409, detail="the name 'daily-report' is taken"
)

ANSWERS: Mapping[Any, Any] = {
    JobView: _JOB,
    BulkJobsView: BulkJobsView([JobItem(201, _JOB), JobItem(409, problem=_REFUSAL)], 1, 1),
    RunView: _RUN,
    BulkRunsView: BulkRunsView([RunItem(201, RunRef(_RUN_ID))], 1, 0),
    OccurrenceView: OccurrenceView(
        scheduled_at=_DUE,
        verdict=Verdict.FIRED,
        reason=None,
        run_id=_RUN_ID,
        state=RunState.FAILED,
        started_at=_STARTED,
        version=1,
    ),
    BackfillView: BackfillView(
        dry_run=False,
        count=1,
        new=1,
        items=[BackfillItem(run_id=_RUN_ID, scheduled_at="2026-03-02T08:00:00.000Z", due_at=_DUE, new=True)],
    ),
    PreviewView: PreviewView(
        canonical=ScheduleForm(cron="30 2 * * *", timezone="Europe/Berlin"),
        description="At 02:30 every day, Europe/Berlin",
        fires=[
            FireView(
                "2026-03-29T01:00:00.000Z",
                "2026-03-29T03:00:00+02:00",
                "02:30 does not exist on this day: comes at 03:00",
            )
        ],
        next="2026-03-29T01:00:00.000Z",
    ),
    CalendarView: CalendarView(
        name="holidays",
        dates=["12-25", "2026-12-24/2027-01-01"],
        weekdays=["SAT", "SUN"],
        version=1,
        updated_at=_CREATED,
    ),
    WhyView: WhyView(
        run_id=_RUN_ID,
        state="held",
        waits_for="concurrency",
        because="10 of 10 runs with the key c-17 are under way, and 2 wait before it",
        place=3,
        place_is_exact=True,
        before={"default": 2},
        next_eligible_at=None,
        limit=GateView(
            scope="key",
            name="c-17",
            limit=10,
            running=10,
            starts_per_second=None,
            waiting_before=2,
            run_ids=[_RUN_ID],
        ),
        other_run_id=None,
    ),
    DeadLetterView: DeadLetterView(id=_RUN_ID, failed_at=_ENDED, run=_RUN, executed=_EXECUTED),
    BulkRedriveView: BulkRedriveView(matched=3, redriven=3, left=0, at=_ENDED, next_due_at="2026-03-30T07:00:00.491Z"),
    PurgeView: PurgeView(3),
    QueueView: QueueView(
        name="mail",
        paused=False,
        note=None,
        ready=12,
        running=4,
        held=1,
        waiting=30,
        reasons={"concurrency": 1},
        oldest_due_at=_DUE,
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
        updated_at=_CREATED,
    ),
    TenantView: TenantView(
        name="default",
        weight=2.0,
        quotas=QuotasForm(jobs=1000, running=50),
        used=UsedView(jobs=17, running=4, run_now_per_minute=None),
        updated_at=_CREATED,
    ),
    WorkerView: WorkerView(
        id=_WORKER_ID,
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
        started_at=_CREATED,
        beat_at=_DUE,
    ),
    RegisteredView: RegisteredView(id=_WORKER_ID, lease="PT8S", beat="PT2S"),
    HeartbeatView: HeartbeatView(
        now=_STARTED, drain=False, cancels=[CancelView(id=_RUN_ID, token=1, reason="requested")]
    ),
    LeaseView: LeaseView(
        [
            LeasedView(
                id=_RUN_ID,
                token=1,
                job_id=_JOB_ID,
                tenant="default",
                queue="mail",
                kind=RunKind.SCHEDULED,
                attempt=1,
                scheduled_at=_DUE,
                due_at=_DUE,
                timeout="PT30S",
                target=TaskTargetForm(task="mail.send", args={"to": "c-17"}),
                checkpoint=None,
            )
        ]
    ),
    AcceptedView: AcceptedView(accepted=[_RUN_ID], refused=[]),
    JobTypeView: JobTypeView(
        name="mail.send",
        description="Send a mail.",
        queue="mail",
        parameters={"type": "object", "properties": {"to": {"type": "string"}}},
        workers=2,
        seen_at=_DUE,
    ),
    SecretView: SecretView(is_set=True, rotated_at=_CREATED),
    NewSecretView: NewSecretView(secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", rotated_at=_CREATED),
    AuditView: AuditView(
        job_id=_JOB_ID,
        name="daily-report",
        from_="2026-03-29T07:00:00.000Z",
        to=_ENDED,
        expected=1,
        verdicts={"late": 1},
        reasons={},
        missed=0,
        doubled=0,
        late=1,
        missed_at=[],
        doubled_at=[],
        late_starts=[LateView(_DUE, "2026-03-30T07:00:06.000Z")],
    ),
    RecoveryView: RecoveryView(
        applied=False,
        at=_STARTED,
        rate=100.0,
        overdue_jobs=1,
        runs=1,
        waiting=0,
        drained_at=_ENDED,
        complete=True,
        jobs=[
            JobRecoveryView(
                job_id=_JOB_ID,
                name="daily-report",
                policy=MisfirePolicy.FIRE_ONCE,
                overdue_since="2026-03-27T08:00:00.000Z",
                run=1,
                coalesce=1,
                skip=0,
                waiting=0,
                more=False,
            )
        ],
    ),
    ForecastView: ForecastView(
        from_=_DUE,
        minutes=[120.0, 3.5],
        total=123.5,
        jobs=130,
        complete=True,
        peak=PeakView(_DUE, 120.0),
        hottest=[
            HotMinuteView(
                at=_DUE,
                runs=120.0,
                by=[ShareView(schedule=_SCHEDULE, jobs=120, runs=120.0, names=["daily-report"])],
            )
        ],
        proposals=[
            ProposalView(
                schedule=_SCHEDULE,
                jobs=120,
                names=["daily-report"],
                change="H 9 * * 1-5",
                peak_before=120.0,
                peak_after=5.5,
            )
        ],
    ),
    Health: Health("live"),
}


def answer_of(kind: Any) -> Any:
    """An example of an answer, a page of one for a list; None where the type says all."""
    if get_origin(kind) is Page:
        return Page([ANSWERS[get_args(kind)[0]]], None)
    return ANSWERS.get(kind)
