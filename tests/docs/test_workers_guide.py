"""The workers of the guide, started as they stand there, against a real server; and the numbers of the guide."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from dueline.api.desk import ROUTES
from dueline.domain import limits
from dueline.sdk.client import PlainClient
from tests.support.dueline import DuelineProcess, processes

TEXT = (Path(__file__).parents[2] / "docs" / "guides" / "workers.md").read_text()
PROSE = " ".join(TEXT.split())
EXAMPLES: dict[str, str] = dict(re.findall(r"```(?:python|bash)\n# (\w+\.\w+)\n(.*?)```", TEXT, re.DOTALL))
SHELL = shutil.which("dash") or "sh"
PYTHON = [sys.executable, "-W", "error"]
PROGRAMS = {"small_worker.py": PYTHON, "worker.py": PYTHON, "worker.sh": [SHELL]}
WAIT_S_MAX = 30.0
POLL_S = 0.02


class World:
    """A server, with the one worker of a guide at a time."""

    def __init__(self, folder: Path, server: DuelineProcess, url: str) -> None:
        self.folder = folder
        self.server = server
        self.client = PlainClient(url)
        self._url = url

    @contextmanager
    def worker(self, name: str) -> Iterator[subprocess.Popen[bytes]]:
        (self.folder / name).write_text(EXAMPLES[name])
        environment = os.environ | {"DUELINE_URL": self._url, "TMPDIR": str(self.folder)}
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [*PROGRAMS[name], name],
                cwd=self.folder,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            # With all that it started: a shell leaves behind what it waited for.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def run(self, queue: str, task: str, **args: Any) -> str:
        target = {"type": "task", "task": task, "args": args}
        asked = {"queue": queue, "target": target, "retry": {"max_attempts": 1}}
        run_id: str = self.client.runs.enqueue(asked)["id"]
        return run_id

    def ended(self, run_id: str) -> Any:
        """The run, once it is over."""
        deadline = time.monotonic() + WAIT_S_MAX
        while (run := self.client.runs.get(run_id))["finished_at"] is None:
            assert time.monotonic() < deadline, (run, *(log.read_text() for log in self.folder.glob("*worker*.log")))
            time.sleep(POLL_S)
        return run

    def workers(self) -> list[str]:
        return [worker["id"] for worker in self.client.workers.list() if worker["role"] == "worker"]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with processes() as started:
        server = DuelineProcess(tmp_path, "serve", "serve", "--port", "0", db=str(tmp_path / "dueline.db"))
        started.append(server)
        url = server.wait_until_running()
        assert url is not None
        world = World(tmp_path, server, url)
        yield world
        world.client.close()


def test_the_small_worker_has_thirty_lines() -> None:
    # With the one that names it.
    assert len([line for line in EXAMPLES["small_worker.py"].splitlines() if line]) + 1 <= 30


@pytest.mark.parametrize("name", ["small_worker.py", "worker.py"])
def test_the_python_workers_carry_runs_out_and_drain(world: World, name: str) -> None:
    with world.worker(name) as process:
        runs = [world.run("py", "add", a=number, b=1) for number in range(5)]
        assert [world.ended(run_id)["result"] for run_id in runs] == ["1", "2", "3", "4", "5"]
        order, job = (json.loads(body) for body in re.findall(r"curl -d '(.*)' \\", TEXT))
        assert world.ended(world.client.runs.enqueue(order)["id"])["result"] == "3"
        run = world.client.jobs.run(world.client.jobs.create(job)["id"])
        assert world.ended(run["id"])["result"] == '"Hello Ada!"'
        failed = world.ended(world.run("py", "add", a=1))
        assert (failed["state"], failed["attempts"][0]["outcome"]) == ("failed", "errored")
        assert "missing 1 required positional argument" in failed["error"]
        (worker,) = world.workers()
        world.client.workers.drain(worker)
        assert process.wait(WAIT_S_MAX) == 0
        # The small one does not take its leave: its lease tells that it is gone.
        assert world.workers() == ([worker] if name == "small_worker.py" else [])


def test_the_shell_worker_carries_runs_out_and_drains(world: World) -> None:
    (world.folder / "three.txt").write_text("a\nb\nc\n")
    with world.worker("worker.sh") as process:
        counted = [world.run("sh", "count", file=str(world.folder / "three.txt")) for _ in range(3)]
        assert [world.ended(run_id)["result"] for run_id in counted] == ["3", "3", "3"]
        failed = world.ended(world.run("sh", "count", file="/not/there"))
        assert (failed["state"], failed["error"]) == ("failed", "the file cannot be read")
        (worker,) = world.workers()
        world.client.workers.drain(worker)
        assert process.wait(WAIT_S_MAX) == 0
        assert world.workers() == []


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_a_worker_that_is_struck_off_ends(world: World, name: str) -> None:
    with world.worker(name) as process:
        deadline = time.monotonic() + WAIT_S_MAX
        while not (workers := world.workers()):
            assert time.monotonic() < deadline
            time.sleep(POLL_S)
        world.client.desk.leave(workers[0])
        assert process.wait(WAIT_S_MAX) != 0


@pytest.mark.parametrize("name", ["small_worker.py", "worker.sh"])
def test_a_worker_ends_when_its_beats_fail(world: World, name: str) -> None:
    with world.worker(name) as process:
        runs = {
            "worker.sh": ("sh", "count", {"file": "/dev/null"}),
            "small_worker.py": ("py", "greet", {"name": "Ada"}),
        }
        queue, task, args = runs[name]
        world.ended(world.run(queue, task, **args))
        world.server.pause()
        try:
            assert process.wait(WAIT_S_MAX) != 0
        finally:
            world.server.resume()


def test_all_calls_and_numbers_are_those_of_the_program() -> None:
    assert re.findall(r"^\| `(\w+ /v1/worker/[^`]+)`", TEXT, re.MULTILINE) == [
        f"{route.method} {route.path}" for route in ROUTES
    ]
    trusted_s = limits.LEASE_S - limits.LEASE_MARGIN_S
    assert f"every {limits.BEAT_S:g} s" in PROSE
    assert f"not beaten for {limits.LEASE_S:g} s" in PROSE
    assert f"start nothing after {trusted_s:g} s" in PROSE
    assert f"sent + {trusted_s:g}" in EXAMPLES["worker.py"]
    assert f"{limits.TIMEOUT_GRACE_MS // 1000} s later the server" in PROSE
    assert limits.LOST_MAX == 3
    assert f"up to {limits.CHECKPOINT_BYTES_MAX // 1024} KiB of JSON as `checkpoint`" in PROSE
