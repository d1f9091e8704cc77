"""The OpenAPI document says what the server does: of every route, in words, with examples that are true."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dueline.api.app import ROUTES
from dueline.api.openapi import fields, shapes
from dueline.api.openapi.document import OPERATIONS, Undocumented, make_document, operation_of
from dueline.api.openapi.parameters import PATH, QUERY
from dueline.api.openapi.refusals import REFUSALS
from dueline.api.routes import ApiRoute
from dueline.domain.access import KeyRole
from dueline.sdk.client import Client
from dueline.sdk.endpoints import Endpoint, ListEndpoint, Resource
from tests.api.serving import Reply, ServedApi
from tests.api.working import a_dead_letter
from tests.support.listening import Listener
from tests.support.schemas import Schemas

DOCUMENT = make_document(ROUTES)
SCHEMAS = Schemas(DOCUMENT)
COMPONENTS = DOCUMENT["components"]
WRITTEN = {
    f"{method.upper()} {path}": operation
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}
NUMBERED = count()
REQUESTS = [
    pytest.param(name, example["value"], id=f"{name} {words}")
    for name, operation in WRITTEN.items()
    for content in operation.get("requestBody", {}).get("content", {}).values()
    for words, example in content["examples"].items()
]


def parts(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every object in the document, examples left out: what stands there is anybody's."""
    if isinstance(value, dict):
        yield value
        for key, inner in value.items():
            if key not in ("example", "examples", "value", "default"):
                yield from parts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from parts(inner)


def test_every_route_has_an_operation_and_no_other() -> None:
    named = {f"{route.method} {route.path}" for route in ROUTES}
    assert set(WRITTEN) == set(OPERATIONS) == named


def test_a_route_that_nothing_is_told_of_cannot_be_served_with_a_document() -> None:
    stray = msgspec.structs.replace(ROUTES[0], path="/v1/strays")
    with pytest.raises(Undocumented, match="POST /v1/strays has no row"):
        make_document([*ROUTES, stray])


def test_operations_are_called_as_the_client_calls_them() -> None:
    client = Client("http://127.0.0.1:9", api_key="")
    called = {
        f"{noun}.{verb}": f"{method.method} {method.path}"
        for noun, resource in vars(client).items()
        if isinstance(resource, Resource)
        for verb, method in vars(type(resource)).items()
        if isinstance(method, Endpoint | ListEndpoint)
    }
    ids = {operation["operationId"]: name for name, operation in WRITTEN.items()}
    assert len(ids) == len(WRITTEN)
    # The simple endpoints are for programs that have no client.
    assert {word: name for word, name in ids.items() if not word.startswith("simple.")} == called


def test_what_is_referred_to_is_there() -> None:
    refs = {part["$ref"] for part in parts(DOCUMENT) if "$ref" in part}
    assert refs
    for ref in refs:
        assert SCHEMAS.resolved({"$ref": ref}), ref
    for part in parts(DOCUMENT):
        for example in part.get("examples", {}).values() if isinstance(part.get("examples"), dict) else ():
            assert SCHEMAS.resolved(example)["value"] is not None


def test_nothing_is_there_that_is_not_referred_to() -> None:
    text = json.dumps(DOCUMENT)
    unused = [
        f"{kind}/{name}"
        for kind, named in COMPONENTS.items()
        for name in named
        if f'"#/components/{kind}/{name}"' not in text and kind != "securitySchemes"
    ]
    assert unused == []


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_an_operation_tells_the_key_that_it_takes(route: ApiRoute) -> None:
    operation = WRITTEN[f"{route.method} {route.path}"]
    told = operation["description"]
    assert ({"401", "403"} <= set(operation["responses"])) != route.is_open
    if route.is_open:
        assert "security" not in operation
        assert told.endswith("It takes no key.")
        return
    (scheme,) = COMPONENTS["securitySchemes"]
    assert COMPONENTS["securitySchemes"][scheme].items() >= {"type": "http", "scheme": "bearer"}.items()
    assert operation["security"] == [{scheme: [route.role]}]
    whose = " of the tenant `default`" if route.is_shared else ""
    role = f"a key{whose} with the role `{route.role}`" if route.role != KeyRole.READER else f"any key{whose}"
    assert f"It takes {role}" in told


def test_only_what_is_shown_once_says_so() -> None:
    told = {name for name, one in WRITTEN.items() if "shown-once" in one["responses"].get("409", {}).get("$ref", "")}
    assert told == {"POST /v1/keys"}


@pytest.mark.parametrize("name", WRITTEN)
def test_an_operation_is_whole(name: str) -> None:
    method, _, path = name.partition(" ")
    operation = WRITTEN[name]
    assert operation["summary"]
    assert operation["description"]
    assert set(operation["tags"]) <= {tag["name"] for tag in DOCUMENT["tags"]}
    parameters = [SCHEMAS.resolved(one) for one in operation["parameters"]]
    places = [one["name"] for one in parameters if one["in"] == "path"]
    assert places == re.findall(r"\{(\w+)\}", path)
    assert all(one["required"] for one in parameters if one["in"] == "path")
    assert len({(one["in"], one["name"]) for one in parameters}) == len(parameters)
    assert all(one["description"] and one["schema"] for one in parameters)
    assert ("Idempotency-Key" in {one["name"] for one in parameters}) == (method == "POST")
    answers = {status: SCHEMAS.resolved(answer) for status, answer in operation["responses"].items()}
    assert any(status.startswith("2") for status in answers)
    assert {"422", "500"} <= set(answers)
    assert all(answer["description"] and "X-Request-Id" in answer["headers"] for answer in answers.values())
    for status, answer in answers.items():
        problem = answer["content"].get("application/problem+json") if "content" in answer else None
        assert (problem is not None) == (status >= "400")


@pytest.mark.parametrize("name", WRITTEN)
def test_the_examples_are_what_their_schemas_say(name: str) -> None:
    operation = WRITTEN[name]
    for one in (SCHEMAS.resolved(one) for one in operation["parameters"]):
        if "example" in one:
            assert list(SCHEMAS.faults(one["example"], one["schema"])) == []
    bodies = [operation["requestBody"]] if "requestBody" in operation else []
    for body in [*bodies, *(SCHEMAS.resolved(answer) for answer in operation["responses"].values())]:
        for media_type, content in body.get("content", {}).items():
            if media_type == "text/html" or name in ("GET /metrics", "GET /v1/openapi.json"):
                continue
            assert content["examples"]
            for example in content["examples"].values():
                value = SCHEMAS.resolved(example)["value"]
                assert list(SCHEMAS.faults(value, content["schema"])) == []


@pytest.mark.parametrize("name", shapes.EXAMPLES)
def test_the_examples_of_schemas_are_what_they_say(name: str) -> None:
    for example in shapes.EXAMPLES[name]:
        assert list(SCHEMAS.faults(example, COMPONENTS["schemas"][name])) == []


def test_every_type_and_every_field_has_a_sentence() -> None:
    """They stand in api/openapi/fields.py: under the name of the field, or of the type and the field."""
    silent = [name for name, schema in COMPONENTS["schemas"].items() if not schema["description"]]
    silent += [
        f"{name}.{field}"
        for name, schema in COMPONENTS["schemas"].items()
        for field, inner in schema.get("properties", {}).items()
        if not inner["description"]
    ]
    assert silent == []


def test_nothing_is_told_of_what_is_not_there() -> None:
    named = {
        name: f"{kind}.{name}"
        for kind, schema in COMPONENTS["schemas"].items()
        for name in schema.get("properties", {})
    }
    full = {f"{kind}.{name}" for kind, schema in COMPONENTS["schemas"].items() for name in schema.get("properties", {})}
    told = [*fields.FIELDS, *shapes.NUMBERS, *shapes.TEXTS, *shapes.LISTS, *shapes.INSTANTS, *shapes.DURATIONS]
    assert [key for key in told if key not in named and key not in full] == []
    assert [key for key in [*fields.TYPES, *shapes.EXAMPLES] if key not in COMPONENTS["schemas"]] == []
    asked = {f"{operation_of(route).id}/{name}" for route in ROUTES for name in route.query}
    assert [key for key in QUERY if key not in asked and not any(name.endswith(f"/{key}") for name in asked)] == []
    assert [key for key in PATH if not any(route.path.startswith(key) for route in ROUTES)] == []


def stage(api: ServedApi, route: ApiRoute) -> str:
    """The path of a route, about something that is there and allows it."""
    path = route.path
    if path.startswith("/v1/jobs/{id}"):
        job = api.create(schedule={"cron": "0 9 * * *"})
        if path.endswith("/restore"):
            skipped = {"at": "2099-12-24T09:00:00Z"}
            assert api.call("POST", f"/v1/jobs/{job['id']}/skip", skipped).status == 200
        return path.replace("{id}", job["id"])
    if path == "/v1/runs/{id}/retry":
        return path.replace("{id}", a_dead_letter(api, queue=f"failing-{next(NUMBERED)}"))
    if path.startswith("/v1/dead-letters/{id}"):
        return path.replace("{id}", a_dead_letter(api, queue=f"failing-{next(NUMBERED)}"))
    if path.startswith("/v1/worker/{id}"):
        return path.replace("{id}", api.call("POST", "/v1/worker/register").json["id"])
    if path == "/v1/jobs/by-name/{name}":
        return path.replace("{name}", f"named/{next(NUMBERED)}")
    return path.replace("{scope}", "queue").replace("{name}", "of-examples").replace("{tenant}", "of-examples")


def check_answer(name: str, reply: Reply) -> None:
    """Hold an answer to what is documented."""
    answers = WRITTEN[name]["responses"]
    assert str(reply.status) in answers, reply.body
    answer = SCHEMAS.resolved(answers[str(reply.status)])
    for header, one in answer["headers"].items():
        assert header.lower() in reply.headers or not SCHEMAS.resolved(one).get("required")
    if "content" not in answer:
        assert reply.body == b""
        return
    media_type = reply.headers["content-type"].partition(";")[0]
    assert list(SCHEMAS.faults(reply.json, answer["content"][media_type]["schema"])) == []


@pytest.mark.parametrize(("name", "body"), REQUESTS)
def test_the_server_takes_every_example_and_answers_as_documented(api: ServedApi, name: str, body: Any) -> None:
    (route,) = [route for route in ROUTES if f"{route.method} {route.path}" == name]
    if "job_id" in body and route.path == "/job/update":
        body = body | {"job_id": api.create(target={"task": "report"})["id"]}
    reply = api.call(route.method, stage(api, route), body)
    assert 200 <= reply.status < 300, reply.body
    check_answer(name, reply)


READ = [name for name in WRITTEN if name.startswith("GET ") and "{" not in name]


@pytest.mark.parametrize("name", [name for name in READ if name not in ("GET /metrics", "GET /docs")])
def test_what_is_read_is_as_documented(api: ServedApi, name: str) -> None:
    api.create(schedule={"cron": "0 9 * * *"}, concurrency=2, rate={"limit": 5})
    reply = api.call("GET", name.partition(" ")[2], headers={"Accept": "application/json"})
    assert reply.status == 200
    check_answer(name, reply)


@pytest.mark.parametrize("name", ["GET /v1/events", "GET /v1/runs/{id}/events"])
def test_events_are_a_stream_and_a_page_as_documented(api: ServedApi, name: str) -> None:
    run_id = api.call("POST", "/v1/runs", {"target": {"task": "report"}}).json["id"]
    path = name.partition(" ")[2].replace("{id}", run_id)
    check_answer(name, api.call("GET", path, headers={"Accept": "application/json"}))
    content = WRITTEN[name]["responses"]["200"]["content"]["text/event-stream"]
    example = content["examples"]["stream"]["value"].split("\n")
    with Listener(api.url, path) as listener:
        api.call("POST", f"/v1/runs/{run_id}/cancel")
        heard = listener.hear()
    assert heard is not None
    assert list(SCHEMAS.faults(heard.data, COMPONENTS["schemas"]["EventView"])) == []
    assert [line.partition(":")[0] for line in example] == ["", "id", "", "id", "event", "data", "", ""]


@pytest.mark.parametrize("name", [name for name, told in WRITTEN.items() if "requestBody" in told])
def test_a_body_may_be_left_out_where_the_document_says_so(api: ServedApi, name: str) -> None:
    (route,) = [route for route in ROUTES if f"{route.method} {route.path}" == name]
    reply = api.call(route.method, stage(api, route))
    assert (reply.status == 400) == WRITTEN[name]["requestBody"]["required"], reply.body
    check_answer(name, reply)


def jobs_at(bounds: Mapping[str, Any], *places: str) -> list[Any]:
    return [pytest.param(place, bounds, id=place) for place in places]


NUMBERS = shapes.NUMBERS
AROUND: dict[str, dict[str, Any]] = {"rate": {"limit": 1, "per": "PT1S"}, "schedule": {"every": "PT1H"}}
BOUNDED = [
    *jobs_at(NUMBERS["priority"], "priority"),
    *jobs_at(NUMBERS["max_attempts"], "retry.max_attempts"),
    *jobs_at(NUMBERS["max_lost"], "retry.max_lost"),
    *jobs_at(NUMBERS["MisfireForm.cap"], "misfire.cap"),
    *jobs_at(NUMBERS["concurrency"], "concurrency", "concurrency.limit"),
    *jobs_at(NUMBERS["RateForm.limit"], "rate.limit"),
    *jobs_at(NUMBERS["burst"], "rate.burst"),
    *jobs_at(NUMBERS["max_runs"], "schedule.max_runs"),
]


@pytest.mark.parametrize(("place", "bounds"), BOUNDED)
def test_the_server_takes_numbers_up_to_their_bounds_and_none_beyond(
    api: ServedApi, place: str, bounds: Mapping[str, Any]
) -> None:
    field, _, member = place.partition(".")
    around = AROUND.get(field, {})

    def status_of(number: float) -> int:
        value = {**around, member: number} if member else number
        body = {"target": {"url": "http://127.0.0.1:9/"}, field: value}
        return api.call("POST", "/v1/jobs?dry_run=true", body).status

    assert [status_of(bounds["minimum"]), status_of(bounds["maximum"])] == [200, 200]
    assert [status_of(bounds["minimum"] - 1), status_of(bounds["maximum"] + 1)] == [422, 422]


def test_the_problems_are_those_of_the_reference() -> None:
    text = (Path(__file__).parents[2] / "docs" / "reference" / "api.md").read_text()
    listed = {slug: int(status) for status, slug in re.findall(r"^\| (\d{3}) \| `([a-z-]+)` \|", text, re.MULTILINE)}
    # A method that a path does not take is no operation.
    assert listed.pop("method-not-allowed") == 405
    assert {slug: refusal.status for slug, refusal in REFUSALS.items()} == listed


def test_the_document_is_served(api: ServedApi) -> None:
    reply = api.call("GET", "/v1/openapi.json")
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert reply.json == DOCUMENT
    assert reply.json["openapi"] == "3.1.0"
