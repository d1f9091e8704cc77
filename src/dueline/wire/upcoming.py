"""What comes, as people see it."""

from __future__ import annotations

import msgspec

from dueline.domain.coming import Coming
from dueline.domain.ids import job_text, run_text
from dueline.domain.instants import format_instant
from dueline.domain.previews import local_text


class UpcomingView(msgspec.Struct, frozen=True, kw_only=True):
    """One occurrence that comes. `due_at` is when it may start, which jitter moves; `local` is the wall clock of its schedule."""

    job_id: str
    job_name: str
    scheduled_at: str
    due_at: str
    local: str
    note: str | None
    run_id: str | None


def upcoming_view(one: Coming) -> UpcomingView:
    schedule = one.definition.schedule
    return UpcomingView(
        job_id=job_text(one.job_id),
        job_name=one.definition.name,
        scheduled_at=format_instant(one.scheduled_ms),
        due_at=format_instant(one.due_ms),
        local=local_text(one.scheduled_ms, "UTC" if schedule is None else schedule.timezone),
        note=one.note,
        run_id=None if one.run_id is None else run_text(one.run_id),
    )
