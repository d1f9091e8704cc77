"""Ending runs over HTTP."""

import pytest

from dueline.domain.ids import run_text
from dueline.domain.states import RunState
from tests.api.serving import TARGET, ServedApi
from tests.api.working import WORKER, claim, end


@pytest.mark.parametrize("due", [{}, {"due_at": "2099-01-01T00:00:00Z"}])
def test_a_run_that_has_not_started_ends_at_once(api: ServedApi, due: dict[str, str]) -> None:
    run = api.call("POST", "/v1/runs", {"target": TARGET, "queue": "unstarted", **due}).json
    reply = api.call("POST", f"/v1/runs/{run['id']}/cancel")
    assert (reply.status, reply.json["state"], reply.json["reason"]) == (200, "cancelled", "requested")
    assert reply.json == api.call("GET", f"/v1/runs/{run['id']}").json


def test_a_run_under_way_is_asked_to_end(api: ServedApi) -> None:
    run = api.call("POST", "/v1/runs", {"target": TARGET, "queue": "under-way"}).json
    claimed = claim(api, queue="under-way")
    assert run_text(claimed.run_id) == run["id"]
    for _ in range(2):
        reply = api.call("POST", f"/v1/runs/{run['id']}/cancel")
        assert (reply.status, reply.json["state"]) == (200, "running")
    asked = api.on_store(lambda store: store.cancels_of(WORKER))
    assert [one.run_id for one in asked] == [claimed.run_id]


@pytest.mark.parametrize("state", [RunState.SUCCEEDED, RunState.FAILED])
def test_a_run_that_has_ended_stays_as_it_is(api: ServedApi, state: RunState) -> None:
    run = api.call("POST", "/v1/runs", {"target": TARGET, "queue": state}).json
    end(api, claim(api, queue=state), state)
    reply = api.call("POST", f"/v1/runs/{run['id']}/cancel")
    assert (reply.status, reply.json["type"]) == (409, "urn:dueline:problem:conflict")
    assert reply.json["detail"] == f"the run is {state} already"
    assert api.call("GET", f"/v1/runs/{run['id']}").json["state"] == state


def test_what_is_not_there_cannot_be_ended(api: ServedApi) -> None:
    for identifier in ("x", "job_01h455vb4pex5vsknk084sn02q", "run_01h455vb4pex5vsknk084sn02q"):
        assert api.call("POST", f"/v1/runs/{identifier}/cancel").status == 404
    assert api.call("GET", "/v1/runs/x/cancel").status == 405
