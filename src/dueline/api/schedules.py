"""Schedules over HTTP, without a job: what one means."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.requests import json_body, tenant_of
from dueline.api.routes import ApiRoute, Surface
from dueline.domain.access import KeyRole
from dueline.domain.calendars import Calendar
from dueline.domain.errors import NotFound
from dueline.domain.ids import parse_job_id
from dueline.domain.job import Job
from dueline.domain.schedule import Schedule
from dueline.wire.previews import PreviewInput, PreviewView, preview_view, to_preview
from dueline.wire.problems import Problems


async def preview(surface: Surface, request: Request) -> Response:
    problems, tenant = Problems(), tenant_of(request)
    asked = await json_body(request, PreviewInput, problems)
    job = None if asked.job_id is None else await _job(surface, tenant, asked.job_id, problems)
    spec = to_preview(asked, problems, now_ms=surface.operations.now_ms(), job=job)
    calendars = dict(await _calendars(surface, tenant, spec.schedule, problems))
    problems.raise_any()
    if job is not None and job.definition.schedule is not None:
        # A calendar of the job's own that was deleted excludes nothing.
        calendars |= await _calendars(surface, tenant, job.definition.schedule, Problems())
    # A thousand fires of a rare schedule take a while, and others want their turn on the loop.
    return json_answer(await asyncio.to_thread(preview_view, spec, calendars))


async def _job(surface: Surface, tenant: str, text: str, problems: Problems) -> Job | None:
    with problems.gathering():
        job_id = parse_job_id(text)
        try:
            return await surface.insights.job(tenant, job_id)
        except NotFound as error:
            problems.add("job_id", f"there is {error}")
    return None


async def _calendars(surface: Surface, tenant: str, schedule: Schedule, problems: Problems) -> Mapping[str, Calendar]:
    found = {}
    for index, name in enumerate(schedule.calendars):
        try:
            found[name] = (await surface.calendars.get(tenant, name)).calendar
        except NotFound:
            problems.add(f"schedule.calendars[{index}]", f"there is no calendar {name!r}")
    return found


ROUTES = (
    ApiRoute(
        method="POST",
        path="/v1/schedules/preview",
        handler=preview,
        needs=KeyRole.READER,
        summary="Show what a schedule means: in words, and by its next fires.",
        request=PreviewInput,
        response=PreviewView,
        repeatable=True,
    ),
)
