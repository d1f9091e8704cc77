"""Runs over HTTP: ad hoc, in bulk, and as they are read."""

from typing import Any

import pytest

from dueline.domain import limits
from dueline.domain.ids import BootId, parse_run_id
from dueline.domain.instants import format_instant
from dueline.domain.lanes import TASK
from dueline.domain.run import Attempt, Outcome, OutcomeKind
from dueline.domain.states import RunState
from dueline.store.fleet import NewNode, Role
from dueline.store.protocol import Store
from dueline.store.shapes import Finish, Retry, Saved
from tests.api.serving import TARGET, ServedApi
from tests.api.test_jobs import instant
from tests.api.working import claim, end


def test_one_run_is_ready_at_once(api: ServedApi) -> None:
    asked = {"target": TARGET, "queue": "mail", "priority": 8, "tags": ["a"], "timeout": "5s", "retry": {"base": "1s"}}
    reply = api.call("POST", "/v1/runs", asked)
    run = reply.json
    assert (reply.status, reply.headers["location"]) == (201, f"/v1/runs/{run['id']}")
    assert (run["kind"], run["state"], run["job_id"], run["job_version"]) == ("adhoc", "ready", None, None)
    assert (run["queue"], run["priority"], run["tags"]) == ("mail", 8, ["a"])
    assert (run["attempt"], run["worker"], run["result"], run["error"], run["parent_run_id"]) == (
        0,
        None,
        None,
        None,
        None,
    )
    stored = api.call("GET", f"/v1/runs/{run['id']}").json
    assert {**stored, "created_at": run["created_at"]} == run


def test_a_run_that_is_due_later_waits(api: ServedApi) -> None:
    due_at = instant(3600)
    run = api.call("POST", "/v1/runs", {"target": TARGET, "due_at": due_at}).json
    assert (run["state"], run["due_at"], run["scheduled_at"]) == ("scheduled", due_at, due_at)
    assert api.call("GET", f"/v1/runs/{run['id']}").json["state"] == "scheduled"


def test_a_finished_run_shows_its_attempts(own_api: ServedApi) -> None:
    run = own_api.call("POST", "/v1/runs", {"target": TARGET}).json
    own_api.on_store(_fail_and_retry)
    retrying = own_api.call("GET", f"/v1/runs/{run['id']}").json
    assert (retrying["state"], retrying["error"], retrying["result"]) == ("retrying", "HTTP 503", None)
    own_api.on_store(_succeed)
    ended = own_api.call("GET", f"/v1/runs/{run['id']}").json
    assert (ended["state"], ended["error"], ended["result"], ended["attempt"]) == ("succeeded", None, "done", 2)
    assert ended["finished_at"] is not None
    assert [(a["attempt"], a["outcome"], a["status"], a["error"], a["worker"]) for a in ended["attempts"]] == [
        (1, "refused", 503, "HTTP 503", "w"),
        (2, "succeeded", 200, None, "w"),
    ]
    assert ended["attempts"][0]["token"] < ended["attempts"][1]["token"]


def test_a_live_run_tells_how_far_it_is(own_api: ServedApi) -> None:
    run_id = own_api.call("POST", "/v1/runs", {"target": {"task": "report"}, "queue": "q"}).json["id"]
    told = ("progress", "progress_note", "heard_at")

    def shown() -> list[Any]:
        run = own_api.call("GET", f"/v1/runs/{run_id}").json
        return [run[name] for name in told]

    claimed = claim(own_api, queue="q", lane=TASK)
    assert shown() == [None, None, None]
    own_api.on_store(lambda store: store.save([Saved(claimed.run_id, claimed.token, "7", 0.25, "a quarter")]))
    progress, note, heard_at = shown()
    assert (progress, note) == (0.25, "a quarter")
    assert format_instant(claimed.claimed_ms) <= heard_at <= instant(0)
    (listed,) = own_api.call("GET", "/v1/runs").json["items"]
    assert [listed[name] for name in told] == [None, None, None], "a list does not ask for it"
    end(own_api, claimed, RunState.SUCCEEDED)
    assert shown() == [None, None, None]


def test_filters_of_runs(own_api: ServedApi) -> None:
    job = own_api.create(tags=["of-job"])
    manual = own_api.call("POST", f"/v1/jobs/{job['id']}/run").json["id"]
    tagged = own_api.call("POST", "/v1/runs", {"target": TARGET, "tags": ["x", "y"]}).json["id"]
    late = own_api.call("POST", "/v1/runs", {"target": TARGET, "due_at": "2099-01-01T00:00:00Z"}).json["id"]

    def found(query: str) -> list[str]:
        return [run["id"] for run in own_api.call("GET", f"/v1/runs?{query}").json["items"]]

    assert found("") == [late, tagged, manual]
    assert found(f"job_id={job['id']}") == [manual]
    assert found("kind=manual") == [manual]
    assert found("state=scheduled") == [late]
    assert found("tag=y") == [tagged]
    assert found("from=2099-01-01T00:00:00Z") == [late]
    assert found("to=2099-01-01T00:00:00Z") == [tagged, manual]
    assert found("from=2099-01-01T00:00:00.001Z") == []
    assert found("job_id=job_01h455vb4pex5vsknk084sn02q") == []


def test_what_is_not_an_id_names_no_run(api: ServedApi) -> None:
    for identifier in ("x", "run_", "job_01h455vb4pex5vsknk084sn02q", "run_01h455vb4pex5vsknk084sn02q"):
        assert api.call("GET", f"/v1/runs/{identifier}").status == 404
    assert parse_run_id("run_01h455vb4pex5vsknk084sn02q")


async def _claim(store: Store) -> Any:
    worker = BootId("w")
    await store.register(NewNode(boot_id=worker, role=Role.WORKER, host="here", pid=1, version="1"), lease_s=60)
    (claim,) = (await store.claim(worker, "default", "", ahead_ms=1_000, limit=10)).claims
    return claim


def _attempt(claim: Any, outcome: Outcome) -> Attempt:
    at_ms = claim.claimed_ms
    return Attempt(
        attempt=claim.attempt,
        token=claim.token,
        worker="w",
        claimed_ms=at_ms,
        started_ms=at_ms,
        finished_ms=at_ms + 1,
        outcome=outcome,
    )


async def _fail_and_retry(store: Store) -> None:
    claim = await _claim(store)
    outcome = Outcome(kind=OutcomeKind.REFUSED, status=503, error="HTTP 503")
    assert await store.retry([Retry(claim.run_id, claim.token, claim.due_ms, _attempt(claim, outcome))])


async def _succeed(store: Store) -> None:
    await store.promote(ahead_ms=1_000, limit=10)
    claim = await _claim(store)
    attempt = _attempt(claim, Outcome(kind=OutcomeKind.SUCCEEDED, status=200, result="done"))
    finish = Finish(
        claim.run_id,
        claim.token,
        RunState.SUCCEEDED,
        claim.exclusive,
        attempt.started_ms,
        attempt.finished_ms,
        attempt,
        None,
    )
    assert await store.finish([finish])


def test_runs_are_found_by_their_queue_and_by_the_name_of_their_job(api: ServedApi) -> None:
    job = api.create(name="named for its runs", queue="found-by-queue")
    run_id = api.call("POST", f"/v1/jobs/{job['id']}/run").json["id"]
    api.call("POST", "/v1/runs", {"target": TARGET})
    for query in (
        "queue=found-by-queue",
        "job_name=named+for+its+runs",
        "job_name=named%20for%20its%20runs&kind=manual",
    ):
        found = api.call("GET", f"/v1/runs?{query}").json
        assert ([run["id"] for run in found["items"]], found["next_cursor"]) == ([run_id], None)
    assert list(api.call("GET", "/v1/runs?job_name=named").reasons) == ["job_name"]
    assert list(api.call("GET", f"/v1/runs?job_name=x&job_id={job['id']}").reasons) == ["job_name"]


def test_pages_go_on_while_there_is_more_to_look_at(own_api: ServedApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RUNS_LOOKED_FIRST", 2)
    monkeypatch.setattr(limits, "RUNS_LOOKED_MAX", 4)
    rare = own_api.call("POST", "/v1/runs", {"target": TARGET, "tags": ["rare"]}).json["id"]
    own_api.call("POST", "/v1/runs/bulk", {"runs": [{"target": TARGET}] * 20})
    found: list[str] = []
    cursor: str | None = ""
    pages = 0
    while cursor is not None:
        page = own_api.call("GET", f"/v1/runs?tag=rare&cursor={cursor}").json
        found += [run["id"] for run in page["items"]]
        cursor, pages = page["next_cursor"], pages + 1
    assert found == [rare]
    assert pages > 1


def test_a_run_tells_the_name_of_its_job_also_of_a_deleted_one(api: ServedApi) -> None:
    named = api.call("POST", "/v1/jobs", {"target": TARGET, "name": "told with its runs", "queue": "named"}).json
    unnamed = api.call("POST", "/v1/jobs", {"target": TARGET, "queue": "named"}).json
    assert api.call("POST", f"/v1/jobs/{named['id']}/run").status == 201
    end(api, claim(api, queue="named"), RunState.FAILED)
    assert api.call("POST", f"/v1/jobs/{unnamed['id']}/run").status == 201
    api.call("POST", "/v1/runs", {"target": TARGET, "queue": "named"})
    assert api.call("DELETE", f"/v1/jobs/{named['id']}").status == 204
    runs = {run["job_id"]: run for run in api.call("GET", "/v1/runs?queue=named").json["items"]}
    names = {job_id: run["job_name"] for job_id, run in runs.items()}
    assert names == {named["id"]: "told with its runs", unnamed["id"]: unnamed["id"], None: None}
    run_id = runs[named["id"]]["id"]
    assert api.call("GET", f"/v1/runs/{run_id}").json["job_name"] == "told with its runs"
    (letter,) = api.call("GET", f"/v1/dead-letters?job_id={named['id']}").json["items"]
    assert letter["run"]["job_name"] == "told with its runs"
    assert api.call("GET", f"/v1/dead-letters/{run_id}").json["run"]["job_name"] == "told with its runs"
