"""Previews: a schedule as it is understood, in words and in instants."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType

from dueline.domain.changes import Calendars
from dueline.domain.describing.sentences import describe
from dueline.domain.errors import Invalid
from dueline.domain.instants import format_instant
from dueline.domain.job import Job
from dueline.domain.localtime import DstGap, DstOverlap, check_zone
from dueline.domain.previews import FIRES_MAX, Difference, difference, fires, preview
from dueline.domain.schedule import Cron, Repeat, Rule, Schedule
from dueline.wire.labels import check_count, check_near, read_instant
from dueline.wire.problems import Problems
from dueline.wire.schedules import Beside, ScheduleForm, schedule_form, to_schedule

COUNT_DEFAULT = 10
EXAMPLE_SEED = b""
"""Without a job, `H` is shown as one job might have it."""


class PreviewInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A schedule to look at. `timezone`, `dst_gap` and `dst_overlap` count where the schedule itself does not say them."""

    schedule: ScheduleForm | str | UnsetType
    timezone: str | None = None
    dst_gap: DstGap | None = None
    dst_overlap: DstOverlap | None = None
    from_: str | None = msgspec.field(name="from", default=None)
    count: int = COUNT_DEFAULT
    job_id: str | None = None


class FireView(msgspec.Struct, frozen=True):
    utc: str
    local: str
    note: str | None


class ChangesView(msgspec.Struct, frozen=True):
    """What would come and what would go if the job got the schedule."""

    added: list[str]
    removed: list[str]


class PreviewView(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule as it is understood."""

    canonical: ScheduleForm
    description: str
    fires: list[FireView]
    next: str | None
    changes: ChangesView | None = None


class PreviewSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A preview that was checked. `job` is whose schedule it is compared with."""

    schedule: Schedule
    after_ms: int
    count: int
    timezone: str
    job: Job | None = None


def to_preview(asked: PreviewInput, problems: Problems, *, now_ms: int, job: Job | None = None) -> PreviewSpec:
    """The preview that was asked for, or Invalid. The schedule is read as if it were written at `from`."""
    check_count(asked.count, "count", problems, least=1, most=FIRES_MAX)
    after_ms = now_ms if asked.from_ is None else read_instant(asked.from_, "from", problems)
    if after_ms is not None and not check_near(after_ms, "from", problems):
        after_ms = None
    zone = _zone(asked.timezone, problems)
    form = None if asked.schedule is UNSET else asked.schedule
    schedule = to_schedule(
        form,
        problems,
        seed=EXAMPLE_SEED if job is None else job.id,
        now_ms=now_ms if after_ms is None else after_ms,
        current=None if job is None else job.definition.schedule,
        beside=Beside(timezone=zone, dst_gap=asked.dst_gap, dst_overlap=asked.dst_overlap),
    )
    problems.raise_any()
    assert schedule is not None, "what is no schedule has a problem"
    assert after_ms is not None, "what is no instant has a problem"
    own_zone = isinstance(schedule, Cron | Repeat | Rule) or schedule.calendars
    return PreviewSpec(
        schedule=schedule,
        after_ms=after_ms,
        count=asked.count,
        timezone=schedule.timezone if own_zone or zone is None else zone,
        job=job,
    )


def preview_view(spec: PreviewSpec, calendars: Calendars) -> PreviewView:
    """The answer to a preview. `calendars` are those that its schedule, and that of its job, name."""
    canonical = schedule_form(spec.schedule)
    assert canonical is not None, "a schedule has a form"
    found = preview(
        spec.schedule,
        calendars,
        after_ms=spec.after_ms,
        count=spec.count,
        timezone=spec.timezone,
        runs_left=_runs_left(spec),
    )
    return PreviewView(
        canonical=canonical,
        description=describe(msgspec.structs.replace(spec.schedule, timezone=spec.timezone)),
        fires=[FireView(format_instant(fire.at_ms), fire.local, fire.note) for fire in found],
        next=format_instant(found[0].at_ms) if found else None,
        changes=_changes(spec, calendars, [fire.at_ms for fire in found]),
    )


def _zone(name: str | None, problems: Problems) -> str | None:
    if name is None:
        return None
    try:
        return check_zone(name).key
    except Invalid as error:
        problems.add("timezone", error.problems[0][1])
        return None


def _runs_left(spec: PreviewSpec) -> int | None:
    """How many runs the job would still have: its count goes on while its limit stays the same."""
    current = None if spec.job is None else spec.job.definition.schedule
    if spec.job is None or current is None or current.max_runs != spec.schedule.max_runs:
        return None
    return spec.job.position.runs_left


def _changes(spec: PreviewSpec, calendars: Calendars, new_ms: Sequence[int]) -> ChangesView | None:
    if spec.job is None:
        return None
    schedule, left = spec.job.definition.schedule, spec.job.position.runs_left
    old_ms: list[int] = []
    if schedule is not None:
        old_ms = fires(
            schedule,
            calendars,
            after_ms=spec.after_ms,
            count=spec.count if left is None else min(spec.count, left),
        )
    told: Difference = difference(old_ms, new_ms, count=spec.count)
    return ChangesView(
        added=[format_instant(at_ms) for at_ms in told.added_ms],
        removed=[format_instant(at_ms) for at_ms in told.removed_ms],
    )
