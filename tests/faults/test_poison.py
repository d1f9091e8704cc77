"""Payloads that kill the interpreter: each takes few processes with it, ends as a dead letter, and leaves the others alone."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dueline.sdk.client import PlainClient
from tests.support.dueline import DuelineProcess, processes
from tests.support.task_caller import APP

GOOD, BAD = 200, 50
WAIT_S_MAX = 240.0
POLL_S = 0.1
KILL = {"type": "task", "task": "kill_self", "args": {"number": int(signal.SIGKILL)}}
ADVICE = (
    "look for what kills the interpreter (memory, a crash in native code, an exit), correct it, then redrive the run"
)


def wait_for(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S_MAX
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(POLL_S)


def add(number: int) -> dict[str, Any]:
    return {"target": {"task": "add", "args": {"a": number}}}


@contextmanager
def serving(folder: Path, *options: str, db: str) -> Iterator[tuple[PlainClient, DuelineProcess]]:
    with processes() as started:
        arguments = ("serve", "--port", "0", "--app", APP, *options)
        started.append(DuelineProcess(folder, "serve", *arguments, db=db))
        url = started[0].wait_until_running()
        assert url is not None
        with PlainClient(url) as client:
            yield client, started[0]
        assert started[0].stop() == 0


def test_a_flood_of_poison_costs_the_good_ones_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, "--processes", "2", db=str(tmp_path / "db")) as (client, server):
        asked = [{"target": KILL} if n % 5 == 0 else add(n) for n in range(GOOD + BAD)]
        ids = [item["run"]["id"] for item in client.runs.enqueue_at_once(asked)["items"]]
        good = [run_id for n, run_id in enumerate(ids) if n % 5]
        wait_for(lambda: all(client.runs.get(run_id)["state"] in ("succeeded", "failed") for run_id in ids))
        runs = {run_id: client.runs.get(run_id) for run_id in ids}
        assert Counter((runs[run_id]["state"], runs[run_id]["attempt"]) for run_id in good) == {("succeeded", 1): GOOD}
        bad = [runs[run_id] for run_id in ids if run_id not in good]
        assert Counter((run["state"], run["reason"], run["lost"], run["attempt"]) for run in bad) == {
            ("failed", "poison", 3, 3): BAD
        }
        assert {letter["id"] for letter in client.dead_letters.list()} == {run["id"] for run in bad}
        assert server.counted("a process died under a task") == 3 * BAD


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_payload_that_kills_takes_three_processes_and_says_what_to_do(
    request: pytest.FixtureRequest, tmp_path: Path, store: str
) -> None:
    db = request.getfixturevalue("postgres_dsn") if store == "postgres" else str(tmp_path / "db")
    with serving(tmp_path, "--processes", "2", db=db) as (client, server):
        beside = client.runs.enqueue({"target": {"task": "until_stopped", "args": {}}, "timeout": "5m"})["id"]
        wait_for(lambda: client.runs.get(beside)["state"] == "running")
        poison = client.runs.enqueue({"target": KILL})["id"]
        wait_for(lambda: client.runs.get(poison)["state"] == "failed")
        run = client.runs.get(poison)
        assert (run["reason"], run["lost"], run["attempt"]) == ("poison", 3, 3)
        assert [attempt["outcome"] for attempt in run["attempts"]] == ["lost"] * 3
        assert all("was killed by SIGKILL" in attempt["error"] for attempt in run["attempts"])
        assert f"this run took down 3 workers or their processes, so it is not tried again: {ADVICE}" in run["error"]
        assert [letter["id"] for letter in client.dead_letters.list()] == [poison]
        assert server.counted("a process died under a task") == 3
        good = client.runs.enqueue(add(1))["id"]
        wait_for(lambda: client.runs.get(good)["state"] == "succeeded")
        assert client.runs.get(beside)["state"] == "running", "it did not notice"
        client.runs.cancel(beside)
        wait_for(lambda: client.runs.get(beside)["state"] == "cancelled")


def test_a_payload_that_kills_its_worker_takes_three_workers(tmp_path: Path, postgres_dsn: str) -> None:
    """In a thread the worker dies with it. Each is started again, as a service manager would."""
    with processes() as started:

        def start(name: str, *arguments: str) -> DuelineProcess:
            started.append(DuelineProcess(tmp_path, name, *arguments, db=postgres_dsn))
            return started[-1]

        scheduler = start("scheduler", "scheduler")
        url = start("api", "api", "--port", "0").wait_until_running()
        assert url is not None
        scheduler.wait_until_running()
        deaths = 0
        with PlainClient(url) as client:
            target = {"type": "task", "task": "die", "args": {"status": 1}}
            poison = client.runs.enqueue({"target": target})["id"]
            worker = start("worker-0", "worker", "--app", APP, "--threads", "2")
            deadline = time.monotonic() + WAIT_S_MAX
            while client.runs.get(poison)["state"] != "failed":
                assert time.monotonic() < deadline, client.runs.get(poison)
                if worker.exit_status is not None:
                    deaths += 1
                    worker = start(f"worker-{deaths}", "worker", "--app", APP, "--threads", "2")
                time.sleep(POLL_S)
            run = client.runs.get(poison)
            assert (deaths, run["reason"], run["lost"], run["attempt"]) == (3, "poison", 3, 3)
            assert run["error"].endswith(ADVICE)
            good = client.runs.enqueue(add(1))["id"]
            wait_for(lambda: client.runs.get(good)["state"] == "succeeded")
        assert worker.stop() == 0
