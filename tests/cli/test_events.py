"""What happens, told at the command line: as it is kept, as it comes, and of one run."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from dueline.domain.states import RunState
from tests.api.serving import TARGET, ServedApi
from tests.api.working import claim, end
from tests.cli.conftest import COMMAND, Command
from tests.cli.terminals import terminal
from tests.support.keys import ADMIN_KEY


def test_what_is_kept_is_listed_by_job_and_by_type(cli: Command, api: ServedApi) -> None:
    api.create(name="another")
    job = api.create(name="told", queue="told")
    run_id = api.call("POST", f"/v1/jobs/{job['id']}/run").json["id"]
    end(api, claim(api, queue="told"), RunState.FAILED, reason="poison")
    cli("job", "pause", "told")
    listed = cli("event", "list", "--job", "told", "-o", "json")
    assert [event["type"] for event in listed.json["items"]] == ["job.created", "run.failed", "job.paused"]
    (failed,) = cli("event", "list", "--job", "told", "--type", "run.failed", "--all", "-o", "json").json["items"]
    assert (failed["run"]["id"], failed["run"]["reason"]) == (run_id, "poison")
    page = cli("event", "list", "--job", "told", "--limit", "1", "-o", "json").json
    following = cli("event", "list", "--job", "told", "--cursor", page["next_cursor"], "-o", "json").json
    assert [event["type"] for event in following["items"]] == ["run.failed", "job.paused"]
    shown = cli("event", "list", "--job", "told")
    assert (shown.code, run_id in shown.out, "poison" in shown.out) == (0, True, True)
    wrong = cli("event", "list", "--type", "run.fell")
    assert (wrong.code, "type" in wrong.err) == (2, True)


def test_events_come_as_they_happen_and_go_on_behind_an_id(api: ServedApi, alone: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(alone), "DUELINE_API_KEY": ADMIN_KEY, "DUELINE_URL": api.url}

    def follow(*args: str) -> subprocess.Popen[str]:
        command = [str(COMMAND), "event", "follow", "--type", "job.created", "-o", "json", *args]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True)

    from_now = api.call("GET", "/v1/events", headers={"accept": "application/json"}).json["next_cursor"]
    first = api.create(name="happens first")
    with follow("--cursor", from_now) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        assert told["job"]["id"] == first["id"]
        second = api.create(name="happens second")
        assert json.loads(process.stdout.readline())["job"]["id"] == second["id"]
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert (process.returncode, "To go on from here: --cursor " in said) == (0, True)
    with follow("--cursor", told["id"]) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["job"]["id"] == second["id"]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


def test_a_server_that_is_not_there_is_not_waited_for(dueline: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUELINE_URL", "http://127.0.0.1:9")
    assert dueline("event", "follow").code == 5


def test_the_story_of_a_run_is_told_to_its_end(cli: Command, api: ServedApi, alone: Path) -> None:
    run_id = api.call("POST", "/v1/runs", {"target": TARGET, "queue": "story"}).json["id"]
    assert cli("run", "events", run_id, "-o", "json").json["type"] == "run.created"
    with terminal("run", "events", run_id, "--follow", home=alone, DUELINE_URL=api.url) as shown:
        shown.wait_for("run.created")
        end(api, claim(api, queue="story"), RunState.SUCCEEDED)
        assert shown.exit_code() == 0
    assert "attempt.ended" in shown.seen
    assert "run.succeeded" in shown.seen
    lines = cli("run", "events", run_id, "-o", "json").out.splitlines()
    assert [json.loads(line)["type"] for line in lines][-1] == "run.succeeded"
    assert cli("run", "events", "run_0").code == 3
