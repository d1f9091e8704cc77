"""`dueline schedule preview`: it answers without a server, and asks one where only that can know."""

import json

import pytest

from tests.api.serving import ServedApi
from tests.cli.conftest import Command

BERLIN = ["--timezone", "Europe/Berlin", "--from", "2026-03-28T00:00:00Z"]


def test_a_preview_needs_no_server(process: Command) -> None:
    ended = process("schedule", "preview", "30 2 * * *", *BERLIN, "--count", "3", "--output", "json")
    assert (ended.code, ended.err) == (0, "")
    assert ended.json.keys() == {"canonical", "description", "fires"}
    assert ended.json["canonical"] == {"cron": "30 2 * * *", "timezone": "Europe/Berlin"}
    first, second, third = ended.json["fires"]
    assert first == {"utc": "2026-03-28T01:30:00.000Z", "local": "2026-03-28T02:30:00+01:00", "note": None}
    assert (second["utc"], second["local"]) == ("2026-03-29T01:00:00.000Z", "2026-03-29T03:00:00+02:00")
    assert "02:30" in second["note"]
    assert third["note"] is None


@pytest.mark.parametrize(
    ("schedule", "args", "fires"),
    [
        ("30 2 * * *", ["--dst-gap", "skip"], ["2026-03-28T01:30:00.000Z", "2026-03-30T00:30:00.000Z"]),
        ("30 2 * * *", ["--dst-gap", "run_before"], ["2026-03-28T01:30:00.000Z", "2026-03-29T00:30:00.000Z"]),
        ('{"cron": "30 2 * * *"}', [], ["2026-03-28T01:30:00.000Z", "2026-03-29T01:00:00.000Z"]),
        ('{"every": "1h", "timezone": null}', [], ["2026-03-28T01:00:00.000Z", "2026-03-28T02:00:00.000Z"]),
        ("every day at 14:00", [], ["2026-03-28T13:00:00.000Z", "2026-03-29T12:00:00.000Z"]),
        ("2026-04-01T00:00:00Z", [], ["2026-04-01T00:00:00.000Z"]),
        ("15m", [], ["2026-03-28T00:15:00.000Z", "2026-03-28T00:30:00.000Z"]),
        ("R2/2026-03-31T12:00:00Z/P1M", [], ["2026-03-31T12:00:00.000Z", "2026-04-30T12:00:00.000Z"]),
        (
            "FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
            [],
            ["2026-03-30T07:00:00.000Z", "2026-04-06T07:00:00.000Z"],
        ),
        (
            '{"calendar": {"hour": 9, "days_of_week": "MON"}}',
            [],
            ["2026-03-30T07:00:00.000Z", "2026-04-06T07:00:00.000Z"],
        ),
    ],
)
def test_a_schedule_in_any_language(dueline: Command, schedule: str, args: list[str], fires: list[str]) -> None:
    ended = dueline("schedule", "preview", schedule, *BERLIN, *args, "--count", "2", "-o", "json")
    assert (ended.code, ended.err) == (0, "")
    assert [fire["utc"] for fire in ended.json["fires"]] == fires


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["61 * * * *"], "column 1"),
        (["every blue moon"], "column"),
        (["0 0 31 2 *"], "never fires"),
        (["{oops"], "not JSON"),
        (['{"cron": "* * * * *", "every": "1h"}'], "exactly one"),
        (['{"corn": "* * * * *"}'], "did you mean cron?"),
        (["1h", "--timezone", "Nowhere"], "unknown time zone"),
        (["1h", "--from", "soon"], "RFC 3339"),
        (["1h", "--count", "0"], "between 1 and 1000"),
        (["1h", "--dst-gap", "jump"], "run_after"),
        ([""], "schedule"),
        ([], "Missing argument"),
    ],
)
def test_a_bad_schedule_exits_with_its_reason(dueline: Command, args: list[str], told: str) -> None:
    ended = dueline("schedule", "preview", *args, "--output", "json")
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err


def test_a_table_for_people(dueline: Command) -> None:
    ended = dueline("schedule", "preview", "every weekday at 9:00 Europe/Berlin", "--from", "2026-03-27T12:00:00Z")
    lines = ended.out.splitlines()
    assert lines[0] == "cron 0 9 * * 1-5 Europe/Berlin"
    assert lines[3].split() == ["UTC", "LOCAL", "NOTE"]
    assert lines[4].split() == ["2026-03-30T07:00:00.000Z", "2026-03-30T09:00:00+02:00", "-"]
    assert len(lines) == 14


def test_calendars_and_jobs_are_asked_of_the_server(cli: Command, api: ServedApi) -> None:
    cli("calendar", "put", "weekend", "--weekday", "SAT", "--weekday", "SUN")
    schedule = json.dumps({"cron": "0 9 * * *", "calendars": ["weekend"]})
    ended = cli("schedule", "preview", schedule, "--from", "2026-03-27T12:00:00Z", "--count", "1", "-o", "json")
    assert ended.json["fires"][0]["utc"] == "2026-03-30T09:00:00.000Z"
    job = api.create(schedule="0 9,12 * * *")
    compared = cli("schedule", "preview", "0 9 * * *", "--job", job["id"], "-o", "json").json
    assert (compared["changes"]["added"], len(compared["changes"]["removed"])) == ([], 5)
    table = cli("schedule", "preview", "0 9 * * *", "--job", job["id"]).out
    assert table.count("removed") == 5
    assert "stay the same" in cli("schedule", "preview", "0 9,12 * * *", "--job", job["id"]).out


def test_without_a_server_calendars_cannot_be_known(dueline: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUELINE_URL", "http://127.0.0.1:9")
    ended = dueline("schedule", "preview", '{"every": "1h", "calendars": ["weekend"]}')
    assert (ended.code, ended.out) == (5, "")
