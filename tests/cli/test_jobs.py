"""`dueline job …`."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dueline.cli.job_options import SCHEDULE_MEMBERS
from dueline.wire.schedules import ScheduleForm
from tests.api.serving import ServedApi
from tests.cli.conftest import Command

URL = "http://127.0.0.1:9/"


def created(cli: Command, *args: str) -> str:
    job_id: str = cli("job", "create", "--url", URL, *args, "-o", "json").json["id"]
    return job_id


def test_a_job_is_put_by_its_name(cli: Command) -> None:
    first = cli("job", "put", "by name", "--url", URL, "--create-only", "-o", "json").json
    assert (first["name"], first["version"]) == ("by name", 1)
    assert cli("job", "put", "by name", "--url", URL, "--create-only").code == 4
    dry = cli("job", "put", "by name", "--url", URL, "--priority", "9", "--dry-run", "-o", "json").json
    assert (dry["id"], dry["version"]) == (first["id"], 2)
    assert cli("job", "put", "by name", "--url", URL, "--if-version", "7").code == 4
    assert cli("job", "put", "by name", "--url", URL, "--priority", "9", "--if-version", "1").code == 0
    assert cli("job", "get", first["id"], "-o", "json").json["priority"] == 9


def test_a_job_begins_paused(cli: Command, tmp_path: Path) -> None:
    job_id = created(cli, "--paused")
    assert cli("job", "get", job_id, "-o", "json").json["state"] == "paused"
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"jobs": [{"target": {"url": URL}, "state": "paused"}]}))
    assert cli("job", "create", "-f", str(path), "--paused").code == 2
    assert cli("job", "create", "-f", str(path), "-o", "json").json["items"][0]["job"]["state"] == "paused"


def test_jobs_are_found_by_words(cli: Command) -> None:
    job_id = created(cli, "--name", "Quarterly close", "--tag", "searched")
    created(cli, "--name", "closed", "--tag", "other")
    assert [job["id"] for job in cli("job", "list", "--search", "CLOSE searched", "-o", "json").json["items"]] == [
        job_id
    ]


def test_every_option_of_create_reaches_the_job(cli: Command) -> None:
    job = cli(
        *("job", "create", "--url", URL, "--method", "put", "--header", "X-A: b:c", "--header", "X-B:d"),
        *("--body", '{"a": [1]}', "--cron", "0 9 * * 1-5", "--timezone", "Europe/Berlin", "--name", "full"),
        *("--dst-gap", "skip", "--dst-overlap", "both"),
        *("--queue", "q", "--priority", "9", "--region", "eu", "--tag", "a", "--tag", "b", "--retry-attempts", "3"),
        *("--retry-backoff", "fixed", "--retry-base", "2s", "--retry-cap", "1h", "--timeout", "1m"),
        *("--overlap", "allow", "--misfire", "skip", "--delivery", "at_most_once", "--output", "json"),
    ).json
    target = job["target"]
    assert (target["url"], target["type"], target["method"]) == (URL, "http", "PUT")
    assert (target["headers"], target["body"]) == ({"X-A": "b:c", "X-B": "d"}, {"a": [1]})
    assert job["schedule"] == {
        "cron": "0 9 * * 1-5",
        "timezone": "Europe/Berlin",
        "dst_gap": "skip",
        "dst_overlap": "both",
    }
    assert (job["name"], job["queue"], job["priority"], job["region"]) == ("full", "q", 9, "eu")
    asked = {"max_attempts": 3, "backoff": "fixed", "base": "PT2S", "cap": "PT1H", "max_lost": 3}
    assert {name: job["retry"][name] for name in asked} == asked
    assert (job["timeout"], job["overlap"], job["misfire"]["policy"]) == ("PT1M", "allow", "skip")
    assert (job["delivery"], job["tags"]) == ("at_most_once", ["a", "b"])


def test_every_option_of_execution_reaches_the_job_and_the_run(cli: Command) -> None:
    options = [
        *(
            "--connect-timeout",
            "2s",
            "--expect",
            "200",
            "--expect",
            "3xx",
            "--run-timeout",
            "1h",
            "--expires-after",
            "5m",
        ),
        *(
            "--require",
            "gpu",
            "--require",
            "eu",
            "--retry-delays",
            "1s, 10s,1m",
            "--retry-on",
            "503",
            "--retry-on",
            "timeout",
        ),
        *("--never-on", "500-502"),
        *(
            "--notify-url",
            f"{URL}ended",
            "--notify-on",
            "failed",
            "--notify-on",
            "succeeded",
            "--notify-late-after",
            "5m",
        ),
    ]
    own = ["--retention", "36h", "--dedupe-key", "k", "--dedupe-window", "1h", "--on-conflict", "ignore"]
    job = cli("job", "create", "--url", URL, *options, *own, "-o", "json").json
    assert (job["target"]["connect_timeout"], job["target"]["expected_status"]) == ("PT2S", [200, "3xx"])
    assert (job["run_timeout"], job["expires_after"], job["requires"]) == ("PT1H", "PT5M", ["eu", "gpu"])
    assert (job["retention"], job["dedupe_key"], job["dedupe_window"]) == ("P1DT12H", "k", "PT1H")
    assert job["on_conflict"] == "ignore"
    assert job["notify"] == {
        "url": f"{URL}ended",
        "on": ["succeeded", "failed"],
        "headers": {},
        "sign": True,
        "late_after": "PT5M",
    }
    retry = job["retry"]
    assert (retry["backoff"], retry["delays"]) == ("list", ["PT1S", "PT10S", "PT1M"])
    assert (retry["retry_on"], retry["never_on"]) == ([503, "timeout"], ["500-502"])
    assert cli("run", "create", "--url", URL, *options).code == 0
    refused = cli("run", "create", "--url", URL, "--retry-backoff", "fixed", "--retry-delays", "1s")
    assert (refused.code, "retry.delays" in refused.err) == (2, True)


def test_a_task_is_named_with_its_arguments(cli: Command, tmp_path: Path) -> None:
    path = tmp_path / "args.json"
    path.write_text('{"a": 1, "b": 2}')
    single = ["--arg", "b=[3]", "--arg", "c=ada", "--arg", 'd="4"', "--arg", "e=", "--arg", "f=g=h"]
    job = cli("job", "create", "--task", "odd", "--args", f"@{path}", *single, "--queue", "tasks", "-o", "json").json
    assert job["target"] == {
        "type": "task",
        "task": "odd",
        "args": {"a": 1, "b": [3], "c": "ada", "d": "4", "e": "", "f": "g=h"},
    }
    assert "task odd" in cli("job", "list", "--queue", "tasks").out
    edited = cli("job", "edit", job["id"], "--arg", "a=9", "-o", "json").json
    assert edited["target"]["args"] == {**job["target"]["args"], "a": 9}
    called = cli("job", "edit", job["id"], "--url", URL, "-o", "json").json
    assert (called["target"]["type"], called["target"]["url"]) == ("http", URL)
    back = cli("job", "edit", job["id"], "--task", "even", "-o", "json").json
    assert back["target"] == {"type": "task", "task": "even", "args": {}}


FIRST = "2099-01-01T00:00:00.000Z"


@pytest.mark.parametrize(
    ("args", "schedule"),
    [
        (["--schedule", "every weekday at 9:00"], {"cron": "0 9 * * 1-5", "timezone": "UTC"}),
        (["--schedule", "0 9 * * *", "--timezone", "Asia/Tokyo"], {"cron": "0 9 * * *", "timezone": "Asia/Tokyo"}),
        (
            ["--schedule", '{"cron": "0 9 * * *"}', "--max-runs", "3"],
            {"cron": "0 9 * * *", "timezone": "UTC", "max_runs": 3},
        ),
        (["--after", "15m", "--start-at", FIRST], {"after": "PT15M", "start_at": FIRST}),
        (["--repeat", "R5/2099-01-31T00:00:00Z/P1M"], {"repeat": "R5/2099-01-31T00:00:00Z/P1M", "timezone": "UTC"}),
        (
            ["--rrule", "FREQ=DAILY", "--start-at", FIRST],
            {"rrule": "DTSTART:20990101T000000Z\nRRULE:FREQ=DAILY", "timezone": "UTC"},
        ),
        (
            ["--every", "1h", "--start-at", FIRST, "--end-at", "2099-02-01T00:00:00Z", "--jitter", "30s"],
            {"every": "PT1H", "start_at": FIRST, "end_at": "2099-02-01T00:00:00.000Z", "jitter": "PT30S"},
        ),
        (
            ["--cron", "0 9 * * *", "--calendar", "cli-a", "--calendar", "cli-b", "--on-excluded", "before"],
            {"cron": "0 9 * * *", "timezone": "UTC", "calendars": ["cli-a", "cli-b"], "on_excluded": "before"},
        ),
    ],
)
def test_schedules_of_every_kind_and_shape(cli: Command, args: list[str], schedule: object) -> None:
    for name in ("cli-a", "cli-b"):
        cli("calendar", "put", name, "--weekday", "SUN")
    assert cli("job", "create", "--url", URL, *args, "-o", "json").json["schedule"] == schedule
    job_id = created(cli, "--cron", "0 0 * * *", "--timezone", "Europe/Berlin", "--dst-gap", "skip", "--jitter", "1m")
    assert cli("job", "edit", job_id, *args, "-o", "json").json["schedule"] == schedule


def test_every_member_of_a_schedule_is_replaced_by_another_schedule() -> None:
    assert set(SCHEDULE_MEMBERS) == set(ScheduleForm.__struct_fields__)


def test_a_shape_alone_leaves_the_schedule(cli: Command) -> None:
    job_id = created(cli, "--cron", "0 9 * * *", "--timezone", "Europe/Berlin")
    edited = cli(
        "job", "edit", job_id, "--jitter", "5m", "--misfire-window", "2h", "--misfire-cap", "7", "-o", "json"
    ).json
    assert edited["schedule"] == {"cron": "0 9 * * *", "timezone": "Europe/Berlin", "jitter": "PT5M"}
    assert edited["misfire"] == {"policy": "fire_once", "window": "PT2H", "cap": 7}
    assert cli("job", "edit", job_id, "--overlap", "cancel_previous", "-o", "json").json["overlap"] == "cancel_previous"


@pytest.mark.parametrize(
    ("body", "sent"),
    [("hello", "hello"), ("5", "5"), ("[1]", [1]), (' {"a": null}', {"a": None}), ("{oops", "{oops"), ("", "")],
)
def test_a_body_is_json_when_it_looks_so(cli: Command, body: str, sent: object) -> None:
    assert cli("job", "create", "--url", URL, "--body", body, "-o", "json").json["target"]["body"] == sent


def test_in_is_a_while_from_now(cli: Command) -> None:
    job = cli("job", "create", "--url", URL, "--in", "2m", "-o", "json").json
    ahead = datetime.fromisoformat(job["schedule"]["at"]) - datetime.now(UTC)
    assert timedelta(seconds=110) < ahead <= timedelta(seconds=120)


def test_options_override_a_file(cli: Command, tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    path.write_text(json.dumps({"target": {"url": URL, "method": "GET"}, "schedule": {"every": "1h"}, "queue": "file"}))
    job = cli("job", "create", "-f", str(path), "--queue", "option", "--header", "A: b", "-o", "json").json
    assert (job["queue"], job["schedule"]["every"], job["target"]["method"]) == ("option", "PT1H", "GET")
    assert job["target"]["headers"] == {"A": "b"}


def test_a_job_is_edited_by_what_is_given(cli: Command) -> None:
    job_id = created(cli, "--cron", "* * * * *", "--timezone", "Europe/Berlin", "--dst-gap", "skip", "--tag", "kept")
    zone = cli("job", "edit", job_id, "--timezone", "UTC", "-o", "json").json
    assert (zone["schedule"], zone["tags"]) == (
        {"cron": "* * * * *", "timezone": "UTC", "dst_gap": "skip"},
        ["kept"],
    )
    rate = cli("job", "edit", job_id, "--every", "5m", "--if-version", "2", "-o", "json").json
    assert (rate["schedule"]["every"], rate["version"]) == ("PT5M", 3)
    late = cli("job", "edit", job_id, "--priority", "1", "--if-version", "2")
    assert (late.code, late.out) == (4, "")
    assert "version 3" in late.err


def test_a_job_is_paused_resumed_run_and_deleted(cli: Command) -> None:
    job_id = created(cli)
    assert cli("job", "pause", job_id, "--note", "why", "-o", "json").json["pause_note"] == "why"
    assert cli("job", "resume", job_id, "-o", "json").json["state"] == "active"
    assert cli("job", "run", job_id, "--force", "-o", "json").json["kind"] == "manual"
    assert cli("job", "delete", job_id, "--yes").code == 0
    assert cli("job", "get", job_id).code == 3


def test_a_job_is_cancelled_for_good(cli: Command) -> None:
    job_id = created(cli, "--every", "1h")
    assert cli("job", "cancel", job_id).code == 2, "nobody can be asked"
    cancelled = cli("job", "cancel", job_id, "--yes", "--cancel-running", "--note", "why", "-o", "json").json
    assert (cancelled["state"], cancelled["pause_note"]) == ("cancelled", "why")
    assert cli("job", "run", job_id).code == 4
    assert cli("job", "delete", job_id, "--yes").code == 0


def test_a_job_tells_why_it_does_not_run(cli: Command) -> None:
    job_id = created(cli, "--paused", "--every", "1h")
    told = cli("job", "why", job_id, "-o", "json").json
    assert (told["job_id"], told["state"], told["waits_for"]) == (job_id, "paused", "resume")
    assert "goes on when it is resumed" in cli("job", "why", job_id).out


def test_what_comes_is_listed_of_one_job_and_of_all(cli: Command) -> None:
    job_id = created(cli, "--every", "1h", "--tag", "coming")
    of_one = cli("job", "upcoming", job_id, "--limit", "2", "-o", "json").json["items"]
    assert [one["job_id"] for one in of_one] == [job_id] * 2
    assert cli("job", "upcoming", job_id, "--limit", "1").out.split()[:3] == ["SCHEDULED", "LOCAL", "DUE"]
    of_all = cli("upcoming", "--tag", "coming", "--limit", "2", "-o", "json").json["items"]
    assert of_all == of_one
    assert job_id in cli("upcoming", "--tag", "coming", "--limit", "1").out


def test_a_list_is_a_table_or_json_page_by_page(cli: Command) -> None:
    ids = [created(cli, "--queue", "listed", "--every", "90s") for _ in range(3)]
    table = cli("job", "list", "--queue", "listed")
    header, *rows = table.out.splitlines()
    assert header.split() == ["ID", "NAME", "STATE", "SCHEDULE", "NEXT", "DUE", "QUEUE", "TARGET"]
    assert [row.split()[0] for row in rows] == sorted(ids, reverse=True)
    assert "every PT1M30S" in rows[0]
    first = cli("job", "list", "--queue", "listed", "--limit", "2")
    cursor = first.err.split("--cursor ")[1].split(",")[0]
    assert ids[0] in cli("job", "list", "--queue", "listed", "--cursor", cursor).out
    everything = cli("job", "list", "--queue", "listed", "--all", "--limit", "1", "-o", "json").json
    assert [job["id"] for job in everything["items"]] == sorted(ids, reverse=True)


def test_nothing_of_others_is_read_as_markup_or_colour(cli: Command) -> None:
    created(cli, "--name", "[red]not red[/red]", "--queue", "markup")
    out = cli("job", "list", "--queue", "markup").out
    assert "[red]not red[/red]" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["job", "create"], "target: is required"),
        (["job", "create", "--url", "ftp://x"], "target.url"),
        (["job", "create", "--url", URL, "--cron", "0 0 31 2 *"], "never fires"),
        (["job", "create", "--url", URL, "--in", "soon"], "--in"),
        (["job", "create", "--url", URL, "--in", "1s", "--at", "2099-01-01T00:00:00Z"], "not both"),
        (["job", "create", "--url", URL, "--header", "x"], "Name: value"),
        (["job", "create", "--url", URL, "--schedule", "every blue moon"], "schedule: "),
        (["job", "create", "--url", URL, "--schedule", "{oops"], "not JSON"),
        (["job", "create", "--url", URL, "--every", "1h", "--calendar", "none"], "schedule.calendars[0]"),
        (["job", "create", "--url", URL, "--body", "@/nowhere"], "cannot read"),
        (["job", "create", "-f", "/nowhere.json"], "cannot read"),
        (["job", "create", "--task", "t", "--args", "[1]"], "must be a JSON object"),
        (["job", "create", "--task", "t", "--args", "@/nowhere"], "--args"),
        (["job", "create", "--task", "t", "--arg", "x"], "name=value"),
        (["job", "create", "--task", "t", "--arg", "=x"], "name=value"),
        (["job", "create", "--task", "t", "--url", URL], "not both"),
        (["job", "list", "--state", "odd"], "state: must be one of"),
        (["job", "list", "--bogus"], "No such option"),
        (["job", "get"], "Missing argument"),
        (["job", "get", "x", "--output", "xml"], "xml"),
        (["job"], "Commands"),
    ],
)
def test_bad_input_exits_with_two_and_says_why(cli: Command, args: list[str], told: str) -> None:
    ended = cli(*args)
    assert ended.code == 2
    assert told in ended.err + (ended.out if args == ["job"] else "")


def test_as_a_process(process: Command, api: ServedApi) -> None:
    job = {"target": {"url": URL}, "name": "from a process"}
    made = process("job", "create", "-f", "-", "-o", "json", stdin=json.dumps(job), DUELINE_URL=api.url)
    assert (made.code, made.json["name"], made.err) == (0, "from a process", "")
    taken = process("job", "create", "-f", "-", stdin=json.dumps(job), DUELINE_URL=api.url)
    assert (taken.code, taken.out) == (4, "")
    assert taken.err == "Error: name: 'from a process' is taken\n"
    missing = process("job", "get", "job_01h455vb4pex5vsknk084sn02q", DUELINE_URL=api.url)
    assert (missing.code, missing.err) == (3, "Error: no job job_01h455vb4pex5vsknk084sn02q\n")
    nobody = process("job", "list", DUELINE_URL="http://127.0.0.1:9")
    assert nobody.code == 5
    assert "http://127.0.0.1:9" in nobody.err


def test_many_jobs_come_from_a_file(cli: Command, tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"jobs": [{"target": {"url": URL}, "name": "from a list"}, {"target": {"url": "x"}}]}))
    ended = cli("job", "create", "-f", str(path))
    header, made, refused = ended.out.splitlines()
    assert header.split() == ["STATUS", "ID", "PROBLEM"]
    assert (made.split()[0], refused.split()[:3]) == ("201", ["422", "-", "target.url:"])
    assert (ended.code, ended.err) == (1, "1 of 2 were refused.\n")
    assert cli("job", "get", made.split()[1], "-o", "json").json["name"] == "from a list"
    again = cli("job", "create", "-f", str(path), "-o", "json")
    assert [item["status"] for item in again.json["items"]] == [409, 422]
