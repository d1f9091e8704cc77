"""Calendars on SQLite, and which jobs name them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from dueline.domain.calendars import Calendar
from dueline.domain.errors import Conflict
from dueline.domain.ids import JobId
from dueline.store.calendars import NamedCalendar
from dueline.store.records import encode_calendar, to_calendar
from dueline.store.sqlite.part import Part, pack, queries
from dueline.store.sqlite.session import Session

_SQL = queries("calendars")

Use = tuple[str, str, JobId]
"""Tenant, calendar's name, job."""


class CalendarPart(Part):
    async def put_calendar(self, tenant: str, name: str, calendar: Calendar) -> NamedCalendar:
        return await self._database.write(_put_calendar, tenant, name, calendar)

    async def calendar(self, tenant: str, name: str) -> NamedCalendar | None:
        return await self._database.read(_calendar, tenant, name)

    async def calendars(self, keys: Collection[tuple[str, str]]) -> list[NamedCalendar]:
        return await self._database.read(_calendars, keys)

    async def calendars_page(self, tenant: str, *, after: str | None, limit: int) -> list[NamedCalendar]:
        return await self._database.page(_calendars_page, tenant, after, limit)

    async def delete_calendar(self, tenant: str, name: str) -> bool:
        return await self._database.write(_delete_calendar, tenant, name)


def calendars_named(session: Session, tenant: str, names: Iterable[str]) -> dict[str, Calendar]:
    """A tenant's calendars of some names, inside whatever transaction the caller is in."""
    keys = [(tenant, name) for name in names]
    return {found.name: found.calendar for found in _calendars(session, keys)} if keys else {}


def use_calendars(session: Session, uses: Iterable[Use]) -> None:
    session.rows(_SQL["use"], _pack_uses(uses))


def unuse_calendars(session: Session, uses: Iterable[Use]) -> None:
    session.rows(_SQL["unuse"], _pack_uses(uses))


def _put_calendar(session: Session, tenant: str, name: str, calendar: Calendar) -> NamedCalendar:
    (row,) = session.rows(_SQL["put"], tenant, name, encode_calendar(calendar))
    if session.rows(_SQL["spoil"], tenant, name):
        session.wake("stale")
    return to_calendar(row)


def _calendar(session: Session, tenant: str, name: str) -> NamedCalendar | None:
    rows = session.rows(_SQL["get"], tenant, name)
    return to_calendar(rows[0]) if rows else None


def _calendars(session: Session, keys: Collection[tuple[str, str]]) -> list[NamedCalendar]:
    return [to_calendar(row) for row in session.rows(_SQL["many"], pack(list(keys)))]


def _calendars_page(session: Session, tenant: str, after: str | None, limit: int) -> list[NamedCalendar]:
    return [to_calendar(row) for row in session.rows(_SQL["page"], tenant, after or "", limit)]


def _delete_calendar(session: Session, tenant: str, name: str) -> bool:
    if session.rows(_SQL["used"], tenant, name):
        raise Conflict(f"jobs name the calendar {name!r}")
    return bool(session.rows(_SQL["delete"], tenant, name))


def _pack_uses(uses: Iterable[Use]) -> str:
    return pack([(tenant, name, job_id.hex()) for tenant, name, job_id in uses])
