"""Schedules, before a job has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dueline.sdk.arguments import Instant, Schedule, to_plain, without_none
from dueline.sdk.calls import Call
from dueline.sdk.endpoints import D, Resource, endpoint

if TYPE_CHECKING:
    from dueline.wire.previews import PreviewView


class Schedules(Resource[D]):
    """What a schedule means."""

    @endpoint("POST /v1/schedules/preview", repeatable=True)
    def preview(
        self,
        schedule: Schedule,
        *,
        timezone: str | None = None,
        from_: Instant | None = None,
        count: int | None = None,
        dst_gap: str | None = None,
        dst_overlap: str | None = None,
        job_id: str | None = None,
    ) -> Call[PreviewView]:
        """Show what a schedule means: in canonical form, in a sentence, and its next fires. With `job_id` also what would come and go if
        that job got it. Nothing is written."""
        said = {
            "schedule": schedule,
            "timezone": timezone,
            "from": from_,
            "count": count,
            "dst_gap": dst_gap,
            "dst_overlap": dst_overlap,
            "job_id": job_id,
        }
        return Call(body=without_none(to_plain(said)))
