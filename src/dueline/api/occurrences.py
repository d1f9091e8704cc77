"""A job's occurrences over HTTP: what became of them, what comes, and changes of single ones."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import job_answer, json_answer
from dueline.api.requests import Query, expected_version, job_id_of, json_body, tenant_of
from dueline.api.routes import ApiRoute, Surface
from dueline.domain.durations import DAY_MS
from dueline.domain.ids import JobId
from dueline.domain.instants import INSTANT_MS_MAX
from dueline.domain.single_changes import ChangeKind, OccurrenceChange
from dueline.wire.jobs import JobView
from dueline.wire.labels import check_near
from dueline.wire.occurrences import MoveInput, OccurrenceInput, OccurrenceView, occurrence_view, to_instant
from dueline.wire.pages import Page, make_instant_cursor, query_mark, read_instant_cursor
from dueline.wire.problems import Problems

LIST_QUERY = ("from", "to", "limit", "cursor")
PAST_MS = DAY_MS
"""How far back a list begins that does not say from when."""


class _Match(msgspec.Struct, frozen=True, kw_only=True):
    tenant: str
    job_id: JobId
    from_ms: int | None
    to_ms: int | None


async def list_page(surface: Surface, request: Request) -> Response:
    query = Query(request, LIST_QUERY)
    from_ms, to_ms = query.period_ms()
    check_near(from_ms, "from", query.problems)
    match = _Match(tenant=tenant_of(request), job_id=job_id_of(request), from_ms=from_ms, to_ms=to_ms)
    limit, cursor, mark = query.limit(), query.text("cursor"), query_mark("occurrences", match)
    query.check()
    now_ms = surface.operations.now_ms()
    if cursor is not None:
        from_ms = read_instant_cursor(cursor, mark)
    elif from_ms is None:
        from_ms = now_ms - PAST_MS
    found = await surface.ledgers.occurrences(
        match.tenant,
        match.job_id,
        from_ms=from_ms,
        to_ms=INSTANT_MS_MAX if to_ms is None else to_ms - 1,
        limit=limit + 1,
    )
    more = len(found) > limit
    shown = [occurrence_view(one, now_ms=now_ms) for one in found[:limit]]
    return json_answer(Page(shown, make_instant_cursor(mark, found[limit].scheduled_ms) if more else None))


async def skip(surface: Surface, request: Request) -> Response:
    return await _change(surface, request, ChangeKind.SKIP)


async def restore(surface: Surface, request: Request) -> Response:
    return await _change(surface, request, ChangeKind.RESTORE)


async def move(surface: Surface, request: Request) -> Response:
    problems = Problems()
    asked = await json_body(request, MoveInput, problems)
    at_ms, to_ms = to_instant(asked.at, "at", problems), to_instant(asked.to, "to", problems)
    if at_ms == to_ms and not problems.found:
        problems.add("to", "is where it comes already")
    problems.raise_any()
    return await _changed(surface, request, at_ms, OccurrenceChange(ChangeKind.MOVE, to_ms))


async def _change(surface: Surface, request: Request, kind: ChangeKind) -> Response:
    problems = Problems()
    asked = await json_body(request, OccurrenceInput, problems)
    at_ms = to_instant(asked.at, "at", problems)
    problems.raise_any()
    return await _changed(surface, request, at_ms, OccurrenceChange(kind))


async def _changed(surface: Surface, request: Request, at_ms: int, change: OccurrenceChange) -> Response:
    job = await surface.operations.change_occurrence(
        tenant_of(request), job_id_of(request), at_ms, change, expected_version=expected_version(request)
    )
    return job_answer(job)


ROUTES = (
    ApiRoute(
        method="GET",
        path="/v1/jobs/{id}/occurrences",
        handler=list_page,
        summary="List what became of a job's occurrences and what comes, earliest first.",
        response=Page[OccurrenceView],
        query=LIST_QUERY,
    ),
    ApiRoute(
        method="POST",
        path="/v1/jobs/{id}/skip",
        handler=skip,
        summary="Leave out one coming occurrence.",
        request=OccurrenceInput,
        response=JobView,
    ),
    ApiRoute(
        method="POST",
        path="/v1/jobs/{id}/move",
        handler=move,
        summary="Move one coming occurrence to another time.",
        request=MoveInput,
        response=JobView,
    ),
    ApiRoute(
        method="POST",
        path="/v1/jobs/{id}/restore",
        handler=restore,
        summary="Put back one coming occurrence that was left out or moved.",
        request=OccurrenceInput,
        response=JobView,
    ),
)
