"""`dueline deadletter …`."""

import asyncio
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from subprocess import PIPE

import pytest

from dueline.domain import limits
from dueline.domain.lanes import TASK
from dueline.engine.deadletters import DeadLetters, RedriveAnswer, RedriveAsked
from dueline.runtime.clock import SystemClock
from dueline.store.shapes import DeadLetterFilter
from dueline.store.sqlite.store import SqliteStore
from tests.api.serving import ServedApi
from tests.api.working import a_dead_letter, claim
from tests.cli.conftest import COMMAND, Command
from tests.support.keys import ADMIN_KEY


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ServedApi]:
    """A server of this test's own: these commands look at all dead letters."""
    with ServedApi(lambda: SqliteStore(tmp_path / "dueline.db", SystemClock())) as api:
        yield api


def test_dead_letters_are_listed_and_shown(cli: Command, api: ServedApi) -> None:
    first, second = a_dead_letter(api), a_dead_letter(api, reason="poison")
    rows = cli("deadletter", "list").out.splitlines()[1:]
    assert [row.split()[0] for row in rows] == [second, first]
    found = cli("deadletter", "list", "--all", "--reason", "poison", "--queue", "failing", "-o", "json")
    assert [letter["id"] for letter in found.json["items"]] == [second]
    assert cli("deadletter", "list", "--to", "2020-01-01T00:00:00Z", "-o", "json").json["items"] == []
    shown = cli("deadletter", "get", first).out
    assert first in shown
    assert "http://127.0.0.1:9/" in shown
    assert cli("deadletter", "get", first, "-o", "json").json["executed"]["timeout"] == "PT30S"
    assert cli("deadletter", "get", "x").code == 3


def test_one_is_tried_again_with_a_correction(cli: Command, api: ServedApi) -> None:
    run_id = a_dead_letter(api, target={"url": "http://127.0.0.1:9/", "body_base64": "AA==", "headers": {"A": "1"}})
    run = cli("deadletter", "redrive", run_id, "--body", '{"a": 2}', "--header", "B: 2", "--latest", "-o", "json")
    assert (run.code, run.json["parent_run_id"]) == (0, run_id)
    assert cli("deadletter", "redrive", run_id).out.split()[:2] == ["id", run.json["id"]]
    assert cli("deadletter", "redrive", run_id, "--key", "other").code == 3
    assert cli("deadletter", "redrive", run_id, "--queue", "x").code == 2
    assert cli("deadletter", "redrive", "--body", "x").code == 2


def test_the_arguments_of_a_task_are_corrected(cli: Command, api: ServedApi) -> None:
    target = {"task": "add", "args": {"a": "one", "b": 2}}
    run_id = a_dead_letter(api, target=target, lane=TASK)
    assert cli("deadletter", "redrive", run_id, "--arg", "a=1").code == 0
    again = claim(api, queue="failing", lane=TASK)
    assert again.spec is not None
    assert json.loads(again.spec)["target"]["args"] == {"a": 1, "b": 2}


def test_all_are_tried_again_in_as_many_calls_as_it_takes(
    cli: Command, process: Command, api: ServedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REDRIVE_BATCH", 2)
    for _ in range(5):
        a_dead_letter(api)
    assert cli("deadletter", "redrive", "--dry-run").out == "5 would be tried again.\n"
    said_no = process("deadletter", "redrive", typed="n\n", DUELINE_URL=api.url)
    assert (said_no.code, said_no.out) == (1, "")
    assert "Try 5 dead letters again?" in said_no.err
    said_yes = process("deadletter", "redrive", "--rate", "10", typed="y\n", DUELINE_URL=api.url)
    assert (said_yes.code, said_yes.out) == (0, "Tried 5 again.\n")
    assert said_yes.err == "Try 5 dead letters again? [y/N] ", "no progress, because this is no terminal"
    due = sorted(run["due_at"] for run in api.call("GET", "/v1/runs?kind=redrive").json["items"])
    assert len(set(due)) == 5, "all at one pace"
    assert cli("deadletter", "redrive", "-o", "json").json["matched"] == 0


def test_a_redrive_on_a_terminal_shows_a_bar(api: ServedApi, alone: Path) -> None:
    a_dead_letter(api)
    master, slave = os.openpty()
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(alone),
        "DUELINE_URL": api.url,
        "DUELINE_API_KEY": ADMIN_KEY,
        "TERM": "xterm",
    }
    done = subprocess.run(
        [COMMAND, "deadletter", "redrive", "--yes"], stdout=PIPE, stderr=slave, env=environment, text=True, timeout=60
    )
    os.close(slave)
    shown = os.read(master, 100_000).decode()
    os.close(master)
    assert (done.returncode, done.stdout) == (0, "Tried 1 again.\n")
    assert "100%" in shown
    assert "1 of 1" not in shown


def test_a_redrive_that_was_broken_off_goes_on_with_the_rest(
    cli: Command, api: ServedApi, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of its third call, which the server still carries out."""
    monkeypatch.setattr(limits, "REDRIVE_BATCH", 1)
    parents = [a_dead_letter(api) for _ in range(6)]
    redrive_many, calls = DeadLetters.redrive_many, count(1)
    begun, broken_off = threading.Event(), threading.Event()

    async def held_up(letters: DeadLetters, match: DeadLetterFilter, asked: RedriveAsked) -> RedriveAnswer:
        if not asked.dry_run and next(calls) == 3:
            begun.set()
            await asyncio.to_thread(broken_off.wait, 60)
        return await redrive_many(letters, match, asked)

    monkeypatch.setattr(DeadLetters, "redrive_many", held_up)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(alone), "DUELINE_URL": api.url, "DUELINE_API_KEY": ADMIN_KEY}
    command = [str(COMMAND), "deadletter", "redrive", "--yes"]
    with subprocess.Popen(command, stdout=PIPE, stderr=PIPE, env=environment, text=True) as process:
        assert begun.wait(60)
        process.kill()
    broken_off.set()
    again = cli("deadletter", "redrive", "--yes", "-o", "json").json
    assert again["redriven"] in (3, 4)
    runs = api.call("GET", "/v1/runs?kind=redrive").json["items"]
    assert sorted(run["parent_run_id"] for run in runs) == sorted(parents)
    assert cli("deadletter", "redrive", "--yes", "-o", "json").json["matched"] == 0


def test_all_are_put_aside_in_as_many_calls_as_it_takes(
    cli: Command, process: Command, api: ServedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REDRIVE_BATCH", 2)
    for _ in range(5):
        a_dead_letter(api)
    assert process("deadletter", "purge", typed="n\n", DUELINE_URL=api.url).code == 1
    assert cli("deadletter", "purge", "--queue", "other").out == "Put 0 aside.\n"
    assert cli("deadletter", "purge", "--yes", "-o", "json").json == {"purged": 5}
    assert cli("deadletter", "list", "-o", "json").json["items"] == []


def test_one_is_put_aside(cli: Command, api: ServedApi) -> None:
    kept, gone = a_dead_letter(api), a_dead_letter(api)
    assert cli("deadletter", "purge", gone, "--queue", "failing").code == 2
    assert cli("deadletter", "purge", gone, "--yes").out == "Put 1 aside.\n"
    assert cli("deadletter", "purge", gone, "--yes").code == 3
    assert [letter["id"] for letter in cli("deadletter", "list", "-o", "json").json["items"]] == [kept]
