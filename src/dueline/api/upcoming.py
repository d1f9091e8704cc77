"""What comes, over HTTP: of one job, and of all of them."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.jobs import TargetType
from dueline.api.requests import Query, job_id_of, tenant_of
from dueline.api.routes import ApiRoute, Surface
from dueline.domain.durations import DAY_MS
from dueline.domain.ids import ID_BYTES, JobId
from dueline.domain.instants import INSTANT_MS_MAX
from dueline.store.shapes import JobFilter
from dueline.wire.labels import check_near
from dueline.wire.pages import (
    Page,
    make_cursor,
    make_instant_cursor,
    query_mark,
    read_cursor,
    read_instant_cursor,
)
from dueline.wire.upcoming import UpcomingView, upcoming_view

JOB_QUERY = ("limit", "cursor")
LIST_QUERY = ("from", "to", "queue", "tag", "target_type", "limit", "cursor")
AHEAD_MS = DAY_MS
"""How far a list reaches that does not say to when."""
_INSTANT_BYTES = 8


class _OfJob(msgspec.Struct, frozen=True, kw_only=True):
    tenant: str
    job_id: JobId


class _Between(msgspec.Struct, frozen=True, kw_only=True):
    match: JobFilter
    from_ms: int | None
    to_ms: int | None


async def of_job(surface: Surface, request: Request) -> Response:
    query = Query(request, JOB_QUERY)
    match = _OfJob(tenant=tenant_of(request), job_id=job_id_of(request))
    limit, cursor, mark = query.limit(), query.text("cursor"), query_mark("upcoming", match)
    query.check()
    from_ms = 0 if cursor is None else read_instant_cursor(cursor, mark)
    page = await surface.upcoming.of_job(match.tenant, match.job_id, from_ms=from_ms, limit=limit)
    next_cursor = make_instant_cursor(mark, page.items[-1].scheduled_ms + 1) if page.more else None
    return json_answer(Page([upcoming_view(one) for one in page.items], next_cursor))


async def between(surface: Surface, request: Request) -> Response:
    query = Query(request, LIST_QUERY)
    from_ms, to_ms = query.period_ms()
    check_near(from_ms, "from", query.problems)
    target_type = query.choice("target_type", TargetType)
    match = JobFilter(
        tenant=tenant_of(request),
        queue=query.text("queue"),
        tag=query.text("tag"),
        target_type=None if target_type is None else target_type.value,
    )
    limit, cursor = query.limit(), query.text("cursor")
    query.check()
    mark = query_mark("upcoming", _Between(match=match, from_ms=from_ms, to_ms=to_ms))
    begin_ms, after = max(surface.operations.now_ms(), from_ms or 0), None
    if cursor is not None:
        begin_ms, after = _place(read_cursor(cursor, mark, size=2 * _INSTANT_BYTES + ID_BYTES))
    if to_ms is None:
        to_ms = min(begin_ms + AHEAD_MS, INSTANT_MS_MAX)
    page = await surface.upcoming.between(match, from_ms=begin_ms, to_ms=to_ms, after=after, limit=limit)
    next_cursor = make_cursor(mark, _written(begin_ms, page.items[-1].place)) if page.more else None
    return json_answer(Page([upcoming_view(one) for one in page.items], next_cursor))


def _written(begin_ms: int, place: tuple[int, JobId]) -> bytes:
    """When the first page began, so that all of a list without an end reach as far, and the last place that was told."""
    return begin_ms.to_bytes(_INSTANT_BYTES, "big") + place[0].to_bytes(_INSTANT_BYTES, "big") + place[1]


def _place(written: bytes) -> tuple[int, tuple[int, JobId]]:
    begin, at, job_id = written[:_INSTANT_BYTES], written[_INSTANT_BYTES:-ID_BYTES], written[-ID_BYTES:]
    begin_ms, at_ms = (min(int.from_bytes(part, "big"), INSTANT_MS_MAX) for part in (begin, at))
    return begin_ms, (at_ms, JobId(job_id))


JOB_ROUTES = (
    ApiRoute(
        method="GET",
        path="/v1/jobs/{id}/upcoming",
        handler=of_job,
        summary="List the next occurrences of a job.",
        response=Page[UpcomingView],
        query=JOB_QUERY,
    ),
)

ROUTES = (
    ApiRoute(
        method="GET",
        path="/v1/upcoming",
        handler=between,
        summary="List what comes between two instants, of all jobs, earliest first.",
        response=Page[UpcomingView],
        query=LIST_QUERY,
    ),
)
