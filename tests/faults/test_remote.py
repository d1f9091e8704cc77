"""Workers without a database connection are killed, stopped and drained, and their server goes away under them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dueline.domain import limits
from tests.faults.scenes import call, wait_for, wait_for_hits
from tests.support.dueline import DuelineProcess, Witness, processes, witness

RUNS = 200
TAKE_OVER_S_MAX = limits.LEASE_S + 3
CALL_S = 7.0
"""Longer than it takes to stop a worker in the middle of its calls; over when it is woken."""


class Site:
    """A server that executes nothing itself, on an embedded store, and workers that know nothing but its address."""

    def __init__(self, folder: Path, fleet: list[DuelineProcess], target: Witness) -> None:
        self._folder = folder
        self._fleet = fleet
        self.target = target
        self.url = ""
        self.serve()

    def serve(self) -> None:
        """Start the server, at the address that it had before."""
        port = self.url.rpartition(":")[2] or "0"
        arguments = ("serve", "--port", port, "--queue", "nobody")
        self.server = DuelineProcess(self._folder, "serve", *arguments, db=str(self._folder / "dueline.db"))
        self._fleet.append(self.server)
        wait_for(lambda: self.server.said.count("is running") == 1 + (self.url != ""))
        self.url = self.url or self.server.wait_until_running() or ""

    def hire(self, name: str, *arguments: str) -> DuelineProcess:
        worker = DuelineProcess(self._folder, name, "worker", "--server", self.url, *arguments, db="")
        self._fleet.append(worker)
        wait_for(lambda: worker.counted("joined") == 1)
        return worker

    def enqueue(self, path: str, count: int, **fields: Any) -> None:
        run = {"target": {"url": self.target.url + path}, **fields}
        assert call(self.url, "POST", "/v1/runs/bulk", {"runs": [run] * count})[1]["created"] == count

    def runs(self) -> list[dict[str, Any]]:
        runs: list[dict[str, Any]] = []
        cursor = ""
        while True:
            page = call(self.url, "GET", f"/v1/runs?limit=500{cursor}")[1]
            runs += page["items"]
            if page["next_cursor"] is None:
                return runs
            cursor = f"&cursor={page['next_cursor']}"

    def finished(self, count: int) -> list[dict[str, Any]]:
        wait_for(lambda: sum(run["state"] == "succeeded" for run in self.runs()) == count)
        return self.runs()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with witness(tmp_path) as target, processes() as fleet:
        yield Site(tmp_path, fleet, target)


def outcomes(run: dict[str, Any]) -> tuple[str, ...]:
    return tuple(attempt["outcome"] for attempt in run["attempts"])


def again(target: Witness) -> list[float]:
    return [hit["t"] for hit in target.hits() if hit["dueline-attempt"] != "1"]


def test_calls_and_tasks_are_carried_out(site: Site) -> None:
    caller = site.hire("caller", "--queue", "calls")
    crew = site.hire("crew", "--queue", "tasks", "--app", "tests.support.task_app:app")
    site.enqueue("/ok", 300, queue="calls")
    task = {"target": {"type": "task", "task": "add", "args": {"a": 41}}, "queue": "tasks"}
    assert call(site.url, "POST", "/v1/runs/bulk", {"runs": [task] * 20})[1]["created"] == 20
    runs = site.finished(320)
    assert {(run["attempt"], *outcomes(run)) for run in runs} == {(1, "succeeded")}
    assert {run["result"] for run in runs if run["queue"] == "tasks"} == {"42"}
    assert site.target.hits_per_run() == {run["id"]: 1 for run in runs if run["queue"] == "calls"}
    assert (caller.stop(), crew.stop()) == (0, 0)
    assert len(call(site.url, "GET", "/v1/workers")[1]["items"]) == 1, "they have left"


@pytest.mark.long
def test_the_runs_of_a_killed_and_of_a_stopped_worker_are_started_by_another(site: Site) -> None:
    target = site.target
    killed, stopped = (site.hire(name, "--queue", name) for name in ("killed", "stopped"))
    site.enqueue("/first/hang", RUNS, queue="killed")
    site.enqueue(f"/first/slow/{CALL_S}", RUNS, queue="stopped")
    wait_for_hits(target, 2 * RUNS)
    under_way_s = time.time()
    site.hire("heir")
    ended_s = time.time()
    killed.kill()
    stopped.pause()
    wait_for(lambda: len(again(target)) == 2 * RUNS)
    assert max(again(target)) - ended_s < TAKE_OVER_S_MAX
    wait_for(lambda: time.time() > under_way_s + CALL_S)
    woken_s = time.time()
    stopped.resume()
    wait_for(lambda: stopped.counted("joined") == 2)
    assert stopped.counted("results refused") > 0
    assert site.server.counted("results refused") > 0
    assert stopped.stop() == 0
    runs = site.finished(2 * RUNS)
    assert [hit for hit in target.hits() if hit["t"] > woken_s] == []
    assert {outcomes(run) for run in runs} == {("lost", "succeeded")}
    assert set(target.hits_per_run().values()) == {2}


@pytest.mark.parametrize("way", ["killed", pytest.param("stopped in order", marks=pytest.mark.long)])
def test_a_server_that_comes_back_loses_and_doubles_nothing(site: Site, way: str) -> None:
    """Some calls end while it is away, and some runs are still waiting: the worker goes on by itself."""
    worker = site.hire("worker", "--slots", "100")
    site.enqueue("/slow/0.8", 300)
    wait_for_hits(site.target, 150)
    if way == "killed":
        site.server.kill()
    else:
        assert site.server.stop() == 0
    wait_for(lambda: worker.counted("store away") > 0)
    site.serve()
    runs = site.finished(300)
    assert worker.counted("joined") == 1, "it was away for less than the lease"
    assert {(run["attempt"], *outcomes(run)) for run in runs} == {(1, "succeeded")}
    assert site.target.hits_per_run() == {run["id"]: 1 for run in runs}
    assert worker.stop() == 0


def test_a_drained_worker_ends_what_it_runs_and_gives_back_the_rest(site: Site) -> None:
    worker = site.hire("worker", "--slots", "50")
    site.enqueue("/slow/0.5", 150)
    wait_for_hits(site.target, 50)
    (worker_id,) = (
        each["id"] for each in call(site.url, "GET", "/v1/workers")[1]["items"] if each["pid"] == worker.pid
    )
    assert call(site.url, "POST", f"/v1/workers/{worker_id}/drain")[0] == 200
    assert worker.exit_code() == 0
    states = Counter(run["state"] for run in site.runs())
    assert states.keys() == {"succeeded", "ready"}
    second = site.hire("second")
    runs = site.finished(150)
    assert {(run["attempt"], *outcomes(run)) for run in runs} == {(1, "succeeded")}
    assert site.target.hits_per_run() == {run["id"]: 1 for run in runs}
    assert second.stop() == 0
