"""The API as an ASGI application, assembled from the tables of its routes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from dueline.api import (
    audits,
    backfills,
    calendars,
    deadletters,
    desk,
    events,
    forecasts,
    health,
    jobs,
    jobtypes,
    keys,
    limits,
    metrics,
    occurrences,
    queues,
    recoveries,
    reference,
    runs,
    schedules,
    secrets,
    simple,
    tenants,
    upcoming,
    versions,
    whys,
    workers,
)
from dueline.api.access import admit
from dueline.api.health import Writes
from dueline.api.problems import Refused, problem_response
from dueline.api.ratelimits import asking, rate_limit_headers
from dueline.api.repeats import answer_once, has_key
from dueline.api.requestids import REQUEST_ID, request_id_of
from dueline.api.requests import Query, check_preconditions, no_body
from dueline.api.routes import ApiRoute, Surface, Vitals

_REQUEST_ID = REQUEST_ID.encode()

ROUTES: tuple[ApiRoute, ...] = (
    *jobs.ROUTES,
    *versions.ROUTES,
    *whys.JOB_ROUTES,
    *upcoming.JOB_ROUTES,
    *occurrences.ROUTES,
    *backfills.ROUTES,
    *schedules.ROUTES,
    *calendars.ROUTES,
    *runs.ROUTES,
    *whys.RUN_ROUTES,
    *events.RUN_ROUTES,
    *deadletters.ROUTES,
    *queues.ROUTES,
    *whys.QUEUE_ROUTES,
    *limits.ROUTES,
    *tenants.ROUTES,
    *workers.ROUTES,
    *desk.ROUTES,
    *jobtypes.ROUTES,
    *secrets.ROUTES,
    *keys.ROUTES,
    *events.ROUTES,
    *audits.ROUTES,
    *recoveries.ROUTES,
    *upcoming.ROUTES,
    *forecasts.ROUTES,
    *simple.ROUTES,
    *health.ROUTES,
    *metrics.ROUTES,
    *reference.ROUTES,
)


def make_app(surface: Surface) -> Starlette:
    return _assemble(surface, ROUTES)


def make_health_app(vitals: Vitals) -> Starlette:
    """For a process without the API. The handlers of these routes ask for no more than the vitals."""
    return _assemble(cast(Surface, vitals), (*health.ROUTES, *metrics.PROCESS_ROUTES))


def _assemble(surface: Surface, routes: Sequence[ApiRoute]) -> Starlette:
    by_path: dict[str, dict[str, ApiRoute]] = {}
    for route in routes:
        by_path.setdefault(route.path, {})[route.method] = route
    writes = Writes()
    app = Starlette(
        routes=[
            Route(_pattern(path, methods), Endpoint(surface, methods, writes)) for path, methods in by_path.items()
        ],
        exception_handlers={404: _no_route},
    )
    app.state.writes = writes
    app.state.routes = tuple(routes)
    app.router.redirect_slashes = False
    return app


def _pattern(path: str, methods: Mapping[str, ApiRoute]) -> str:
    takes_all = any(route.whole_path for route in methods.values())
    return f"{path.removesuffix('}')}:path}}" if takes_all else path


class Endpoint:
    """One path with all its methods. Every request gets an answer, whatever its handler does."""

    def __init__(self, surface: Surface, methods: Mapping[str, ApiRoute], writes: Writes) -> None:
        self._surface = surface
        self._methods = dict(methods)
        self._writes = writes
        if "GET" in methods:
            self._methods["HEAD"] = methods["GET"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        with asking() as told:
            try:
                response = await self._answer(request)
            except ClientDisconnect:
                return
            except Exception as error:  # reason: a bug must reach the caller as an answer that reveals nothing.
                response = problem_response(error, request)
        if told.allowance is not None:
            response.headers.update(rate_limit_headers(told.allowance))
        # No answer has one before: the header is put behind the others as it is sent.
        response.raw_headers.append((_REQUEST_ID, request_id_of(request).encode()))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        route = self._methods.get(request.method)
        if route is None:
            allowed = ", ".join(sorted(self._methods))
            raise Refused(405, "method-not-allowed", f"This path takes {allowed}.", headers={"allow": allowed})
        if not route.is_open:
            request.state.caller = await admit(self._surface, request, route)
        if request.scope["query_string"] and not route.query:
            Query(request, ()).check()
        if route.method == "GET":
            return await route.handler(self._surface, request)
        if route.request is None:
            await no_body(request, route.query)
        check_preconditions(request, of_job=route.writes_job, may_create=route.puts_job)
        with self._writes.watched():
            if has_key(request):
                return await answer_once(self._surface, request, route)
            return await route.handler(self._surface, request)


def _no_route(request: Request, _error: Exception) -> Response:
    response = problem_response(Refused(404, "not-found", "There is no such path."), request)
    response.headers[REQUEST_ID] = request_id_of(request)
    return response
