"""Runs: what people ask for without a job (AdhocInput), and runs as they stand (RunView)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec
from msgspec import UnsetType

from dueline.domain import limits
from dueline.domain.asked_runs import AdhocRun
from dueline.domain.ids import JobId, job_text, run_text
from dueline.domain.instants import format_instant
from dueline.domain.job import DEFAULT_PRIORITY, DEFAULT_QUEUE, Delivery
from dueline.domain.redriving import RedriveVersion
from dueline.domain.run import Attempt, OutcomeKind, Run
from dueline.domain.states import RunKind, RunState
from dueline.domain.uniqueness import Dedupe
from dueline.wire.dedupe import DedupeInput, to_dedupe
from dueline.wire.jobs import TIMEOUT_DEFAULT, to_execution
from dueline.wire.labels import check_fairness_key, check_priority, check_queue, check_region, check_tags, read_instant
from dueline.wire.limits import ConcurrencyForm, StartRateForm
from dueline.wire.notices import NotifyForm
from dueline.wire.policies import DEFAULT_RETRY, RetryForm
from dueline.wire.problems import Problems
from dueline.wire.targets import TargetForm

_NO_NAMES: Mapping[JobId, str] = MappingProxyType({})


class AdhocInput(DedupeInput, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A run without a job. Without `due_at` it is due at once."""

    target: TargetForm | UnsetType
    queue: str = DEFAULT_QUEUE
    priority: int = DEFAULT_PRIORITY
    fairness_key: str = ""
    region: str = ""
    retry: RetryForm = DEFAULT_RETRY
    timeout: str = TIMEOUT_DEFAULT
    run_timeout: str | None = None
    expires_after: str | None = None
    requires: tuple[str, ...] = ()
    concurrency: ConcurrencyForm | int | None = None
    rate: StartRateForm | None = None
    notify: NotifyForm | None = None
    delivery: Delivery = Delivery.AT_LEAST_ONCE
    tags: tuple[str, ...] = ()
    due_at: str | None = None


class RetryInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to try a finished run again: by which definition, and whether it is one that succeeded. With a `key` one run is made by it."""

    version: RedriveVersion = RedriveVersion.PINNED
    key: str | None = None
    force: bool = False


class AdhocSpec(AdhocRun, frozen=True, kw_only=True, gc=False):
    """An ad-hoc run that was checked, and its key."""

    dedupe: Dedupe | None


class AttemptView(msgspec.Struct, frozen=True, kw_only=True):
    """One ended try. `token` is what the target was sent with it: it only grows."""

    attempt: int
    token: int
    worker: str
    claimed_at: str
    started_at: str | None
    finished_at: str
    outcome: OutcomeKind
    status: int | None
    error: str | None
    result: str | None
    headers: dict[str, str]


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """A run, live or finished. `status`, `result`, `headers` and `error` are those of the last attempt; `reason` says why it is held or was
    ended. `progress`, `progress_note` and `heard_at` are what a single live run told of itself."""

    id: str
    job_id: str | None
    job_name: str | None = None
    job_version: int | None
    tenant: str
    kind: RunKind
    state: RunState
    queue: str
    priority: int
    tags: tuple[str, ...]
    scheduled_at: str
    due_at: str
    created_at: str
    claimed_at: str | None
    started_at: str | None
    finished_at: str | None
    attempt: int
    lost: int
    worker: str | None
    reason: str | None
    status: int | None
    result: str | None
    headers: dict[str, str]
    error: str | None
    parent_run_id: str | None
    attempts: list[AttemptView]
    progress: float | None = None
    progress_note: str | None = None
    heard_at: str | None = None


def to_spec(
    asked: AdhocInput,
    problems: Problems,
    *,
    now_ms: int,
    payload_bytes_max: int = limits.PAYLOAD_BYTES_MAX,
) -> AdhocSpec:
    """The run that was asked for. What is wrong is told to `problems`, and the caller must not go on before it has looked there."""
    if asked.queue is not DEFAULT_QUEUE:
        check_queue(asked.queue, problems)
    check_priority(asked.priority, problems)
    if asked.fairness_key:
        check_fairness_key(asked.fairness_key, problems)
    check_region(asked.region, problems)
    if asked.tags:
        check_tags(asked.tags, problems)
    return AdhocSpec(
        execution=to_execution(asked, problems, payload_bytes_max=payload_bytes_max, has_job=False),
        queue=asked.queue,
        priority=asked.priority,
        fairness_key=asked.fairness_key,
        region=asked.region,
        tags=asked.tags,
        due_ms=None if asked.due_at is None else read_due(asked.due_at, problems, now_ms=now_ms),
        dedupe=to_dedupe(asked, problems),
    )


def read_due(text: str, problems: Problems, *, now_ms: int) -> int | None:
    due_ms = read_instant(text, "due_at", problems)
    if due_ms is not None and due_ms < now_ms - limits.AT_PAST_MS_MAX:
        problems.add("due_at", "lies more than a minute in the past; without it the run is due at once")
    return due_ms


def run_view(run: Run, names: Mapping[JobId, str] = _NO_NAMES) -> RunView:
    last = run.attempts[-1].outcome if run.attempts else None
    return RunView(
        id=run_text(run.id),
        job_id=None if run.job_id is None else job_text(run.job_id),
        job_name=None if run.job_id is None else names.get(run.job_id) or None,
        job_version=run.version,
        tenant=run.tenant,
        kind=run.kind,
        state=run.state,
        queue=run.queue,
        priority=run.priority,
        tags=run.tags,
        scheduled_at=format_instant(run.scheduled_ms),
        due_at=format_instant(run.due_ms),
        created_at=format_instant(run.created_ms),
        claimed_at=_instant(run.claimed_ms),
        started_at=_instant(run.started_ms),
        finished_at=_instant(run.finished_ms),
        attempt=run.attempt,
        lost=run.lost,
        worker=run.worker,
        reason=run.reason,
        status=last.status if last else None,
        result=last.result if last else None,
        headers=last.headers if last else {},
        error=last.error if last else None,
        parent_run_id=None if run.parent_id is None else run_text(run.parent_id),
        attempts=[_attempt_view(attempt) for attempt in run.attempts],
    )


def _attempt_view(attempt: Attempt) -> AttemptView:
    outcome = attempt.outcome
    return AttemptView(
        attempt=attempt.attempt,
        token=attempt.token,
        worker=attempt.worker,
        claimed_at=format_instant(attempt.claimed_ms),
        started_at=_instant(attempt.started_ms),
        finished_at=format_instant(attempt.finished_ms),
        outcome=outcome.kind,
        status=outcome.status,
        error=outcome.error,
        result=outcome.result,
        headers=outcome.headers,
    )


def _instant(at_ms: int | None) -> str | None:
    return None if at_ms is None else format_instant(at_ms)
