"""`dueline run …`."""

import json
from pathlib import Path

from tests.api.serving import ServedApi
from tests.cli.conftest import Command

URL = "http://127.0.0.1:9/"


def test_one_run_is_made_shown_and_listed(cli: Command) -> None:
    run = cli("run", "create", "--url", URL, "--body", "hi", "--tag", "made", "--queue", "q", "-o", "json").json
    assert (run["state"], run["kind"], run["queue"]) == ("ready", "adhoc", "q")
    assert cli("run", "get", run["id"], "-o", "json").json["id"] == run["id"]
    assert run["id"] in cli("run", "get", run["id"]).out
    assert cli("run", "list", "--tag", "made").out.splitlines()[1].split()[:3] == [run["id"], "ready", "adhoc"]
    assert cli("run", "list", "--tag", "made", "--to", "2020-01-01T00:00:00Z", "-o", "json").json["items"] == []


def test_a_run_may_wait(cli: Command) -> None:
    assert cli("run", "create", "--url", URL, "--in", "1h", "-o", "json").json["state"] == "scheduled"


def test_many_runs_come_from_a_file(cli: Command, tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    path.write_text(json.dumps({"runs": [{"target": {"url": URL}, "tags": ["bulk"]}] * 3}))
    header, *rows = [line.split() for line in cli("run", "create", "-f", str(path)).out.splitlines()]
    assert (header, [row[0] for row in rows]) == (["STATUS", "ID", "PROBLEM"], ["201"] * 3)
    ids = [row[1] for row in rows]
    assert {run["id"] for run in cli("run", "list", "--tag", "bulk", "--all", "-o", "json").json["items"]} == set(ids)


def test_runs_of_a_job(cli: Command) -> None:
    job = cli("job", "create", "--url", URL, "-o", "json").json["id"]
    run = cli("job", "run", job, "-o", "json").json["id"]
    found = cli("run", "list", "--job", job, "--kind", "manual", "--from", "2020-01-01T00:00:00Z", "-o", "json")
    assert [item["id"] for item in found.json["items"]] == [run]


def test_runs_are_searched_by_words(cli: Command) -> None:
    run = cli(
        "job", "run", cli("job", "create", "--url", URL, "--name", "wanted one", "-o", "json").json["id"], "-o", "json"
    )
    for search, ids in (("ONE want", [run.json["id"]]), ("wanted two", [])):
        found = cli("run", "list", "--search", search, "-o", "json").json["items"]
        assert [item["id"] for item in found] == ids


def test_a_run_is_cancelled_once(cli: Command) -> None:
    run = cli("run", "create", "--url", URL, "-o", "json").json
    assert cli("run", "cancel", run["id"], "--yes", "-o", "json").json["state"] == "cancelled"
    again = cli("run", "cancel", run["id"], "--yes")
    assert (again.code, again.err) == (4, "Error: the run is cancelled already\n")
    assert cli("run", "cancel", "x", "--yes").code == 3


def test_a_run_that_has_ended_is_tried_again(cli: Command) -> None:
    run = cli("run", "create", "--url", URL, "-o", "json").json["id"]
    assert cli("run", "retry", run).code == 4
    assert cli("run", "cancel", run, "--yes").code == 0
    again = cli("run", "retry", run, "--key", "mine", "--latest", "--force", "-o", "json").json
    assert (again["kind"], again["parent_run_id"]) == ("redrive", run)
    assert cli("run", "retry", run, "--key", "mine").out.split()[:2] == ["id", again["id"]]
    assert cli("run", "retry", "x").code == 3


def test_what_is_not_there(cli: Command) -> None:
    ended = cli("run", "get", "run_01h455vb4pex5vsknk084sn02q")
    assert (ended.code, ended.err) == (3, "Error: no run run_01h455vb4pex5vsknk084sn02q\n")


def test_a_run_with_a_dedupe_key_is_made_once(cli: Command) -> None:
    ask = ("run", "create", "--url", URL, "--dedupe-key", "once", "-o", "json")
    first = cli(*ask).json["id"]
    again = cli(*ask)
    assert (again.code, again.err) == (4, f"Error: the dedupe key is taken by {first}\n")
    window = ("--dedupe-window", "1h", "--dedupe-state", "ready", "--dedupe-state", "succeeded")
    assert cli(*ask, *window, "--on-conflict", "ignore").json["id"] == first
    assert cli(*ask, "--dedupe-state", "running").json["id"] != first


def test_a_run_of_a_job_with_a_dedupe_key_is_made_once(cli: Command) -> None:
    job = cli("job", "create", "--url", URL, "--overlap", "allow", "-o", "json").json["id"]
    ask = ("job", "run", job, "--dedupe-key", "job once", "-o", "json")
    first = cli(*ask).json["id"]
    assert cli(*ask).code == 4
    assert cli(*ask, "--dedupe-window", "1h", "--on-conflict", "ignore").json["id"] == first
    assert cli(*ask, "--on-conflict", "replace").json["id"] != first


def test_the_runs_of_a_deleted_job_are_found_by_its_id_and_the_refusal_says_so(cli: Command, api: ServedApi) -> None:
    job = api.create(name="soon gone")
    run_id = api.call("POST", f"/v1/jobs/{job['id']}/run").json["id"]
    assert cli("job", "delete", "soon gone", "--yes").code == 0
    missing = cli("run", "list", "--job", "soon gone")
    assert (missing.code, missing.out) == (3, "")
    assert "no job soon gone; what a deleted one left is found by its id" in missing.err
    assert run_id in cli("run", "list", "--job", job["id"]).out
