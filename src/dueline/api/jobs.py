"""Jobs over HTTP."""

from __future__ import annotations

from enum import StrEnum

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from dueline.api import named
from dueline.api.answers import job_answer, json_answer, new_run_answer
from dueline.api.bulk import none_done
from dueline.api.problems import refusal_problem
from dueline.api.requests import (
    DRY_RUN_QUERY,
    MERGE_PATCH,
    Query,
    expected_version,
    is_create_only,
    is_dry_run,
    job_id_of,
    json_body,
    optional_body,
    raw_body,
    tenant_of,
    there_already,
)
from dueline.api.routes import ApiRoute, Surface
from dueline.api.uniques import standing_answer
from dueline.domain import limits
from dueline.domain.ids import JobId, id_ms
from dueline.domain.job import Definition, Job, TaskTarget
from dueline.domain.states import JobState, RunKind
from dueline.domain.words import words_in
from dueline.engine.operations import BegunPaused, Define
from dueline.runtime.turns import Turns
from dueline.store.names import Names
from dueline.store.shapes import JobFilter
from dueline.wire.bulk import BulkJobsInput, BulkJobsView, JobItem, item_problems, read_item, read_items
from dueline.wire.dedupe import to_dedupe
from dueline.wire.jobs import (
    CancelInput,
    FirstState,
    JobInput,
    JobPatch,
    JobView,
    NewJobInput,
    PauseInput,
    RunNowInput,
    job_view,
    patched,
    to_definition,
)
from dueline.wire.labels import check_note
from dueline.wire.pages import Page, make_cursor, query_mark, read_cursor
from dueline.wire.problems import Problems
from dueline.wire.reading import decode
from dueline.wire.runs import RunView
from dueline.wire.server_set import check_said, read_written, split

LIST_QUERY = ("state", "queue", "tag", "target_type", "job_type", "name_prefix", "q", "limit", "cursor")


class TargetType(StrEnum):
    HTTP = "http"
    TASK = "task"


async def create(surface: Surface, request: Request) -> Response:
    problems, dry_run = Problems(), is_dry_run(request)
    define = _definer(surface, await json_body(request, NewJobInput, problems), problems)
    job = await surface.operations.create_job(tenant_of(request), define, dry_run=dry_run)
    return json_answer(job_view(job)) if dry_run else job_answer(job, status=201)


async def create_many(surface: Surface, request: Request) -> Response:
    dry_run = is_dry_run(request)
    asked = read_items(await raw_body(request), BulkJobsInput, "jobs", most=limits.JOBS_PER_CALL_MAX)

    def definer(raw: msgspec.Raw) -> Define:
        def define(job_id: JobId, now_ms: int) -> Definition | BegunPaused:
            problems = item_problems()
            return _definer(surface, read_item(raw, NewJobInput, problems), problems)(job_id, now_ms)

        return define

    created = await surface.operations.create_jobs(
        tenant_of(request), [definer(raw) for raw in asked.raw], atomic=asked.atomic, dry_run=dry_run
    )
    if asked.atomic and created.refused:
        raise none_done("jobs", created.refused)
    turns, items = Turns(), []
    for index in range(len(asked.raw)):
        if index in created.jobs:
            items.append(JobItem(201, job_view(created.jobs[index])))
        else:
            problem = refusal_problem(created.refused[index])
            items.append(JobItem(problem.status, problem=problem))
        await turns.give()
    return json_answer(BulkJobsView(items, len(created.jobs), len(created.refused)))


def _definer(surface: Surface, asked: NewJobInput, problems: Problems) -> Define:
    """What makes the definition of a new job, once it has an id; Invalid with all that is wrong, that which was told before included."""

    def define(job_id: JobId, now_ms: int) -> Definition | BegunPaused:
        definition = to_definition(
            asked, problems, job_id=job_id, now_ms=now_ms, payload_bytes_max=surface.payload_bytes_max
        )
        return BegunPaused(definition) if asked.state is FirstState.PAUSED else definition

    return define


async def list_page(surface: Surface, request: Request) -> Response:
    query = Query(request, LIST_QUERY)
    target_type, job_type = query.choice("target_type", TargetType), query.text("job_type")
    if job_type is not None:
        if target_type is TargetType.HTTP:
            query.problems.add("job_type", "is given beside target_type http: only tasks have job types")
        target_type = TargetType.TASK
    match = JobFilter(
        tenant=tenant_of(request),
        state=query.choice("state", JobState),
        queue=query.text("queue"),
        tag=query.text("tag"),
        target_type=None if target_type is None else target_type.value,
    )
    prefix, limit, cursor = query.text("name_prefix"), query.limit(), query.text("cursor")
    words = query.words("q")
    if words and prefix:
        query.problems.add("q", "is given beside name_prefix: it finds names, too, so leave one of them out")
    query.check()
    if prefix:
        return await _named_page(surface, match, prefix, job_type, limit, cursor)
    # The words of a job type are among those that jobs are found by; whether it is the very one is asked of what is found.
    words = (*words, *words_in(job_type or ""))
    noun = f"jobs?{' '.join(words)}" if words else "jobs"
    mark = query_mark(noun if job_type is None else f"{noun}&{job_type}", match)
    before = None if cursor is None else JobId(read_cursor(cursor, mark))
    found = await surface.insights.jobs_with(match, words, before=before, limit=limit + 1)
    shown = found.jobs[:limit]
    last = shown[-1].id if len(found.jobs) > limit else found.edge
    return _jobs_page(shown, job_type, None if last is None else make_cursor(mark, last))


async def _named_page(
    surface: Surface, match: JobFilter, prefix: str, job_type: str | None, limit: int, cursor: str | None
) -> Response:
    noun = f"jobs/{prefix}"
    mark = query_mark(noun if job_type is None else f"{noun}&{job_type}", match)
    after = None if cursor is None else read_cursor(cursor, mark, size=None).decode(errors="replace")
    found = await surface.insights.jobs_named(match, Names(prefix, after), limit=limit + 1)
    shown = found[:limit]
    next_cursor = make_cursor(mark, shown[-1].definition.name.encode()) if len(found) > limit else None
    return _jobs_page(shown, job_type, next_cursor)


def _jobs_page(shown: list[Job], job_type: str | None, next_cursor: str | None) -> Response:
    return json_answer(Page([job_view(job) for job in shown if _is_of(job, job_type)], next_cursor))


def _is_of(job: Job, job_type: str | None) -> bool:
    target = job.definition.execution.target
    return job_type is None or (isinstance(target, TaskTarget) and target.task == job_type)


async def get(surface: Surface, request: Request) -> Response:
    return job_answer(await surface.insights.job(tenant_of(request), job_id_of(request)))


async def replace(surface: Surface, request: Request) -> Response:
    problems, dry_run = Problems(), is_dry_run(request)
    if is_create_only(request):
        await surface.insights.job(tenant_of(request), job_id_of(request))
        raise there_already()
    asked, said = read_written(await raw_body(request), problems)

    def define(job: Job, now_ms: int) -> Definition:
        check_said(said, job, problems)
        return to_definition(
            asked,
            problems,
            job_id=job.id,
            now_ms=now_ms,
            current=job.definition,
            payload_bytes_max=surface.payload_bytes_max,
        )

    job = await surface.operations.edit_job(
        tenant_of(request), job_id_of(request), define, expected_version=expected_version(request), dry_run=dry_run
    )
    return json_answer(job_view(job)) if dry_run else job_answer(job)


async def patch(surface: Surface, request: Request) -> Response:
    merge_patch, said = split(decode(await raw_body(request, types=MERGE_PATCH)))

    def define(job: Job, now_ms: int) -> Definition:
        problems = Problems()
        check_said(said, job, problems)
        return to_definition(
            patched(job.definition, merge_patch, problems),
            problems,
            job_id=job.id,
            now_ms=now_ms,
            current=job.definition,
            payload_bytes_max=surface.payload_bytes_max,
        )

    job = await surface.operations.edit_job(
        tenant_of(request), job_id_of(request), define, expected_version=expected_version(request)
    )
    return job_answer(job)


async def delete(surface: Surface, request: Request) -> Response:
    await surface.operations.delete_job(
        tenant_of(request), job_id_of(request), expected_version=expected_version(request)
    )
    return Response(status_code=204)


async def pause(surface: Surface, request: Request) -> Response:
    problems = Problems()
    asked = await optional_body(request, PauseInput, problems)
    check_note(asked.note, problems)
    problems.raise_any()
    job = await surface.operations.pause_job(
        tenant_of(request), job_id_of(request), note=asked.note, expected_version=expected_version(request)
    )
    return job_answer(job)


async def cancel(surface: Surface, request: Request) -> Response:
    problems = Problems()
    asked = await optional_body(request, CancelInput, problems)
    check_note(asked.note, problems)
    problems.raise_any()
    job = await surface.operations.cancel_job(
        tenant_of(request),
        job_id_of(request),
        note=asked.note,
        stop_running=asked.cancel_running,
        expected_version=expected_version(request),
    )
    return job_answer(job)


async def resume(surface: Surface, request: Request) -> Response:
    version = expected_version(request)
    return job_answer(
        await surface.operations.resume_job(tenant_of(request), job_id_of(request), expected_version=version)
    )


async def run_now(surface: Surface, request: Request) -> Response:
    problems = Problems()
    asked = await optional_body(request, RunNowInput, problems)
    tenant, job_id, version = tenant_of(request), job_id_of(request), expected_version(request)
    dedupe = to_dedupe(asked, problems)
    problems.raise_any()
    job = await surface.insights.job(tenant, job_id)
    answer = await surface.operations.run_job_unique(
        tenant, job_id, dedupe, force=asked.force, expected_version=version
    )
    if not answer.written:
        return await standing_answer(surface, tenant, answer)
    definition = job.definition
    return new_run_answer(
        answer.run_id,
        job=job,
        tenant=tenant,
        kind=RunKind.MANUAL,
        queue=definition.queue,
        priority=definition.priority,
        tags=definition.tags,
        now_ms=id_ms(answer.run_id),
    )


ROUTES = (
    ApiRoute(
        method="POST",
        path="/v1/jobs",
        handler=create,
        summary="Create a job.",
        request=NewJobInput,
        response=JobView,
        status=201,
        query=DRY_RUN_QUERY,
    ),
    ApiRoute(
        method="GET",
        path="/v1/jobs",
        handler=list_page,
        summary="List jobs, newest first.",
        response=Page[JobView],
        query=LIST_QUERY,
    ),
    ApiRoute(
        method="POST",
        path="/v1/jobs/bulk",
        handler=create_many,
        summary="Create many jobs in one call.",
        request=BulkJobsInput,
        response=BulkJobsView,
        query=DRY_RUN_QUERY,
    ),
    # Before those by id, which would take the rest of the path for one.
    *named.ROUTES,
    ApiRoute(method="GET", path="/v1/jobs/{id}", handler=get, summary="Get a job.", response=JobView),
    ApiRoute(
        method="PUT",
        path="/v1/jobs/{id}",
        handler=replace,
        summary="Replace the writable part of a job.",
        request=JobInput,
        response=JobView,
        query=DRY_RUN_QUERY,
    ),
    ApiRoute(
        method="PATCH",
        path="/v1/jobs/{id}",
        handler=patch,
        summary="Change some of a job by a JSON merge patch.",
        request=JobPatch,
        response=JobView,
    ),
    ApiRoute(method="DELETE", path="/v1/jobs/{id}", handler=delete, summary="Delete a job.", status=204),
    ApiRoute(
        method="POST",
        path="/v1/jobs/{id}/pause",
        handler=pause,
        summary="Pause a job.",
        request=PauseInput,
        response=JobView,
    ),
    ApiRoute(
        method="POST", path="/v1/jobs/{id}/resume", handler=resume, summary="Resume a paused job.", response=JobView
    ),
    ApiRoute(
        method="POST",
        path="/v1/jobs/{id}/cancel",
        handler=cancel,
        summary="Cancel a job for good.",
        request=CancelInput,
        response=JobView,
    ),
    ApiRoute(
        method="POST",
        path="/v1/jobs/{id}/run",
        handler=run_now,
        summary="Run a job now; its schedule does not move.",
        request=RunNowInput,
        response=RunView,
        status=201,
    ),
)
