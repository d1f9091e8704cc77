"""Backfills over HTTP."""

from typing import Any

import pytest

from tests.api.serving import Reply, ServedApi

DAYS = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-04T00:00:00Z"}


def backfill(api: ServedApi, job: Any, **body: Any) -> Reply:
    return api.call("POST", f"/v1/jobs/{job['id']}/backfill", {**DAYS, **body})


def test_a_dry_run_tells_what_would_run_and_writes_nothing(api: ServedApi) -> None:
    job = api.create(schedule={"cron": "0 9 * * *"})
    reply = backfill(api, job, dry_run=True)
    assert (reply.status, reply.json["dry_run"], reply.json["count"], reply.json["new"]) == (200, True, 3, 3)
    assert [item["scheduled_at"] for item in reply.json["items"]] == [
        "2026-01-01T09:00:00.000Z",
        "2026-01-02T09:00:00.000Z",
        "2026-01-03T09:00:00.000Z",
    ]
    assert api.call("GET", f"/v1/runs?job_id={job['id']}").json["items"] == []


def test_a_range_is_written_once_and_paced(api: ServedApi) -> None:
    job = api.create(schedule={"cron": "0 9 * * *"}, queue="backfilled")
    done = backfill(api, job, rate=0.5, overlap="allow")
    assert (done.status, done.json["dry_run"], done.json["new"]) == (201, False, 3)
    runs = api.call("GET", f"/v1/runs?job_id={job['id']}").json["items"]
    assert {run["id"] for run in runs} == {item["run_id"] for item in done.json["items"]}
    assert {(run["kind"], run["queue"]) for run in runs} == {("backfill", "backfilled")}
    assert sorted(run["due_at"] for run in runs) == [item["due_at"] for item in done.json["items"]]
    again = backfill(api, job)
    assert (again.status, again.json["count"], again.json["new"]) == (201, 3, 0)
    assert [item["new"] for item in again.json["items"]] == [False, False, False]
    assert len(api.call("GET", f"/v1/runs?job_id={job['id']}").json["items"]) == 3


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"from": None}, ["from"]),
        ({"from": "x", "to": "y"}, ["from", "to"]),
        ({"to": "2099-01-01T00:00:00Z"}, ["to"]),
        ({"to": "2025-01-01T00:00:00Z"}, ["to"]),
        ({"cap": 2}, ["cap"]),
        ({"cap": 0}, ["cap"]),
        ({"cap": 10_001}, ["cap"]),
        ({"rate": 0}, ["rate"]),
        ({"rate": 1e9}, ["rate"]),
        ({"rate": "fast"}, ["rate"]),
        ({"overlap": "maybe"}, ["overlap"]),
        ({"dry_run": 1}, ["dry_run"]),
        ({"dryrun": True}, ["dryrun"]),
    ],
)
def test_a_bad_backfill_is_refused(api: ServedApi, body: Any, fields: list[str]) -> None:
    job = api.create(schedule={"cron": "0 9 * * *"})
    reply = backfill(api, job, **body)
    assert (reply.status, list(reply.reasons)) == (422, fields)


def test_a_job_without_times_of_its_own_has_no_past(api: ServedApi) -> None:
    for schedule in (None, {"after": "1h"}):
        assert backfill(api, api.create(schedule=schedule)).status == 409
