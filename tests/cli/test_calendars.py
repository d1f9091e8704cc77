"""`dueline calendar …`."""

from pathlib import Path

from tests.api.serving import ServedApi
from tests.cli.conftest import Command

FILE = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nDTSTART;VALUE=DATE:20261225\nEND:VEVENT\nEND:VCALENDAR\n"


def test_the_life_of_a_calendar(cli: Command, api: ServedApi, tmp_path: Path) -> None:
    path = tmp_path / "days.ics"
    path.write_text(FILE)
    made = cli(
        "calendar",
        "put",
        "days",
        "--date",
        "2026-12-24",
        "--date",
        "05-01",
        "--weekday",
        "sun",
        "--ics",
        str(path),
        "-o",
        "json",
    )
    assert made.json["dates"] == ["05-01", "2026-12-24/2026-12-25"]
    assert made.json["weekdays"] == ["SUN"]
    assert cli("calendar", "get", "days", "-o", "json").json == made.json
    assert "2026-12-24/2026-12-25" in cli("calendar", "get", "days").out
    cli("calendar", "put", "more", "--date", "01-01")
    header, *rows = cli("calendar", "list").out.splitlines()
    assert header.split() == ["NAME", "VERSION", "UPDATED", "WEEKDAYS", "DATES"]
    assert [row.split()[0] for row in rows] == ["days", "more"]
    assert len(cli("calendar", "list", "--limit", "1", "--all", "-o", "json").json["items"]) == 2
    assert "--cursor" in cli("calendar", "list", "--limit", "1").err
    job = api.create(schedule={"every": "1h", "calendars": ["days"]})
    assert cli("calendar", "delete", "days", "--yes").code == 4
    api.call("DELETE", f"/v1/jobs/{job['id']}")
    assert cli("calendar", "delete", "days", "--yes").code == 0
    assert cli("calendar", "get", "days").code == 3


def test_what_is_no_calendar_is_refused(cli: Command, tmp_path: Path) -> None:
    bad = tmp_path / "bad.ics"
    bad.write_bytes(b"\xff")
    for args, told in [
        ([], "give dates"),
        (["--date", "tomorrow"], "dates[0]"),
        (["--ics", "/nowhere.ics"], "cannot read"),
        (["--ics", str(bad)], "UTF-8"),
    ]:
        ended = cli("calendar", "put", "bad", *args)
        assert (ended.code, ended.out) == (2, "")
        assert told in ended.err
