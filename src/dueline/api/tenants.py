"""Tenants over HTTP."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.requests import MERGE_PATCH, Query, caller_of, json_body, raw_body
from dueline.api.routes import ApiRoute, Surface
from dueline.domain.access import KeyRole
from dueline.domain.errors import NotFound
from dueline.domain.texts import CONTROL
from dueline.engine.tenants import TenantState
from dueline.store.shapes import Tenant
from dueline.wire.labels import check_queue
from dueline.wire.pages import Page, make_cursor, query_mark, read_cursor
from dueline.wire.problems import Problems
from dueline.wire.reading import decode
from dueline.wire.tenants import TenantInput, TenantView, UsedView, patched_tenant, tenant_view, to_settings

LIST_QUERY = ("limit", "cursor")


class _Everyone(msgspec.Struct, frozen=True):
    """Tenants are listed for whoever runs the whole."""


async def list_page(surface: Surface, request: Request) -> Response:
    query = Query(request, LIST_QUERY)
    limit, cursor, mark = query.limit(), query.text("cursor"), query_mark("tenants", _Everyone())
    query.check()
    after = None if cursor is None else read_cursor(cursor, mark, size=None).decode("ascii", "replace")
    found = await surface.tenants.page(after=after, limit=limit + 1)
    more = len(found) > limit
    shown = found[:limit]
    next_cursor = make_cursor(mark, shown[-1].tenant.tenant.encode()) if more else None
    return json_answer(Page([_view(state) for state in shown], next_cursor))


async def get(surface: Surface, request: Request) -> Response:
    name: str = request.path_params["tenant"]
    problems = Problems()
    check_queue(name, problems)
    if problems.found:
        raise NotFound("tenant", CONTROL.sub("?", name)[:64])
    caller = caller_of(request)
    if name != caller.tenant and not caller.governs:
        raise NotFound("tenant", name)
    return json_answer(_view(await surface.tenants.get(name)))


async def put(surface: Surface, request: Request) -> Response:
    problems = Problems()
    name = _name_of(request, problems)
    asked = await json_body(request, TenantInput, problems)
    weight, quotas = to_settings(asked, problems)
    return json_answer(_view(await surface.tenants.put(Tenant(tenant=name, weight=weight, quotas=quotas))))


async def patch(surface: Surface, request: Request) -> Response:
    named = Problems()
    name = _name_of(request, named)
    named.raise_any()
    merge_patch = decode(await raw_body(request, types=MERGE_PATCH))

    def change(before: Tenant) -> Tenant:
        problems = Problems()
        asked = patched_tenant(before.weight, before.quotas, merge_patch, problems)
        weight, quotas = to_settings(asked, problems)
        return Tenant(tenant=name, weight=weight, quotas=quotas)

    return json_answer(_view(await surface.tenants.edit(name, change)))


def _name_of(request: Request, problems: Problems) -> str:
    name: str = request.path_params["tenant"]
    check_queue(name, problems, field="tenant")
    return name


def _view(state: TenantState) -> TenantView:
    tenant, use = state.tenant, state.use
    used = UsedView(jobs=use.jobs, running=use.running, run_now_per_minute=state.asked)
    return tenant_view(tenant.tenant, tenant.weight, tenant.quotas, used=used, updated_ms=tenant.updated_ms)


ROUTES = (
    ApiRoute(
        method="GET",
        path="/v1/tenants",
        handler=list_page,
        is_shared=True,
        summary="List the tenants that something was set for, by name.",
        response=Page[TenantView],
        query=LIST_QUERY,
    ),
    ApiRoute(
        method="GET",
        path="/v1/tenants/{tenant}",
        handler=get,
        summary="Get what is set for a tenant, and what it has.",
        response=TenantView,
    ),
    ApiRoute(
        method="PUT",
        path="/v1/tenants/{tenant}",
        handler=put,
        needs=KeyRole.ADMIN,
        is_shared=True,
        summary="Set a tenant's weight and quotas, all of them.",
        request=TenantInput,
        response=TenantView,
    ),
    ApiRoute(
        method="PATCH",
        path="/v1/tenants/{tenant}",
        handler=patch,
        needs=KeyRole.ADMIN,
        is_shared=True,
        summary="Set some of a tenant's weight and quotas.",
        request=TenantInput,
        response=TenantView,
    ),
)
