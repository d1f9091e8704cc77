"""Runs over HTTP."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer, new_run_answer
from dueline.api.bulk import none_done
from dueline.api.problems import refusal_problem
from dueline.api.requests import Query, json_body, optional_body, raw_body, run_id_of, tenant_of
from dueline.api.routes import ApiRoute, Surface
from dueline.api.run_views import run_as_it_is
from dueline.api.uniques import standing_answer
from dueline.domain import limits
from dueline.domain.errors import Conflict, Invalid
from dueline.domain.ids import JobId, RunId, run_text, run_texts
from dueline.domain.instants import format_instant
from dueline.domain.states import RunKind, RunState
from dueline.domain.uniqueness import UniqueAnswer
from dueline.engine.retries import RetryAsked
from dueline.runtime.turns import Turns
from dueline.store.shapes import RunFilter
from dueline.wire.bulk import BulkRunsInput, BulkRunsView, RunItem, RunRef, read_items
from dueline.wire.labels import check_key
from dueline.wire.many_runs import ManyRuns
from dueline.wire.pages import Page, make_cursor, query_mark, read_cursor
from dueline.wire.problems import Problems
from dueline.wire.runs import (
    AdhocInput,
    AdhocSpec,
    RetryInput,
    RunView,
    run_view,
    to_spec,
)

_READ_IN_A_TURN = 32
LIST_QUERY = ("job_id", "job_name", "state", "kind", "tag", "queue", "q", "from", "to", "limit", "cursor")


async def create(surface: Surface, request: Request) -> Response:
    problems, tenant = Problems(), tenant_of(request)
    asked = await json_body(request, AdhocInput, problems)
    now_ms = surface.operations.now_ms()
    spec = to_spec(asked, problems, now_ms=now_ms, payload_bytes_max=surface.payload_bytes_max)
    problems.raise_any()
    if spec.dedupe is None:
        (run_id,) = await surface.operations.enqueue(tenant, [spec])
    else:
        (answer,) = await surface.operations.enqueue_unique(tenant, [spec], [spec.dedupe], atomic=True)
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


async def create_many(surface: Surface, request: Request) -> Response:
    asked = read_items(await raw_body(request), BulkRunsInput, "runs", most=limits.RUNS_PER_CALL_MAX)
    turns, tenant = Turns(), tenant_of(request)
    quotas = await surface.operations.quotas_of(tenant)
    many = ManyRuns(now_ms=surface.operations.now_ms(), payload_bytes_max=surface.payload_bytes_max)
    specs: dict[int, AdhocSpec] = {}
    refused: dict[int, Invalid | Conflict] = {}
    for index, raw in enumerate(asked.raw):
        try:
            spec = many.read(raw)
            quotas.check_payload(spec.execution.target)
        except Invalid as refusal:
            refused[index] = refusal
            if asked.atomic and len(refused) == limits.PROBLEMS_MAX:
                break
        else:
            specs[index] = spec
        if index % _READ_IN_A_TURN == 0:
            await turns.give()
    if asked.atomic and refused:
        raise none_done("runs", refused)
    items = await _enqueue_many(surface, tenant, specs, refused, atomic=asked.atomic)
    if asked.atomic and refused:
        raise none_done("runs", refused)
    created = sum([item.status == 201 for item in items.values()])
    items |= {index: _refused(refusal) for index, refusal in refused.items()}
    return json_answer(BulkRunsView([items[index] for index in range(len(asked.raw))], created, len(refused)))


async def list_page(surface: Surface, request: Request) -> Response:
    query, tenant = Query(request, LIST_QUERY), tenant_of(request)
    from_ms, to_ms = query.period_ms()
    match = RunFilter(
        tenant=tenant,
        job_id=await _job_of(surface, tenant, query),
        state=query.choice("state", RunState),
        kind=query.choice("kind", RunKind),
        tag=query.text("tag"),
        queue=query.text("queue"),
        from_ms=from_ms,
        to_ms=to_ms,
    )
    words = query.words("q")
    noun = f"runs?{' '.join(words)}" if words else "runs"
    limit, cursor, mark = query.limit(), query.text("cursor"), query_mark(noun, match)
    query.check()
    before = None if cursor is None else RunId(read_cursor(cursor, mark))
    found = await surface.insights.runs(match, words, before=before, limit=limit + 1)
    shown = found.runs[:limit]
    last = shown[-1].id if len(found.runs) > limit else found.edge
    names = await surface.insights.names_of(tenant, shown)
    return json_answer(Page([run_view(run, names) for run in shown], None if last is None else make_cursor(mark, last)))


async def _job_of(surface: Surface, tenant: str, query: Query) -> JobId | None:
    """The job whose runs are asked for, by its id or its name."""
    job_id, name = query.job_id(), query.text("job_name")
    if name is None:
        return job_id
    if query.text("job_id") is not None:
        query.problems.add("job_name", "is given beside job_id: say it one way")
        return None
    job = await surface.insights.job_named(tenant, name)
    if job is None:
        query.problems.add("job_name", "no job has this name; the runs of a deleted one are found by job_id")
        return None
    return job.id


async def get(surface: Surface, request: Request) -> Response:
    run = await surface.insights.run(tenant_of(request), run_id_of(request))
    view = run_view(run, await surface.insights.names_of(run.tenant, [run]))
    told = await surface.insights.progress(run)
    if told is not None:
        heard_at = format_instant(told.updated_ms)
        view = msgspec.structs.replace(view, progress=told.progress, progress_note=told.note, heard_at=heard_at)
    return json_answer(view)


async def cancel(surface: Surface, request: Request) -> Response:
    tenant, run_id = tenant_of(request), run_id_of(request)
    await surface.operations.cancel_run(tenant, run_id)
    return json_answer(await run_as_it_is(surface, tenant, run_id))


async def retry(surface: Surface, request: Request) -> Response:
    problems = Problems()
    body = await optional_body(request, RetryInput, problems)
    if body.key is not None:
        check_key(body.key, problems)
    problems.raise_any()
    tenant, run_id = tenant_of(request), run_id_of(request)
    asked = RetryAsked(key=body.key, version=body.version, force=body.force)
    new_id = await surface.retries.retry(tenant, run_id, asked)
    # It is read back, because the same wish may have made it long ago.
    view = await run_as_it_is(surface, tenant, new_id)
    return json_answer(view, status=201, headers={"location": f"/v1/runs/{view.id}"})


async def _enqueue_many(
    surface: Surface,
    tenant: str,
    specs: Mapping[int, AdhocSpec],
    refused: dict[int, Invalid | Conflict],
    *,
    atomic: bool,
) -> dict[int, RunItem]:
    """Write runs; each is answered by the one that stands for it, unless it is refused."""
    asked = list(specs.values())
    dedupes = [spec.dedupe for spec in asked]
    if dedupes.count(None) == len(dedupes):
        run_ids = await surface.operations.enqueue(tenant, asked) if asked else []
        return dict(zip(specs, [RunItem(201, RunRef(text)) for text in run_texts(run_ids)], strict=True))
    answers = await surface.operations.enqueue_unique(tenant, asked, dedupes, atomic=atomic)
    answered = dict(zip(specs, answers, strict=True))
    refused |= {
        index: Conflict(answer.refusal, ("dedupe_key", answer.refusal))
        for index, answer in answered.items()
        if answer.refused
    }
    return {index: _standing(answer) for index, answer in answered.items() if not answer.refused}


def _standing(answer: UniqueAnswer) -> RunItem:
    return RunItem(201 if answer.written else 200, RunRef(run_text(answer.run_id)))


def _refused(refusal: Invalid | Conflict) -> RunItem:
    problem = refusal_problem(refusal)
    return RunItem(problem.status, problem=problem)


ROUTES = (
    ApiRoute(
        method="POST",
        path="/v1/runs",
        handler=create,
        summary="Run something at once or later without a job.",
        request=AdhocInput,
        response=RunView,
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
    ApiRoute(
        method="POST",
        path="/v1/runs/bulk",
        handler=create_many,
        summary="Run many things without a job in one call.",
        request=BulkRunsInput,
        response=BulkRunsView,
    ),
    ApiRoute(method="GET", path="/v1/runs/{id}", handler=get, summary="Get a run with its attempts.", response=RunView),
    ApiRoute(
        method="POST",
        path="/v1/runs/{id}/cancel",
        handler=cancel,
        summary="End a run, or ask its worker to end it.",
        response=RunView,
    ),
    ApiRoute(
        method="POST",
        path="/v1/runs/{id}/retry",
        handler=retry,
        summary="Try a finished run again, as a new run.",
        request=RetryInput,
        response=RunView,
        status=201,
    ),
)
