"""Dead letters over HTTP."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.requests import Query, json_body, optional_body, run_id_of, tenant_of
from dueline.api.routes import ApiRoute, Surface
from dueline.api.run_views import run_as_it_is
from dueline.domain.access import KeyRole
from dueline.domain.ids import RunId
from dueline.domain.instants import format_instant
from dueline.domain.job import Execution
from dueline.domain.run import Run
from dueline.engine.deadletters import EditExecution, RedriveAsked
from dueline.store.shapes import DeadLetterFilter
from dueline.wire.deadletters import (
    BulkRedriveInput,
    BulkRedriveView,
    DeadLetterView,
    Match,
    MatchInput,
    PurgeView,
    RedriveInput,
    check_bulk,
    dead_letter_view,
    to_match,
)
from dueline.wire.labels import check_key
from dueline.wire.limits import check_keys
from dueline.wire.pages import Page, make_cursor, query_mark, read_cursor
from dueline.wire.problems import Problems
from dueline.wire.runs import RunView
from dueline.wire.targets import TargetForm, to_target

LIST_QUERY = ("job_id", "queue", "reason", "from", "to", "limit", "cursor")


async def list_page(surface: Surface, request: Request) -> Response:
    query = Query(request, LIST_QUERY)
    from_ms, to_ms = query.period_ms()
    match = DeadLetterFilter(
        tenant=tenant_of(request),
        job_id=query.job_id(),
        queue=query.text("queue"),
        reason=query.text("reason"),
        from_ms=from_ms,
        to_ms=to_ms,
    )
    limit, cursor, mark = query.limit(), query.text("cursor"), query_mark("dead-letters", match)
    query.check()
    before = None if cursor is None else RunId(read_cursor(cursor, mark))
    found = await surface.dead_letters.page(match, before=before, limit=limit + 1)
    more = len(found) > limit
    shown = found[:limit]
    names = await surface.insights.names_of(match.tenant, [letter.run for letter in shown])
    items = [dead_letter_view(letter.run, names, failed_ms=letter.failed_ms) for letter in shown]
    return json_answer(Page(items, make_cursor(mark, shown[-1].run.id) if more else None))


async def get(surface: Surface, request: Request) -> Response:
    letter = await surface.dead_letters.get(tenant_of(request), run_id_of(request, noun="dead letter"))
    execution = await surface.dead_letters.execution_of(letter)
    names = await surface.insights.names_of(letter.run.tenant, [letter.run])
    return json_answer(dead_letter_view(letter.run, names, failed_ms=letter.failed_ms, execution=execution))


async def redrive(surface: Surface, request: Request) -> Response:
    problems = Problems()
    body = await optional_body(request, RedriveInput, problems)
    check_key(body.key, problems)
    if body.target is None:
        problems.raise_any()
    tenant, run_id = tenant_of(request), run_id_of(request, noun="dead letter")
    asked = RedriveAsked(key=body.key, version=body.version)
    edit = None if body.target is None else _edit(body.target, problems, surface.payload_bytes_max)
    new_id = await surface.dead_letters.redrive(tenant, run_id, asked, edit=edit)
    # It is read back, because the same wish may have made it long ago. If that fails, the wish can be repeated.
    view = await run_as_it_is(surface, tenant, new_id)
    return json_answer(view, status=201, headers={"location": f"/v1/runs/{view.id}"})


async def redrive_many(surface: Surface, request: Request) -> Response:
    problems = Problems()
    body = await json_body(request, BulkRedriveInput, problems)
    match = to_match(body, problems)
    start_ms = check_bulk(body, problems)
    asked = RedriveAsked(key=body.key, version=body.version, rate=body.rate, dry_run=body.dry_run, start_ms=start_ms)
    done = await surface.dead_letters.redrive_many(_filter(request, match), asked)
    view = BulkRedriveView(
        matched=done.matched,
        redriven=len(done.redriven),
        left=done.left,
        at=format_instant(done.now_ms),
        next_due_at=format_instant(done.free_ms),
    )
    return json_answer(view)


async def purge(surface: Surface, request: Request) -> Response:
    problems = Problems()
    match = to_match(await json_body(request, MatchInput, problems), problems)
    problems.raise_any()
    return json_answer(PurgeView(await surface.dead_letters.purge(_filter(request, match))))


async def purge_one(surface: Surface, request: Request) -> Response:
    await surface.dead_letters.purge_one(tenant_of(request), run_id_of(request, noun="dead letter"))
    return Response(status_code=204)


def _filter(request: Request, match: Match) -> DeadLetterFilter:
    return DeadLetterFilter(
        tenant=tenant_of(request),
        job_id=match.job_id,
        queue=match.queue,
        reason=match.reason,
        from_ms=match.from_ms,
        to_ms=match.to_ms,
    )


def _edit(form: TargetForm, problems: Problems, payload_bytes_max: int) -> EditExecution:
    """Puts another target in place of the one that failed. What is wrong with it, or was told before, is Invalid."""

    def edit(run: Run, execution: Execution) -> Execution:
        has_job = run.job_id is not None
        target = to_target(form, problems, payload_bytes_max=payload_bytes_max, has_job=has_job)
        problems.raise_any()
        edited = msgspec.structs.replace(execution, target=target)
        check_keys(edited, problems.within("executed."), has_job=has_job)
        problems.raise_any()
        return edited

    return edit


ROUTES = (
    ApiRoute(
        method="GET",
        path="/v1/dead-letters",
        handler=list_page,
        summary="List failed runs that nobody has dealt with, latest scheduled first.",
        response=Page[DeadLetterView],
        query=LIST_QUERY,
    ),
    ApiRoute(
        method="POST",
        path="/v1/dead-letters/redrive",
        handler=redrive_many,
        needs=KeyRole.OPERATOR,
        summary="Try again all dead letters that match, as many as one call takes.",
        request=BulkRedriveInput,
        response=BulkRedriveView,
        repeatable=True,
    ),
    ApiRoute(
        method="POST",
        path="/v1/dead-letters/purge",
        handler=purge,
        needs=KeyRole.OPERATOR,
        summary="Put aside all dead letters that match, as many as one call takes.",
        request=MatchInput,
        response=PurgeView,
        repeatable=True,
    ),
    ApiRoute(
        method="GET",
        path="/v1/dead-letters/{id}",
        handler=get,
        summary="Get a dead letter with its attempts and what was executed.",
        response=DeadLetterView,
    ),
    ApiRoute(
        method="DELETE",
        path="/v1/dead-letters/{id}",
        handler=purge_one,
        needs=KeyRole.OPERATOR,
        summary="Put a dead letter aside.",
        status=204,
    ),
    ApiRoute(
        method="POST",
        path="/v1/dead-letters/{id}/redrive",
        handler=redrive,
        needs=KeyRole.OPERATOR,
        summary="Try a dead letter again, as it was or with another target.",
        request=RedriveInput,
        response=RunView,
        status=201,
    ),
)
