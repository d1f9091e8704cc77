"""`dueline import`: jobs on stdout, what is to be known on stderr, and exit codes that mean something."""

from pathlib import Path

import pytest
import yaml

from dueline.moving import verifying
from tests.api.serving import ServedApi
from tests.cli.conftest import Command

FILES = Path(__file__).parents[1] / "moving" / "files"
NOW = ["--from", "2026-01-01T00:00:00Z"]


def crontab(folder: Path, *lines: str) -> str:
    path = folder / "my.cron"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_jobs_are_written_as_yaml_or_json(dueline: Command, tmp_path: Path) -> None:
    path = crontab(tmp_path, "30 2 * * * /opt/backup.sh", "0 9 * * 1 /opt/report")
    args = ["import", "crontab", path, "--timezone", "Europe/Berlin", *NOW]
    as_yaml, as_json = dueline(*args), dueline(*args, "-o", "json")
    assert (as_yaml.code, as_json.code) == (0, 0)
    assert yaml.safe_load(as_yaml.out) == as_json.json
    assert [job["name"] for job in as_json.json["jobs"]] == ["backup", "report"]
    assert "&id" not in as_yaml.out, "what is the same is written out each time"
    assert as_yaml.err.splitlines() == [
        "A worker must have these tasks: backup, report",
        "2 converted, 0 left out, 0 cannot be converted.",
    ]


def test_jobs_are_taken_by_the_server_as_they_are(cli: Command, api: ServedApi) -> None:
    for source, name in (
        ("crontab", "user.crontab"),
        ("celery-beat", "celery_app.txt"),
        ("celery-beat", "beat_dump.json"),
        ("apscheduler", "scheduler.txt"),
        ("kubernetes-cronjob", "cronjobs.yaml"),
        ("eventbridge", "schedules.json"),
    ):
        found = cli("import", source, str(FILES / name), "--output", "json").json["jobs"]
        jobs = [{**job, "name": f"{name}: {job['name']}"} for job in found]
        reply = api.call("POST", "/v1/jobs/bulk", {"jobs": jobs})
        assert (reply.status, reply.json["failed"], reply.json["created"]) == (200, 0, len(jobs)), reply.body


def test_what_is_lost_is_told_by_its_line(dueline: Command, tmp_path: Path) -> None:
    path = crontab(tmp_path, "MAILTO=a@example.com", "0 9 * * * a", "0 10 * * * b", "@reboot c")
    ended = dueline("import", "crontab", path, *NOW)
    assert ended.code == 1
    lines = ended.err.splitlines()
    assert lines[0].startswith("line 2 (a), line 3 (b): names no zone")
    assert lines[1].startswith("line 2 (a), line 3 (b): its output went to MAILTO")
    assert lines[2].startswith("line 4: cannot be converted: @reboot")
    assert lines[-1] == "2 converted, 0 left out, 1 cannot be converted."
    assert len(yaml.safe_load(ended.out)["jobs"]) == 2, "the others are written all the same"


def test_a_file_is_written_where_asked_for(dueline: Command, tmp_path: Path) -> None:
    path, written = crontab(tmp_path, "0 9 * * * a"), tmp_path / "jobs.yaml"
    ended = dueline("import", "crontab", path, "--write", str(written))
    assert (ended.code, ended.out) == (0, "")
    assert len(yaml.safe_load(written.read_text())["jobs"]) == 1
    assert "cannot write" in dueline("import", "crontab", path, "--write", str(tmp_path / "no" / "where")).err


def test_standard_input(process: Command) -> None:
    ended = process("import", "crontab", "-", "--output", "json", stdin="0 9 * * * /opt/ünïcode\n")
    assert ended.json["jobs"][0]["target"]["args"]["command"] == "/opt/ünïcode"


def test_verifying_tells_what_is_the_same(dueline: Command, tmp_path: Path) -> None:
    path = crontab(tmp_path, "30 2 * * * /opt/backup.sh")
    ended = dueline("import", "crontab", path, "--timezone", "Europe/Berlin", "--verify", *NOW)
    assert ended.code == 0
    header, row = ended.out.splitlines()
    assert header.split() == ["JOB", "PLACE", "VERDICT", "FIRES", "DIFFERENCES", "UNTIL"]
    assert row.split() == ["backup", "line", "1", "same", "366", "0", "2027-01-02T00:00:00Z"]


def test_a_year_that_was_not_compared_to_its_end_was_the_same(
    dueline: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verifying, "FIRES_MAX", 10)
    path = crontab(tmp_path, "0 3 * * * backup\n")
    command = ("import", "crontab", path, "--timezone", "UTC", "--verify", *NOW)
    assert "same up to 2026-01-10T03:00:00Z, not further" in dueline(*command).out
    (comparison,) = dueline(*command, "-o", "json").json["comparisons"]
    assert (comparison["complete"], comparison["fires"]) == (False, 10)


def test_verifying_tells_what_differs(dueline: Command, tmp_path: Path) -> None:
    path = tmp_path / "beat.py"
    path.write_text("timezone = 'Europe/Berlin'\nbeat_schedule = {'a': {'task': 't', 'schedule': crontab(minute=0)}}")
    ended = dueline("import", "celery-beat", str(path), "--verify", *NOW)
    assert ended.code == 1
    assert ended.out.splitlines()[-1].split() == [
        "a",
        "2026-10-25T01:00:00Z",
        "2026-10-25T02:00:00+01:00",
        "Dueline",
        "yes",
    ]
    (comparison,) = dueline("import", "celery-beat", str(path), "--verify", *NOW, "-o", "json").json["comparisons"]
    assert (comparison["verdict"], comparison["differences"]) == ("differs", 1)
    assert comparison["first"][0]["only"] == "Dueline"


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["crontab", "nowhere.cron"], "cannot read nowhere.cron"),
        (["crontab", "{path}", "--timezone", "Mars/Base"], "unknown time zone"),
        (["crontab", "{path}", "--url", "https://example.com/{id}"], "{id} is no place"),
        (["crontab", "{path}", "--url", "https://example.com/", "--task", "t"], "not both"),
        (["crontab", "{path}", "--from", "soon"], "RFC 3339"),
        (["crontab"], "Missing argument"),
        (["eventbridge", "{path}"], "is not JSON"),
        (["kubernetes-cronjob", "{path}"], "CronJob"),
        (["apscheduler", "{path}"], "is not Python 3"),
    ],
)
def test_bad_input_exits_with_its_reason(dueline: Command, tmp_path: Path, args: list[str], told: str) -> None:
    path = crontab(tmp_path, "0 9 * * * a")
    ended = dueline("import", *[path if arg == "{path}" else arg for arg in args])
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err


def test_a_url_that_cannot_be_called_is_told_for_the_entry(dueline: Command, tmp_path: Path) -> None:
    ended = dueline("import", "crontab", crontab(tmp_path, "0 9 * * * a"), "--url", "ftp://example.com/{name}")
    assert ended.code == 1
    assert "target.url" in ended.err
    assert yaml.safe_load(ended.out) == {"jobs": []}


def test_bytes_that_are_no_text(dueline: Command, tmp_path: Path) -> None:
    path = tmp_path / "latin.cron"
    path.write_bytes(b"0 9 * * * caf\xe9\n")
    ended = dueline("import", "crontab", str(path))
    assert (ended.code, "not UTF-8" in ended.err) == (2, True)
