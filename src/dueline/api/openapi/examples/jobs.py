"""Answers about jobs, runs and dead letters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dueline.api.openapi.examples.names import CREATED, DUE, ENDED, JOB_ID, RUN_ID, SCHEDULE, STARTED, WORKER_ID
from dueline.domain.job import Delivery
from dueline.domain.ledger import Verdict
from dueline.domain.overlap import Overlap
from dueline.domain.run import OutcomeKind
from dueline.domain.states import JobState, RunKind, RunState
from dueline.wire.backfills import BackfillItem, BackfillView
from dueline.wire.bulk import BulkJobsView, BulkRunsView, JobItem, RunItem, RunRef
from dueline.wire.deadletters import BulkRedriveView, DeadLetterView, ExecutedView, PurgeView
from dueline.wire.jobs import JobView
from dueline.wire.occurrences import OccurrenceView
from dueline.wire.policies import MisfireForm, RetryForm
from dueline.wire.problems import Problem
from dueline.wire.runs import AttemptView, RunView
from dueline.wire.targets import HttpTargetForm
from dueline.wire.whys import GateView, JobWhyView, WhyView

_TARGET = HttpTargetForm(url="https://example.com/reports", body={"kind": "daily"})
JOB = JobView(
    id=JOB_ID,
    name="daily-report",
    tenant="default",
    target=_TARGET,
    schedule=SCHEDULE,
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
    notify=None,
    tags=("reports",),
    retention=None,
    dedupe_key=None,
    dedupe_window=None,
    dedupe_states=None,
    on_conflict=None,
    state=JobState.ACTIVE,
    pause_note=None,
    version=1,
    next_due_at=DUE,
    created_at=CREATED,
    updated_at=CREATED,
)
_ATTEMPT = AttemptView(
    attempt=1,
    token=1,
    worker=WORKER_ID,
    claimed_at=DUE,
    started_at=STARTED,
    finished_at=ENDED,
    outcome=OutcomeKind.REFUSED,
    status=404,
    error="the target answered 404",
    result="no such report",
    headers={"content-type": "text/plain"},
)
_RUN = RunView(
    id=RUN_ID,
    job_id=JOB_ID,
    job_name="daily-report",
    job_version=1,
    tenant="default",
    kind=RunKind.SCHEDULED,
    state=RunState.FAILED,
    queue="default",
    priority=5,
    tags=("reports",),
    scheduled_at=DUE,
    due_at=DUE,
    created_at=DUE,
    claimed_at=DUE,
    started_at=STARTED,
    finished_at=ENDED,
    attempt=1,
    lost=0,
    worker=WORKER_ID,
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
    notify=None,
)
_REFUSAL = Problem(
    type="urn:dueline:problem:conflict", title="Conflict", status=409, detail="the name 'daily-report' is taken"
)

ANSWERS: Mapping[Any, Any] = {
    JobView: JOB,
    BulkJobsView: BulkJobsView([JobItem(201, JOB), JobItem(409, problem=_REFUSAL)], 1, 1),
    RunView: _RUN,
    BulkRunsView: BulkRunsView([RunItem(201, RunRef(RUN_ID))], 1, 0),
    OccurrenceView: OccurrenceView(
        scheduled_at=DUE,
        verdict=Verdict.FIRED,
        reason=None,
        run_id=RUN_ID,
        state=RunState.FAILED,
        started_at=STARTED,
        version=1,
    ),
    BackfillView: BackfillView(
        dry_run=False,
        count=1,
        new=1,
        items=[BackfillItem(run_id=RUN_ID, scheduled_at="2026-03-02T08:00:00.000Z", due_at=DUE, new=True)],
    ),
    JobWhyView: JobWhyView(
        job_id=JOB_ID,
        name="daily-report",
        state="active",
        waits_for="time",
        because="it waits for its next time, 2026-03-30T07:00:00.000Z",
        also=[f"its run {RUN_ID} of 2026-03-29T07:00:00.000Z failed: the target answered 503"],
        next_due_at=DUE,
        run_id=None,
    ),
    WhyView: WhyView(
        run_id=RUN_ID,
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
            run_ids=[RUN_ID],
        ),
        other_run_id=None,
    ),
    DeadLetterView: DeadLetterView(id=RUN_ID, failed_at=ENDED, run=_RUN, executed=_EXECUTED),
    BulkRedriveView: BulkRedriveView(matched=3, redriven=3, left=0, at=ENDED, next_due_at="2026-03-30T07:00:00.491Z"),
    PurgeView: PurgeView(3),
}
