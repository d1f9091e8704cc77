"""Limits of queues and hosts over HTTP."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.requests import Query, json_body
from dueline.api.routes import ApiRoute, Surface
from dueline.domain.access import KeyRole
from dueline.domain.errors import NotFound
from dueline.domain.gates import Scope
from dueline.domain.texts import CONTROL
from dueline.engine.limiting import StandingLimit
from dueline.wire.limits import SCOPES, LimitInput, LimitView, limit_view, to_limit
from dueline.wire.pages import Page, make_cursor, query_mark, read_cursor
from dueline.wire.problems import Problems

LIST_QUERY = ("limit", "cursor")


class _Match(msgspec.Struct, frozen=True):
    """All limits that there are, of all tenants: queues and hosts are everybody's."""


async def list_page(surface: Surface, request: Request) -> Response:
    query = Query(request, LIST_QUERY)
    limit, cursor, mark = query.limit(), query.text("cursor"), query_mark("limits", _Match())
    query.check()
    after = None if cursor is None else read_cursor(cursor, mark, size=None).decode("ascii", "replace")
    found = await surface.limiting.page(SCOPES, after=after, limit=limit + 1)
    more = len(found) > limit
    shown = [_view(one) for one in found[:limit]]
    next_cursor = make_cursor(mark, f"{shown[-1].scope}/{shown[-1].name}".encode()) if more else None
    return json_answer(Page(shown, next_cursor))


async def get(surface: Surface, request: Request) -> Response:
    return json_answer(_view(await surface.limiting.get(*_place(request))))


async def put(surface: Surface, request: Request) -> Response:
    scope, problems = _scope(request), Problems()
    if scope is None:
        problems.add("scope", f"must be {' or '.join(SCOPES)}")
    asked = await json_body(request, LimitInput, problems)
    limit = to_limit(scope or Scope.QUEUE, request.path_params["name"], asked, problems)
    problems.raise_any()
    return json_answer(_view(await surface.limiting.put(limit)))


async def delete(surface: Surface, request: Request) -> Response:
    await surface.limiting.delete(*_place(request))
    return Response(status_code=204)


def _scope(request: Request) -> Scope | None:
    text = request.path_params["scope"]
    return Scope(text) if text in SCOPES else None


def _place(request: Request) -> tuple[Scope, str]:
    """What the path names. What cannot have a limit has none."""
    scope, name = _scope(request), request.path_params["name"]
    problems = Problems()
    if scope is not None:
        limit = to_limit(scope, name, LimitInput(concurrency=1), problems)
        if not problems.found:
            return scope, limit.name
    raise NotFound("limit", CONTROL.sub("?", f"{request.path_params['scope']}/{name}")[:64])


def _view(standing: StandingLimit) -> LimitView:
    return limit_view(standing.limit, running=standing.running)


ROUTES = (
    ApiRoute(
        method="GET",
        path="/v1/limits",
        handler=list_page,
        is_shared=True,
        summary="List the limits of hosts and queues, by name.",
        response=Page[LimitView],
        query=LIST_QUERY,
    ),
    ApiRoute(
        method="GET",
        path="/v1/limits/{scope}/{name}",
        handler=get,
        is_shared=True,
        summary="Get the limit of a queue or a host.",
        response=LimitView,
    ),
    ApiRoute(
        method="PUT",
        path="/v1/limits/{scope}/{name}",
        handler=put,
        needs=KeyRole.OPERATOR,
        is_shared=True,
        summary="Set the limit of a queue or a host, new or in place of the one that is there.",
        request=LimitInput,
        response=LimitView,
    ),
    ApiRoute(
        method="DELETE",
        path="/v1/limits/{scope}/{name}",
        handler=delete,
        needs=KeyRole.OPERATOR,
        is_shared=True,
        summary="Take the limit of a queue or a host away.",
        status=204,
    ),
)
