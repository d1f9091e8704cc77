"""API keys over HTTP. A key itself is in one answer only: the one to the request that made it."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.problems import Refused
from dueline.api.requests import Query, caller_of, json_body
from dueline.api.routes import ApiRoute, Surface
from dueline.domain.access import KeyRole
from dueline.domain.job import DEFAULT_TENANT
from dueline.domain.texts import CONTROL
from dueline.wire.keys import CallerView, KeyInput, KeyView, NewKeyView, caller_view, check_key, key_view, new_key_view
from dueline.wire.labels import check_queue
from dueline.wire.pages import Page, make_cursor, query_mark, read_cursor
from dueline.wire.problems import Problems

LIST_QUERY = ("tenant", "limit", "cursor")
_NOT_KEPT = {"cache-control": "no-store"}


class _Of(msgspec.Struct, frozen=True):
    tenant: str


async def create(surface: Surface, request: Request) -> Response:
    problems = Problems()
    asked = await json_body(request, KeyInput, problems)
    expires_ms = check_key(asked, problems)
    problems.raise_any()
    tenant = _tenant(request, asked.tenant)
    key, text = await surface.keyring.create(tenant, asked.role, asked.name, expires_ms=expires_ms)
    headers = _NOT_KEPT | {"location": f"/v1/keys/{key.id}"}
    return json_answer(new_key_view(key, text), status=201, headers=headers)


async def list_page(surface: Surface, request: Request) -> Response:
    query = Query(request, LIST_QUERY)
    asked = query.filled("tenant")
    if asked is not None:
        check_queue(asked, query.problems, field="tenant")
    limit, cursor = query.limit(), query.text("cursor")
    query.check()
    tenant = _tenant(request, asked)
    mark = query_mark("keys", _Of(tenant))
    after = None if cursor is None else read_cursor(cursor, mark, size=None).decode("ascii", "replace")
    found = await surface.keyring.page(tenant, after=after, limit=limit + 1)
    shown = found[:limit]
    next_cursor = make_cursor(mark, shown[-1].id.encode()) if len(found) > limit else None
    return json_answer(Page([key_view(key) for key in shown], next_cursor))


async def get(surface: Surface, request: Request) -> Response:
    return json_answer(key_view(await surface.keyring.get(caller_of(request), _id_of(request))))


async def revoke(surface: Surface, request: Request) -> Response:
    return json_answer(key_view(await surface.keyring.revoke(caller_of(request), _id_of(request))))


async def caller(_surface: Surface, request: Request) -> Response:
    return json_answer(caller_view(caller_of(request)))


def _tenant(request: Request, asked: str | None) -> str:
    """Whose keys it is about: the caller's, or another's if the caller governs."""
    caller = caller_of(request)
    if asked is None or asked == caller.tenant:
        return caller.tenant
    if not caller.governs:
        raise Refused(403, "forbidden", f"Only keys of the tenant {DEFAULT_TENANT} may look after those of others.")
    return asked


def _id_of(request: Request) -> str:
    key_id: str = request.path_params["id"]
    return CONTROL.sub("?", key_id)[:64]


ROUTES = (
    ApiRoute(
        method="POST",
        path="/v1/keys",
        handler=create,
        needs=KeyRole.ADMIN,
        summary="Make an API key, and show it this once.",
        request=KeyInput,
        response=NewKeyView,
        status=201,
        shows_once=True,
    ),
    ApiRoute(
        method="GET",
        path="/v1/keys",
        handler=list_page,
        needs=KeyRole.ADMIN,
        summary="List the API keys of a tenant, by id.",
        response=Page[KeyView],
        query=LIST_QUERY,
    ),
    ApiRoute(
        method="GET",
        path="/v1/keys/{id}",
        handler=get,
        needs=KeyRole.ADMIN,
        summary="Get an API key, without what opens anything.",
        response=KeyView,
    ),
    ApiRoute(
        method="DELETE",
        path="/v1/keys/{id}",
        handler=revoke,
        needs=KeyRole.ADMIN,
        summary="Revoke an API key: it opens nothing within 5 seconds, anywhere.",
        response=KeyView,
    ),
    ApiRoute(
        method="GET",
        path="/v1/caller",
        handler=caller,
        summary="Tell whose key the request came with.",
        response=CallerView,
    ),
)
