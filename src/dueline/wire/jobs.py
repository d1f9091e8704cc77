"""Jobs: what people write (JobInput), what they read (JobView), and the definition in between."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, ClassVar, Protocol

import msgspec
from msgspec import UNSET, UnsetType

from dueline.domain import limits
from dueline.domain.durations import format_duration
from dueline.domain.ids import JobId, job_text
from dueline.domain.instants import format_instant
from dueline.domain.job import DEFAULT_PRIORITY, DEFAULT_QUEUE, Definition, Delivery, Execution, Job
from dueline.domain.overlap import Overlap
from dueline.domain.states import JobState, RunState
from dueline.domain.uniqueness import OnConflict
from dueline.wire.dedupe import DedupeInput, dedupe_fields, to_dedupe
from dueline.wire.labels import (
    check_fairness_key,
    check_labels,
    check_name,
    check_priority,
    check_queue,
    check_region,
    check_tags,
    read_duration,
)
from dueline.wire.limits import ConcurrencyForm, StartRateForm, concurrency_form, start_rate_form, with_limits
from dueline.wire.merging import merge
from dueline.wire.notices import NotifyForm, notify_form, to_notify
from dueline.wire.policies import (
    DEFAULT_MISFIRE,
    DEFAULT_RETRY,
    MisfireForm,
    RetryForm,
    misfire_form,
    retry_form,
    to_misfire,
    to_retry,
)
from dueline.wire.problems import Problems
from dueline.wire.reading import WHOLE, check_names, read_value
from dueline.wire.schedules import ScheduleForm, schedule_form, to_schedule
from dueline.wire.targets import TargetForm, TargetView, target_form, to_target

TIMEOUT_DEFAULT = format_duration(limits.TIMEOUT_MS_DEFAULT)


class JobInput(DedupeInput, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The writable part of a job. Without a schedule it runs only when asked; without a name it is named after its id."""

    READ_ONLY: ClassVar[frozenset[str]] = frozenset(
        {"id", "tenant", "state", "pause_note", "version", "next_due_at", "created_at", "updated_at"}
    )

    target: TargetForm | UnsetType
    name: str | None = None
    schedule: ScheduleForm | str | None = None
    queue: str = DEFAULT_QUEUE
    priority: int = DEFAULT_PRIORITY
    fairness_key: str = ""
    region: str = ""
    retry: RetryForm = DEFAULT_RETRY
    timeout: str = TIMEOUT_DEFAULT
    run_timeout: str | None = None
    expires_after: str | None = None
    requires: list[str] = []
    concurrency: ConcurrencyForm | int | None = None
    rate: StartRateForm | None = None
    notify: NotifyForm | None = None
    overlap: Overlap | UnsetType = UNSET
    misfire: MisfireForm = DEFAULT_MISFIRE
    delivery: Delivery = Delivery.AT_LEAST_ONCE
    tags: list[str] = []
    retention: str | None = None


class FirstState(StrEnum):
    """In which a job may begin."""

    ACTIVE = JobState.ACTIVE.value
    PAUSED = JobState.PAUSED.value


class NewJobInput(JobInput, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job to create. It may begin paused."""

    READ_ONLY: ClassVar[frozenset[str]] = JobInput.READ_ONLY - {"state"}

    state: FirstState = FirstState.ACTIVE


class JobPatch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A JSON merge patch (RFC 7396) of the writable part: what is absent stays, null goes back to its default."""

    target: dict[str, Any] | UnsetType = UNSET
    name: str | UnsetType | None = UNSET
    schedule: dict[str, Any] | str | UnsetType | None = UNSET
    queue: str | UnsetType | None = UNSET
    priority: int | UnsetType | None = UNSET
    fairness_key: str | UnsetType | None = UNSET
    region: str | UnsetType | None = UNSET
    retry: dict[str, Any] | UnsetType | None = UNSET
    timeout: str | UnsetType | None = UNSET
    run_timeout: str | UnsetType | None = UNSET
    expires_after: str | UnsetType | None = UNSET
    requires: list[str] | UnsetType | None = UNSET
    concurrency: dict[str, Any] | int | UnsetType | None = UNSET
    rate: dict[str, Any] | UnsetType | None = UNSET
    notify: dict[str, Any] | UnsetType | None = UNSET
    overlap: Overlap | UnsetType | None = UNSET
    misfire: dict[str, Any] | UnsetType | None = UNSET
    delivery: Delivery | UnsetType | None = UNSET
    tags: list[str] | UnsetType | None = UNSET
    retention: str | UnsetType | None = UNSET
    dedupe_key: str | UnsetType | None = UNSET
    dedupe_window: str | UnsetType | None = UNSET
    dedupe_states: list[RunState] | UnsetType | None = UNSET
    on_conflict: OnConflict | UnsetType | None = UNSET


class JobView(msgspec.Struct, frozen=True, kw_only=True):
    """A job as it stands."""

    id: str
    name: str
    tenant: str
    target: TargetView
    schedule: ScheduleForm | None
    queue: str
    priority: int
    fairness_key: str
    region: str
    retry: RetryForm
    timeout: str
    run_timeout: str | None
    expires_after: str | None
    requires: tuple[str, ...]
    concurrency: ConcurrencyForm | None
    rate: StartRateForm | None
    notify: NotifyForm | None
    overlap: Overlap
    misfire: MisfireForm
    delivery: Delivery
    tags: tuple[str, ...]
    retention: str | None
    dedupe_key: str | None
    dedupe_window: str | None
    dedupe_states: list[RunState] | None
    on_conflict: OnConflict | None
    state: JobState
    pause_note: str | None
    version: int
    next_due_at: str | None
    created_at: str
    updated_at: str


class PauseInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a job is paused, for whoever finds it so."""

    note: str | None = None


class CancelInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a job is cancelled, for whoever finds it so, and whether its runs that are under way are to stop."""

    note: str | None = None
    cancel_running: bool = False


class RunNowInput(DedupeInput, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`force` runs it beside other runs of the job, whatever its overlap policy and its limits say."""

    force: bool = False


def to_definition(
    asked: JobInput,
    problems: Problems,
    *,
    job_id: JobId,
    now_ms: int,
    current: Definition | None = None,
    payload_bytes_max: int = limits.PAYLOAD_BYTES_MAX,
) -> Definition:
    """The definition that was asked for, or Invalid with every problem that was found, those told before included."""
    name = job_text(job_id) if asked.name is None else asked.name
    check_name(name, problems)
    check_queue(asked.queue, problems)
    check_priority(asked.priority, problems)
    check_fairness_key(asked.fairness_key, problems)
    check_region(asked.region, problems)
    check_tags(asked.tags, problems)
    schedule = to_schedule(
        asked.schedule,
        problems,
        seed=job_id,
        now_ms=now_ms,
        current=None if current is None else current.schedule,
    )
    execution = to_execution(asked, problems, payload_bytes_max=payload_bytes_max)
    misfire = to_misfire(asked.misfire, problems)
    retention_ms = _read_retention(asked.retention, problems)
    dedupe = to_dedupe(asked, problems)
    problems.raise_any()
    return Definition(
        name=name,
        execution=execution,
        schedule=schedule,
        queue=asked.queue,
        priority=asked.priority,
        fairness_key=asked.fairness_key,
        region=asked.region,
        overlap=_overlap(asked),
        misfire=misfire,
        tags=tuple(asked.tags),
        retention_ms=retention_ms,
        dedupe=dedupe,
    )


def _overlap(asked: JobInput) -> Overlap:
    """Whoever says how many may be under way at once has said that they may overlap."""
    if asked.overlap is UNSET:
        return Overlap.SKIP if asked.concurrency is None else Overlap.ALLOW
    return asked.overlap


class ExecutionForm(Protocol):
    """What a job and an ad-hoc run both say about how to carry it out."""

    @property
    def target(self) -> TargetForm | UnsetType: ...
    @property
    def retry(self) -> RetryForm: ...
    @property
    def timeout(self) -> str: ...
    @property
    def run_timeout(self) -> str | None: ...

    @property
    def expires_after(self) -> str | None: ...

    @property
    def requires(self) -> Sequence[str]: ...
    @property
    def concurrency(self) -> ConcurrencyForm | int | None: ...
    @property
    def rate(self) -> StartRateForm | None: ...
    @property
    def notify(self) -> NotifyForm | None: ...
    @property
    def delivery(self) -> Delivery: ...


def to_execution(
    asked: ExecutionForm, problems: Problems, *, payload_bytes_max: int, has_job: bool = True
) -> Execution:
    """How a run is carried out: the part that jobs and ad-hoc runs share."""
    timeout_ms = limits.TIMEOUT_MS_DEFAULT
    if asked.timeout is not TIMEOUT_DEFAULT:
        timeout_ms = _read_timeout(asked.timeout, "timeout", problems, most_ms=limits.TIMEOUT_MS_MAX)
    run_timeout_ms = None
    if asked.run_timeout is not None:
        run_timeout_ms = _read_timeout(asked.run_timeout, "run_timeout", problems, most_ms=limits.RUN_TIMEOUT_MS_MAX)
    expires_after_ms = None
    if asked.expires_after is not None:
        expires_after_ms = read_duration(
            asked.expires_after, "expires_after", problems, least_ms=1_000, most_ms=limits.EXPIRES_AFTER_MS_MAX
        )
    if asked.requires:
        check_labels(asked.requires, "requires", problems)
    execution = Execution(
        target=to_target(asked.target, problems, payload_bytes_max=payload_bytes_max, has_job=has_job),
        retry=to_retry(asked.retry, problems),
        timeout_ms=timeout_ms,
        run_timeout_ms=run_timeout_ms,
        delivery=asked.delivery,
        expires_after_ms=expires_after_ms,
        requires=tuple(sorted(asked.requires)),
        notify=None if asked.notify is None else to_notify(asked.notify, problems),
    )
    return with_limits(execution, asked.concurrency, asked.rate, problems, has_job=has_job)


def patched(definition: Definition, patch: Any, problems: Problems) -> JobInput:
    """The writable part of a job with a merge patch applied, as if somebody had written it whole."""
    if not isinstance(patch, dict):
        problems.add(WHOLE, "must be a JSON object")
        problems.raise_any()
    check_names(patch, JobInput, problems)
    writable = _writable(definition)
    target = patch.get("target")
    if isinstance(target, dict) and target.get("type", writable["target"]["type"]) != writable["target"]["type"]:
        # Nothing of a call is of use to a task, and the other way round.
        del writable["target"]
    if patch.get("dedupe_key", "") is None:
        # Without its key nothing is left of the rest.
        writable |= dedupe_fields(None)
    return read_value(merge(writable, patch), JobInput, problems)


def job_view(job: Job) -> JobView:
    definition, execution = job.definition, job.definition.execution
    return JobView(
        id=job_text(job.id),
        name=definition.name,
        tenant=job.tenant,
        target=target_form(execution.target),
        schedule=schedule_form(definition.schedule),
        queue=definition.queue,
        priority=definition.priority,
        fairness_key=definition.fairness_key,
        region=definition.region,
        retry=retry_form(execution.retry),
        timeout=format_duration(execution.timeout_ms),
        run_timeout=_run_timeout(execution),
        expires_after=_expires_after(execution),
        requires=execution.requires,
        concurrency=concurrency_form(execution.concurrency),
        rate=start_rate_form(execution.rate),
        notify=notify_form(execution.notify),
        overlap=definition.overlap,
        misfire=misfire_form(definition.misfire),
        delivery=execution.delivery,
        tags=definition.tags,
        retention=_retention(definition),
        **dedupe_fields(definition.dedupe),
        state=job.state,
        pause_note=job.pause_note,
        version=job.version,
        next_due_at=next_due_at(job),
        created_at=format_instant(job.created_ms),
        updated_at=format_instant(job.updated_ms),
    )


def next_due_at(job: Job) -> str | None:
    """The next occurrence that fires; of a paused job the next that is undecided."""
    next_ms = job.position.next_ms if job.position.due_ms is None else job.position.due_ms
    return None if next_ms is None else format_instant(next_ms)


def _read_timeout(text: str, field: str, problems: Problems, *, most_ms: int) -> int:
    return read_duration(text, field, problems, least_ms=limits.TIMEOUT_MS_MIN, most_ms=most_ms)


def _read_retention(text: str | None, problems: Problems) -> int | None:
    if text is None:
        return None
    least_ms, most_ms = limits.RETENTION_MS_MIN, limits.RETENTION_MS_MAX
    return read_duration(text, "retention", problems, least_ms=least_ms, most_ms=most_ms)


def _retention(definition: Definition) -> str | None:
    return None if definition.retention_ms is None else format_duration(definition.retention_ms)


def _expires_after(execution: Execution) -> str | None:
    return None if execution.expires_after_ms is None else format_duration(execution.expires_after_ms)


def _run_timeout(execution: Execution) -> str | None:
    return None if execution.run_timeout_ms is None else format_duration(execution.run_timeout_ms)


def _writable(definition: Definition) -> dict[str, Any]:
    execution = definition.execution
    written: dict[str, Any] = msgspec.to_builtins(
        JobInput(
            name=definition.name,
            target=UNSET,
            schedule=schedule_form(definition.schedule),
            queue=definition.queue,
            priority=definition.priority,
            fairness_key=definition.fairness_key,
            region=definition.region,
            retry=retry_form(execution.retry),
            timeout=format_duration(execution.timeout_ms),
            run_timeout=_run_timeout(execution),
            expires_after=_expires_after(execution),
            requires=list(execution.requires),
            concurrency=concurrency_form(execution.concurrency),
            rate=start_rate_form(execution.rate),
            notify=notify_form(execution.notify),
            overlap=definition.overlap,
            misfire=misfire_form(definition.misfire),
            delivery=execution.delivery,
            tags=list(definition.tags),
            retention=_retention(definition),
            **dedupe_fields(definition.dedupe),
        )
    )
    return written | {"target": msgspec.to_builtins(target_form(execution.target))}
