"""What concerns all jobs together: audits, recoveries, what comes, and forecasts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dueline.sdk.arguments import Instant, to_text, without_none
from dueline.sdk.calls import Call
from dueline.sdk.endpoints import D, Resource, endpoint, listing

if TYPE_CHECKING:
    from dueline.wire.audits import AuditView
    from dueline.wire.forecasts import ForecastView
    from dueline.wire.pages import Page
    from dueline.wire.recoveries import RecoveryView
    from dueline.wire.upcoming import UpcomingView


class Audits(Resource[D]):
    """What the schedules asked for, against what became of it."""

    @listing("GET /v1/audit")
    def list(
        self,
        *,
        job_id: str | None = None,
        from_: Instant | None = None,
        to: Instant | None = None,
        page_size: int | None = None,
    ) -> Call[Page[AuditView]]:
        """List accounts, a job each, newest first, of the day before `to` (now) unless `from_` says otherwise."""
        query = {"job_id": job_id, "from": to_text(from_, "from_"), "to": to_text(to, "to"), "limit": page_size}
        return Call(query=query)


class Recovery(Resource[D]):
    """What an outage left overdue."""

    @endpoint("GET /v1/recovery")
    def plan(self, *, policy: str | None = None, rate: float | None = None) -> Call[RecoveryView]:
        """Show what is overdue, and what would become of it. Nothing is written."""
        return Call(query={"policy": policy, "rate": rate})

    @endpoint("POST /v1/recovery", repeatable=True)
    def apply(self, *, policy: str | None = None, rate: float | None = None) -> Call[RecoveryView]:
        """Decide what is overdue. Without a `policy` each job follows its own."""
        return Call(body=without_none({"policy": policy, "rate": rate}))


class Upcoming(Resource[D]):
    """What comes, of all jobs."""

    @listing("GET /v1/upcoming")
    def list(
        self,
        *,
        from_: Instant | None = None,
        to: Instant | None = None,
        queue: str | None = None,
        tag: str | None = None,
        target_type: str | None = None,
        page_size: int | None = None,
    ) -> Call[Page[UpcomingView]]:
        """List what comes from one instant (now) to before another (a day later), of all active jobs, earliest first."""
        query = {
            "from": to_text(from_, "from_"),
            "to": to_text(to, "to"),
            "queue": queue,
            "tag": tag,
            "target_type": target_type,
            "limit": page_size,
        }
        return Call(query=query)


class Forecasts(Resource[D]):
    """The load to come."""

    @endpoint("GET /v1/forecast")
    def get(self, *, hours: int | None = None) -> Call[ForecastView]:
        """Show the load of the hours to come (24, up to 168), and what would spread it."""
        return Call(query={"hours": hours})
