"""The simple endpoints: jobs of a job type, over the same operations as all else."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.requests import Query, expected_version, job_id_of, json_body, tenant_of
from dueline.api.routes import ApiRoute, Surface
from dueline.domain.errors import Conflict
from dueline.domain.ids import JobId
from dueline.domain.job import Definition, Job, TaskTarget
from dueline.domain.states import JobState
from dueline.domain.words import words_in
from dueline.store.shapes import JobFilter
from dueline.wire.jobs import to_definition
from dueline.wire.pages import Page, make_cursor, query_mark, read_cursor
from dueline.wire.problems import Problems
from dueline.wire.simple import (
    SimpleJobInput,
    SimpleJobView,
    SimpleUpdateInput,
    simple_view,
    to_input,
    to_job_id,
    updated,
)

LIST_QUERY = ("status", "job_type", "limit", "cursor")


async def create(surface: Surface, request: Request) -> Response:
    problems = Problems()
    asked = to_input(await json_body(request, SimpleJobInput, problems), problems)

    def define(job_id: JobId, now_ms: int) -> Definition:
        return to_definition(asked, problems, job_id=job_id, now_ms=now_ms, payload_bytes_max=surface.payload_bytes_max)

    job = await surface.operations.create_job(tenant_of(request), define)
    return json_answer(_view(job), status=201, headers={"location": f"/v1/jobs/{_view(job).job_id}"})


async def update(surface: Surface, request: Request) -> Response:
    problems = Problems()
    said = await json_body(request, SimpleUpdateInput, problems)
    job_id, asked = to_job_id(said.job_id, problems), to_input(said, problems)
    if problems.found:
        # There may be no job to look at, so it is read as a new one, to tell what else is wrong.
        to_definition(asked, problems, job_id=job_id, now_ms=surface.operations.now_ms())

    def define(job: Job, now_ms: int) -> Definition:
        _target_of(job)
        most, current = surface.payload_bytes_max, job.definition
        definition = to_definition(
            asked, problems, job_id=job.id, now_ms=now_ms, current=current, payload_bytes_max=most
        )
        return updated(current, definition, problems, keep_name=said.name is None)

    job = await surface.operations.edit_job(
        tenant_of(request), job_id, define, expected_version=expected_version(request)
    )
    return json_answer(_view(job))


async def list_page(surface: Surface, request: Request) -> Response:
    query = Query(request, LIST_QUERY)
    match = JobFilter(tenant=tenant_of(request), state=query.choice("status", JobState), target_type="task")
    job_type, limit, cursor = query.text("job_type"), query.limit(), query.text("cursor")
    mark = query_mark(f"job/{job_type or ''}", match)
    query.check()
    before = None if cursor is None else JobId(read_cursor(cursor, mark))
    found = await surface.insights.jobs_with(match, words_in(job_type or ""), before=before, limit=limit + 1)
    shown = found.jobs[:limit]
    last = shown[-1].id if len(found.jobs) > limit else found.edge
    # A search finds the words in names and tags, too, and longer ones that begin so.
    items = [view for view in map(_view, shown) if job_type in (None, view.job_type)]
    return json_answer(Page(items, None if last is None else make_cursor(mark, last)))


async def delete(surface: Surface, request: Request) -> Response:
    await surface.operations.delete_job(
        tenant_of(request), job_id_of(request), expected_version=expected_version(request)
    )
    return Response(status_code=204)


def _view(job: Job) -> SimpleJobView:
    return simple_view(job, _target_of(job))


def _target_of(job: Job) -> TaskTarget:
    target = job.definition.execution.target
    if not isinstance(target, TaskTarget):
        raise Conflict("the job makes an HTTP call and has no job type: change it by /v1/jobs")
    return target


ROUTES = (
    ApiRoute(
        method="POST",
        path="/job/create",
        handler=create,
        summary="Create a job of a job type.",
        request=SimpleJobInput,
        response=SimpleJobView,
        status=201,
    ),
    ApiRoute(
        method="GET",
        path="/job",
        handler=list_page,
        summary="List jobs of job types, newest first.",
        response=Page[SimpleJobView],
        query=LIST_QUERY,
    ),
    ApiRoute(
        method="PUT",
        path="/job/update",
        handler=update,
        summary="Change a job of a job type.",
        request=SimpleUpdateInput,
        response=SimpleJobView,
    ),
    ApiRoute(method="DELETE", path="/job/{id}", handler=delete, summary="Delete a job.", status=204),
)
