"""Versions of a job: what it was from when on, and what differs between two of them."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from dueline.domain.instants import format_instant
from dueline.domain.job import Definition, Delivery, Job
from dueline.domain.overlap import Overlap
from dueline.domain.states import RunState
from dueline.domain.uniqueness import OnConflict
from dueline.wire.differences import differences
from dueline.wire.jobs import job_view
from dueline.wire.limits import ConcurrencyForm, StartRateForm
from dueline.wire.notices import NotifyForm
from dueline.wire.policies import MisfireForm, RetryForm
from dueline.wire.schedules import ScheduleForm
from dueline.wire.targets import TargetView


class DefinitionView(msgspec.Struct, frozen=True, kw_only=True):
    """What people wrote of a job, as the job showed it. It can be written again as it is."""

    name: str
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
    overlap: Overlap
    misfire: MisfireForm
    delivery: Delivery
    notify: NotifyForm | None
    tags: tuple[str, ...]
    retention: str | None
    dedupe_key: str | None
    dedupe_window: str | None
    dedupe_states: list[RunState] | None
    on_conflict: OnConflict | None


class VersionView(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a job. `current`: the job is at it."""

    job_id: str
    version: int
    current: bool
    created_at: str
    definition: DefinitionView


class ChangeView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A field by its path; without `before` it is new, and without `after` it goes."""

    path: str
    before: Any | UnsetType = UNSET
    after: Any | UnsetType = UNSET


class DiffView(msgspec.Struct, frozen=True, kw_only=True):
    """What changes from the version `against` to `version`."""

    job_id: str
    version: int
    against: int
    changes: list[ChangeView]


def version_view(job: Job, version: int, definition: Definition, *, since_ms: int) -> VersionView:
    """A version of a job, whatever version it is at."""
    view = job_view(msgspec.structs.replace(job, definition=definition))
    return VersionView(
        job_id=view.id,
        version=version,
        current=version == job.version,
        created_at=format_instant(since_ms),
        definition=DefinitionView(**{name: getattr(view, name) for name in DefinitionView.__struct_fields__}),
    )


def diff_view(against: VersionView, view: VersionView) -> DiffView:
    found = differences(msgspec.to_builtins(against.definition), msgspec.to_builtins(view.definition))
    changes = [ChangeView(path=one.field, before=one.old, after=one.new) for one in found]
    return DiffView(job_id=view.job_id, version=view.version, against=against.version, changes=changes)
