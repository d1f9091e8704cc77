"""Jobs that are cancelled for good, over HTTP."""

from typing import Any

import pytest

from dueline.domain.ids import parse_job_id
from dueline.domain.job import DEFAULT_TENANT
from dueline.domain.states import JobState
from tests.api.serving import TARGET, ServedApi
from tests.support.stores import changing

HOURLY = {"every": "PT1H"}


def a_cancelled_job(api: ServedApi, **body: Any) -> tuple[dict[str, Any], str]:
    job = api.create(schedule=HOURLY)
    path = f"/v1/jobs/{job['id']}"
    reply = api.call("POST", f"{path}/cancel", body or None)
    assert reply.status == 200
    return reply.json, path


def test_a_cancelled_job_stays_to_be_seen(api: ServedApi) -> None:
    job, path = a_cancelled_job(api, note="the shop is closed")
    assert (job["state"], job["pause_note"], job["next_due_at"], job["version"]) == (
        "cancelled",
        "the shop is closed",
        None,
        1,
    )
    assert api.call("GET", path).json == job
    assert job["id"] in [one["id"] for one in api.call("GET", "/v1/jobs?state=cancelled").json["items"]]
    assert api.call("GET", f"{path}/versions").json["items"][0]["version"] == 1


def test_cancelling_twice_is_answered_the_same_and_writes_nothing(api: ServedApi) -> None:
    job, path = a_cancelled_job(api, note="first")
    again = api.call("POST", f"{path}/cancel", {"note": "second"})
    assert (again.status, again.json, again.headers["etag"]) == (200, job, '"v1"')
    stopped = api.call("POST", f"{path}/cancel", {"cancel_running": True}).json
    assert {**stopped, "updated_at": job["updated_at"]} == job


def test_its_unstarted_runs_are_cancelled_with_the_reason(api: ServedApi) -> None:
    job = api.create()
    run = api.call("POST", f"/v1/jobs/{job['id']}/run").json
    api.call("POST", f"/v1/jobs/{job['id']}/pause", {"note": "before"})
    assert api.call("POST", f"/v1/jobs/{job['id']}/cancel").json["pause_note"] is None
    ended = api.call("GET", f"/v1/runs/{run['id']}").json
    assert (ended["state"], ended["reason"]) == ("cancelled", "job_cancelled")


@pytest.mark.parametrize(
    ("method", "of", "body"),
    [
        ("POST", "/run", None),
        ("POST", "/pause", None),
        ("POST", "/resume", None),
        ("PUT", "", {"target": TARGET}),
        ("PATCH", "", {"priority": 9}),
        ("POST", "/skip", {"at": "2099-12-24T09:00:00Z"}),
        ("POST", "/move", {"at": "2099-12-24T09:00:00Z", "to": "2099-12-24T10:00:00Z"}),
        ("POST", "/restore", {"at": "2099-12-24T09:00:00Z"}),
        ("POST", "/backfill", {"from": "2026-03-01T00:00:00Z", "to": "2026-03-02T00:00:00Z"}),
        ("POST", "/versions/1/rollback", None),
    ],
)
def test_nothing_but_deleting_can_be_done_with_it(api: ServedApi, method: str, of: str, body: Any) -> None:
    _, path = a_cancelled_job(api)
    reply = api.call(method, path + of, body)
    assert (reply.status, reply.json["type"]) == (409, "urn:dueline:problem:conflict")
    assert "a cancelled job stays as it is" in reply.json["detail"]
    assert api.call("DELETE", path).status == 204
    assert api.call("GET", path).status == 404


def test_its_name_is_free_once_it_is_deleted(api: ServedApi) -> None:
    job, path = a_cancelled_job(api)
    taken = {"name": job["name"], "target": TARGET}
    assert api.call("POST", "/v1/jobs", taken).status == 409
    assert api.call("PUT", f"/v1/jobs/by-name/{job['name']}", {"target": TARGET}).status == 409
    api.call("DELETE", path)
    assert api.call("POST", "/v1/jobs", taken).status == 201


def test_it_takes_effect_only_at_the_version_that_was_read(api: ServedApi) -> None:
    job = api.create(schedule=HOURLY)
    path = f"/v1/jobs/{job['id']}"
    assert api.call("POST", f"{path}/cancel", headers={"If-Match": '"v2"'}).status == 412
    assert api.call("GET", path).json["state"] == "active"
    assert api.call("POST", f"{path}/cancel", headers={"If-Match": '"v1"'}).status == 200


def test_a_finished_job_is_refused(own_api: ServedApi) -> None:
    job = own_api.create(schedule={"at": "2026-01-01T00:00:00Z", "allow_past": True})
    path = f"/v1/jobs/{job['id']}"
    finished = changing(state=JobState.FINISHED, next_ms=None)
    own_api.on_store(lambda store: store.change_job(DEFAULT_TENANT, parse_job_id(job["id"]), finished))
    reply = own_api.call("POST", f"{path}/cancel")
    assert (reply.status, "finished" in reply.json["detail"]) == (409, True)


def test_what_is_wrong_with_the_body_is_named(api: ServedApi) -> None:
    path = f"/v1/jobs/{api.create()['id']}/cancel"
    assert api.call("POST", path, {"note": "x" * 1001}).reasons.keys() == {"note"}
    assert api.call("POST", path, {"cancel_runing": True}).reasons.keys() == {"cancel_runing"}
    assert api.call("POST", path, {"cancel_running": "yes"}).reasons.keys() == {"cancel_running"}
