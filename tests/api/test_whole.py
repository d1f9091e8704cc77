"""The whole over HTTP: audits, recoveries and forecasts over all jobs."""

import time
from datetime import datetime, timedelta
from typing import Any

import pytest

from dueline.api import audits
from dueline.sdk.client import PlainClient
from tests.api.plans import HOUR_MS, instant, now_ms, put_at
from tests.api.serving import ServedApi

HOURLY = {"every": "PT1H", "start_at": "2026-01-01T00:00:00Z"}


def overdue_job(api: ServedApi, hours: int, **fields: Any) -> Any:
    """A job that nobody has looked after for some hours."""
    job = api.create(schedule=HOURLY, **fields)
    put_at(api, job, (now_ms(api) // HOUR_MS - hours) * HOUR_MS)
    return job


def test_an_account_is_in_order_or_says_what_is_not(own_api: ServedApi) -> None:
    job = own_api.create(schedule={"every": "1s"}, name="lost")
    other = own_api.create()
    put_at(own_api, job, now_ms(own_api) + HOUR_MS)
    time.sleep(1.5)
    page = own_api.call("GET", "/v1/audit").json
    assert [item["job_id"] for item in page["items"]] == [other["id"], job["id"]]
    assert page["next_cursor"] is None
    quiet, lost = page["items"]
    assert (quiet["expected"], quiet["missed"], quiet["verdicts"]) == (0, 0, {})
    assert lost["name"] == "lost"
    assert lost["missed"] == lost["expected"] >= 1
    assert len(lost["missed_at"]) == lost["missed"]
    assert (lost["doubled"], lost["late"], lost["doubled_at"], lost["late_starts"]) == (0, 0, [], [])
    one = own_api.call("GET", f"/v1/audit?job_id={job['id']}&to={lost['missed_at'][0]}").json["items"]
    assert [(item["job_id"], item["missed"]) for item in one] == [(job["id"], 0)]


def test_a_job_that_waits_misses_nothing(api: ServedApi) -> None:
    job = api.create(schedule={"every": "1s"})
    time.sleep(1.2)
    (item,) = api.call("GET", f"/v1/audit?job_id={job['id']}").json["items"]
    assert (item["missed"], item["verdicts"]) == (0, {"waiting": item["expected"]})
    assert item["expected"] >= 1


def test_audits_page_over_all_jobs(own_api: ServedApi) -> None:
    ids = [own_api.create(schedule=HOURLY)["id"] for _ in range(5)]
    found: list[str] = []
    cursor = ""
    while True:
        page = own_api.call("GET", f"/v1/audit?limit=2{cursor}").json
        found += [item["job_id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert found == sorted(ids, reverse=True)


def test_a_page_of_audits_ends_where_there_is_much_to_look_at(
    own_api: ServedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audits, "OCCURRENCES_PER_PAGE", 1)
    ids = [own_api.create(schedule="1s")["id"] for _ in range(3)]
    time.sleep(1.2)
    with PlainClient(own_api.url) as client:
        assert len(client.audits.list().page()["items"]) == 1
        assert [account["job_id"] for account in client.audits.list()] == sorted(ids, reverse=True)


def test_a_plan_tells_what_would_become_of_what_is_overdue(own_api: ServedApi) -> None:
    assert own_api.call("GET", "/v1/recovery").json["overdue_jobs"] == 0
    long, short = overdue_job(own_api, 9), overdue_job(own_api, 3, misfire={"policy": "fire_all", "window": "P1D"})
    plan = own_api.call("GET", "/v1/recovery?rate=2").json
    assert (plan["applied"], plan["overdue_jobs"], plan["complete"], plan["rate"]) == (False, 2, True, 2)
    assert [(job["job_id"], job["policy"]) for job in plan["jobs"]] == [
        (long["id"], "fire_once"),
        (short["id"], "fire_all"),
    ]
    counts = [(job["run"], job["coalesce"] + job["skip"]) for job in plan["jobs"]]
    assert [run + other for run, other in counts] == [10, 4]
    assert plan["runs"] == sum(run for run, _ in counts)
    drained = datetime.fromisoformat(plan["drained_at"]) - datetime.fromisoformat(plan["at"])
    assert drained == timedelta(seconds=plan["runs"] / 2)
    skipped = own_api.call("GET", "/v1/recovery?policy=skip").json
    assert {job["policy"] for job in skipped["jobs"]} == {"skip"}
    assert own_api.call("GET", "/v1/recovery").json["overdue_jobs"] == 2


def test_what_is_applied_is_no_longer_overdue(own_api: ServedApi) -> None:
    job = overdue_job(own_api, 9)
    done = own_api.call("POST", "/v1/recovery", {"policy": "fire_all", "rate": 1000}).json
    assert (done["applied"], done["overdue_jobs"]) == (True, 1)
    left = own_api.call("GET", "/v1/recovery").json
    assert left["overdue_jobs"] == 0
    assert own_api.call("POST", "/v1/recovery").json["applied"] is True
    verdicts = own_api.call("GET", f"/v1/jobs/{job['id']}/occurrences?to={instant(now_ms(own_api))}").json["items"]
    assert len(verdicts) == 10
    assert {one["verdict"] for one in verdicts} <= {"skipped", "waiting"}


def test_the_load_to_come_is_told_by_the_minute(own_api: ServedApi) -> None:
    for number in range(4):
        own_api.create(schedule={"cron": "0 * * * *"}, name=f"hourly-{number}")
    own_api.create(schedule={"every": "30m", "start_at": "2026-01-01T00:07:00Z"})
    own_api.create()
    found = own_api.call("GET", "/v1/forecast?hours=3").json
    assert (len(found["minutes"]), found["jobs"], found["complete"]) == (180, 5, True)
    assert found["total"] == sum(found["minutes"]) == 4 * 3 + 6
    peak = datetime.fromisoformat(found["peak"]["at"])
    assert (found["peak"]["runs"], peak.minute) == (4, 0)
    hot = found["hottest"][0]
    assert (hot["at"], hot["runs"]) == (found["peak"]["at"], 4)
    assert hot["by"][0]["schedule"] == {"cron": "0 * * * *", "timezone": "UTC"}
    assert (hot["by"][0]["jobs"], hot["by"][0]["runs"], len(hot["by"][0]["names"])) == (4, 4, 3)
    proposal = found["proposals"][0]
    assert (proposal["jobs"], proposal["change"], proposal["peak_before"]) == (4, "H * * * *", 4)
    assert proposal["peak_after"] < 4
    assert len(own_api.call("GET", "/v1/forecast").json["minutes"]) == 1440


def test_nothing_to_come_has_no_peak(own_api: ServedApi) -> None:
    found = own_api.call("GET", "/v1/forecast?hours=1").json
    assert (found["total"], found["peak"], found["hottest"], found["proposals"]) == (0, None, [], [])


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("GET", "/v1/audit?from=x", None, "from"),
        ("GET", "/v1/audit?job_id=x", None, "job_id"),
        ("GET", "/v1/audit?cursor=x", None, "cursor"),
        ("GET", "/v1/audit?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", None, "to"),
        ("GET", "/v1/recovery?policy=x", None, "policy"),
        ("GET", "/v1/recovery?rate=0", None, "rate"),
        ("GET", "/v1/recovery?rate=nan", None, "rate"),
        ("GET", "/v1/recovery?rate=1e3", None, "rate"),
        ("POST", "/v1/recovery", {"rate": -1}, "rate"),
        ("POST", "/v1/recovery", {"policy": "x"}, "policy"),
        ("POST", "/v1/recovery", {"polcy": "skip"}, "polcy"),
        ("GET", "/v1/forecast?hours=0", None, "hours"),
        ("GET", "/v1/forecast?hours=169", None, "hours"),
        ("GET", "/v1/forecast?hours=1.5", None, "hours"),
        ("GET", "/v1/forecast?hours=x", None, "hours"),
        ("GET", "/v1/forecast?minutes=5", None, "minutes"),
    ],
)
def test_a_bad_question_is_refused(api: ServedApi, method: str, path: str, body: Any, field: str) -> None:
    reply = api.call(method, path, body)
    assert (reply.status, list(reply.reasons)) == (422, [field])


def test_the_account_of_no_job_is_not_found(api: ServedApi) -> None:
    assert api.call("GET", "/v1/audit?job_id=job_01h455vb4pex5vsknk084sn02q").status == 404
