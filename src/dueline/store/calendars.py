"""Calendars: what a store keeps of them, and what it does with them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

import msgspec

from dueline.domain.calendars import Calendar


class NamedCalendar(msgspec.Struct, frozen=True, kw_only=True):
    """A tenant's calendar. Its version grows with every change."""

    tenant: str
    name: str
    calendar: Calendar
    version: int
    updated_ms: int


class CalendarStore(Protocol):
    async def put_calendar(self, tenant: str, name: str, calendar: Calendar) -> NamedCalendar:
        """Write a calendar, new or changed, and make the plans of the jobs that name it stale, in one transaction."""

    async def calendar(self, tenant: str, name: str) -> NamedCalendar | None: ...

    async def calendars(self, keys: Collection[tuple[str, str]]) -> list[NamedCalendar]:
        """Calendars by (tenant, name); what does not exist is left out."""

    async def calendars_page(self, tenant: str, *, after: str | None, limit: int) -> list[NamedCalendar]:
        """A tenant's calendars by name, above a name."""

    async def delete_calendar(self, tenant: str, name: str) -> bool:
        """Answers whether it was there. Raises Conflict while a living job names it."""
