"""`--watch`: on a terminal, in a pipe, and while the server is away."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from dueline.runtime.clock import SystemClock
from dueline.store.sqlite.store import SqliteStore
from tests.api.serving import TARGET, ServedApi
from tests.cli.conftest import COMMAND, Command
from tests.cli.terminals import ENTER, LEAVE, terminal
from tests.support.keys import ADMIN_KEY


def test_on_a_terminal_each_look_takes_the_place_of_the_one_before(api: ServedApi, alone: Path) -> None:
    command = ("queue", "list", "--watch", "0.2")
    with terminal(*command, home=alone, DUELINE_URL=api.url) as shown:
        shown.wait_for("Every 0.2 s")
        api.call("POST", "/v1/runs", {"target": TARGET, "queue": "watched"})
        shown.wait_for("watched")
        shown.type("\x03")
        assert shown.exit_code() == 0
        assert shown.is_as_found
    assert (shown.seen.count(ENTER), shown.seen.count(LEAVE)) == (1, 1)
    assert "watched" in shown.seen.rpartition(LEAVE)[2], "what was seen last stays"


@pytest.mark.parametrize("key", ["q", "Q"])
def test_a_key_ends_it(api: ServedApi, alone: Path, key: str) -> None:
    with terminal("job", "list", "--watch", home=alone, DUELINE_URL=api.url) as shown:
        shown.wait_for("Every 2 s")
        shown.type("x")
        shown.type(key)
        assert (shown.exit_code(), shown.is_as_found) == (0, True)


def test_what_is_not_there_ends_it_at_once(api: ServedApi, alone: Path) -> None:
    command = ("run", "get", "run_01h455vb4pex5vsknk084sn02q", "--watch")
    with terminal(*command, home=alone, DUELINE_URL=api.url) as shown:
        assert shown.exit_code() == 3
    assert ENTER not in shown.seen


def test_in_a_pipe_json_is_a_document_a_line(api: ServedApi, alone: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(alone), "DUELINE_URL": api.url, "DUELINE_API_KEY": ADMIN_KEY}
    command = [str(COMMAND), "queue", "list", "--watch", "0.1", "-o", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True) as watch:
        assert watch.stdout is not None
        assert watch.stderr is not None
        looks = [json.loads(watch.stdout.readline()) for _ in range(3)]
        watch.send_signal(signal.SIGINT)
        assert watch.wait(30) == 0
        rest = watch.stdout.read()
        assert watch.stderr.read() == ""
    assert all("items" in look for look in looks)
    assert "\x1b" not in rest


def test_a_server_that_goes_away_is_waited_for(alone: Path, tmp_path: Path) -> None:
    with ServedApi(lambda: SqliteStore(tmp_path / "away.db", SystemClock())) as api:
        api.create(name="kept in view")
        with terminal("job", "list", "--watch", "0.2", home=alone, DUELINE_URL=api.url) as shown:
            shown.wait_for("kept in view")
            api.stop()
            shown.wait_for("No answer at the last look", times=2)
            shown.type("q")
            assert (shown.exit_code(), shown.is_as_found) == (0, True)
    last = shown.seen.rpartition(LEAVE)[2]
    assert ("kept in view" in last, "No answer" in last) == (True, False)


def test_a_server_that_was_never_there_ends_it(dueline: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUELINE_URL", "http://127.0.0.1:9")
    assert dueline("job", "list", "--watch").code == 5


@pytest.mark.parametrize("seconds", ["0", "0.09", "86401"])
def test_seconds_have_bounds(dueline: Command, seconds: str) -> None:
    assert dueline("job", "list", f"--watch={seconds}").code == 2
