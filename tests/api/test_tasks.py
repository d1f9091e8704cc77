"""Jobs whose target is a task, written, read and changed over the API."""

from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from dueline import App
from tests.api.serving import TARGET, Reply, ServedApi
from tests.api.working import a_dead_letter
from tests.support.keys import ADMIN_KEY

TASK = {"type": "task", "task": "shop.report", "args": {"day": "2026-01-01", "to": ["ä", {"n": 10**30}], "none": None}}


def patch(api: ServedApi, job: Any, target: Any) -> Reply:
    return api.call("PATCH", f"/v1/jobs/{job['id']}", {"target": target})


def test_a_task_comes_back_as_it_was_written(api: ServedApi) -> None:
    job = api.create(target=TASK)
    assert job["target"] == TASK
    assert api.call("GET", f"/v1/jobs/{job['id']}").json == job
    assert api.create(target={"task": "t"})["target"] == {"type": "task", "task": "t", "args": {}}


def test_what_was_read_can_be_put_again_and_is_no_change(api: ServedApi) -> None:
    job = api.create(target=TASK, schedule="every hour", retry={"retry_on": ["error"]})
    read_only = {"id", "tenant", "state", "pause_note", "version", "next_due_at", "created_at", "updated_at"}
    echo = {name: value for name, value in job.items() if name not in read_only}
    reply = api.call("PUT", f"/v1/jobs/{job['id']}", echo)
    assert (reply.status, reply.json["version"], reply.json["target"]) == (200, 1, TASK)


@pytest.mark.parametrize("levels", [62, 63])
def test_arguments_may_be_64_levels_deep(api: ServedApi, levels: int) -> None:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    target = {"type": "task", "task": "t", "args": {"a": value}}
    assert api.create(target=target)["target"] == target


def test_arguments_may_have_64_kib(api: ServedApi) -> None:
    target = {"type": "task", "task": "t", "args": {"a": "x" * (65_536 - len('{"a":""}'))}}
    assert api.create(target=target)["target"] == target


def test_a_call_becomes_a_task_and_a_task_a_call(api: ServedApi) -> None:
    job = api.create(target={**TARGET, "headers": {"X": "y"}, "body": {"n": 1}})
    task = {"type": "task", "task": "t", "args": {"a": [None]}}
    changed = patch(api, job, task)
    assert (changed.status, changed.json["target"], changed.json["version"]) == (200, task, 2)
    again = patch(api, job, {"type": "http", **TARGET}).json
    assert (again["target"]["url"], again["target"]["body"], again["version"]) == (TARGET["url"], None, 3)
    assert again["target"]["headers"] == {}, "nothing is left of either"


def test_a_patch_changes_some_of_the_arguments(api: ServedApi) -> None:
    job = api.create(target=TASK)
    changed = patch(api, job, {"args": {"day": "2026-01-02", "to": None}}).json["target"]
    assert changed == {"type": "task", "task": "shop.report", "args": {"day": "2026-01-02", "none": None}}
    other = patch(api, job, {"task": "shop.other"}).json["target"]
    assert (other["task"], other["args"]) == ("shop.other", changed["args"])


@pytest.mark.parametrize(
    ("before", "change", "field", "reason"),
    [
        (TARGET, {"task": "t"}, "target.task", "say type task"),
        (TARGET, {"type": "task"}, "target.task", "is required"),
        (TARGET, {"type": "task", "task": "t", "method": "GET"}, "target.method", "no use for a task"),
        (TASK, TARGET, "target.url", "no use for a task"),
        (TASK, {"type": "http"}, "target.url", "is required"),
        (TASK, {"task": None}, "target.task", "is required"),
        (TASK, {"args": {"a": "\0"}}, "target.args", "NUL"),
        (TASK, {"args": {"a": "x" * 65_536}}, "target.args", "bytes long"),
    ],
)
def test_a_patch_that_means_neither_is_refused(
    api: ServedApi, before: Any, change: Any, field: str, reason: str
) -> None:
    job = api.create(target=before)
    reply = patch(api, job, change)
    assert (reply.status, list(reply.reasons)) == (422, [field])
    assert reason in reply.reasons[field]
    assert api.call("GET", f"/v1/jobs/{job['id']}").json == job


def test_runs_of_tasks_are_asked_for_one_by_one_and_many_at_once(api: ServedApi) -> None:
    assert api.call("POST", "/v1/runs", {"target": TASK}).status == 201
    bulk = api.call("POST", "/v1/runs/bulk", {"runs": [{"target": TASK}, {"target": {"task": "t", "args": 1}}]})
    assert [item["status"] for item in bulk.json["items"]] == [201, 422]
    assert api.call("POST", "/v1/runs/bulk", {"runs": [{"target": TASK}] * 3}).json["created"] == 3


def test_jobs_are_listed_by_their_type(own_api: ServedApi) -> None:
    task, call = own_api.create(target=TASK), own_api.create()
    listed = {
        kind: [job["id"] for job in own_api.call("GET", f"/v1/jobs?target_type={kind}").json["items"]]
        for kind in ("task", "http")
    }
    assert listed == {"task": [task["id"]], "http": [call["id"]]}
    own_api.call("PATCH", f"/v1/jobs/{call['id']}", {"target": TASK})
    assert len(own_api.call("GET", "/v1/jobs?target_type=task").json["items"]) == 2


def test_a_dead_call_may_be_redriven_as_a_task(own_api: ServedApi) -> None:
    run_id = a_dead_letter(own_api)
    reply = own_api.call("POST", f"/v1/dead-letters/{run_id}/redrive", {"target": TASK})
    assert (reply.status, reply.json["parent_run_id"]) == (201, run_id)
    refused = own_api.call("POST", f"/v1/dead-letters/{a_dead_letter(own_api)}/redrive", {"target": {"type": "task"}})
    assert (refused.status, list(refused.reasons)) == (422, ["target.task"])


def test_a_task_with_every_option_is_scheduled_and_enqueued(own_api: ServedApi) -> None:
    with closing(App(url=own_api.url, api_key=ADMIN_KEY)) as app:
        retry = {"max_attempts": 2, "base": timedelta(minutes=1), "never_on": ["timeout"]}

        @app.task(name="report", queue="reports", timeout="10m", retry=retry, concurrency=2)
        def report(day: str) -> str:
            return day

        job = report.schedule("every weekday at 9:00", timezone="Europe/Berlin", name="daily", args={"day": "monday"})
        run_id = report.using(tags=["now"]).enqueue("tuesday")
        ids = report.later("10m").enqueue_many([{"day": "friday"}] * 3)
    assert job["target"] == {"type": "task", "task": "report", "args": {"day": "monday"}}
    assert (job["queue"], job["timeout"], job["retry"]["base"], job["name"]) == ("reports", "PT10M", "PT1M", "daily")
    run = own_api.call("GET", f"/v1/runs/{run_id}").json
    assert (run["queue"], run["tags"], run["state"]) == ("reports", ["now"], "ready")
    assert {own_api.call("GET", f"/v1/runs/{one}").json["state"] for one in ids} == {"scheduled"}
