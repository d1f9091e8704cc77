"""Calendars on PostgreSQL, and which jobs name them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dueline.domain.calendars import Calendar
from dueline.domain.errors import Conflict
from dueline.domain.ids import JobId
from dueline.store.calendars import NamedCalendar
from dueline.store.postgres.part import Part, queries
from dueline.store.postgres.reaching import Connection
from dueline.store.records import encode_calendar, to_calendar

_SQL = queries("calendars")

Use = tuple[str, str, JobId]
"""A tenant, the name of a calendar, and a job that names it."""


class CalendarPart(Part):
    async def put_calendar(self, tenant: str, name: str, calendar: Calendar) -> NamedCalendar:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(_SQL["put"], tenant, name, encode_calendar(calendar))
            spoilt = await connection.fetch(_SQL["spoil"], tenant, name)
        if spoilt:
            self._notices.announce("stale")
        return to_calendar(row)

    async def calendar(self, tenant: str, name: str) -> NamedCalendar | None:
        rows = await self._database.fetch(_SQL["get"], tenant, name)
        return to_calendar(rows[0]) if rows else None

    async def calendars(self, keys: Collection[tuple[str, str]]) -> list[NamedCalendar]:
        tenants, names = [tenant for tenant, _ in keys], [name for _, name in keys]
        return [to_calendar(row) for row in await self._database.fetch(_SQL["many"], tenants, names)]

    async def calendars_page(self, tenant: str, *, after: str | None, limit: int) -> list[NamedCalendar]:
        return [to_calendar(row) for row in await self._database.fetch(_SQL["page"], tenant, after or "", limit)]

    async def delete_calendar(self, tenant: str, name: str) -> bool:
        async with self._database.transaction() as connection:
            await connection.execute(_SQL["lock"], tenant, name)
            if await connection.fetchval(_SQL["used"], tenant, name):
                raise Conflict(f"the calendar {name!r} is named by a job")
            return bool(await connection.fetch(_SQL["delete"], tenant, name))


async def read_calendars(connection: Connection, tenant: str, names: Sequence[str]) -> dict[str, Calendar]:
    """The calendars of these names, as they are inside a transaction. Most jobs name none, and cost nothing."""
    if not names:
        return {}
    found = [to_calendar(row) for row in await connection.fetch(_SQL["many"], [tenant] * len(names), names)]
    return {named.name: named.calendar for named in found}


async def use_calendars(connection: Connection, uses: Collection[Use]) -> None:
    """Remember uses. Whoever changes a calendar sees those written before, and who writes one waits for a change under way."""
    if uses:
        tenants, names, job_ids = zip(*uses, strict=True)
        await connection.execute(_SQL["share"], tenants, names)
        await connection.execute(_SQL["use"], tenants, names, job_ids)


async def unuse_calendars(connection: Connection, uses: Collection[Use]) -> None:
    if uses:
        tenants, names, job_ids = zip(*uses, strict=True)
        await connection.execute(_SQL["unuse"], tenants, names, job_ids)
