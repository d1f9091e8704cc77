"""Jobs in the few words of the simple endpoints: a job type with its payload, once or again and again."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from dueline.domain.ids import JobId, job_text, parse_job_id
from dueline.domain.instants import format_instant
from dueline.domain.job import Definition, Job, TaskTarget
from dueline.domain.schedule import At
from dueline.domain.states import JobState
from dueline.wire.jobs import JobInput, next_due_at
from dueline.wire.limits import check_keys
from dueline.wire.problems import Problems
from dueline.wire.schedules import ScheduleForm, schedule_form
from dueline.wire.targets import TargetForm


class Frequency(StrEnum):
    ONCE = "ONCE"
    RECURRING = "RECURRING"


class SimpleJobInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job. Its schedule is an object of named fields, or a text: an instant for what is done once, and any language for what recurs."""

    job_type: str | UnsetType
    payload: dict[str, Any] = {}
    frequency: Frequency | UnsetType
    schedule: dict[str, int | str | list[int | str]] | str | UnsetType
    timezone: str | None = None
    name: str | None = None


class SimpleUpdateInput(SimpleJobInput, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a job is to be, by its id."""

    job_id: str | UnsetType


class SimpleJobView(msgspec.Struct, frozen=True, kw_only=True):
    """A job as it stands."""

    job_id: str
    name: str
    job_type: str
    payload: dict[str, Any]
    frequency: Frequency
    schedule: ScheduleForm | None
    status: JobState
    next_due_at: str | None
    created_at: str
    updated_at: str


def to_input(asked: SimpleJobInput, problems: Problems) -> JobInput:
    """The same in the words of jobs. What is wrong with these is told by theirs."""
    schedule: ScheduleForm | str | None = None
    once = asked.frequency is Frequency.ONCE
    if isinstance(asked.schedule, dict):
        most = 1 if once else None
        schedule = ScheduleForm(calendar=asked.schedule, timezone=asked.timezone, max_runs=most)
    elif isinstance(asked.schedule, str):
        if once and asked.timezone is not None:
            problems.add("timezone", "goes with named fields and with what recurs: an instant says its own offset")
        text = asked.schedule
        schedule = ScheduleForm(at=text) if once else ScheduleForm(text=text, timezone=asked.timezone)
    # What could not be read was told, so something that can be stands for it.
    task = "unread" if asked.job_type is UNSET else asked.job_type
    return JobInput(target=TargetForm(type="task", task=task, args=asked.payload), name=asked.name, schedule=schedule)


def to_job_id(text: str | UnsetType, problems: Problems) -> JobId:
    """The job of an update; what cannot be one is told to `problems`."""
    if text is not UNSET:
        with problems.gathering():
            return parse_job_id(text)
    return JobId(b"")


def updated(current: Definition, asked: Definition, problems: Problems, *, keep_name: bool) -> Definition:
    """A definition with all that the simple endpoints say, and the rest of it as it was."""
    execution = msgspec.structs.replace(current.execution, target=asked.execution.target)
    check_keys(execution, problems, has_job=True)
    problems.raise_any()
    name = current.name if keep_name else asked.name
    return msgspec.structs.replace(current, name=name, schedule=asked.schedule, execution=execution)


def simple_view(job: Job, target: TaskTarget) -> SimpleJobView:
    schedule = job.definition.schedule
    once = schedule is not None and (isinstance(schedule, At) or schedule.max_runs == 1)
    return SimpleJobView(
        job_id=job_text(job.id),
        name=job.definition.name,
        job_type=target.task,
        payload=target.args,
        frequency=Frequency.ONCE if once else Frequency.RECURRING,
        schedule=schedule_form(schedule),
        status=job.state,
        next_due_at=next_due_at(job),
        created_at=format_instant(job.created_ms),
        updated_at=format_instant(job.updated_ms),
    )
