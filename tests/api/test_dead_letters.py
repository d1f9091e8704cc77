"""Dead letters over HTTP: looked at, tried again, put aside."""

from typing import Any

import pytest

from dueline.domain.states import RunState
from tests.api.serving import TARGET, ServedApi
from tests.api.working import a_dead_letter, claim, end

UNKNOWN = "run_01h455vb4pex5vsknk084sn02q"


def listed(api: ServedApi, query: str = "") -> list[str]:
    reply = api.call("GET", f"/v1/dead-letters?{query}")
    assert reply.status == 200, reply.body
    return [letter["id"] for letter in reply.json["items"]]


def redrive(api: ServedApi, run_id: str, **body: Any) -> Any:
    reply = api.call("POST", f"/v1/dead-letters/{run_id}/redrive", body)
    assert reply.status == 201, reply.body
    assert reply.headers["location"] == f"/v1/runs/{reply.json['id']}"
    return reply.json


def test_a_failed_run_is_shown_with_what_it_executed(api: ServedApi) -> None:
    target = {"url": "http://127.0.0.1:9/x", "method": "PUT", "body": {"a": 1}}
    run_id = a_dead_letter(api, target=target, timeout="5s", retry={"max_attempts": 1}, reason="run_timeout")
    letter = api.call("GET", f"/v1/dead-letters/{run_id}").json
    assert (letter["id"], letter["run"]["id"]) == (run_id, run_id)
    assert letter["run"] == api.call("GET", f"/v1/runs/{run_id}").json
    assert (letter["run"]["state"], letter["run"]["reason"]) == ("failed", "run_timeout")
    assert letter["failed_at"] == letter["run"]["finished_at"]
    executed = letter["executed"]
    assert {name: executed["target"][name] for name in target} == target
    assert (executed["timeout"], executed["retry"]["max_attempts"]) == ("PT5S", 1)
    page = api.call("GET", "/v1/dead-letters").json
    del letter["executed"]
    assert letter in page["items"]


def test_filters_and_pages(own_api: ServedApi) -> None:
    job = own_api.create(queue="of-job")
    own_api.call("POST", f"/v1/jobs/{job['id']}/run")
    claimed = claim(own_api, queue="of-job")
    end(own_api, claimed, RunState.FAILED, reason="poison")
    (of_job,) = listed(own_api)
    others = [a_dead_letter(own_api) for _ in range(3)][::-1]
    assert listed(own_api) == [*others, of_job]
    assert listed(own_api, f"job_id={job['id']}") == listed(own_api, "queue=of-job") == [of_job]
    assert listed(own_api, "reason=poison") == [of_job]
    assert listed(own_api, "queue=failing") == others
    assert listed(own_api, "to=2020-01-01T00:00:00Z") == listed(own_api, "from=2090-01-01T00:00:00Z") == []
    first = own_api.call("GET", "/v1/dead-letters?queue=failing&limit=2").json
    cursor = first["next_cursor"]
    assert listed(own_api, f"queue=failing&limit=2&cursor={cursor}") == others[2:]
    assert "cursor" in own_api.call("GET", f"/v1/dead-letters?cursor={cursor}").reasons


def test_one_is_tried_again_once_for_each_wish(api: ServedApi) -> None:
    run_id = a_dead_letter(api, tags=["a"])
    run = redrive(api, run_id)
    assert (run["kind"], run["state"], run["parent_run_id"], run["tags"]) == ("redrive", "ready", run_id, ["a"])
    assert redrive(api, run_id, key="once") == run
    assert api.call("POST", f"/v1/dead-letters/{run_id}/redrive").json == run
    assert api.call("POST", f"/v1/dead-letters/{run_id}/redrive", {"key": "other"}).status == 404
    assert run_id not in listed(api)
    assert api.call("GET", f"/v1/dead-letters/{run_id}").status == 404
    assert api.call("GET", f"/v1/runs/{run_id}").json["state"] == "failed"
    api.call("POST", f"/v1/runs/{run['id']}/cancel")


def test_one_is_tried_again_with_another_target(api: ServedApi) -> None:
    job = api.create(queue="edited", timeout="7s")
    api.call("POST", f"/v1/jobs/{job['id']}/run")
    end(api, claim(api, queue="edited"), RunState.FAILED)
    (run_id,) = listed(api, "queue=edited")
    for target, field in (({"url": "ftp://x"}, "target.url"), ({"method": "PUT"}, "target.url"), (1, "target")):
        reply = api.call("POST", f"/v1/dead-letters/{run_id}/redrive", {"target": target})
        assert (reply.status, list(reply.reasons)) == (422, [field])
    again = redrive(api, run_id, target={"url": "http://127.0.0.1:9/{{job.id}}"}, version="latest")
    assert again["job_id"] == job["id"]
    end(api, claim(api, queue="edited"), RunState.FAILED)
    executed = api.call("GET", f"/v1/dead-letters/{again['id']}").json["executed"]
    assert (executed["target"]["url"], executed["timeout"]) == ("http://127.0.0.1:9/{{job.id}}", "PT7S")


def test_a_run_without_a_job_cannot_be_given_a_target_that_names_one(api: ServedApi) -> None:
    run_id = a_dead_letter(api)
    target = {"url": "http://127.0.0.1:9/{{job.id}}"}
    reply = api.call("POST", f"/v1/dead-letters/{run_id}/redrive", {"target": target})
    assert (reply.status, list(reply.reasons)) == (422, ["target.url"])
    assert run_id in listed(api)


def test_many_are_tried_again(own_api: ServedApi) -> None:
    letters = [a_dead_letter(own_api) for _ in range(3)]
    other = a_dead_letter(own_api, queue="other")
    asked = {"queue": "failing", "rate": 10, "key": "all"}
    told = own_api.call("POST", "/v1/dead-letters/redrive", {**asked, "dry_run": True}).json
    assert (told["matched"], told["redriven"], told["left"]) == (3, 3, 0)
    assert len(listed(own_api)) == 4
    start_at = "2090-01-01T00:00:00.000Z"
    done = own_api.call("POST", "/v1/dead-letters/redrive", {**asked, "start_at": start_at}).json
    assert (done["matched"], done["redriven"], done["left"]) == (3, 3, 0)
    assert done["next_due_at"] == "2090-01-01T00:00:00.300Z"
    assert listed(own_api) == [other]
    runs = own_api.call("GET", "/v1/runs?kind=redrive").json["items"]
    assert {run["parent_run_id"] for run in runs} == set(letters)
    assert sorted(run["due_at"] for run in runs)[1:] == [f"2090-01-01T00:00:00.{tenth}00Z" for tenth in (1, 2)]


def test_many_are_put_aside(own_api: ServedApi) -> None:
    kept, gone = a_dead_letter(own_api, queue="kept"), a_dead_letter(own_api)
    assert own_api.call("POST", "/v1/dead-letters/purge", {"queue": "failing"}).json == {"purged": 1}
    assert listed(own_api) == [kept]
    assert own_api.call("GET", f"/v1/runs/{gone}").json["state"] == "failed"
    assert own_api.call("POST", "/v1/dead-letters/purge", {}).json == {"purged": 1}
    assert own_api.call("POST", "/v1/dead-letters/purge", {}).json == {"purged": 0}


def test_one_is_put_aside(own_api: ServedApi) -> None:
    kept, gone = a_dead_letter(own_api), a_dead_letter(own_api)
    assert own_api.call("DELETE", f"/v1/dead-letters/{gone}").status == 204
    assert own_api.call("DELETE", f"/v1/dead-letters/{gone}").status == 404
    assert listed(own_api) == [kept]
    assert own_api.call("GET", f"/v1/runs/{gone}").json["state"] == "failed"


def test_nothing_is_put_aside_without_a_body(api: ServedApi) -> None:
    for verb in ("purge", "redrive"):
        assert api.call("POST", f"/v1/dead-letters/{verb}").status == 400


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"job_id": "x"}, "job_id"),
        ({"queue": "a b"}, "queue"),
        ({"reason": "\x00"}, "reason"),
        ({"reason": "x" * 201}, "reason"),
        ({"from": "yesterday"}, "from"),
        ({"from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"}, "to"),
        ({"rate": 0}, "rate"),
        ({"rate": 10_001}, "rate"),
        ({"key": ""}, "key"),
        ({"key": "x" * 256}, "key"),
        ({"key": "\n"}, "key"),
        ({"version": 1}, "version"),
        ({"start_at": "9999-01-01T00:00:00Z"}, "start_at"),
        ({"limit": 1}, "limit"),
    ],
)
def test_what_is_wrong_is_named(api: ServedApi, body: Any, field: str) -> None:
    reply = api.call("POST", "/v1/dead-letters/redrive", body)
    assert (reply.status, list(reply.reasons)) == (422, [field])
    if field in ("job_id", "queue", "reason", "from", "to"):
        assert list(api.call("POST", "/v1/dead-letters/purge", body).reasons) == [field]


def test_what_is_not_a_dead_letter(api: ServedApi) -> None:
    living = api.call("POST", "/v1/runs", {"target": TARGET, "queue": "living"}).json["id"]
    for run_id in ("x", UNKNOWN, living):
        assert api.call("GET", f"/v1/dead-letters/{run_id}").status == 404
        assert api.call("DELETE", f"/v1/dead-letters/{run_id}").status == 404
        assert api.call("POST", f"/v1/dead-letters/{run_id}/redrive").status == 404
    assert list(api.call("POST", f"/v1/dead-letters/{UNKNOWN}/redrive", {"key": ""}).reasons) == ["key"]
