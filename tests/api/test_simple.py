"""The simple endpoints: the same jobs, in few words."""

from typing import Any

import pytest

from tests.api.serving import Reply, ServedApi

WEEKDAYS = {"hour": 9, "minute": 30, "days_of_week": "MON-FRI"}


def create(api: ServedApi, **fields: Any) -> Reply:
    asked = {"job_type": "report", "frequency": "RECURRING", "schedule": WEEKDAYS, **fields}
    return api.call("POST", "/job/create", {name: value for name, value in asked.items() if value is not None})


def listed(api: ServedApi, query: str = "") -> list[str]:
    reply = api.call("GET", f"/job?{query}")
    assert reply.status == 200, reply.body
    return [job["job_id"] for job in reply.json["items"]]


def test_a_recurring_job_is_one_as_any_other(api: ServedApi) -> None:
    reply = create(api, payload={"day": "today"}, timezone="Europe/Berlin", name="simple report")
    job = reply.json
    assert (reply.status, reply.headers["location"]) == (201, f"/v1/jobs/{job['job_id']}")
    assert (job["job_type"], job["payload"], job["frequency"], job["status"], job["name"]) == (
        "report",
        {"day": "today"},
        "RECURRING",
        "active",
        "simple report",
    )
    same = api.call("GET", f"/v1/jobs/{job['job_id']}").json
    assert same["target"] == {"type": "task", "task": "report", "args": {"day": "today"}}
    assert same["schedule"] == job["schedule"] == {"cron": "30 9 * * MON-FRI", "timezone": "Europe/Berlin"}
    assert same["next_due_at"] == job["next_due_at"]


def test_once_is_once(api: ServedApi) -> None:
    at = create(api, frequency="ONCE", schedule="2099-01-01T09:00:00+01:00").json
    assert (at["frequency"], at["schedule"], at["next_due_at"]) == (
        "ONCE",
        {"at": "2099-01-01T08:00:00.000Z"},
        "2099-01-01T08:00:00.000Z",
    )
    fields = {"year": 2099, "month": 1, "date": 1, "hour": 9, "minute": 0}
    named = create(api, frequency="ONCE", schedule=fields, timezone="Europe/Berlin").json
    assert (named["frequency"], named["schedule"]["max_runs"]) == ("ONCE", 1)
    assert named["next_due_at"] == "2099-01-01T08:00:00.000Z"


def test_jobs_are_listed_by_status_and_type(own_api: ServedApi) -> None:
    report = create(own_api).json["job_id"]
    mail = create(own_api, job_type="mail", name="mail a report").json["job_id"]
    own_api.create(name="report over HTTP")
    paused = create(own_api).json["job_id"]
    own_api.call("POST", f"/v1/jobs/{paused}/pause")
    assert listed(own_api) == [paused, mail, report]
    assert listed(own_api, "job_type=report") == [paused, report], "not the one that has it in its name"
    assert listed(own_api, "job_type=rep") == []
    assert listed(own_api, "status=paused") == listed(own_api, "status=paused&job_type=report") == [paused]
    assert listed(own_api, "status=paused&job_type=mail") == []
    assert list(own_api.call("GET", "/job?status=asleep").reasons) == ["status"]


def test_pages_are_complete(own_api: ServedApi) -> None:
    types = ["report", "reports", "mail.report"]
    made = [create(own_api, job_type=types[number % 3]).json["job_id"] for number in range(10)]
    for query, expected in (("", made), ("job_type=report", made[::3]), ("job_type=mail.report", made[2::3])):
        found: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            page = own_api.call("GET", f"/job?limit=2&{query}&cursor={cursor}").json
            found += [job["job_id"] for job in page["items"]]
            cursor = page["next_cursor"]
        assert found == sorted(expected, reverse=True)


def test_an_update_leaves_what_it_has_no_word_for(api: ServedApi) -> None:
    job = create(api, name="kept", payload={"a": 1, "b": 2}).json
    path = f"/v1/jobs/{job['job_id']}"
    api.call("PATCH", path, {"priority": 9, "retry": {"max_attempts": 2}, "tags": ["blue"]})
    asked = {
        "job_id": job["job_id"],
        "job_type": "mail",
        "payload": {"a": 2},
        "frequency": "RECURRING",
        "schedule": "15m",
    }
    reply = api.call("PUT", "/job/update", asked)
    assert (reply.status, reply.json["job_type"], reply.json["payload"], reply.json["name"]) == (
        200,
        "mail",
        {"a": 2},
        "kept",
    )
    same = api.call("GET", path).json
    assert (same["priority"], same["retry"]["max_attempts"], same["tags"], same["version"]) == (9, 2, ["blue"], 3)
    assert same["schedule"]["every"] == "PT15M"
    assert api.call("PUT", "/job/update", {**asked, "name": "renamed"}).json["name"] == "renamed"
    assert api.call("DELETE", f"/job/{job['job_id']}").status == 204
    assert api.call("PUT", "/job/update", asked).status == api.call("DELETE", f"/job/{job['job_id']}").status == 404


def test_an_update_of_a_call_is_refused(api: ServedApi) -> None:
    asked = {"job_id": api.create()["id"], "job_type": "x", "frequency": "ONCE", "schedule": "2099-01-01T09:00:00Z"}
    assert api.call("PUT", "/job/update", asked).status == 409


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"job_type": None}, "job_type"),
        ({"job_type": ""}, "target.task"),
        ({"frequency": None}, "frequency"),
        ({"frequency": "DAILY"}, "frequency"),
        ({"schedule": None}, "schedule"),
        ({"schedule": {"hour": 25}}, "schedule.calendar.hour"),
        ({"schedule": "gibberish"}, "schedule.text"),
        ({"frequency": "ONCE", "schedule": "tomorrow"}, "schedule.at"),
        ({"frequency": "ONCE", "schedule": "2099-01-01T09:00:00Z", "timezone": "UTC"}, "timezone"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_bad_ones_are_refused(api: ServedApi, fields: Any, field: str) -> None:
    reply = create(api, **fields)
    assert (reply.status, list(reply.reasons)) == (422, [field])


def test_an_update_needs_an_id(api: ServedApi) -> None:
    asked = {"job_type": "x", "frequency": "ONCE", "schedule": "2099-01-01T09:00:00Z"}
    assert list(api.call("PUT", "/job/update", asked).reasons) == ["job_id"]
    assert list(api.call("PUT", "/job/update", {**asked, "job_id": "x"}).reasons) == ["job_id"]


def test_a_key_makes_one_job(api: ServedApi) -> None:
    asked = {"job_type": "keyed", "frequency": "RECURRING", "schedule": WEEKDAYS}
    key = {"Idempotency-Key": "simple"}
    first, second = (api.call("POST", "/job/create", asked, headers=key) for _ in range(2))
    assert (first.status, second.body) == (201, first.body)
    assert listed(api, "job_type=keyed") == [first.json["job_id"]]
