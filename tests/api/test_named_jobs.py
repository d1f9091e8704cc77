"""Jobs by their names over HTTP: read, created and replaced, or only one of these."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest

from tests.api.serving import TARGET, Reply, ServedApi

CREATE_ONLY = {"If-None-Match": "*"}


def put(api: ServedApi, name: str, query: str = "", /, headers: dict[str, str] | None = None, **fields: Any) -> Reply:
    path = f"/v1/jobs/by-name/{quote(name, safe='')}?{query}"
    return api.call("PUT", path, {"target": TARGET, **fields}, headers=headers)


def test_a_job_is_created_and_then_replaced(api: ServedApi) -> None:
    first = put(api, "by name", priority=9)
    assert (first.status, first.headers["etag"]) == (201, '"v1"')
    assert first.headers["location"] == f"/v1/jobs/{first.json['id']}"
    second = put(api, "by name", name="by name", queue="slow")
    assert (second.status, second.headers["etag"], second.json["id"]) == (200, '"v2"', first.json["id"])
    assert (second.json["priority"], second.json["queue"]) == (5, "slow"), "what is left out goes back to its default"
    found = api.call("GET", "/v1/jobs/by-name/by%20name")
    assert (found.json, found.headers["etag"]) == (second.json, '"v2"')
    assert api.call("GET", f"/v1/jobs/{first.json['id']}").json == found.json


@pytest.mark.parametrize("name", ["a/b/c", "versions", "x/versions", "über ✓", "50%", "run?", "by-name"])
def test_any_name_can_be_asked_for(api: ServedApi, name: str) -> None:
    job = put(api, name).json
    assert job["name"] == name
    assert api.call("GET", f"/v1/jobs/by-name/{quote(name, safe='')}").json == job
    assert api.call("GET", f"/v1/jobs/by-name/{quote(name)}").json == job


def test_only_a_new_one_is_created_if_asked_so(api: ServedApi) -> None:
    assert put(api, "new only", headers=CREATE_ONLY).status == 201
    reply = put(api, "new only", headers=CREATE_ONLY, priority=1)
    assert (reply.status, reply.json["type"]) == (412, "urn:dueline:problem:version-mismatch")
    job = api.call("GET", "/v1/jobs/by-name/new%20only").json
    assert job["version"] == 1
    path = f"/v1/jobs/{job['id']}"
    assert api.call("PUT", path, {"target": TARGET}, headers=CREATE_ONLY).status == 412
    assert api.call("GET", path).json == job
    api.call("DELETE", path)
    assert api.call("PUT", path, {"target": TARGET}, headers=CREATE_ONLY).status == 404
    assert put(api, "new only", headers=CREATE_ONLY).status == 201
    reply = put(api, "new only", headers={"If-None-Match": '"v1"'})
    assert (reply.status, list(reply.reasons)) == (422, ["If-None-Match"])


def test_only_one_that_is_there_is_replaced_if_asked_so(api: ServedApi) -> None:
    for tag in ("*", '"v1"'):
        assert put(api, "there only", headers={"If-Match": tag}).status == 412
    put(api, "there only")
    assert put(api, "there only", headers={"If-Match": '"v2"'}).status == 412
    assert put(api, "there only", headers={"If-Match": '"v1"'}, priority=1).json["version"] == 2
    assert put(api, "there only", headers={"If-Match": "*"}, priority=2).json["version"] == 3


def test_a_dry_run_writes_nothing(api: ServedApi) -> None:
    reply = put(api, "dry", "dry_run=true")
    assert (reply.status, reply.json["version"], "etag" in reply.headers) == (200, 1, False)
    assert api.call("GET", "/v1/jobs/by-name/dry").status == 404
    put(api, "dry")
    assert put(api, "dry", "dry_run=true", priority=1).json["version"] == 2
    assert put(api, "dry", "dry_run=true", headers=CREATE_ONLY).status == 412
    assert api.call("GET", "/v1/jobs/by-name/dry").json["version"] == 1


def test_bad_ones_are_refused(api: ServedApi) -> None:
    assert list(put(api, "one", name="another").reasons) == ["name"]
    assert list(put(api, "one", priority=10).reasons) == ["priority"]
    assert list(put(api, "x" * 201).reasons) == ["name"]
    assert list(put(api, "").reasons) == ["name"]
    assert list(put(api, "a\x07").reasons) == ["name"]
    assert list(put(api, "one", state="paused").reasons) == ["state"]
    for name in ("", "nobody", "a%07", "x" * 500):
        assert api.call("GET", f"/v1/jobs/by-name/{name}").status == 404
    assert api.call("GET", "/v1/jobs/by-name").status == 404


def test_of_many_at_once_one_creates_it(api: ServedApi) -> None:
    with ThreadPoolExecutor(max_workers=8) as pool:
        replies = [*pool.map(lambda number: put(api, "at once", priority=number), range(8))]
    assert sorted(reply.status for reply in replies) == [200] * 7 + [201]
    assert len({reply.json["id"] for reply in replies}) == 1
    with ThreadPoolExecutor(max_workers=8) as pool:
        replies = [*pool.map(lambda _: put(api, "once only", headers=CREATE_ONLY), range(8))]
    assert sorted(reply.status for reply in replies) == [201] + [412] * 7
