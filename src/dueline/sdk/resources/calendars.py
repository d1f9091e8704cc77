"""Calendars: days on which the jobs that name them do not run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dueline.sdk.arguments import without_none
from dueline.sdk.calls import Call
from dueline.sdk.endpoints import D, Resource, endpoint, listing

if TYPE_CHECKING:
    from dueline.wire.calendars import CalendarView
    from dueline.wire.pages import Page


class Calendars(Resource[D]):
    """Calendars have names."""

    @endpoint("PUT /v1/calendars/{name}")
    def put(
        self,
        name: str,
        *,
        dates: Sequence[str] | None = None,
        weekdays: Sequence[str] | None = None,
        icalendar: str | None = None,
    ) -> Call[CalendarView]:
        """Write a calendar, new or in place of the one that is there: `put("holidays", dates=["12-25"], weekdays=["SAT", "SUN"])`."""
        body = without_none({"dates": dates, "weekdays": weekdays, "icalendar": icalendar})
        return Call((name,), body=body)

    @listing("GET /v1/calendars")
    def list(self, *, page_size: int | None = None) -> Call[Page[CalendarView]]:
        """List calendars by name."""
        return Call(query={"limit": page_size})

    @endpoint("GET /v1/calendars/{name}")
    def get(self, name: str) -> Call[CalendarView]:
        """Get a calendar."""
        return Call((name,))

    @endpoint("DELETE /v1/calendars/{name}")
    def delete(self, name: str) -> Call[None]:
        """Delete a calendar. Conflict while a job names it."""
        return Call((name,))
