"""The store, as far as listeners are told what changed. `protocol` tells what holds of all."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, Protocol

from dueline.domain.events import Told
from dueline.domain.ids import JobId, RunId
from dueline.domain.run import Run
from dueline.domain.states import JobState


class EventBounds(NamedTuple):
    """The record of changes as it stands."""

    origin_ms: int
    """When it was begun."""
    last: int
    """The last number that was given out."""
    writing: frozenset[str]
    """Who wrote into it at some moment after that was read, by names that are never given again."""


class ChangeRow(NamedTuple):
    """What one move told, of all that it moved."""

    seq: int
    at_ms: int
    told: Told
    ids: tuple[bytes, ...]
    """Of runs where they ended, of jobs otherwise."""
    versions: tuple[int, ...] | None
    """Of the jobs; None: the first."""
    state: JobState | None
    """Of the jobs, where what is told does not say it."""


class ChangeRows(NamedTuple):
    swept: int
    """Rows up to this number may be forgotten. Read after the rows, so what is missing among them was never there if it lies behind."""
    rows: list[ChangeRow]


class EventStore(Protocol):
    """Every move that ends runs, and every change of a job that people would notice, writes one row in its own transaction, however many
    it is about. Of rows about one job or run, the later has the higher number."""

    async def event_bounds(self) -> EventBounds:
        """See `domain.events.Horizon` for what to make of it."""

    async def changes_from(self, seq: int, *, until: int, limit: int) -> ChangeRows:
        """Rows from one number up to another, inclusive, in their order."""

    async def ended_runs(self, tenant: str, run_ids: Collection[RunId], *, job_id: JobId | None) -> list[Run]:
        """Finished runs of a tenant, and of a job if one is given, without their attempts."""

    async def job_names(self, tenant: str, job_ids: Collection[JobId]) -> dict[JobId, str]:
        """The names of a tenant's jobs, deleted ones included."""

    async def forget_changes(self, *, kept_ms: int, limit: int) -> int:
        """Forget some rows that are older than that. Answers how many."""
