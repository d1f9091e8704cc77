"""Dedupe keys over HTTP: what each way to deal with a conflict answers, and what is refused."""

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dueline.domain.states import RunState
from tests.api.serving import TARGET, Reply, ServedApi
from tests.api.test_jobs import instant
from tests.api.working import claim, end

NO_JOB = "job_01h455vb4pex5vsknk084sn02q"
_numbers = itertools.count(1)

Ask = Callable[..., Reply]


@pytest.fixture
def key() -> str:
    return f"key {next(_numbers)}/é"


@pytest.fixture(params=["run", "job"])
def ask(request: pytest.FixtureRequest, api: ServedApi, key: str) -> Ask:
    """Ask for a run with the test's key, in a queue of the test's own: one without a job, or one of a job."""
    queue = f"q{next(_numbers)}"
    if request.param == "run":
        return lambda **fields: api.call(
            "POST", "/v1/runs", {"target": TARGET, "queue": queue, "dedupe_key": key} | fields
        )
    job = api.create(queue=queue, overlap="allow")
    return lambda **fields: api.call("POST", f"/v1/jobs/{job['id']}/run", {"dedupe_key": key} | fields)


def run_of(api: ServedApi, run_id: str) -> Any:
    return api.call("GET", f"/v1/runs/{run_id}").json


def test_a_second_run_is_rejected_with_the_id_of_the_first(ask: Ask) -> None:
    first = ask()
    assert (first.status, first.headers["location"]) == (201, f"/v1/runs/{first.json['id']}")
    for fields in ({}, {"on_conflict": "reject"}, {"on_conflict": None, "dedupe_window": None, "dedupe_states": None}):
        second = ask(**fields)
        assert second.status == 409
        assert second.json["type"] == "urn:dueline:problem:conflict"
        assert second.json["detail"] == f"the dedupe key is taken by {first.json['id']}"


def test_a_second_run_is_ignored_and_answered_by_the_first(api: ServedApi, ask: Ask) -> None:
    first = ask().json
    second = ask(on_conflict="ignore")
    assert (second.status, second.json) == (200, run_of(api, first["id"]))


def test_the_first_run_is_replaced(api: ServedApi, ask: Ask) -> None:
    first, second = ask().json, ask(on_conflict="replace")
    assert (second.status, second.headers["location"]) == (201, f"/v1/runs/{second.json['id']}")
    assert second.json["id"] != first["id"]
    ended = run_of(api, first["id"])
    assert (ended["state"], ended["reason"]) == ("cancelled", "superseded")
    assert run_of(api, second.json["id"])["state"] == "ready"
    assert second.json["id"] in ask().json["detail"]


def test_the_first_run_is_rescheduled(api: ServedApi, key: str) -> None:
    asked = {"target": TARGET, "dedupe_key": key, "expires_after": "1h"}
    first = api.call("POST", "/v1/runs", asked).json
    due_at = instant(3600)
    second = api.call("POST", "/v1/runs", {**asked, "on_conflict": "reschedule", "due_at": due_at})
    assert (second.status, second.json["id"]) == (200, first["id"])
    assert (second.json["due_at"], second.json["state"]) == (due_at, "scheduled")
    assert second.json == run_of(api, first["id"])


def test_a_run_of_a_job_brings_a_scheduled_run_of_its_key_forward(api: ServedApi, key: str) -> None:
    job = api.create()
    later = api.call("POST", "/v1/runs", {"target": TARGET, "dedupe_key": key, "due_at": instant(3600)}).json
    reply = api.call("POST", f"/v1/jobs/{job['id']}/run", {"dedupe_key": key, "on_conflict": "reschedule"})
    assert (reply.status, reply.json["id"]) == (200, later["id"])
    assert reply.json["due_at"] <= instant(1)


@pytest.mark.parametrize("on_conflict", ["replace", "reschedule"])
def test_a_run_that_has_started_is_left_alone(api: ServedApi, ask: Ask, on_conflict: str) -> None:
    first = ask().json
    claim(api, queue=first["queue"])
    second = ask(on_conflict=on_conflict)
    assert second.status == 409
    assert second.json["detail"] == f"the dedupe key is taken by {first['id']}, which has started or ended"
    assert run_of(api, first["id"])["state"] == "running"


def test_an_ended_run_is_in_the_way_within_the_window_only(api: ServedApi, ask: Ask) -> None:
    first = ask(dedupe_window="1h").json
    end(api, claim(api, queue=first["queue"]), RunState.SUCCEEDED)
    assert ask(dedupe_window="1h").status == 409
    ignored = ask(dedupe_window="P30D", on_conflict="ignore")
    assert (ignored.status, ignored.json["id"], ignored.json["state"]) == (200, first["id"], "succeeded")
    assert ask(dedupe_window="1ms").status == 201, "written longer ago than that"
    assert ask().status == 409


def test_states_say_what_is_in_the_way(api: ServedApi, ask: Ask) -> None:
    first = ask(dedupe_window="1h").json
    end(api, claim(api, queue=first["queue"]), RunState.FAILED)
    assert ask(dedupe_window="1h", dedupe_states=["failed"]).status == 409
    assert ask(dedupe_window="1h").status == 201
    assert ask(dedupe_states=["running"]).status == 201


def test_many_who_ask_at_once_get_one_run(ask: Ask) -> None:
    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda _: ask(on_conflict="ignore"), range(48)))
    assert sorted(reply.status for reply in replies) == [200] * 47 + [201]
    assert len({reply.json["id"] for reply in replies}) == 1


BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"dedupe_key": ""}, "dedupe_key", "1 to 255 letters"),
    ({"dedupe_key": "k" * 256}, "dedupe_key", "1 to 255 letters"),
    ({"dedupe_key": "a\nb"}, "dedupe_key", "control characters"),
    ({"dedupe_key": 7}, "dedupe_key", "text"),
    ({"dedupe_key": None, "on_conflict": "ignore"}, "on_conflict", "means nothing without a dedupe_key"),
    ({"dedupe_key": None, "dedupe_window": "1h"}, "dedupe_window", "means nothing without a dedupe_key"),
    ({"dedupe_key": None, "dedupe_states": ["ready"]}, "dedupe_states", "means nothing without a dedupe_key"),
    ({"on_conflict": "drop"}, "on_conflict", "reschedule"),
    ({"dedupe_window": "soon"}, "dedupe_window", "not a duration"),
    ({"dedupe_window": "0s"}, "dedupe_window", "between PT0.001S and P30D"),
    ({"dedupe_window": "P30DT0.001S"}, "dedupe_window", "between PT0.001S and P30D"),
    ({"dedupe_states": []}, "dedupe_states", "at least one"),
    ({"dedupe_states": ["ready", "done"]}, "dedupe_states[1]", "succeeded"),
    ({"dedupe_states": ["ready", "succeeded"]}, "dedupe_window", "is needed"),
    ({"dedupe_windw": "1h"}, "dedupe_windw", "did you mean dedupe_window?"),
]


@pytest.mark.parametrize(("fields", "field", "reason"), BAD)
def test_what_is_wrong_is_told(ask: Ask, fields: dict[str, Any], field: str, reason: str) -> None:
    reply = ask(**fields)
    assert (reply.status, list(reply.reasons)) == (422, [field])
    assert reason in reply.reasons[field]


def test_the_longest_key_and_window_are_taken(ask: Ask) -> None:
    assert ask(dedupe_key="k" * 255, dedupe_window="P30D", on_conflict="ignore").status in (200, 201)


def test_of_many_each_is_answered_by_the_run_that_stands_for_it(api: ServedApi, key: str) -> None:
    first = api.call("POST", "/v1/runs", {"target": TARGET, "dedupe_key": key}).json["id"]
    asked = [
        {"target": TARGET},
        {"target": TARGET, "dedupe_key": key, "on_conflict": "ignore"},
        {"target": TARGET, "dedupe_key": f"{key}/other"},
        {"target": TARGET, "dedupe_key": f"{key}/other", "on_conflict": "replace"},
    ]
    reply = api.call("POST", "/v1/runs/bulk", {"runs": asked})
    ids = [item["run"]["id"] for item in reply.json["items"]]
    assert [item["status"] for item in reply.json["items"]] == [201, 200, 201, 201]
    assert (reply.json["created"], reply.json["failed"], ids[1], len(set(ids))) == (3, 0, first, 4)
    assert [run_of(api, run_id)["state"] for run_id in ids] == ["ready", "ready", "cancelled", "ready"]


@pytest.mark.parametrize("atomic", [False, True])
def test_of_many_one_that_is_rejected_leaves_the_others_unless_all_or_none(own_api: ServedApi, atomic: bool) -> None:
    first = own_api.call("POST", "/v1/runs", {"target": TARGET, "dedupe_key": "k"}).json["id"]
    asked: list[Any] = [{"target": TARGET, "dedupe_key": f"k{number}"} for number in range(5)]
    asked[3] = {"target": TARGET, "dedupe_key": "k"}
    reply = own_api.call("POST", "/v1/runs/bulk", {"runs": asked, "atomic": atomic})
    taken = f"the dedupe key is taken by {first}"
    there = {run["id"] for run in own_api.call("GET", "/v1/runs").json["items"]}
    if atomic:
        assert (reply.status, reply.reasons, there) == (409, {"runs[3].dedupe_key": taken}, {first})
        return
    assert [item["status"] for item in reply.json["items"]] == [201, 201, 201, 409, 201]
    assert (reply.json["created"], reply.json["failed"]) == (4, 1)
    assert reply.json["items"][3]["problem"]["detail"] == taken
    assert there == {first, *(item["run"]["id"] for item in reply.json["items"] if "run" in item)}


def test_what_is_wrong_with_one_of_many_is_told_with_its_place(api: ServedApi) -> None:
    asked = [{"target": TARGET}, {"target": TARGET, "on_conflict": "ignore"}]
    reply = api.call("POST", "/v1/runs/bulk", {"runs": asked, "atomic": True})
    assert list(reply.reasons) == ["runs[1].on_conflict"]


def test_a_job_that_is_not_there_takes_no_key(api: ServedApi, key: str) -> None:
    assert api.call("POST", f"/v1/jobs/{NO_JOB}/run", {"dedupe_key": key}).status == 404
    assert api.call("POST", "/v1/runs", {"target": TARGET, "dedupe_key": key}).status == 201
