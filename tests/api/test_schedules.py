"""Schedules over HTTP: the forms that a job takes them in, and previews of what one means."""

from typing import Any

import pytest

from tests.api.serving import TARGET, ServedApi


def preview(api: ServedApi, schedule: Any, **more: Any) -> Any:
    reply = api.call("POST", "/v1/schedules/preview", {"schedule": schedule, "from": "2026-03-27T00:00:00Z", **more})
    assert reply.status == 200, reply.body
    return reply.json


def utc(found: Any) -> list[str]:
    return [fire["utc"] for fire in found["fires"]]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("every weekday at 9:00 Europe/Berlin", {"cron": "0 9 * * 1-5", "timezone": "Europe/Berlin"}),
        ({"text": "0 9 * * *", "jitter": "1m"}, {"cron": "0 9 * * *", "timezone": "UTC", "jitter": "PT1M"}),
        ({"calendar": {"hour": 9}}, {"cron": "0 9 * * *", "timezone": "UTC"}),
        ("R/2099-01-31T00:00:00Z/P1M", {"repeat": "R/2099-01-31T00:00:00Z/P1M", "timezone": "UTC"}),
        (
            {"rrule": "FREQ=DAILY", "start_at": "2099-01-05T08:00:00Z", "max_runs": 3},
            {"rrule": "DTSTART:20990105T080000Z\nRRULE:FREQ=DAILY", "timezone": "UTC", "max_runs": 3},
        ),
    ],
)
def test_a_job_shows_its_schedule_in_canonical_form(api: ServedApi, written: Any, shown: Any) -> None:
    job = api.create(schedule=written)
    assert job["schedule"] == shown
    assert job["next_due_at"] is not None
    path = f"/v1/jobs/{job['id']}"
    assert api.call("PATCH", path, {"schedule": shown}).json["version"] == 1
    assert api.call("PUT", path, {"target": TARGET, "name": job["name"], "schedule": written}).json["version"] == 1
    assert api.call("PATCH", path, {"schedule": "2h"}).json["schedule"]["every"] == "PT2H"
    assert api.call("PUT", path, {"target": TARGET, "schedule": written}).json["schedule"] == shown


def test_a_fixed_delay_is_shown_with_its_first_time(api: ServedApi) -> None:
    job = api.create(schedule="15 minutes after each run ends")
    assert job["schedule"].keys() == {"after", "start_at"}
    assert job["next_due_at"] == job["schedule"]["start_at"]


def test_a_companion_can_be_patched_alone(api: ServedApi) -> None:
    job = api.create(schedule={"cron": "0 9 * * *", "timezone": "Europe/Berlin"})
    path = f"/v1/jobs/{job['id']}"
    jittered = api.call("PATCH", path, {"schedule": {"jitter": "5m", "max_runs": 9}}).json["schedule"]
    assert jittered == {"cron": "0 9 * * *", "timezone": "Europe/Berlin", "max_runs": 9, "jitter": "PT5M"}
    plain = api.call("PATCH", path, {"schedule": {"jitter": None, "max_runs": None}}).json["schedule"]
    assert plain == job["schedule"]
    both = api.call("PATCH", path, {"schedule": {"text": "daily at 9:00"}})
    assert "goes without cron" in both.reasons["schedule.text"]


def test_previous_runs_can_be_cancelled(api: ServedApi) -> None:
    assert api.create(overlap="cancel_previous")["overlap"] == "cancel_previous"


def test_a_preview_shows_form_words_and_fires(api: ServedApi) -> None:
    found = preview(api, "every day at 2:30", timezone="Europe/Berlin", count=4)
    assert found.keys() == {"canonical", "description", "fires", "next", "changes"}
    assert found["canonical"] == {"cron": "30 2 * * *", "timezone": "Europe/Berlin"}
    assert "Europe/Berlin" in found["description"]
    assert [(fire["utc"], fire["local"]) for fire in found["fires"]] == [
        ("2026-03-27T01:30:00.000Z", "2026-03-27T02:30:00+01:00"),
        ("2026-03-28T01:30:00.000Z", "2026-03-28T02:30:00+01:00"),
        ("2026-03-29T01:00:00.000Z", "2026-03-29T03:00:00+02:00"),
        ("2026-03-30T00:30:00.000Z", "2026-03-30T02:30:00+02:00"),
    ]
    assert [fire["note"] is None for fire in found["fires"]] == [True, True, False, True]
    assert (found["next"], found["changes"]) == ("2026-03-27T01:30:00.000Z", None)


def test_companions_beside_a_schedule_count_where_it_does_not_say_them(api: ServedApi) -> None:
    daily = {"cron": "30 2 * * *", "timezone": "Europe/Berlin"}
    assert len(utc(preview(api, daily, timezone="Asia/Tokyo", dst_gap="skip", count=3))) == 3
    assert preview(api, daily, timezone="Asia/Tokyo", dst_gap="skip")["canonical"] == {**daily, "dst_gap": "skip"}
    own = {**daily, "dst_overlap": "both"}
    assert preview(api, own, dst_overlap="second")["canonical"] == own


def test_an_interval_is_counted_from_the_beginning_and_shown_in_the_zone(api: ServedApi) -> None:
    found = preview(api, "90m", timezone="Europe/Berlin", count=2)
    assert found["canonical"] == {"every": "PT1H30M", "start_at": "2026-03-27T00:00:00.000Z"}
    assert [fire["local"] for fire in found["fires"]] == ["2026-03-27T02:30:00+01:00", "2026-03-27T04:00:00+01:00"]


def test_of_a_fixed_delay_only_the_first_fire_is_known(api: ServedApi) -> None:
    assert utc(preview(api, {"after": "15m"})) == ["2026-03-27T00:15:00.000Z"]


def test_no_more_fires_are_shown_than_come(api: ServedApi) -> None:
    assert len(utc(preview(api, {"every": "1h", "max_runs": 3}))) == 3
    assert len(utc(preview(api, {"every": "1h", "end_at": "2026-03-27T02:00:00Z"}))) == 2
    assert len(utc(preview(api, "2026-03-28T00:00:00Z"))) == 1
    over = api.call(
        "POST", "/v1/schedules/preview", {"schedule": "2026-03-28T00:00:00Z", "from": "2026-03-28T00:00:00Z"}
    )
    assert (over.json["fires"], over.json["next"]) == ([], None)


def test_a_thousand_fires_of_a_rare_schedule_end_with_the_calendar(api: ServedApi) -> None:
    for text in ("0 0 29 2 *", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", "R/2026-01-01T00:00:00Z/P99Y"):
        for start in ("2026-01-01T00:00:00Z", "8999-12-31T23:59:59.999Z"):
            reply = api.call("POST", "/v1/schedules/preview", {"schedule": text, "from": start, "count": 1000})
            assert reply.status == 200, (text, start)
            assert reply.json["fires"]


def test_calendars_keep_fires_away_or_move_them(api: ServedApi) -> None:
    api.call("PUT", "/v1/calendars/preview-week", {"weekdays": ["SAT", "SUN"]})
    monthly = {"cron": "0 9 28 * *", "calendars": ["preview-week"]}
    assert utc(preview(api, monthly, count=2)) == ["2026-04-28T09:00:00.000Z", "2026-05-28T09:00:00.000Z"]
    moved = preview(api, {**monthly, "on_excluded": "before"}, count=2)
    assert utc(moved) == ["2026-03-27T09:00:00.000Z", "2026-04-28T09:00:00.000Z"]
    assert "excluded day" in moved["fires"][0]["note"]
    assert moved["fires"][1]["note"] is None
    missing = api.call("POST", "/v1/schedules/preview", {"schedule": {"every": "1h", "calendars": ["a", "none"]}})
    assert missing.reasons.keys() == {"schedule.calendars[0]", "schedule.calendars[1]"}


def test_a_single_change_is_noted(api: ServedApi) -> None:
    changed = [{"at": "2026-03-27T09:00:00Z", "to": "2026-03-27T12:00:00Z"}, {"at": "2026-03-28T09:00:00Z"}]
    found = preview(api, {"cron": "0 9 * * *", "changed": changed}, count=2)
    assert utc(found) == ["2026-03-27T12:00:00.000Z", "2026-03-29T09:00:00.000Z"]
    assert "2026-03-27T09:00:00+00:00" in found["fires"][0]["note"]


def test_a_preview_for_a_job_tells_what_would_change(api: ServedApi) -> None:
    job = api.create(schedule={"cron": "0 9,12 * * *"})
    found = preview(api, "0 9,15 * * *", job_id=job["id"], count=4)
    assert found["changes"] == {
        "added": ["2026-03-27T15:00:00.000Z"],
        "removed": ["2026-03-27T12:00:00.000Z", "2026-03-28T12:00:00.000Z"],
    }
    same = preview(api, "0 9,12 * * *", job_id=job["id"])
    assert same["changes"] == {"added": [], "removed": []}
    unscheduled = preview(api, "0 9 * * *", job_id=api.create()["id"], count=2)
    assert unscheduled["changes"] == {"added": utc(unscheduled), "removed": []}


def test_the_hash_of_a_job_is_its_own(api: ServedApi) -> None:
    job = api.create(schedule="H H * * *")
    found = preview(api, "H H * * *", job_id=job["id"], **{"from": job["created_at"]})
    assert found["next"] == job["next_due_at"]
    assert preview(api, "H H * * *") == preview(api, "H H * * *")


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["schedule"]),
        ({"schedule": None}, ["schedule"]),
        ({"schedule": "61 * * * *"}, ["schedule"]),
        ({"schedule": {"cron": "61 * * * *"}}, ["schedule.cron"]),
        ({"schedule": "1h", "count": 0}, ["count"]),
        ({"schedule": "1h", "count": 1001}, ["count"]),
        ({"schedule": "1h", "from": "soon"}, ["from"]),
        ({"schedule": {"after": "1s"}, "from": "9999-12-31T23:59:59.999Z"}, ["from"]),
        ({"schedule": "1h", "timezone": "Nowhere"}, ["timezone"]),
        ({"schedule": "1h", "dst_gap": "jump"}, ["dst_gap"]),
        ({"schedule": "1h", "job_id": "x"}, ["job_id"]),
        ({"schedule": "1h", "job_id": "job_01h455vb4pex5vsknk084sn02q"}, ["job_id"]),
        ({"schedule": "1h", "form": "x"}, ["form"]),
        ({"schedule": "often", "count": 0, "from": "x", "timezone": "x"}, ["count", "from", "timezone", "schedule"]),
        ([], ["body"]),
    ],
)
def test_a_bad_preview_is_refused(api: ServedApi, body: Any, fields: list[str]) -> None:
    reply = api.call("POST", "/v1/schedules/preview", body)
    assert (reply.status, list(reply.reasons)) == (422, fields)
