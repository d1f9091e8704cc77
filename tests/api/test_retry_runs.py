"""Finished runs tried again over HTTP."""

from typing import Any

import pytest

from dueline.domain.states import RunState
from tests.api.serving import TARGET, Reply, ServedApi
from tests.api.working import a_dead_letter, claim, end

UNKNOWN = "run_01h455vb4pex5vsknk084sn02q"


def retry(api: ServedApi, run_id: str, body: Any = None, **headers: str) -> Reply:
    return api.call("POST", f"/v1/runs/{run_id}/retry", body, headers=headers)


def ended(api: ServedApi, state: RunState, queue: str) -> str:
    run_id: str = api.call("POST", "/v1/runs", {"target": TARGET, "queue": queue, "tags": ["blue"]}).json["id"]
    end(api, claim(api, queue=queue), state)
    return run_id


@pytest.mark.parametrize("state", [RunState.FAILED, RunState.CANCELLED, RunState.EXPIRED])
def test_a_run_that_ended_is_tried_again_as_a_new_one(api: ServedApi, state: RunState) -> None:
    run_id = ended(api, state, f"tried-{state}")
    reply = retry(api, run_id)
    run = reply.json
    assert (reply.status, reply.headers["location"]) == (201, f"/v1/runs/{run['id']}")
    assert (run["kind"], run["state"], run["parent_run_id"], run["tags"]) == ("redrive", "ready", run_id, ["blue"])
    assert api.call("GET", f"/v1/runs/{run['id']}").json == run
    assert api.call("GET", f"/v1/runs/{run_id}").json["state"] == state
    assert api.call("GET", f"/v1/dead-letters/{run_id}").status == 404


def test_one_that_succeeded_is_forced(api: ServedApi) -> None:
    run_id = ended(api, RunState.SUCCEEDED, "forced")
    reply = retry(api, run_id, {})
    assert (reply.status, reply.json["detail"]) == (409, "the run succeeded: say force to run it once more")
    assert retry(api, run_id, {"force": True}).status == 201


def test_one_that_has_not_ended_is_refused(api: ServedApi) -> None:
    run_id = api.call("POST", "/v1/runs", {"target": TARGET, "queue": "unended"}).json["id"]
    reply = retry(api, run_id, {"force": True})
    assert (reply.status, reply.json["detail"]) == (409, "the run is ready: it can be tried again once it has ended")
    for unknown in (UNKNOWN, "x"):
        assert retry(api, unknown).status == 404


def test_a_key_of_either_kind_makes_one_run(api: ServedApi) -> None:
    run_id = ended(api, RunState.FAILED, "keyed")
    plain = {retry(api, run_id).json["id"] for _ in range(2)}
    keyed = {retry(api, run_id, {"key": "mine"}).json["id"] for _ in range(2)}
    once = [retry(api, run_id, **{"Idempotency-Key": "sent twice"}) for _ in range(2)]
    assert (len(plain), len(keyed)) == (2, 1)
    assert once[0].body == once[1].body
    assert once[1].headers["idempotent-replayed"] == "true"
    assert len(plain | keyed | {once[0].json["id"]}) == 4


def test_a_dead_letter_that_was_put_aside_can_still_be_tried(api: ServedApi) -> None:
    run_id = a_dead_letter(api, queue="put-aside")
    assert api.call("DELETE", f"/v1/dead-letters/{run_id}").status == 204
    assert retry(api, run_id).status == 201


def test_the_definition_is_chosen(api: ServedApi) -> None:
    job = api.create(queue="chosen", overlap="allow")
    run_id = api.call("POST", f"/v1/jobs/{job['id']}/run").json["id"]
    end(api, claim(api, queue="chosen"), RunState.FAILED)
    api.call("PATCH", f"/v1/jobs/{job['id']}", {"priority": 9})
    assert retry(api, run_id).json["job_version"] == 1
    assert retry(api, run_id, {"version": "latest"}).json["job_version"] == 2


@pytest.mark.parametrize(
    ("body", "field"),
    [({"key": ""}, "key"), ({"key": "x" * 256}, "key"), ({"version": "newest"}, "version"), ({"target": {}}, "target")],
)
def test_bad_wishes_are_refused(api: ServedApi, body: Any, field: str) -> None:
    reply = retry(api, UNKNOWN, body)
    assert (reply.status, list(reply.reasons)) == (422, [field])
