"""`dueline job versions`, `version`, `diff` and `rollback`."""

from tests.api.serving import ServedApi
from tests.cli.conftest import Command


def test_what_a_job_was_is_listed_shown_and_compared(cli: Command, api: ServedApi) -> None:
    job = api.create(name="versions", schedule={"cron": "0 9 * * *"})["id"]
    assert cli("job", "edit", job, "--queue", "reports").code == 0
    rows = cli("job", "versions", job).out.splitlines()
    assert [row.split()[:2] for row in rows[1:]] == [["2", "(current)"], ["1", rows[2].split()[1]]]
    page = cli("job", "versions", job, "--limit", "1", "-o", "json").json
    assert [one["version"] for one in page["items"]] == [2]
    rest = cli("job", "versions", job, "--cursor", page["next_cursor"], "-o", "json").json
    assert [one["version"] for one in rest["items"]] == [1]
    assert len(cli("job", "versions", job, "--limit", "1", "--all", "-o", "json").json["items"]) == 2
    shown = cli("job", "version", job, "1").out
    assert "0 9 * * *" in shown
    assert cli("job", "version", job, "1", "-o", "json").json["definition"]["queue"] == "default"
    lines = cli("job", "diff", job, "2").out.splitlines()
    assert (lines[0].split(), lines[1].split()) == (
        ["FIELD", "VERSION", "1", "VERSION", "2"],
        ["queue", "default", "reports"],
    )
    assert cli("job", "diff", job, "1", "--against", "2", "-o", "json").json["changes"][0]["after"] == "default"
    assert cli("job", "diff", job, "1").code == 2
    assert cli("job", "version", job, "7").code == 3


def test_a_job_goes_back_to_a_version(cli: Command, api: ServedApi) -> None:
    job = api.create(priority=3)["id"]
    cli("job", "edit", job, "--priority", "9")
    assert cli("job", "rollback", job, "1", "--dry-run", "-o", "json").json["version"] == 3
    assert cli("job", "rollback", job, "1", "--if-version", "1").code == 4
    assert cli("job", "rollback", job, "1", "--if-version", "2", "-o", "json").json["priority"] == 3
    assert cli("job", "get", job, "-o", "json").json["version"] == 3
