"""Calendars over HTTP."""

from typing import Any

import pytest

from tests.api.serving import TARGET, ServedApi

FILE = "\r\n".join(
    [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "BEGIN:VEVENT",
        "UID:1",
        "DTSTART;VALUE=DATE:20261225",
        "DTEND;VALUE=DATE:20261227",
        "SUMMARY:Christmas",
        "END:VEVENT",
        "END:VCALENDAR",
        "",
    ]
)


def put(api: ServedApi, name: str, **body: Any) -> Any:
    reply = api.call("PUT", f"/v1/calendars/{name}", body)
    assert reply.status == 200, reply.body
    return reply.json


def test_a_calendar_is_kept_in_canonical_form(api: ServedApi) -> None:
    dates = ["2026-12-27", "12-25", "2026-12-24/2026-12-26", "2027-01-01"]
    made = put(api, "canonical", dates=dates, weekdays=["sun", "SAT"])
    assert {name: made[name] for name in ("name", "dates", "weekdays", "version")} == {
        "name": "canonical",
        "dates": ["12-25", "2026-12-24/2026-12-27", "2027-01-01"],
        "weekdays": ["SAT", "SUN"],
        "version": 1,
    }
    assert api.call("GET", "/v1/calendars/canonical").json == made
    again = put(api, "canonical", dates=made["dates"], weekdays=made["weekdays"])
    assert (again["dates"], again["weekdays"]) == (made["dates"], made["weekdays"])


def test_a_file_adds_to_the_dates(api: ServedApi) -> None:
    assert put(api, "file", dates=["2026-12-24"], icalendar=FILE)["dates"] == ["2026-12-24/2026-12-26"]


def test_a_calendar_in_use_cannot_be_deleted(api: ServedApi) -> None:
    put(api, "used", weekdays=["SUN"])
    job = api.create(schedule={"cron": "0 9 * * *", "calendars": ["used"]})
    assert job["schedule"] == {"cron": "0 9 * * *", "timezone": "UTC", "calendars": ["used"]}
    refused = api.call("DELETE", "/v1/calendars/used")
    assert (refused.status, refused.json["type"]) == (409, "urn:dueline:problem:conflict")
    api.call("PATCH", f"/v1/jobs/{job['id']}", {"schedule": {"calendars": None}})
    assert api.call("DELETE", "/v1/calendars/used").status == 204
    assert api.call("DELETE", "/v1/calendars/used").status == 404
    assert api.call("GET", "/v1/calendars/used").status == 404


def test_a_job_names_calendars_that_exist(api: ServedApi) -> None:
    put(api, "exists", weekdays=["SUN"])
    schedule = {"cron": "0 9 * * *", "calendars": ["exists", "missing"]}
    reply = api.call("POST", "/v1/jobs", {"target": TARGET, "schedule": schedule})
    assert (reply.status, list(reply.reasons)) == (422, ["schedule.calendars[1]"])
    job = api.create(schedule={"cron": "0 9 * * *"})
    patched = api.call("PATCH", f"/v1/jobs/{job['id']}", {"schedule": {"calendars": ["missing"]}})
    assert (patched.status, list(patched.reasons)) == (422, ["schedule.calendars[0]"])


def test_a_job_that_its_calendars_never_let_run_is_refused(api: ServedApi) -> None:
    put(api, "mondays", weekdays=["MON"])
    schedule = {"cron": "0 9 * * MON", "calendars": ["mondays"]}
    reply = api.call("POST", "/v1/jobs", {"target": TARGET, "schedule": schedule})
    assert reply.status == 422, reply.body


def test_calendars_are_listed_by_name(own_api: ServedApi) -> None:
    names = ["b", "a.1", "Z", "a-2", "c_3"]
    for name in names:
        put(own_api, name, weekdays=["SUN"])
    found: list[str] = []
    cursor = ""
    while True:
        page = own_api.call("GET", f"/v1/calendars?limit=2{cursor}").json
        found += [one["name"] for one in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert found == sorted(names)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "body"),
        ({"dates": ["2026-02-30"]}, "dates[0]"),
        ({"dates": ["12-25", "tomorrow"]}, "dates[1]"),
        ({"dates": ["2026-12-25/2026-12-24"]}, "dates[0]"),
        ({"dates": "12-25"}, "dates"),
        ({"dates": [1225]}, "dates[0]"),
        ({"weekdays": ["XXX"]}, "weekdays[0]"),
        ({"weekdays": ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]}, "weekdays"),
        ({"icalendar": "hello"}, "icalendar"),
        ({"icalendar": FILE.replace("END:VEVENT\r\n", "")}, "icalendar"),
        ({"name": "x", "dates": []}, "name"),
        ({"date": ["12-25"]}, "date"),
        ([], "body"),
    ],
)
def test_a_bad_calendar_is_refused(api: ServedApi, body: Any, field: str) -> None:
    reply = api.call("PUT", "/v1/calendars/bad", body)
    assert (reply.status, list(reply.reasons)) == (422, [field])
    assert api.call("GET", "/v1/calendars/bad").status == 404


def test_a_bad_name_is_refused_or_names_nothing(api: ServedApi) -> None:
    for name in ("a%20b", "x" * 101, "%00", "%C3%A9"):
        assert "name" in api.call("PUT", f"/v1/calendars/{name}", {"dates": []}).reasons
        assert api.call("GET", f"/v1/calendars/{name}").status == 404
        assert api.call("DELETE", f"/v1/calendars/{name}").status == 404
    assert "cursor" in api.call("GET", "/v1/calendars?cursor=x").reasons
