"""Jobs over HTTP, by their names: whoever has names of their own need not know which ids these got."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import job_answer, json_answer
from dueline.api.problems import Refused
from dueline.api.requests import (
    DRY_RUN_QUERY,
    expected_version,
    is_create_only,
    is_dry_run,
    raw_body,
    tenant_of,
    there_already,
)
from dueline.api.routes import ApiRoute, Surface
from dueline.domain.errors import Conflict, NotFound
from dueline.domain.ids import JobId
from dueline.domain.job import Definition, Job
from dueline.domain.texts import CONTROL
from dueline.wire.jobs import JobInput, JobView, job_view, to_definition
from dueline.wire.problems import Problems
from dueline.wire.server_set import Said, check_said, read_written

_TRIED = 3
"""How often to look again when others create, rename or delete the job meanwhile."""


async def get(surface: Surface, request: Request) -> Response:
    name = _name_of(request)
    job = None if CONTROL.search(name) else await surface.insights.job_named(tenant_of(request), name)
    if job is None:
        raise NotFound("job", repr(name[:64]))
    return job_answer(job)


async def put(surface: Surface, request: Request) -> Response:
    wish = _Wish(surface, request)
    await wish.read()
    for _ in range(_TRIED):
        try:
            return await wish.carry_out()
        except _MovedOn:
            continue
    raise Conflict("the job was changed meanwhile: read it again, then decide")


class _MovedOn(Exception):
    """Somebody else created, renamed or deleted the job since it was looked for."""


class _Wish:
    """A job that is to be there under a name, new or in place of the one that has it."""

    def __init__(self, surface: Surface, request: Request) -> None:
        self._surface = surface
        self._request = request
        self._tenant = tenant_of(request)
        self._name = _name_of(request)
        self._dry_run = is_dry_run(request)
        self._create_only = is_create_only(request)
        self._problems = Problems()
        self._asked = JobInput(target=msgspec.UNSET)
        self._said: Said = {}

    async def read(self) -> None:
        asked, self._said = read_written(await raw_body(self._request), self._problems)
        if asked.name not in (None, self._name):
            self._problems.add("name", "must be the one in the path, or be left out")
        self._asked = msgspec.structs.replace(asked, name=self._name)

    async def carry_out(self) -> Response:
        searched = None if CONTROL.search(self._name) else self._name
        job = None if searched is None else await self._surface.insights.job_named(self._tenant, searched)
        return await self._create() if job is None else await self._replace(job)

    async def _create(self) -> Response:
        if "if-match" in self._request.headers:
            raise Refused(412, "version-mismatch", "There is no such job, and If-Match lets one be replaced only.")
        try:
            job = await self._surface.operations.create_job(self._tenant, self._first, dry_run=self._dry_run)
        except Conflict:
            raise _MovedOn from None
        return json_answer(job_view(job)) if self._dry_run else job_answer(job, status=201)

    async def _replace(self, job: Job) -> Response:
        if self._create_only:
            raise there_already()
        version = expected_version(self._request)
        try:
            changed = await self._surface.operations.edit_job(
                self._tenant, job.id, self._next, expected_version=version, dry_run=self._dry_run
            )
        except NotFound:
            raise _MovedOn from None
        return json_answer(job_view(changed)) if self._dry_run else job_answer(changed)

    def _first(self, job_id: JobId, now_ms: int) -> Definition:
        check_said(self._said, None, self._problems)
        return self._defined(job_id, now_ms, current=None)

    def _next(self, job: Job, now_ms: int) -> Definition:
        if job.definition.name != self._name:
            raise _MovedOn
        check_said(self._said, job, self._problems)
        return self._defined(job.id, now_ms, current=job.definition)

    def _defined(self, job_id: JobId, now_ms: int, *, current: Definition | None) -> Definition:
        most = self._surface.payload_bytes_max
        return to_definition(
            self._asked, self._problems, job_id=job_id, now_ms=now_ms, current=current, payload_bytes_max=most
        )


def _name_of(request: Request) -> str:
    name: str = request.path_params["name"]
    return name


ROUTES = (
    ApiRoute(
        method="GET",
        path="/v1/jobs/by-name/{name}",
        handler=get,
        summary="Get the job that has a name.",
        response=JobView,
        whole_path=True,
    ),
    ApiRoute(
        method="PUT",
        path="/v1/jobs/by-name/{name}",
        handler=put,
        summary="Write the job that has a name, new or in place of the one that is there.",
        request=JobInput,
        response=JobView,
        query=DRY_RUN_QUERY,
        whole_path=True,
    ),
)
