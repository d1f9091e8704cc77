"""Runs over HTTP."""

from __future__ import annotations

import asyncio

import msgspec
from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer, new_run_answer
from dueline.api.requests import Query, raw_body, run_id_of, tenant_of
from dueline.api.routes import ApiRoute, Surface
from dueline.api.uniques import standing_answer
from dueline.domain import limits
from dueline.domain.errors import Conflict
from dueline.domain.ids import RunId, run_text
from dueline.domain.instants import format_instant
from dueline.domain.states import RunKind, RunState
from dueline.engine.operations import AdhocRun
from dueline.store.shapes import RunFilter
from dueline.wire.pages import Page, make_cursor, query_mark, read_cursor
from dueline.wire.problems import Problems
from dueline.wire.reading import decoder_of, read_body
from dueline.wire.runs import (
    AdhocInput,
    AdhocSpec,
    BulkInput,
    BulkView,
    RunRef,
    RunView,
    run_view,
    to_spec,
)

LIST_QUERY = ("job_id", "state", "kind", "tag", "from", "to", "limit", "cursor")
RUNS_PER_TURN = 250
"""Runs of a bulk call that are checked before others get their turn on the loop: a few milliseconds."""

_members = decoder_of(dict[str, msgspec.Raw])


async def create(surface: Surface, request: Request) -> Response:
    raw = await raw_body(request)
    return await (_create_many if _is_bulk(raw) else _create_one)(surface, request, raw)


async def list_page(surface: Surface, request: Request) -> Response:
    query = Query(request, LIST_QUERY)
    from_ms, to_ms = query.period_ms()
    match = RunFilter(
        tenant=tenant_of(request),
        job_id=query.job_id(),
        state=query.choice("state", RunState),
        kind=query.choice("kind", RunKind),
        tag=query.text("tag"),
        from_ms=from_ms,
        to_ms=to_ms,
    )
    limit, cursor, mark = query.limit(), query.text("cursor"), query_mark("runs", match)
    query.check()
    before = None if cursor is None else RunId(read_cursor(cursor, mark))
    found = await surface.insights.runs(match, before=before, limit=limit + 1)
    more = len(found) > limit
    shown = found[:limit]
    return json_answer(Page([run_view(run) for run in shown], make_cursor(mark, shown[-1].id) if more else None))


async def get(surface: Surface, request: Request) -> Response:
    run = await surface.insights.run(tenant_of(request), run_id_of(request))
    view, told = run_view(run), await surface.insights.progress(run)
    if told is not None:
        heard_at = format_instant(told.updated_ms)
        view = msgspec.structs.replace(view, progress=told.progress, progress_note=told.note, heard_at=heard_at)
    return json_answer(view)


async def cancel(surface: Surface, request: Request) -> Response:
    tenant, run_id = tenant_of(request), run_id_of(request)
    await surface.operations.cancel_run(tenant, run_id)
    return json_answer(run_view(await surface.insights.run(tenant, run_id)))


async def _create_one(surface: Surface, request: Request, raw: bytes) -> Response:
    problems, tenant, now_ms = Problems(), tenant_of(request), surface.operations.now_ms()
    asked = read_body(raw, AdhocInput, problems)
    spec = to_spec(asked, problems, now_ms=now_ms, payload_bytes_max=surface.payload_bytes_max)
    problems.raise_any()
    if spec.dedupe is None:
        (run_id,) = await surface.operations.enqueue(tenant, [_adhoc(spec)])
    else:
        (answer,) = await surface.operations.enqueue_unique(tenant, [_adhoc(spec)], [spec.dedupe])
        if not answer.written:
            return await standing_answer(surface, tenant, answer)
        run_id = answer.run_id
    return new_run_answer(
        run_id,
        job=None,
        tenant=tenant,
        kind=RunKind.ADHOC,
        queue=spec.queue,
        priority=spec.priority,
        tags=spec.tags,
        now_ms=now_ms,
    )


async def _create_many(surface: Surface, request: Request, raw: bytes) -> Response:
    problems, now_ms = Problems(), surface.operations.now_ms()
    bulk = read_body(raw, BulkInput, problems)
    asked = [] if bulk.runs is UNSET else bulk.runs
    if not 1 <= len(asked) <= limits.RUNS_PER_CALL_MAX and not problems.touch("runs"):
        problems.add("runs", f"must be 1 to {limits.RUNS_PER_CALL_MAX} runs, and are {len(asked)}")
        problems.raise_any()
    specs = []
    for index, one in enumerate(asked):
        if problems.full:
            break
        inside = problems.within(f"runs[{index}].")
        specs.append(to_spec(one, inside, now_ms=now_ms, payload_bytes_max=surface.payload_bytes_max))
        if index % RUNS_PER_TURN == RUNS_PER_TURN - 1:
            await asyncio.sleep(0)
    problems.raise_any()
    run_ids = await _enqueue(surface, tenant_of(request), specs)
    return json_answer(BulkView([RunRef(run_text(run_id)) for run_id in run_ids]), status=201)


async def _enqueue(surface: Surface, tenant: str, specs: list[AdhocSpec]) -> list[RunId]:
    """Write many runs; each is answered by the one that stands for it."""
    adhoc = [_adhoc(spec) for spec in specs]
    if all(spec.dedupe is None for spec in specs):
        return await surface.operations.enqueue(tenant, adhoc)
    answers = await surface.operations.enqueue_unique(tenant, adhoc, [spec.dedupe for spec in specs])
    for index, answer in enumerate(answers):
        if answer.refused:
            raise Conflict(f"runs[{index}]: {answer.refusal}")
    return [answer.run_id for answer in answers]


def _is_bulk(raw: bytes) -> bool:
    """Whether the body is an object with `runs`. Anything that cannot be read is for the reader of one run to refuse."""
    if b'"runs"' not in raw:
        return False
    try:
        return "runs" in _members.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def _adhoc(spec: AdhocSpec) -> AdhocRun:
    return AdhocRun(
        execution=spec.execution,
        queue=spec.queue,
        priority=spec.priority,
        fairness_key=spec.fairness_key,
        region=spec.region,
        tags=spec.tags,
        due_ms=spec.due_ms,
    )


ROUTES = (
    ApiRoute(
        method="POST",
        path="/v1/runs",
        handler=create,
        summary="Run something at once or later without a job: one run, or many in one call, all or none.",
        request=AdhocInput | BulkInput,
        response=RunView | BulkView,
        status=201,
    ),
    ApiRoute(
        method="GET",
        path="/v1/runs",
        handler=list_page,
        summary="List runs, latest scheduled first.",
        response=Page[RunView],
        query=LIST_QUERY,
    ),
    ApiRoute(method="GET", path="/v1/runs/{id}", handler=get, summary="Get a run with its attempts.", response=RunView),
    ApiRoute(
        method="POST",
        path="/v1/runs/{id}/cancel",
        handler=cancel,
        summary="End a run, or ask its worker to end it.",
        response=RunView,
    ),
)
