"""The OpenAPI document of some routes. A route that nothing is told of cannot be in it, and the server does not make one without."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dueline import __version__
from dueline.api.openapi.access import SECURITY_SCHEMES, needs_of, security_of
from dueline.api.openapi.examples import answer_of
from dueline.api.openapi.examples.events import STREAM
from dueline.api.openapi.operation import JSON, MERGE_PATCH, Operation
from dueline.api.openapi.operations import events, fleet, jobs, keys, runs, simple, versions, whole
from dueline.api.openapi.parameters import ANSWER_HEADERS, HEADERS, path_parameters, query_parameters
from dueline.api.openapi.refusals import answer_name, refusals_by_status, refusing_answer
from dueline.api.openapi.schemas import Schemas
from dueline.api.openapi.tags import INTRODUCTION, TAGS
from dueline.api.routes import ApiRoute
from dueline.api.streaming import EVENT_STREAM
from dueline.wire.calendars import CalendarView
from dueline.wire.desk import RegisteredView
from dueline.wire.jobs import JobView
from dueline.wire.keys import KeyView, NewKeyView
from dueline.wire.limits import LimitView
from dueline.wire.queues import QueueView
from dueline.wire.reading import decode, encode
from dueline.wire.runs import RunView
from dueline.wire.simple import SimpleJobView
from dueline.wire.tenants import TenantView

OPERATIONS: Mapping[str, Operation] = {
    **jobs.OPERATIONS,
    **versions.OPERATIONS,
    **runs.OPERATIONS,
    **fleet.OPERATIONS,
    **keys.OPERATIONS,
    **events.OPERATIONS,
    **whole.OPERATIONS,
    **simple.OPERATIONS,
}

_FOLLOWED: tuple[tuple[Any, str, Mapping[str, str]], ...] = (
    (JobView, "/v1/jobs/{id}", {"id": "id"}),
    (JobView, "/v1/jobs/{id}/versions/{version}", {"id": "id", "version": "version"}),
    (RunView, "/v1/runs/{id}", {"id": "id"}),
    (CalendarView, "/v1/calendars/{name}", {"name": "name"}),
    (QueueView, "/v1/queues/{name}", {"name": "name"}),
    (LimitView, "/v1/limits/{scope}/{name}", {"scope": "scope", "name": "name"}),
    (TenantView, "/v1/tenants/{tenant}", {"tenant": "name"}),
    (RegisteredView, "/v1/worker/{id}", {"id": "id"}),
    (KeyView, "/v1/keys/{id}", {"id": "id"}),
    (NewKeyView, "/v1/keys/{id}", {"id": "id"}),
    (SimpleJobView, "/job/{id}", {"id": "job_id"}),
)
"""Where what was answered can be found again, by which of its members."""

_SUCCESSES = {200: "It was done.", 201: "It was created.", 204: "It was done; there is nothing to tell."}


class Undocumented(LookupError):
    """A route has no operation that tells of it."""


def operation_of(route: ApiRoute) -> Operation:
    """What is told of a route, or Undocumented."""
    try:
        return OPERATIONS[f"{route.method} {route.path}"]
    except KeyError:
        raise Undocumented(f"{route.method} {route.path} has no row in api/openapi/operations") from None


def make_document(routes: Sequence[ApiRoute]) -> dict[str, Any]:
    """The document, as plain JSON."""
    schemas = Schemas(routes)
    answers: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for route in routes:
        written = _operation(route, schemas, answers, routes)
        paths.setdefault(route.path, {})[route.method.lower()] = written
    used = {operation_of(route).tag for route in routes}
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "Dueline",
            "version": __version__,
            "summary": "A self-hosted distributed job scheduler.",
            "description": INTRODUCTION,
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "The server that answered this."}],
        "tags": [{"name": name, "description": words} for name, words in TAGS.items() if name in used],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.components.items())),
            "responses": answers,
            "examples": _examples(routes, schemas),
            "parameters": dict(HEADERS),
            "headers": dict(ANSWER_HEADERS),
            "securitySchemes": dict(SECURITY_SCHEMES),
            "links": _links(routes),
        },
    }
    plain: dict[str, Any] = decode(encode(document))
    return plain


def _operation(
    route: ApiRoute, schemas: Schemas, answers: dict[str, Any], routes: Sequence[ApiRoute]
) -> dict[str, Any]:
    told = operation_of(route)
    headers = ["X-Request-Id"]
    if route.method == "POST":
        headers.append("Idempotency-Key")
    if route.writes_job:
        headers.append("If-Match")
    if route.puts_job:
        headers.append("If-None-Match")
    if told.streams:
        headers.append("Last-Event-ID")
    written: dict[str, Any] = {
        "operationId": told.id,
        "tags": [told.tag],
        "summary": route.summary,
        "description": f"{told.description or route.summary} {needs_of(route)}",
        "parameters": [
            *path_parameters(route),
            *query_parameters(route, told.id),
            *({"$ref": f"#/components/parameters/{name}"} for name in headers),
        ],
        "responses": _answers(route, told, schemas, answers, routes),
    }
    if not route.is_open:
        written["security"] = security_of(route)
    if route.request is not None:
        written["requestBody"] = _body(route, told, schemas)
    return written


def _body(route: ApiRoute, told: Operation, schemas: Schemas) -> dict[str, Any]:
    is_patch = route.method == "PATCH"
    schema = schemas.patch_of(route.request) if is_patch else schemas.of(route.request)
    examples = {
        re.sub(r"\W+", "-", words).lower(): {"summary": words, "value": value} for words, value in told.requests.items()
    }
    content = {"schema": schema, "examples": examples}
    types = (MERGE_PATCH, JSON) if is_patch else (JSON,)
    return {"required": not told.optional_body, "content": dict.fromkeys(types, content)}


def _answers(
    route: ApiRoute, told: Operation, schemas: Schemas, answers: dict[str, Any], routes: Sequence[ApiRoute]
) -> dict[str, Any]:
    """What a route answers, by status. Refusals are shared, so they go to `answers` and are referred to."""
    found = {str(route.status): _success(route, route.status, told, schemas, _SUCCESSES[route.status])}
    links = [f"#/components/links/{name}" for name in _followed(route, routes)]
    if links:
        found[str(route.status)]["links"] = {ref.rpartition("/")[2]: {"$ref": ref} for ref in links}
    for status, words in told.also.items():
        found[str(status)] = _success(route, status, told, schemas, words)
    for status, slugs in refusals_by_status(_problems(route, told)).items():
        name = answer_name(slugs)
        answers.setdefault(name, refusing_answer(slugs))
        found[str(status)] = {"$ref": f"#/components/responses/{name}"}
    return dict(sorted(found.items()))


def _success(route: ApiRoute, status: int, told: Operation, schemas: Schemas, words: str) -> dict[str, Any]:
    headers = ["X-Request-Id", *(name for name in told.headers if name != "Location" or status == 201)]
    if route.method == "POST" and not route.shows_once:
        headers.append("Idempotent-Replayed")
    answer: dict[str, Any] = {
        "description": words,
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in headers},
    }
    if route.response is not None:
        content: dict[str, Any] = {"schema": schemas.of(route.response)}
        if answer_of(route.response) is not None:
            content["examples"] = {"answer": {"$ref": f"#/components/examples/{schemas.name_of(route.response)}"}}
        answer["content"] = {told.media_type: content}
        if told.streams:
            answer["content"][EVENT_STREAM] = {"schema": {"type": "string"}, "examples": {"stream": {"value": STREAM}}}
    return answer


def _problems(route: ApiRoute, told: Operation) -> set[str]:
    """What a route may refuse, and why: by what it takes, and by what is told of it."""
    found = {"invalid", "internal", *told.problems}
    if not route.is_open:
        found |= {"unauthorized", "forbidden"}
    if told.asks_store or not route.is_open:
        # Whose key it is, is in the store.
        found.add("unavailable")
    if "{" in route.path:
        found.add("not-found")
    if route.method != "GET":
        # A route that takes no body reads one all the same, to refuse what it says.
        found |= {"unreadable", "bad-header", "unsupported-media-type", "body-too-slow", "too-large"}
    if route.method == "POST":
        found |= {"in-progress", "answer-lost"}
    if route.shows_once:
        found.add("shown-once")
    if route.writes_job:
        found.add("version-mismatch")
    return found


def _examples(routes: Sequence[ApiRoute], schemas: Schemas) -> dict[str, Any]:
    """An example of every kind of answer, by the name of its schema."""
    kinds = dict.fromkeys(route.response for route in routes)
    found = {kind: answer_of(kind) for kind in kinds}
    return {schemas.name_of(kind): {"value": value} for kind, value in found.items() if value is not None}


def _followed(route: ApiRoute, routes: Sequence[ApiRoute]) -> list[str]:
    """The operations on what a route answers."""
    places = [found for kind, found, _ in _FOLLOWED if kind is route.response]
    return [operation_of(other).id for found in places for other in _about(found, routes) if other is not route]


def _links(routes: Sequence[ApiRoute]) -> dict[str, Any]:
    links = {}
    for _, found, members in _FOLLOWED:
        pointers = {name: f"$response.body#/{member}" for name, member in members.items()}
        for route in _about(found, routes):
            name = operation_of(route).id
            links[name] = {"operationId": name, "parameters": pointers, "description": route.summary}
    return links


def _about(found: str, routes: Sequence[ApiRoute]) -> list[ApiRoute]:
    """The routes at a path or under it that ask for nothing else in theirs."""
    return [route for route in routes if route.path.startswith(found) and "{" not in route.path[len(found) :]]
