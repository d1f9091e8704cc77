"""Versions of jobs over HTTP: listed, compared, and gone back to."""

from typing import Any

import pytest

from dueline.wire.jobs import JobInput
from dueline.wire.versions import DefinitionView
from tests.api.serving import TARGET, Reply, ServedApi

UNKNOWN = "job_01h455vb4pex5vsknk084sn02q"


def versions(api: ServedApi, job: Any, query: str = "") -> Any:
    reply = api.call("GET", f"/v1/jobs/{job['id']}/versions?{query}")
    assert reply.status == 200, reply.body
    return reply.json


def patch(api: ServedApi, job: Any, **fields: Any) -> Any:
    reply = api.call("PATCH", f"/v1/jobs/{job['id']}", fields)
    assert reply.status == 200, reply.body
    return reply.json


def diff(api: ServedApi, job: Any, version: int, query: str = "") -> Any:
    reply = api.call("GET", f"/v1/jobs/{job['id']}/versions/{version}/diff?{query}")
    assert reply.status == 200, reply.body
    return reply.json


def rollback(api: ServedApi, job: Any, version: int, query: str = "", **headers: str) -> Reply:
    return api.call("POST", f"/v1/jobs/{job['id']}/versions/{version}/rollback?{query}", headers=headers)


def test_a_definition_has_every_field_that_people_write() -> None:
    assert set(DefinitionView.__struct_fields__) == set(JobInput.__struct_encode_fields__)


def test_every_change_is_a_version_and_shows_the_job_as_it_was(api: ServedApi) -> None:
    first = api.create(schedule="every 15m", tags=["blue"], concurrency=3)
    second = patch(api, first, priority=9)
    api.call("POST", f"/v1/jobs/{first['id']}/pause")
    third = patch(api, first, target={"url": "http://127.0.0.1:9/other"})
    found = versions(api, first)
    assert [(one["version"], one["current"]) for one in found["items"]] == [(3, True), (2, False), (1, False)]
    assert found["next_cursor"] is None
    for one, job in zip(found["items"], (third, second, first), strict=True):
        assert one["job_id"] == first["id"]
        assert one["definition"] == {name: job[name] for name in DefinitionView.__struct_fields__}
        assert api.call("GET", f"/v1/jobs/{first['id']}/versions/{one['version']}").json == one
    assert found["items"][2]["created_at"] == first["created_at"]
    assert found["items"][0]["created_at"] == third["updated_at"]


def test_versions_come_in_pages(api: ServedApi) -> None:
    job = api.create()
    for priority in (1, 2, 3):
        patch(api, job, priority=priority)
    first = versions(api, job, "limit=3")
    assert [one["version"] for one in first["items"]] == [4, 3, 2]
    rest = versions(api, job, f"limit=3&cursor={first['next_cursor']}")
    assert ([one["version"] for one in rest["items"]], rest["next_cursor"]) == ([1], None)
    other = api.create()
    for path in (
        f"/v1/jobs/{other['id']}/versions?cursor={first['next_cursor']}",
        f"/v1/jobs/{job['id']}/versions?x=1",
    ):
        assert api.call("GET", path).status == 422


def test_a_diff_names_each_field(api: ServedApi) -> None:
    job = api.create(name="diff", schedule={"cron": "0 9 * * *"}, tags=["a", "b"])
    patch(api, job, schedule={"cron": "0 8 * * *", "jitter": "30s"}, tags=["b", "a"])
    patch(api, job, schedule=None, priority=9)
    assert diff(api, job, 2) == {
        "job_id": job["id"],
        "version": 2,
        "against": 1,
        "changes": [
            {"path": "schedule.cron", "before": "0 9 * * *", "after": "0 8 * * *"},
            {"path": "schedule.jitter", "after": "PT30S"},
        ],
    }
    changes = diff(api, job, 1, "against=3")["changes"]
    assert {change["path"]: change["after"] for change in changes} == {
        "schedule": {"cron": "0 9 * * *", "timezone": "UTC"},
        "priority": 5,
    }
    assert {change["path"]: change["before"] for change in changes} == {"schedule": None, "priority": 9}
    assert diff(api, job, 3, "against=3")["changes"] == []


def test_what_is_not_there_is_not_found(api: ServedApi) -> None:
    job = api.create()
    path = f"/v1/jobs/{job['id']}/versions"
    for version in ("2", "0", "-1", "01", "x", "1.0", "9999999999"):
        assert api.call("GET", f"{path}/{version}").status == 404, version
        assert api.call("GET", f"{path}/{version}/diff?against=1").status == 404, version
        assert api.call("POST", f"{path}/{version}/rollback").status == 404, version
    assert api.call("GET", f"{path}/1/diff?against=2").status == 404
    assert "against" in api.call("GET", f"{path}/1/diff").reasons
    assert "against" in api.call("GET", f"{path}/1/diff?against=0").reasons
    for method, tail in (("GET", ""), ("GET", "/1"), ("GET", "/1/diff?against=1"), ("POST", "/1/rollback")):
        assert api.call(method, f"/v1/jobs/{UNKNOWN}/versions{tail}").status == 404
    api.call("DELETE", f"/v1/jobs/{job['id']}")
    assert api.call("GET", path).status == 404


def test_a_rollback_is_a_new_version_with_the_old_definition(api: ServedApi) -> None:
    schedule = {"every": "PT15M", "start_at": "2026-01-01T00:00:00Z", "jitter": "PT1M"}
    body = {"deep": [1, None, "x"], "text": "{{run.id}}"}
    job = api.create(schedule=schedule, target={**TARGET, "body": body}, retry={"max_attempts": 2}, rate={"limit": 5})
    patch(api, job, schedule=None, target={"type": "task", "task": "report"}, retry=None, rate=None, queue="other")
    dry = rollback(api, job, 1, "dry_run=true")
    assert (dry.status, dry.json["version"], "etag" in dry.headers) == (200, 3, False)
    assert [one["version"] for one in versions(api, job)["items"]] == [2, 1]
    reply = rollback(api, job, 1, **{"If-Match": '"v2"'})
    assert (reply.status, reply.headers["etag"]) == (200, '"v3"')
    assert reply.json["next_due_at"] is not None
    assert diff(api, job, 3, "against=1")["changes"] == []
    again = rollback(api, job, 1)
    assert (again.status, again.json["version"]) == (200, 3), "it has that definition"
    assert rollback(api, job, 2, **{"If-Match": '"v2"'}).status == 412
    assert rollback(api, job, 3).json["version"] == 3


def test_a_rollback_is_checked_as_a_put_is(api: ServedApi) -> None:
    job = api.create(name="taken-later")
    patch(api, job, name="renamed")
    other = api.create(name="taken-later")
    for query in ("", "dry_run=true"):
        assert rollback(api, job, 1, query).status == 409
    api.call("DELETE", f"/v1/jobs/{other['id']}")
    assert rollback(api, job, 1).json["name"] == "taken-later"
    at = api.create(schedule={"at": "2020-01-01T00:00:00Z", "allow_past": True})
    patch(api, at, schedule=None)
    reply = rollback(api, at, 1)
    assert (reply.status, list(reply.reasons)) == (422, ["schedule.at"])


def test_a_rollback_that_names_a_calendar_needs_it(api: ServedApi) -> None:
    assert api.call("PUT", "/v1/calendars/gone", {"dates": ["12-25"]}).status == 200
    job = api.create(schedule={"cron": "0 9 * * *", "calendars": ["gone"]})
    patch(api, job, schedule=None)
    assert api.call("DELETE", "/v1/calendars/gone").status == 204
    reply = rollback(api, job, 1)
    assert (reply.status, list(reply.reasons)) == (422, ["schedule.calendars[0]"])


@pytest.mark.parametrize("occurrence", ["2099-12-24T09:00:00Z"])
def test_single_changes_of_occurrences_come_back_with_their_version(api: ServedApi, occurrence: str) -> None:
    job = api.create(schedule={"cron": "0 9 24 12 *"})
    skipped = api.call("POST", f"/v1/jobs/{job['id']}/skip", {"at": occurrence}).json
    assert rollback(api, job, 1).json["schedule"].get("changed", []) == []
    assert rollback(api, job, 2).json["schedule"] == skipped["schedule"]


def test_a_rollback_with_a_key_is_carried_out_once(api: ServedApi) -> None:
    job = api.create()
    patch(api, job, priority=9)
    first = rollback(api, job, 1, **{"Idempotency-Key": "back"})
    patch(api, job, priority=8)
    second = rollback(api, job, 1, **{"Idempotency-Key": "back"})
    assert (first.json["version"], second.body) == (3, first.body)
    assert second.headers["idempotent-replayed"] == "true"
    assert api.call("GET", f"/v1/jobs/{job['id']}").json["priority"] == 8
