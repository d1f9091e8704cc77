"""Versions of a job over HTTP: what it was, what changed, and back to one of them."""

from __future__ import annotations

import re

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import job_answer, json_answer
from dueline.api.requests import DRY_RUN_QUERY, Query, expected_version, is_dry_run, job_id_of, tenant_of
from dueline.api.routes import ApiRoute, Surface
from dueline.domain import limits
from dueline.domain.errors import NotFound
from dueline.domain.ids import JobId
from dueline.domain.job import Definition, Job
from dueline.store.shapes import VersionInForce
from dueline.wire.jobs import JobView, job_view, patched, to_definition
from dueline.wire.pages import Page, make_cursor, query_mark, read_cursor
from dueline.wire.problems import Problems
from dueline.wire.versions import DiffView, VersionView, diff_view, version_view

LIST_QUERY = ("limit", "cursor")
DIFF_QUERY = ("against",)
_CURSOR_BYTES = 4
_VERSION = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)


class _Match(msgspec.Struct, frozen=True, kw_only=True):
    tenant: str
    job_id: JobId


async def list_page(surface: Surface, request: Request) -> Response:
    query = Query(request, LIST_QUERY)
    match = _Match(tenant=tenant_of(request), job_id=job_id_of(request))
    limit, cursor, mark = query.limit(), query.text("cursor"), query_mark("versions", match)
    query.check()
    before = None
    if cursor is not None:
        before = min(int.from_bytes(read_cursor(cursor, mark, size=_CURSOR_BYTES), "big"), limits.VERSION_MAX)
    job = await surface.insights.job(match.tenant, match.job_id)
    found = await surface.insights.versions(job, before=before, limit=limit + 1)
    shown = found[:limit]
    more = len(found) > limit
    next_cursor = make_cursor(mark, shown[-1].version.to_bytes(_CURSOR_BYTES, "big")) if more else None
    return json_answer(Page([_view(job, one) for one in shown], next_cursor))


async def get(surface: Surface, request: Request) -> Response:
    job = await surface.insights.job(tenant_of(request), job_id_of(request))
    return json_answer(_view(job, await surface.insights.version(job, _version_of(request))))


async def diff(surface: Surface, request: Request) -> Response:
    query, version = Query(request, DIFF_QUERY), _version_of(request)
    asked = query.filled("against")
    if asked is not None and not _VERSION.fullmatch(asked):
        query.problems.add("against", f"must be the number of a version, from 1 to {limits.VERSION_MAX}")
    if asked is None and version == 1:
        query.problems.add("against", "is needed here: there is no version before the first")
    query.check()
    job = await surface.insights.job(tenant_of(request), job_id_of(request))
    against = await surface.insights.version(job, version - 1 if asked is None else int(asked))
    return json_answer(diff_view(_view(job, against), _view(job, await surface.insights.version(job, version))))


async def rollback(surface: Surface, request: Request) -> Response:
    dry_run, tenant, job_id = is_dry_run(request), tenant_of(request), job_id_of(request)
    before = await surface.insights.version(await surface.insights.job(tenant, job_id), _version_of(request))

    def define(job: Job, now_ms: int) -> Definition:
        # Written anew, as the job showed it then: what could not be written today is refused.
        problems = Problems()
        return to_definition(
            patched(before.definition, {}, problems),
            problems,
            job_id=job.id,
            now_ms=now_ms,
            current=job.definition,
            payload_bytes_max=surface.payload_bytes_max,
        )

    job = await surface.operations.edit_job(
        tenant, job_id, define, expected_version=expected_version(request), dry_run=dry_run
    )
    return json_answer(job_view(job)) if dry_run else job_answer(job)


def _version_of(request: Request) -> int:
    """The version in the path. What is not even a number names none."""
    text = request.path_params["version"]
    if not _VERSION.fullmatch(text):
        raise NotFound("version", text[:64])
    return int(text)


def _view(job: Job, one: VersionInForce) -> VersionView:
    return version_view(job, one.version, one.definition, since_ms=one.since_ms)


ROUTES = (
    ApiRoute(
        method="GET",
        path="/v1/jobs/{id}/versions",
        handler=list_page,
        summary="List the versions of a job, newest first.",
        response=Page[VersionView],
        query=LIST_QUERY,
    ),
    ApiRoute(
        method="GET",
        path="/v1/jobs/{id}/versions/{version}",
        handler=get,
        summary="Get a version of a job.",
        response=VersionView,
    ),
    ApiRoute(
        method="GET",
        path="/v1/jobs/{id}/versions/{version}/diff",
        handler=diff,
        summary="Tell what changed from another version of a job to this one.",
        response=DiffView,
        query=DIFF_QUERY,
    ),
    ApiRoute(
        method="POST",
        path="/v1/jobs/{id}/versions/{version}/rollback",
        handler=rollback,
        summary="Give a job the definition of an earlier version, as a new one.",
        response=JobView,
        query=DRY_RUN_QUERY,
    ),
)
