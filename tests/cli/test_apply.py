"""`dueline apply`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dueline.declared.carrying import Outcome, carry_out
from dueline.runtime.clock import SystemClock
from dueline.store.sqlite.store import SqliteStore
from tests.api.serving import ServedApi
from tests.cli.conftest import Command, Ended

JOBS = """
owner: shop
jobs:
  - name: report
    schedule: {cron: 0 9 * * *, timezone: Asia/Tokyo}
    target: {url: "http://127.0.0.1:9/"}
  - name: sync
    schedule: 15m
    target: {task: sync, args: {full: no}}
"""


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ServedApi]:
    """A server of this test's own: the command looks at all jobs."""
    with ServedApi(lambda: SqliteStore(tmp_path / "dueline.db", SystemClock())) as api:
        yield api


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.yaml"
    path.write_text(JOBS)
    return path


def jobs(api: ServedApi) -> dict[str, Any]:
    return {job["name"]: job for job in api.call("GET", "/v1/jobs?limit=500").json["items"]}


def counts(ended: Ended) -> tuple[int, ...]:
    assert ended.code == 0, ended.err
    return tuple(ended.json[name] for name in ("create", "update", "delete", "unchanged"))


def test_a_file_is_applied_and_applied_again(cli: Command, api: ServedApi, file: Path) -> None:
    first = cli("apply", "-f", str(file))
    assert first.code == 0
    lines = first.out.splitlines()
    assert lines[0] == f"+ create report  ({file}:4)"
    assert lines[1].startswith("    fires next at ")
    assert lines[-1] == "2 to create, 0 to update, 0 to delete, 0 unchanged."
    assert first.err == "2 created, 0 updated, 0 deleted.\n"
    there = jobs(api)
    assert there["sync"]["target"] == {"type": "task", "task": "sync", "args": {"full": "no"}}
    assert there["sync"]["tags"] == ["owner:shop"]
    again = cli("apply", "-f", str(file))
    assert (again.code, again.err) == (0, "")
    assert again.out == "0 to create, 0 to update, 0 to delete, 2 unchanged.\n"
    assert jobs(api) == there


def test_a_dry_run_shows_the_plan_and_writes_nothing(cli: Command, api: ServedApi, file: Path) -> None:
    cli("apply", "-f", str(file))
    there = jobs(api)
    file.write_text(JOBS.replace("0 9 * * *", "0 10 * * *").replace("name: sync", "name: other"))
    ended = cli("apply", "-f", str(file), "--prune", "--dry-run")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[:2] == [f"~ update report  ({file}:4)", '    schedule.cron: "0 9 * * *" -> "0 10 * * *"']
    assert lines[2].count("T09:00:00+09:00") == lines[3].count("T10:00:00+09:00") == 3
    assert (lines[4], lines[6]) == (f"+ create other  ({file}:7)", "- delete sync")
    assert lines[-1] == "1 to create, 1 to update, 1 to delete, 0 unchanged."
    assert jobs(api) == there
    assert cli("apply", "-f", str(file), "--dry-run", "--exit-code").code == 6
    file.write_text(JOBS)
    assert cli("apply", "-f", str(file), "--dry-run", "--exit-code").code == 0
    refused = cli("apply", "-f", str(file), "--exit-code")
    assert (refused.code, "goes with --dry-run" in refused.err) == (2, True)


def test_a_plan_as_json(cli: Command, api: ServedApi, file: Path) -> None:
    assert counts(cli("apply", "-f", str(file), "--dry-run", "-o", "json")) == (2, 0, 0, 0)
    done = cli("apply", "-f", str(file), "-o", "json")
    assert counts(done) == (2, 0, 0, 0)
    assert [(step["name"], step["end"], step["reason"]) for step in done.json["steps"]] == [
        ("report", "done", ""),
        ("sync", "done", ""),
    ]
    file.write_text(JOBS.replace("0 9 * * *", "0 10 * * *"))
    planned = cli("apply", "-f", str(file), "--dry-run", "-o", "json")
    assert counts(planned) == (0, 1, 0, 1)
    step = planned.json["steps"][0]
    there = jobs(api)["report"]
    assert (planned.json["dry_run"], step["action"], step["id"], step["version"]) == (True, "update", there["id"], 1)
    assert (step["file"], step["line"], step["owner"], step["end"]) == (str(file), 4, "shop", None)
    assert step["differences"] == [{"field": "schedule.cron", "old": "0 9 * * *", "new": "0 10 * * *"}]
    assert [len(step["fires"][side]) for side in ("before", "after")] == [3, 3]


def test_deletions_are_asked_about(cli: Command, process: Command, api: ServedApi, file: Path) -> None:
    cli("apply", "-f", str(file))
    api.create(name="nobodys")
    file.write_text("owner: shop\njobs: []")
    assert counts(cli("apply", "-f", str(file), "-o", "json")) == (0, 0, 0, 0)
    asked = ("apply", "-f", str(file), "--prune")
    said_no = process(*asked, typed="n\n", DUELINE_URL=api.url)
    assert (said_no.code, set(jobs(api))) == (1, {"report", "sync", "nobodys"})
    assert "0 to create, 0 to update, 2 to delete, 0 unchanged. Do it? [y/N]" in said_no.err
    as_json = process(*asked, "-o", "json", typed="n\n", DUELINE_URL=api.url)
    assert (as_json.code, as_json.out) == (1, "")
    assert "- delete report" in as_json.err
    piped = process("apply", "-f", "-", "--prune", stdin="owner: shop\njobs: []", DUELINE_URL=api.url)
    assert (piped.code, "say --yes" in piped.err) == (2, True)
    assert process(*asked, typed="y\n", DUELINE_URL=api.url).code == 0
    assert jobs(api).keys() == {"nobodys"}
    assert process("apply", "-f", "-", "--yes", "--prune", stdin=JOBS, DUELINE_URL=api.url).code == 0
    assert process("apply", "-f", "-", "--yes", "--prune", stdin="owner: shop\njobs: []", DUELINE_URL=api.url).code == 0
    assert jobs(api).keys() == {"nobodys"}


def test_a_folder_and_several_files(cli: Command, api: ServedApi, tmp_path: Path) -> None:
    folder = tmp_path / "jobs"
    folder.mkdir()
    (folder / "b.yml").write_text("name: b\ntarget: {task: t}")
    (folder / "a.yaml").write_text("jobs: [{name: a, target: {task: t}}]")
    (folder / "c.json").write_text(json.dumps({"jobs": [{"name": "c", "target": {"task": "t"}}]}))
    (folder / "notes.txt").write_text("{")
    (folder / ".hidden.yaml").write_text("{")
    more = tmp_path / "more.txt"
    more.write_text("name: d\ntarget: {task: t}")
    done = cli("apply", "-f", str(folder), "-f", str(more), "-o", "json")
    assert [step["name"] for step in done.json["steps"]] == ["a", "b", "c", "d"]
    assert jobs(api).keys() == {"a", "b", "c", "d"}


def test_owners(cli: Command, api: ServedApi, file: Path) -> None:
    cli("apply", "-f", str(file), "--owner", "me")
    assert jobs(api)["sync"]["tags"] == ["owner:me"]
    other = cli("apply", "-f", str(file))
    assert (other.code, other.out) == (4, "")
    assert f"{file}:4: report: name: job_" in other.err
    assert "belongs to me: --adopt takes it over" in other.err
    adopted = cli("apply", "-f", str(file), "--adopt")
    assert (adopted.code, adopted.out.count("adopted from me")) == (0, 2)
    assert jobs(api)["sync"]["tags"] == ["owner:shop"]
    assert cli("apply", "-f", str(file), "--owner", "a b").code == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("jobs: [{name: a, target: {url: x}}]", ":1: a: target.url: "),
        (
            "jobs:\n- name: a\n  target: {task: t}\n  priority: high",
            ":4: a: priority: must be a whole number, not text",
        ),
        ("jobs: *nobody", ":1: is not YAML"),
        ("", ":1: holds no jobs"),
        ("jobs: [{name: a, target: {task: t}}, {name: b, target: {}}]", ":1: b: target.url: is required"),
    ],
)
def test_bad_input_is_told_and_nothing_is_done(cli: Command, api: ServedApi, file: Path, text: str, told: str) -> None:
    file.write_text(text)
    ended = cli("apply", "-f", str(file))
    assert (ended.code, ended.out, jobs(api)) == (2, "", {})
    assert f"  {file}{told}" in ended.err


def test_a_file_that_cannot_be_read_is_told(cli: Command, tmp_path: Path) -> None:
    missing = cli("apply", "-f", str(tmp_path / "nothing.yaml"))
    assert (missing.code, "cannot read" in missing.err) == (2, True)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "has no .yaml" in cli("apply", "-f", str(empty)).err
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"a: 1\n\xff")
    assert f"{binary}:2 is not UTF-8" in cli("apply", "-f", str(binary)).err
    assert "Missing option" in cli("apply").err


def test_a_server_that_is_away_is_told(dueline: Command, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUELINE_URL", "http://127.0.0.1:9")
    assert dueline("apply", "-f", str(file)).code == 5


def test_what_fails_on_the_way_is_told_and_the_rest_is_done(
    cli: Command, api: ServedApi, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else is quicker, between the plan and the doing of it."""
    cli("apply", "-f", str(file))
    file.write_text(JOBS.replace("0 9 * * *", "0 10 * * *").replace("15m", "20m"))
    change_meanwhile(monkeypatch, api, jobs(api)["report"]["id"])
    ended = cli("apply", "-f", str(file))
    assert ended.code == 4
    assert "report: not updated: the job is at version 2, not 1" in ended.err
    assert "0 created, 1 updated, 0 deleted; 1 not done." in ended.err
    assert jobs(api)["sync"]["schedule"]["every"] == "PT20M"
    assert (jobs(api)["report"]["priority"], jobs(api)["report"]["schedule"]["cron"]) == (7, "0 9 * * *")


def test_a_server_that_goes_away_on_the_way_is_told_with_what_was_done(
    cli: Command, api: ServedApi, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("apply", "-f", str(file))
    file.write_text(JOBS.replace("0 9 * * *", "0 10 * * *").replace("15m", "20m"))

    def leaving(*args: Any) -> Iterator[Outcome]:
        outcomes = carry_out(*args)
        yield next(outcomes)
        api.stop()
        yield from outcomes

    monkeypatch.setattr("dueline.cli.applying.carry_out", leaving)
    ended = cli("apply", "-f", str(file), "-o", "json")
    assert (ended.code, "no answer from" in ended.err) == (5, True)
    assert [(step["name"], step["end"]) for step in ended.json["steps"]] == [("report", "done"), ("sync", None)]


def change_meanwhile(monkeypatch: pytest.MonkeyPatch, api: ServedApi, job_id: str) -> None:
    def late(*args: Any) -> Any:
        assert api.call("PATCH", f"/v1/jobs/{job_id}", {"priority": 7}).status == 200
        return carry_out(*args)

    monkeypatch.setattr("dueline.cli.applying.carry_out", late)
