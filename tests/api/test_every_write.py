"""What holds for every write, whatever it is: nothing that was sent is passed over. The routes are those that there are."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dueline.api.openapi.document import make_document, operation_of
from dueline.api.routes import ApiRoute
from tests.api.serving import ServedApi
from tests.api.things import WRITING, Owner, Thing, governing, named, thing_for

OF_A_JOB = [route for route in WRITING if route.writes_job]
OTHERS = [route for route in WRITING if not route.writes_job]
WITHOUT_BODY = [route for route in WRITING if route.request is None]
WRITERS, INCREMENTS = 10, 5


@pytest.fixture(scope="module")
def owner(api: ServedApi) -> Owner:
    return governing(api)


def job_of(owner: Owner, thing: Thing) -> Any:
    return None if thing.job_id is None else owner.made("GET", f"/v1/jobs/{thing.job_id}")


@pytest.mark.parametrize("route", WRITING, ids=named)
def test_a_field_that_nobody_knows_is_refused(owner: Owner, route: ApiRoute) -> None:
    thing = thing_for(owner, route)
    before = job_of(owner, thing)
    body = {**(thing.body(route) or {}), "no_such_field": True}
    reply = owner.call(route.method, thing.path(route), body)
    assert reply.status == 422, reply.body
    assert "unknown field" in reply.reasons["no_such_field"]
    assert job_of(owner, thing) == before


@pytest.mark.parametrize("route", [route for route in WRITING if route.request is not None], ids=named)
def test_all_that_is_wrong_is_told_at_once(owner: Owner, route: ApiRoute) -> None:
    """Not only what has the wrong shape, and not only the first."""
    thing = thing_for(owner, route)
    body = thing.body(route)
    wrong = {name: "\x00" for name, value in body.items() if isinstance(value, str)}
    reply = owner.call(route.method, thing.path(route), {**body, **wrong, "no_such_field": True})
    assert reply.status == 422, reply.body
    named_by = {"job_type": "target.task"} if route.path.startswith("/job/") else {}
    told = {field.partition(".")[0] for field in reply.reasons} | reply.reasons.keys()
    assert {named_by.get(name, name) for name in wrong} | {"no_such_field"} <= told, reply.reasons


@pytest.mark.parametrize(
    ("path", "body", "fields"),
    [
        (
            "/v1/calendars/h",
            {"dates": ["13-25", "12-25", "zz"], "weekdays": ["FOO", "SUN", "BAR"], "foo": 1},
            ["dates[0]", "dates[2]", "foo", "weekdays[0]", "weekdays[2]"],
        ),
        (
            "/v1/keys",
            {"role": "boss", "tenant": "a b", "expires_at": "x", "name": "\n", "foo": 1},
            ["expires_at", "foo", "name", "role", "tenant"],
        ),
        ("/v1/limits/city/x", {"concurrency": 0, "foo": 1}, ["concurrency", "foo", "scope"]),
        ("/v1/queues/a%20b/pause", {"note": "\x00", "foo": 1}, ["foo", "name", "note"]),
        ("/v1/recovery", {"rate": 0, "policy": "x"}, ["policy", "rate"]),
    ],
)
def test_every_fault_has_its_place(owner: Owner, path: str, body: Any, fields: list[str]) -> None:
    method = "PUT" if path.startswith(("/v1/calendars", "/v1/limits")) else "POST"
    reply = owner.call(method, path, body)
    assert (reply.status, sorted(reply.reasons)) == (422, fields)


@pytest.mark.parametrize("route", [route for route in WRITING if route.request is not None], ids=named)
def test_a_body_that_is_needed_and_not_there_is_asked_for(owner: Owner, route: ApiRoute) -> None:
    thing = thing_for(owner, route)
    reply = owner.call(route.method, thing.path(route))
    if not operation_of(route).optional_body:
        assert (reply.status, reply.json["detail"]) == (400, "a body is needed here: send JSON")


@pytest.mark.parametrize("route", WITHOUT_BODY, ids=named)
def test_where_nothing_is_to_be_said_nothing_is(owner: Owner, route: ApiRoute) -> None:
    thing = thing_for(owner, route)
    before = job_of(owner, thing)
    for body in ([], [1], "text", 1, {"dry_run": True}):
        reply = owner.call(route.method, thing.path(route), body)
        assert reply.status == 422, (body, reply.body)
        assert reply.reasons.keys() == ({"dry_run"} if isinstance(body, dict) else {"body"})
    sent = {"Authorization": f"Bearer {owner.key}"}
    assert owner.api.call(route.method, thing.path(route), raw=b'{"a', headers=sent).status == 400
    assert job_of(owner, thing) == before
    assert owner.call(route.method, thing.path(route), {}).status == route.status


def test_a_parameter_in_the_body_of_a_rollback_is_told_where_it_belongs(owner: Owner) -> None:
    (route,) = [route for route in WITHOUT_BODY if route.path.endswith("/rollback")]
    thing = thing_for(owner, route)
    owner.made("PATCH", f"/v1/jobs/{thing.job_id}", {"priority": 1})
    reply = owner.call("POST", thing.path(route), {"dry_run": True})
    assert (reply.status, reply.reasons) == (422, {"dry_run": "is a parameter of the query: ?dry_run=…"})
    assert job_of(owner, thing)["version"] == 2


@pytest.mark.parametrize("route", OF_A_JOB, ids=named)
def test_a_write_to_a_job_takes_effect_only_at_the_version_of_if_match(owner: Owner, route: ApiRoute) -> None:
    thing = thing_for(owner, route)
    before = job_of(owner, thing)
    tag = f'"v{before["version"]}"'
    refused = {
        f'"v{before["version"] + 1}"': (412, f"the job is at version {before['version']}"),
        f"W/{tag}": (412, "weak entity tag"),
        '"1"': (412, "a tag that no job has"),
        "v1": (400, "If-Match must be one entity tag"),
        f'{tag}, "v9"': (400, "If-Match must be one entity tag"),
        "": (400, "If-Match must be one entity tag"),
    }
    for header, (status, words) in refused.items():
        reply = owner.call(route.method, thing.path(route), thing.body(route), headers={"If-Match": header})
        assert (reply.status, words in reply.json["detail"]) == (status, True), (header, reply.body)
    assert job_of(owner, thing) == before
    assert owner.made("GET", f"/v1/runs?job_id={thing.job_id}")["items"] == []
    reply = owner.call(route.method, thing.path(route), thing.body(route), headers={"If-Match": tag})
    assert 200 <= reply.status < 300, reply.body


@pytest.mark.parametrize("route", OTHERS, ids=named)
def test_a_condition_that_nobody_looks_at_is_refused(owner: Owner, route: ApiRoute) -> None:
    thing = thing_for(owner, route)
    for header, value in (("If-Match", '"v1"'), ("If-None-Match", "*")):
        reply = owner.call(route.method, thing.path(route), thing.body(route), headers={header: value})
        assert (reply.status, reply.json["type"]) == (400, "urn:dueline:problem:bad-header")
        assert header in reply.json["detail"]


def test_the_document_has_the_conditions_of_every_write() -> None:
    paths = make_document(WRITING)["paths"]
    told = {
        named(route)
        for route in WRITING
        for one in paths[route.path][route.method.lower()]["parameters"]
        if one.get("$ref", "").endswith("/If-Match")
    }
    assert told == {named(route) for route in OF_A_JOB}


def test_no_update_of_many_writers_is_lost(owner: Owner) -> None:
    """Each reads a number, writes the next one at the version that it read, and does so again until it was first."""
    thing = thing_for(owner, OF_A_JOB[0])
    path, together = f"/v1/jobs/{thing.job_id}", threading.Barrier(WRITERS)
    owner.made("PATCH", path, {"target": {"body": {"sum": 0}}})

    def count_up() -> None:
        together.wait()
        for _ in range(INCREMENTS):
            while True:
                read = owner.call("GET", path)
                body = {"target": {"body": {"sum": read.json["target"]["body"]["sum"] + 1}}}
                wrote = owner.call("PATCH", path, body, headers={"If-Match": read.headers["etag"]})
                if wrote.status == 200:
                    break
                assert wrote.status == 412, wrote.body

    with ThreadPoolExecutor(WRITERS) as pool:
        for writer in [pool.submit(count_up) for _ in range(WRITERS)]:
            writer.result()
    job = job_of(owner, thing)
    assert (job["target"]["body"]["sum"], job["version"]) == (WRITERS * INCREMENTS, WRITERS * INCREMENTS + 2)


@pytest.mark.parametrize(
    "target", [{"url": "http://127.0.0.1:9/", "body": {"a": 1}}, {"task": "report", "args": {"a": 1}}]
)
def test_what_was_read_can_be_changed_and_sent_back(owner: Owner, target: Any) -> None:
    fields = {"concurrency": 2, "rate": {"limit": 5}, "notify": {"url": "http://127.0.0.1:9/"}, "run_timeout": "PT1H"}
    job = owner.made(
        "POST", "/v1/jobs", {"target": target, "schedule": "every weekday at 9:00 Europe/Berlin", **fields}
    )
    path, by_name = f"/v1/jobs/{job['id']}", f"/v1/jobs/by-name/{job['name']}"
    assert owner.made("PUT", path, job) == owner.made("PUT", by_name, job) == owner.made("PATCH", path, job) == job
    job = owner.made("PUT", path, job | {"priority": 1})
    job = owner.made("PATCH", path, job | {"priority": 2})
    job = owner.made("PUT", by_name, job | {"priority": 3})
    assert (job["priority"], job["version"]) == (3, 4)
    for method, place in (("PUT", path), ("PUT", by_name), ("PATCH", path)):
        reply = owner.call(method, place, job | {"version": 3, "state": "paused", "queue": "a b", "foo": 1})
        assert reply.reasons.keys() == {"version", "state", "queue", "foo"}
        assert reply.reasons["version"] == "is set by Dueline, and is 4 now: leave it out"
    assert owner.made("GET", path) == job
    new = owner.call("PUT", "/v1/jobs/by-name/another", {name: job[name] for name in ("target", "id", "version")})
    assert (new.status, set(new.reasons)) == (422, {"id", "version"})


def test_an_edit_that_changes_nothing_writes_nothing(owner: Owner) -> None:
    job = job_of(owner, thing_for(owner, OF_A_JOB[0]))
    path = f"/v1/jobs/{job['id']}"
    whole = {name: job[name] for name in ("name", "target", "schedule")}
    for method, asked, body in (
        ("PATCH", path, {}),
        ("PATCH", path, {"priority": job["priority"]}),
        ("PUT", path, whole),
        ("PUT", f"/v1/jobs/by-name/{job['name']}", whole),
        ("POST", f"{path}/versions/1/rollback", None),
    ):
        assert owner.made(method, asked, body) == job
    assert owner.made("GET", path) == job
