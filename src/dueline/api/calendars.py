"""Calendars over HTTP."""

from __future__ import annotations

import asyncio

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.requests import Query, json_body, tenant_of
from dueline.api.routes import ApiRoute, Surface
from dueline.domain.errors import NotFound
from dueline.store.calendars import NamedCalendar
from dueline.wire.calendars import CalendarInput, CalendarView, calendar_view, to_calendar
from dueline.wire.labels import check_queue
from dueline.wire.pages import Page, make_cursor, query_mark, read_cursor
from dueline.wire.problems import Problems

LIST_QUERY = ("limit", "cursor")


class _Match(msgspec.Struct, frozen=True):
    tenant: str


async def put(surface: Surface, request: Request) -> Response:
    problems, name = Problems(), request.path_params["name"]
    check_queue(name, problems, field="name")
    asked = await json_body(request, CalendarInput, problems)
    # A large file takes a while to read, and others want their turn on the loop.
    calendar = await asyncio.to_thread(to_calendar, asked, problems, now_ms=surface.operations.now_ms())
    return json_answer(_view(await surface.calendars.put(tenant_of(request), name, calendar)))


async def list_page(surface: Surface, request: Request) -> Response:
    query = Query(request, LIST_QUERY)
    match = _Match(tenant_of(request))
    limit, cursor, mark = query.limit(), query.text("cursor"), query_mark("calendars", match)
    query.check()
    after = None if cursor is None else read_cursor(cursor, mark, size=None).decode("ascii", "replace")
    found = await surface.calendars.page(match.tenant, after=after, limit=limit + 1)
    more = len(found) > limit
    shown = found[:limit]
    next_cursor = make_cursor(mark, shown[-1].name.encode()) if more else None
    return json_answer(Page([_view(named) for named in shown], next_cursor))


async def get(surface: Surface, request: Request) -> Response:
    return json_answer(_view(await surface.calendars.get(tenant_of(request), _name_of(request))))


async def delete(surface: Surface, request: Request) -> Response:
    await surface.calendars.delete(tenant_of(request), _name_of(request))
    return Response(status_code=204)


def _name_of(request: Request) -> str:
    """The calendar in the path. What cannot be a name names no calendar."""
    name: str = request.path_params["name"]
    problems = Problems()
    check_queue(name, problems)
    if problems.found:
        raise NotFound("calendar", name[:64])
    return name


def _view(named: NamedCalendar) -> CalendarView:
    return calendar_view(named.name, named.calendar, version=named.version, updated_ms=named.updated_ms)


ROUTES = (
    ApiRoute(
        method="PUT",
        path="/v1/calendars/{name}",
        handler=put,
        summary="Write a calendar, new or in place of the one that is there.",
        request=CalendarInput,
        response=CalendarView,
    ),
    ApiRoute(
        method="GET",
        path="/v1/calendars",
        handler=list_page,
        summary="List calendars by name.",
        response=Page[CalendarView],
        query=LIST_QUERY,
    ),
    ApiRoute(method="GET", path="/v1/calendars/{name}", handler=get, summary="Get a calendar.", response=CalendarView),
    ApiRoute(
        method="DELETE",
        path="/v1/calendars/{name}",
        handler=delete,
        summary="Delete a calendar that no job names.",
        status=204,
    ),
)
