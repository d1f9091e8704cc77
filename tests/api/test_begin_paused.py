"""Jobs that begin paused."""

from typing import Any

import pytest

from tests.api.serving import TARGET, ServedApi

SOON = {"every": "PT1S", "start_at": "2026-01-01T00:00:00Z"}


def test_a_job_begins_paused_and_is_resumed(api: ServedApi) -> None:
    job = api.create(state="paused", schedule=SOON)
    assert (job["state"], job["version"], job["pause_note"]) == ("paused", 1, None)
    assert job["next_due_at"] is not None
    assert api.call("GET", f"/v1/jobs/{job['id']}").json == job
    assert job["id"] in [one["id"] for one in api.call("GET", "/v1/jobs?state=paused").json["items"]]
    resumed = api.call("POST", f"/v1/jobs/{job['id']}/resume")
    assert (resumed.status, resumed.json["state"], resumed.json["version"]) == (200, "active", 1)
    api.call("DELETE", f"/v1/jobs/{job['id']}")


def test_nothing_of_it_is_due(own_api: ServedApi) -> None:
    job = own_api.create(state="paused", schedule={"at": "2026-01-01T00:00:00Z", "allow_past": True})
    now_ms = own_api.on_store(lambda store: store.now_ms())
    due = own_api.on_store(lambda store: store.due_plans(range(256), since_ms=0, until_ms=now_ms, limit=10_000))
    assert job["id"] not in [one["id"] for one in own_api.call("GET", "/v1/jobs?state=active").json["items"]]
    assert due == []
    assert own_api.call("POST", f"/v1/jobs/{job['id']}/run").status == 201, "by hand it runs"


def test_each_of_many_and_one_that_would_be(api: ServedApi) -> None:
    jobs = [{"target": TARGET, "state": "paused"}, {"target": TARGET}, {"target": TARGET, "state": "active"}]
    items = api.call("POST", "/v1/jobs/bulk", {"jobs": jobs}).json["items"]
    assert [item["job"]["state"] for item in items] == ["paused", "active", "active"]
    assert api.call("POST", "/v1/jobs?dry_run=true", jobs[0]).json["state"] == "paused"


@pytest.mark.parametrize("state", ["finished", "cancelled", "", None, 1])
def test_in_no_other_state_does_one_begin(api: ServedApi, state: Any) -> None:
    reply = api.call("POST", "/v1/jobs", {"target": TARGET, "state": state})
    assert (reply.status, list(reply.reasons)) == (422, ["state"])


def test_a_change_does_not_pause(api: ServedApi) -> None:
    job = api.create()
    for method in ("PUT", "PATCH"):
        reply = api.call(method, f"/v1/jobs/{job['id']}", {"target": TARGET, "state": "paused"})
        assert (reply.status, list(reply.reasons)) == (422, ["state"])
