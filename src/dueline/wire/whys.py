"""Why runs wait, and who shares a queue, as people see it."""

from __future__ import annotations

import msgspec


class GateView(msgspec.Struct, frozen=True, kw_only=True):
    """What a run waits at: the limit of a job, a key, a tenant or a host. `run_ids` are some of those that are under way."""

    scope: str
    name: str
    limit: int | None
    running: int
    starts_per_second: float | None
    waiting_before: int
    run_ids: list[str]


class WhyView(msgspec.Struct, frozen=True, kw_only=True):
    """Why a run waits. `waits_for` is null for one that is under way or has ended. `place` is 1 for the next; where `place_is_exact` is
    false it is at least that. `before` counts the runs that come first by tenant."""

    run_id: str
    state: str
    waits_for: str | None
    because: str
    place: int | None
    place_is_exact: bool
    before: dict[str, int]
    next_eligible_at: str | None
    limit: GateView | None
    other_run_id: str | None


class JobWhyView(msgspec.Struct, frozen=True, kw_only=True):
    """Why a job does not run now. `waits_for` is null for one of which nothing comes any more. `also` tells what became of it lately."""

    job_id: str
    name: str
    state: str
    waits_for: str | None
    because: str
    also: list[str]
    next_due_at: str | None
    run_id: str | None


class TenantShareView(msgspec.Struct, frozen=True, kw_only=True):
    """A tenant in a queue. `used_share` and `rate` are of the last minute or so; `delayed_by` tells, while it waits, whose runs went."""

    tenant: str
    weight: float
    ready: int
    oldest_age_s: float | None
    rate: float
    used_share: float | None
    entitled_share: float
    delayed_by: dict[str, float]


class SharesView(msgspec.Struct, frozen=True, kw_only=True):
    queue: str
    window_s: float
    items: list[TenantShareView]
