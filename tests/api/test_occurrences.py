"""Occurrences over HTTP: one list of what became of them and what comes, and changes of single ones."""

from typing import Any
from urllib.parse import urlencode

import pytest

from dueline.domain.ledger import SkipReason, Unfired, Verdict
from tests.api.plans import HOUR_MS, instant, ms, now_ms, put_at
from tests.api.serving import Reply, ServedApi

HOURLY = {"every": "PT1H", "start_at": "2026-01-01T00:00:00Z"}


def page(api: ServedApi, job: Any, **query: Any) -> Any:
    reply = api.call("GET", f"/v1/jobs/{job['id']}/occurrences?{urlencode(query)}")
    assert reply.status == 200, reply.body
    return reply.json


def change(api: ServedApi, job: Any, verb: str, **body: str) -> Reply:
    return api.call("POST", f"/v1/jobs/{job['id']}/{verb}", body)


def this_hour(api: ServedApi) -> int:
    return now_ms(api) // HOUR_MS * HOUR_MS


def test_what_became_and_what_comes_are_one_list(api: ServedApi) -> None:
    job, hour_ms = api.create(schedule=HOURLY), this_hour(api)
    skipped = Unfired(hour_ms - 5 * HOUR_MS, hour_ms - 3 * HOUR_MS, Verdict.SKIPPED, SkipReason.WINDOW)
    put_at(api, job, hour_ms - HOUR_MS, unfired=[skipped])
    found = page(api, job, limit=7)["items"]
    assert [(one["scheduled_at"], one["verdict"], one["reason"]) for one in found] == [
        (instant(hour_ms - 5 * HOUR_MS), "skipped", "misfire_window"),
        (instant(hour_ms - 4 * HOUR_MS), "skipped", "misfire_window"),
        (instant(hour_ms - 3 * HOUR_MS), "skipped", "misfire_window"),
        (instant(hour_ms - HOUR_MS), "waiting", None),
        (instant(hour_ms), "waiting", None),
        (instant(hour_ms + HOUR_MS), "expected", None),
        (instant(hour_ms + 2 * HOUR_MS), "expected", None),
    ]
    assert found[0] == {
        "scheduled_at": instant(hour_ms - 5 * HOUR_MS),
        "verdict": "skipped",
        "reason": "misfire_window",
        "run_id": None,
        "state": None,
        "started_at": None,
        "version": 1,
    }


def test_pages_follow_one_another_without_a_gap(api: ServedApi) -> None:
    job, hour_ms = api.create(schedule=HOURLY), this_hour(api)
    unfired = [
        Unfired(hour_ms - at * HOUR_MS, hour_ms - at * HOUR_MS, Verdict.SKIPPED, SkipReason.MISFIRE)
        for at in range(9, 3, -1)
    ]
    put_at(api, job, hour_ms - 3 * HOUR_MS, unfired=unfired)
    period = {"from": instant(hour_ms - 10 * HOUR_MS), "to": instant(hour_ms + 4 * HOUR_MS)}
    whole = page(api, job, **period)
    assert whole["next_cursor"] is None
    assert [ms(one["scheduled_at"]) for one in whole["items"]] == [hour_ms + at * HOUR_MS for at in range(-9, 4)]
    for limit in (1, 2, 5):
        found, cursor = [], None
        while True:
            one = page(api, job, **period, limit=limit, **({} if cursor is None else {"cursor": cursor}))
            assert len(one["items"]) <= limit
            found += one["items"]
            cursor = one["next_cursor"]
            if cursor is None:
                break
        assert found == whole["items"]


def test_a_run_is_named_with_its_occurrence(api: ServedApi) -> None:
    job, hour_ms = api.create(schedule=HOURLY), this_hour(api)
    put_at(api, job, hour_ms)
    path = f"/v1/jobs/{job['id']}"
    api.call("POST", f"{path}/pause")
    assert page(api, job, limit=1)["items"][0]["reason"] == "paused"
    api.call("POST", f"{path}/resume")
    (one,) = page(api, job, limit=1)["items"]
    run = api.call("GET", f"/v1/runs/{one['run_id']}").json
    assert (one["scheduled_at"], run["scheduled_at"]) == (instant(hour_ms), instant(hour_ms))
    assert (one["verdict"], one["state"], one["started_at"], one["version"]) == ("waiting", run["state"], None, 1)


def test_a_job_without_a_schedule_has_no_occurrences(api: ServedApi) -> None:
    assert page(api, api.create()) == {"items": [], "next_cursor": None}


def test_an_occurrence_is_left_out_moved_and_put_back(api: ServedApi) -> None:
    job = api.create(schedule={"cron": "0 9 * * *"})
    first, second, third = (
        one["scheduled_at"] for one in page(api, job, limit=3, **{"from": instant(now_ms(api))})["items"]
    )
    to = instant(ms(second) + HOUR_MS)
    skipped = change(api, job, "skip", at=first)
    assert (skipped.status, skipped.json["version"], skipped.json["next_due_at"]) == (200, 2, second)
    moved = change(api, job, "move", at=second, to=to).json
    assert moved["schedule"]["changed"] == [{"at": first}, {"at": second, "to": to}]
    assert moved["next_due_at"] == to
    found = page(api, job, limit=4, **{"from": instant(now_ms(api))})["items"]
    assert [(one["scheduled_at"], one["verdict"], one["reason"]) for one in found] == [
        (first, "skipped", "requested"),
        (second, "skipped", "moved"),
        (to, "expected", None),
        (third, "expected", None),
    ]
    change(api, job, "restore", at=first)
    restored = change(api, job, "restore", at=second)
    assert restored.json["schedule"] == job["schedule"]
    assert restored.headers["etag"] == '"v5"'
    assert restored.json["next_due_at"] == first


@pytest.mark.parametrize(
    ("verb", "body", "fields"),
    [
        ("skip", {}, ["at"]),
        ("skip", {"at": "soon"}, ["at"]),
        ("skip", {"at": "2020-01-01T09:00:00Z"}, ["at"]),
        ("skip", {"at": "2099-01-01T09:30:00Z"}, ["at"]),
        ("skip", {"at": "2099-01-01T09:00:00Z", "to": "2099-01-01T10:00:00Z"}, ["to"]),
        ("move", {"at": "2099-01-01T09:00:00Z"}, ["to"]),
        ("move", {"at": "2099-01-01T09:00:00Z", "to": "2020-01-01T09:00:00Z"}, ["to"]),
        ("move", {"at": "2099-01-01T09:00:00Z", "to": "2099-01-01T09:00:00Z"}, ["to"]),
        ("move", {"at": 5, "to": None}, ["at", "to"]),
        ("restore", {"at": "2099-01-01T09:00:00Z"}, ["at"]),
    ],
)
def test_a_bad_change_is_refused(api: ServedApi, verb: str, body: dict[str, Any], fields: list[str]) -> None:
    job = api.create(schedule={"cron": "0 9 * * *"})
    reply = change(api, job, verb, **body)
    assert (reply.status, list(reply.reasons)) == (422, fields)
    assert api.call("GET", f"/v1/jobs/{job['id']}").json == job


def test_what_has_no_times_of_its_own_cannot_be_changed(api: ServedApi) -> None:
    for schedule in (None, {"after": "1h"}):
        assert change(api, api.create(schedule=schedule), "skip", at="2099-01-01T09:00:00Z").status == 409


@pytest.mark.parametrize("path", ["occurrences", "skip", "move", "restore", "backfill"])
def test_what_does_not_exist_has_no_occurrences(api: ServedApi, path: str) -> None:
    at = "2020-01-01T09:00:00Z"
    body = {"skip": {"at": at}, "restore": {"at": at}, "move": {"at": at, "to": at.replace("09", "10")}}.get(path)
    for identifier in ("job_01h455vb4pex5vsknk084sn02q", "x"):
        method = "GET" if path == "occurrences" else "POST"
        if path == "backfill":
            body = {"from": at, "to": "2020-01-02T09:00:00Z"}
        assert api.call(method, f"/v1/jobs/{identifier}/{path}", body).status == 404


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("from=x", "from"),
        ("from=9999-12-31T00:00:00Z", "from"),
        ("to=x", "to"),
        ("from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "to"),
        ("cursor=x", "cursor"),
        ("limit=x", "limit"),
        ("state=x", "state"),
    ],
)
def test_a_bad_list_is_refused(api: ServedApi, query: str, field: str) -> None:
    reply = api.call("GET", f"/v1/jobs/{api.create()['id']}/occurrences?{query}")
    assert (reply.status, list(reply.reasons)) == (422, [field])


def test_a_cursor_belongs_to_one_job(api: ServedApi) -> None:
    job, other = api.create(schedule=HOURLY), api.create(schedule=HOURLY)
    cursor = page(api, job, limit=1)["next_cursor"]
    assert page(api, job, limit=1, cursor=cursor)["items"]
    reply = api.call("GET", f"/v1/jobs/{other['id']}/occurrences?{urlencode({'cursor': cursor})}")
    assert "another query" in reply.reasons["cursor"]
