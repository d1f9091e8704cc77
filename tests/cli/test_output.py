"""What is printed: YAML for programs, tables that fit a terminal, bars on bulk work."""

import json
from pathlib import Path

import pytest
import yaml

from dueline.cli import bulk
from tests.api.serving import ServedApi
from tests.cli.conftest import Command
from tests.cli.terminals import terminal

URL = "http://127.0.0.1:9/"


def test_yaml_says_what_json_says(cli: Command) -> None:
    job = cli("job", "create", "--url", URL, "--name", "yes", "--tag", "1", "--body", "a\nb", "-o", "json").json
    for args in (("job", "get", job["id"]), ("job", "list"), ("queue", "list"), ("config", "show"), ("forecast",)):
        told = cli(*args, "-o", "yaml")
        assert told.code == 0
        if args[0] != "forecast":
            assert yaml.safe_load(told.out) == cli(*args, "-o", "json").json


def test_a_list_of_many_jobs_is_told_in_yaml_too(cli: Command, tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"jobs": [{"target": {"url": URL}}, {"target": {"url": "x"}}]}))
    ended = cli("job", "create", "-f", str(path), "-o", "yaml")
    assert [item["status"] for item in yaml.safe_load(ended.out)["items"]] == [201, 422]
    assert ended.code == 1


def test_a_job_is_found_by_its_name(cli: Command) -> None:
    job = cli("job", "create", "--url", URL, "--name", "by name", "-o", "json").json
    longer = cli("job", "create", "--url", URL, "--name", "by name and more", "-o", "json").json
    assert cli("job", "get", "by name", "-o", "json").json["id"] == job["id"]
    assert cli("job", "get", "by name and more", "-o", "json").json["id"] == longer["id"]
    run = cli("job", "run", "by name", "-o", "json").json
    listed = cli("run", "list", "--job", "by name", "-o", "json").json["items"]
    assert [one["id"] for one in listed] == [run["id"]]
    for missing in ("by nam", "BY NAME", "job_1", "\x1b"):
        ended = cli("job", "get", missing)
        assert (ended.code, ended.out) == (3, "")
        assert "\x1b" not in ended.err


def test_a_table_fits_the_terminal_and_nothing_is_cut_in_a_pipe(cli: Command, api: ServedApi, alone: Path) -> None:
    name = "n" * 150
    job = cli("job", "create", "--url", URL, "--name", name, "--queue", "wide", "-o", "json").json
    assert name in cli("job", "list", "--queue", "wide").out
    with terminal("job", "list", "--queue", "wide", home=alone, columns=90, DUELINE_URL=api.url) as shown:
        assert shown.exit_code() == 0
        lines = shown.seen.replace("\r", "").splitlines()
    assert job["id"] in shown.seen
    assert "…" in shown.seen
    assert name not in shown.seen
    assert len(lines) == 2, "no line goes on in the next"


@pytest.mark.parametrize(("noun", "nouns"), [("job", "jobs"), ("run", "runs")])
def test_many_are_sent_piece_by_piece_with_one_answer(
    cli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noun: str, nouns: str
) -> None:
    monkeypatch.setattr(bulk, "PIECE", 2)
    path = tmp_path / "many.json"
    good = {"target": {"url": URL}}
    path.write_text(json.dumps({nouns: [good, good, good, {"target": {"url": "x"}}, good]}))
    ended = cli(noun, "create", "-f", str(path), "-o", "json")
    assert [item["status"] for item in ended.json["items"]] == [201, 201, 201, 422, 201]
    assert (ended.code, ended.json["created"], ended.json["failed"]) == (1, 4, 1)
    assert ended.err == "1 of 5 were refused.\n", "no bar where there is no terminal"


def test_all_or_none_stay_one_call(cli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "PIECE", 1)
    path = tmp_path / "many.json"
    jobs = [{"target": {"url": URL}, "queue": "atomic"}, {"target": {"url": "x"}}]
    path.write_text(json.dumps({"jobs": jobs, "atomic": True}))
    assert cli("job", "create", "-f", str(path)).code != 0
    assert cli("job", "list", "--queue", "atomic", "-o", "json").json["items"] == []


def test_bulk_work_shows_a_bar_on_a_terminal(api: ServedApi, alone: Path, tmp_path: Path) -> None:
    path = tmp_path / "many.json"
    path.write_text(json.dumps({"runs": [{"target": {"url": URL}, "queue": "bar"}] * (bulk.PIECE + 1)}))
    command = ("run", "create", "-f", str(path), "-o", "json")
    with terminal(*command, home=alone, DUELINE_URL=api.url) as shown:
        assert shown.exit_code() == 0
    assert "Creating" in shown.seen
    assert "100%" in shown.seen


def test_applying_shows_a_bar_on_a_terminal_and_none_in_a_pipe(
    process: Command, api: ServedApi, alone: Path, tmp_path: Path
) -> None:
    path = tmp_path / "jobs.yaml"
    path.write_text("owner: bars\njobs:\n  - {name: bar, target: {url: 'http://127.0.0.1:9/'}}\n")
    with terminal("apply", "-f", str(path), home=alone, DUELINE_URL=api.url) as shown:
        assert shown.exit_code() == 0
    assert "Applying" in shown.seen
    path.write_text(path.read_text().replace("9/", "9/b"))
    piped = process("apply", "-f", str(path), DUELINE_URL=api.url)
    assert (piped.code, piped.err) == (0, "0 created, 1 updated, 0 deleted.\n")
