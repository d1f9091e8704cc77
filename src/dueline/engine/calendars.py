"""Calendars: kept by tenants, named by jobs, and read anew for every decision: one that has changed counts from then on."""

from __future__ import annotations

from collections.abc import Iterable

from dueline.domain.calendars import Calendar
from dueline.domain.changes import Calendars
from dueline.domain.errors import Invalid, NotFound
from dueline.domain.job import Definition, JobVersion
from dueline.store.calendars import CalendarStore, NamedCalendar


async def calendars_of(store: CalendarStore, versions: Iterable[JobVersion]) -> dict[str, Calendars]:
    """By tenant, the calendars that some jobs name. Most name none, and cost nothing."""
    keys = {
        (version.tenant, name)
        for version in versions
        if version.definition.schedule is not None
        for name in version.definition.schedule.calendars
    }
    found: dict[str, dict[str, Calendar]] = {}
    for named in await store.calendars(keys) if keys else ():
        found.setdefault(named.tenant, {})[named.name] = named.calendar
    return dict(found)


async def load_calendars(store: CalendarStore, tenant: str, definitions: Iterable[Definition]) -> Calendars:
    """By name, the calendars that definitions of one tenant name. One that does not exist any more is left out."""
    keys = {
        (tenant, name)
        for definition in definitions
        if definition.schedule is not None
        for name in definition.schedule.calendars
    }
    return {named.name: named.calendar for named in await store.calendars(keys)} if keys else {}


async def named_calendars(store: CalendarStore, tenant: str, definition: Definition) -> Calendars:
    """The calendars that a definition names, by name; Invalid when one does not exist."""
    found = await load_calendars(store, tenant, [definition])
    check_calendars(definition, found)
    return found


def check_calendars(definition: Definition, found: Calendars) -> None:
    """Raise Invalid when a definition names a calendar that was not found."""
    names = () if definition.schedule is None else definition.schedule.calendars
    missing = [
        (f"schedule.calendars[{index}]", f"there is no calendar {name!r}")
        for index, name in enumerate(names)
        if name not in found
    ]
    if missing:
        raise Invalid(*missing)


class CalendarDesk:
    """A tenant's calendars: written, read, listed, deleted."""

    def __init__(self, store: CalendarStore) -> None:
        self._store = store

    async def put(self, tenant: str, name: str, calendar: Calendar) -> NamedCalendar:
        """Write a calendar. The jobs that name it are planned by it from now on; what is past stays."""
        return await self._store.put_calendar(tenant, name, calendar)

    async def get(self, tenant: str, name: str) -> NamedCalendar:
        named = await self._store.calendar(tenant, name)
        if named is None:
            raise NotFound("calendar", name)
        return named

    async def page(self, tenant: str, *, after: str | None, limit: int) -> list[NamedCalendar]:
        return await self._store.calendars_page(tenant, after=after, limit=limit)

    async def delete(self, tenant: str, name: str) -> None:
        if not await self._store.delete_calendar(tenant, name):
            raise NotFound("calendar", name)
