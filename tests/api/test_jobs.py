"""Jobs over HTTP, from their creation to their end."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.api.serving import TARGET, Reply, ServedApi

TARGET_DEFAULTS = {
    "body_base64": None,
    "connect_timeout": "PT10S",
    "expected_status": ["2xx"],
    "keep_headers": ["content-type", "location", "retry-after"],
    "tls": {"verify": True, "ca": None},
    "sign": True,
}
RETRY_DEFAULTS: dict[str, Any] = {"delays": [], "max_elapsed": None, "retry_on": None, "never_on": []}
WHOLE_JOB: dict[str, Any] = {
    "target": {
        **TARGET_DEFAULTS,
        "type": "http",
        "method": "PUT",
        "url": "https://example.com/report?full=1",
        "headers": {"Authorization": "Bearer x", "X-Kind": "report"},
        "body": {"to": ["a", "b"], "none": None, "n": 12345678901234567890123, "f": 1.5},
    },
    "schedule": {"cron": "0 9 * * 1-5", "timezone": "Europe/Berlin"},
    "queue": "reports",
    "priority": 9,
    "region": "eu-1",
    "retry": {
        **RETRY_DEFAULTS,
        "max_attempts": 7,
        "backoff": "fixed",
        "base": "PT2S",
        "cap": "PT10M",
        "max_lost": 2,
    },
    "timeout": "PT1M",
    "run_timeout": "PT1H",
    "expires_after": "PT10M",
    "requires": ["eu", "gpu"],
    "concurrency": {"limit": 3, "key": "reports/{{body.to.0}}"},
    "rate": {"limit": 100, "per": "PT1M", "burst": 20, "key": None},
    "notify": {
        "url": "https://example.com/ended",
        "on": ["succeeded", "failed"],
        "headers": {"X-A": "b"},
        "sign": False,
        "late_after": "PT5M",
    },
    "overlap": "queue_one",
    "misfire": {"policy": "fire_all", "window": "P1D", "cap": 5},
    "delivery": "at_most_once",
    "fairness_key": "customer-7",
    "tags": ["nightly", "émile"],
    "retention": "P7D",
    "dedupe_key": "report",
    "dedupe_window": "PT1H",
    "dedupe_states": ["ready", "running"],
    "on_conflict": "ignore",
}


def instant(seconds: float) -> str:
    """An instant relative to now."""
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def patch(api: ServedApi, job: Any, body: Any, **headers: str) -> Reply:
    return api.call("PATCH", f"/v1/jobs/{job['id']}", body, headers=headers)


def put(api: ServedApi, job: Any, body: Any, **headers: str) -> Reply:
    return api.call("PUT", f"/v1/jobs/{job['id']}", body, headers=headers)


def test_a_small_job_gets_every_default(api: ServedApi) -> None:
    reply = api.call("POST", "/v1/jobs", {"target": TARGET})
    job = reply.json
    assert reply.status == 201
    assert reply.headers["location"] == f"/v1/jobs/{job['id']}"
    assert reply.headers["etag"] == '"v1"'
    assert reply.headers["content-type"] == "application/json"
    assert job["name"] == job["id"]
    assert job["created_at"] == job["updated_at"]
    assert {name: value for name, value in job.items() if name not in ("id", "name", "created_at", "updated_at")} == {
        "tenant": "default",
        "target": {
            "type": "http",
            "method": "POST",
            "url": TARGET["url"],
            "headers": {},
            "body": None,
            **TARGET_DEFAULTS,
        },
        "schedule": None,
        "queue": "default",
        "priority": 5,
        "fairness_key": "",
        "region": "",
        "retry": {
            "max_attempts": 5,
            "backoff": "exponential",
            "base": "PT1S",
            "cap": "PT5M",
            "max_lost": 3,
            **RETRY_DEFAULTS,
        },
        "timeout": "PT30S",
        "run_timeout": None,
        "expires_after": None,
        "requires": [],
        "concurrency": None,
        "rate": None,
        "notify": None,
        "overlap": "skip",
        "misfire": {"policy": "fire_once", "window": "PT1H", "cap": 100},
        "delivery": "at_least_once",
        "tags": [],
        "retention": None,
        "dedupe_key": None,
        "dedupe_window": None,
        "dedupe_states": None,
        "on_conflict": None,
        "state": "active",
        "pause_note": None,
        "version": 1,
        "next_due_at": None,
    }


def test_a_whole_job_comes_back_as_it_was_written(api: ServedApi) -> None:
    job = api.create(name="whole", **WHOLE_JOB)
    assert {name: job[name] for name in WHOLE_JOB} == WHOLE_JOB
    assert api.call("GET", f"/v1/jobs/{job['id']}").json == job


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"cron": "@daily"}, {"cron": "0 0 * * *", "timezone": "UTC"}),
        ({"cron": " */5  * * * * * ", "timezone": None}, {"cron": "*/5 * * * * *", "timezone": "UTC"}),
        ({"at": "9999-12-31T23:59:59.999Z"}, {"at": "9999-12-31T23:59:59.999Z"}),
        ({"at": "2099-01-01T02:00:00+02:00"}, {"at": "2099-01-01T00:00:00.000Z"}),
        (
            {"every": "15m", "start_at": "2026-01-01T00:00:00Z"},
            {"every": "PT15M", "start_at": "2026-01-01T00:00:00.000Z"},
        ),
        ({"at": "2020-01-01T00:00:00Z", "allow_past": True}, {"at": "2020-01-01T00:00:00.000Z"}),
        (None, None),
    ],
)
def test_schedules_are_read_in_one_form(api: ServedApi, written: Any, read: Any) -> None:
    assert api.create(schedule=written)["schedule"] == read


def test_an_instant_up_to_a_minute_ago_runs_at_once(api: ServedApi) -> None:
    at = instant(-50)
    assert api.create(schedule={"at": at})["next_due_at"] == at
    reply = api.call("POST", "/v1/jobs", {"target": TARGET, "schedule": {"at": instant(-70)}})
    assert "allow_past" in reply.reasons["schedule.at"]


def test_a_fixed_rate_is_anchored_at_its_creation(api: ServedApi) -> None:
    job = api.create(schedule={"every": "PT10S"})
    anchor = datetime.fromisoformat(job["schedule"]["start_at"])
    assert datetime.fromisoformat(job["next_due_at"]) == anchor + timedelta(seconds=10)
    assert abs(datetime.fromisoformat(job["created_at"]) - anchor) < timedelta(seconds=1)


def test_a_taken_name_is_a_conflict_until_its_job_is_deleted(api: ServedApi) -> None:
    first = api.create(name="taken")
    other = api.create(name="other")
    assert api.call("POST", "/v1/jobs", {"target": TARGET, "name": "taken"}).status == 409
    assert patch(api, other, {"name": "taken"}).status == 409
    assert api.call("DELETE", f"/v1/jobs/{first['id']}").status == 204
    assert patch(api, other, {"name": "taken"}).json["name"] == "taken"


def test_a_patch_changes_what_it_names(api: ServedApi) -> None:
    job = api.create(**WHOLE_JOB)
    reply = patch(api, job, {"target": {"body": {"n": None, "new": 1}}, "retry": {"cap": "PT1H"}, "priority": 0})
    changed = reply.json
    assert reply.headers["etag"] == '"v2"'
    assert changed["version"] == 2
    assert changed["target"]["body"] == {"to": ["a", "b"], "none": None, "f": 1.5, "new": 1}
    assert changed["target"]["headers"] == WHOLE_JOB["target"]["headers"]
    assert changed["retry"] == {**WHOLE_JOB["retry"], "cap": "PT1H"}
    assert changed["priority"] == 0
    assert changed["schedule"] == WHOLE_JOB["schedule"]


def test_null_in_a_patch_goes_back_to_the_default(api: ServedApi) -> None:
    job = api.create(name="patched away", **WHOLE_JOB)
    gone = dict.fromkeys(["name", "schedule", "queue", "priority", "retry", "timeout", "misfire", "tags", "overlap"])
    changed = patch(api, job, gone).json
    assert changed["name"] == job["id"]
    assert (changed["schedule"], changed["queue"], changed["priority"], changed["tags"]) == (None, "default", 5, [])
    assert changed["next_due_at"] is None


def test_a_patch_of_one_member_of_a_schedule_keeps_the_others(api: ServedApi) -> None:
    job = api.create(schedule={"cron": "0 9 * * *", "timezone": "Europe/Berlin"})
    changed = patch(api, job, {"schedule": {"timezone": "UTC"}}).json
    assert changed["schedule"] == {"cron": "0 9 * * *", "timezone": "UTC"}
    assert "exactly one" in patch(api, job, {"schedule": {"every": "PT1M"}}).reasons["schedule"]
    swap = {"schedule": {"cron": None, "timezone": None, "every": "PT1M"}}
    assert patch(api, job, swap).json["schedule"]["every"] == "PT1M"


def test_a_patch_that_changes_nothing_makes_no_version(api: ServedApi) -> None:
    job = api.create(**WHOLE_JOB)
    assert patch(api, job, {"tags": WHOLE_JOB["tags"]}).json["version"] == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"nme": None}, "nme"),
        ({"state": "paused"}, "state"),
        ({"retry": {"bse": None}}, "retry.bse"),
        ({"target": None}, "target"),
        ({"target": {"url": None}}, "target.url"),
        ({"tags": [1]}, "tags[0]"),
        ([], "body"),
        ("x", "body"),
    ],
)
def test_a_bad_patch_is_refused(api: ServedApi, body: Any, field: str) -> None:
    job = api.create()
    reply = patch(api, job, body)
    assert (reply.status, list(reply.reasons)) == (422, [field])
    assert api.call("GET", f"/v1/jobs/{job['id']}").json == job


def test_a_put_replaces_the_whole(api: ServedApi) -> None:
    job = api.create(name="put", **WHOLE_JOB)
    changed = put(api, job, {"target": TARGET, "name": "put"}).json
    fresh = api.create()
    own = {"id", "name", "created_at", "updated_at", "version"}
    assert {name: changed[name] for name in changed if name not in own} == {
        name: fresh[name] for name in fresh if name not in own
    }
    assert (changed["id"], changed["created_at"], changed["version"]) == (job["id"], job["created_at"], 2)


def test_an_unchanged_rate_keeps_its_anchor(api: ServedApi) -> None:
    job = api.create(schedule={"every": "PT1H", "start_at": "2026-01-01T00:00:07Z"})
    for reply in (
        put(api, job, {"target": TARGET, "schedule": {"every": "60m"}}),
        patch(api, job, {"schedule": {"every": "PT60M"}}),
        patch(api, job, {"schedule": {"every": "PT2H"}}),
    ):
        assert reply.json["schedule"]["start_at"] == "2026-01-01T00:00:07.000Z"
    anew = put(api, job, {"target": TARGET, "schedule": {"every": "PT3H"}}).json["schedule"]["start_at"]
    assert anew > "2026-01-01T00:00:07.000Z"


def test_a_past_one_time_job_can_still_be_edited(api: ServedApi) -> None:
    schedule = {"at": "2020-01-01T00:00:00Z", "allow_past": True}
    job = api.create(schedule=schedule)
    assert patch(api, job, {"tags": ["late"]}).json["tags"] == ["late"]
    again = {"target": TARGET, "schedule": {"at": "2020-01-01T00:00:00Z"}}
    assert put(api, job, again).status == 200
    assert "schedule.at" in patch(api, job, {"schedule": {"at": "2020-01-02T00:00:00Z"}}).reasons


def test_of_two_edits_with_the_same_tag_one_wins(api: ServedApi) -> None:
    for _ in range(10):
        job = api.create()
        with ThreadPoolExecutor(2) as pool:
            edits = [pool.submit(patch, api, job, {"priority": n}, **{"If-Match": '"v1"'}) for n in (1, 2)]
            replies = [edit.result() for edit in edits]
        assert sorted(reply.status for reply in replies) == [200, 412]
        winner = next(reply.json for reply in replies if reply.status == 200)
        assert api.call("GET", f"/v1/jobs/{job['id']}").json == winner


def test_pause_and_resume(api: ServedApi) -> None:
    job = api.create(schedule={"every": "PT1H"})
    path = f"/v1/jobs/{job['id']}"
    paused = api.call("POST", f"{path}/pause", {"note": "moving\nhouse"})
    assert (paused.status, paused.json["state"], paused.json["pause_note"]) == (200, "paused", "moving\nhouse")
    assert paused.headers["etag"] == '"v1"'
    assert api.call("POST", f"{path}/pause").json["pause_note"] == "moving\nhouse"
    assert api.call("POST", f"{path}/pause", {"note": "away"}).json["pause_note"] == "away"
    assert api.call("POST", f"{path}/resume").json["state"] == "active"
    assert api.call("POST", f"{path}/resume").json["state"] == "active"
    assert api.call("POST", f"{path}/pause").json["pause_note"] is None
    assert api.call("POST", f"{path}/pause", {"note": "x" * 1001}).reasons.keys() == {"note"}
    assert api.call("POST", f"{path}/pause", {"nte": "x"}).reasons.keys() == {"nte"}


def test_run_now_works_while_paused_and_does_not_move_the_schedule(api: ServedApi) -> None:
    job = api.create(schedule={"every": "PT1H"}, queue="q", priority=7, tags=["t"])
    path = f"/v1/jobs/{job['id']}"
    api.call("POST", f"{path}/pause")
    reply = api.call("POST", f"{path}/run", {"force": True})
    run = reply.json
    assert (reply.status, reply.headers["location"]) == (201, f"/v1/runs/{run['id']}")
    assert (run["state"], run["kind"], run["job_id"], run["job_version"]) == ("ready", "manual", job["id"], 1)
    assert (run["queue"], run["priority"], run["tags"], run["attempts"]) == ("q", 7, ["t"], [])
    stored = api.call("GET", f"/v1/runs/{run['id']}").json
    assert {**stored, "created_at": run["created_at"]} == run
    assert api.call("GET", path).json["next_due_at"] == job["next_due_at"]


def test_a_deleted_job_is_gone_and_its_runs_are_cancelled(api: ServedApi) -> None:
    job = api.create()
    path = f"/v1/jobs/{job['id']}"
    run = api.call("POST", f"{path}/run").json
    assert api.call("DELETE", path).status == 204
    for method, of in [("GET", ""), ("PUT", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/run"), ("POST", "/pause")]:
        body = {"target": TARGET} if method in ("PUT", "PATCH") else None
        assert api.call(method, path + of, body).status == 404
    ended = api.call("GET", f"/v1/runs/{run['id']}").json
    assert (ended["state"], ended["reason"]) == ("cancelled", "job_deleted")


@pytest.mark.parametrize("identifier", ["x", "job_", "run_01h455vb4pex5vsknk084sn02q", "job_" + "u" * 26, "%00", "é"])
def test_what_is_not_an_id_names_no_job(api: ServedApi, identifier: str) -> None:
    reply = api.call("GET", f"/v1/jobs/{identifier.replace('é', '%C3%A9')}")
    assert (reply.status, reply.json["type"]) == (404, "urn:dueline:problem:not-found")
