"""Types of jobs over HTTP."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.routes import ApiRoute, Surface
from dueline.domain.errors import NotFound
from dueline.domain.instants import format_instant
from dueline.domain.texts import CONTROL
from dueline.engine.jobtypes import OfferedType
from dueline.wire.jobtypes import JobTypeView
from dueline.wire.pages import Page


async def list_all(surface: Surface, _request: Request) -> Response:
    return json_answer(Page([_view(offered) for offered in await surface.job_types.all()], None))


async def get(surface: Surface, request: Request) -> Response:
    name: str = request.path_params["name"]
    if CONTROL.search(name):
        raise NotFound("job type", CONTROL.sub("?", name)[:64])
    return json_answer(_view(await surface.job_types.get(name)))


def _view(offered: OfferedType) -> JobTypeView:
    known = offered.job_type
    return JobTypeView(
        name=known.name,
        description=known.description,
        queue=known.queue,
        parameters=msgspec.Raw(known.parameters.encode()),
        workers=offered.workers,
        seen_at=format_instant(known.seen_ms),
    )


ROUTES = (
    ApiRoute(
        method="GET",
        path="/v1/job-types",
        handler=list_all,
        summary="List the tasks that workers can carry out, by name.",
        response=Page[JobTypeView],
    ),
    ApiRoute(
        method="GET",
        path="/v1/job-types/{name}",
        handler=get,
        summary="Get a task that workers can carry out, with a JSON Schema of its arguments.",
        response=JobTypeView,
        whole_path=True,
    ),
)
