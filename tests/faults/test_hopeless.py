"""Runs that cannot succeed: each leaves a dead letter that says what to do about it, and is tried again when that is done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dueline.domain.job import HttpTarget, TaskTarget
from dueline.runtime.clock import SystemClock
from dueline.store.opening import make_store
from tests.faults.scenes import call, enqueue, wait_for
from tests.support.dueline import DuelineProcess, processes

POISONS = 2
SAID = {
    "die": "this run took down 3 workers or their processes, so it is not tried again: look for what kills the interpreter "
    "(memory, a crash in native code, an exit), correct it, then redrive the run",
    "ad": "no worker that is alive has a task ad (did you mean add?); start one that has it or correct the name, then redrive the run",
    "/{{secrets.key}}": "there is nothing to put in for {{secrets.key}}: take it out of the job, or redrive the run with the value in "
    "its place",
}


async def write_hopeless(path: Path) -> None:
    """Behind the back of the API, which would refuse some of them."""
    store = make_store(str(path), SystemClock())
    await store.open()
    try:
        await store.migrate()
        await enqueue(store, TaskTarget(task="die", args={"status": 9}), POISONS)
        await enqueue(store, TaskTarget(task="ad", args={"a": 1}), 1)
        await enqueue(store, HttpTarget(url="http://127.0.0.1:9/{{secrets.key}}"), 1)
        await enqueue(store, TaskTarget(task="add", args={"a": 1}), 20)
    finally:
        await store.close()


def reason_of(letter: dict[str, Any]) -> str:
    target = letter["executed"]["target"]
    return str(target.get("task") or target["url"].removeprefix("http://127.0.0.1:9"))


async def test_each_says_what_to_do_and_is_redriven_when_it_is_done(tmp_path: Path) -> None:
    path = tmp_path / "dueline.db"
    await write_hopeless(path)
    with processes() as fleet:
        app = ("--app", "tests.support.task_app:app", "--processes", "2")
        fleet.append(DuelineProcess(tmp_path, "serve", "serve", "--port", "0", *app, db=str(path)))
        url = fleet[0].wait_until_running()
        assert url is not None

        def states() -> list[str]:
            return sorted(run["state"] for run in call(url, "GET", "/v1/runs?limit=100")[1]["items"])

        wait_for(lambda: states() == ["failed"] * (POISONS + 2) + ["succeeded"] * 20)
        page = call(url, "GET", "/v1/dead-letters")[1]["items"]
        letters = [call(url, "GET", f"/v1/dead-letters/{letter['id']}")[1] for letter in page]
        assert len(letters) == POISONS + 2
        for letter in letters:
            assert SAID[reason_of(letter)] in letter["run"]["error"]
            assert (letter["run"]["reason"] == "poison") == (reason_of(letter) == "die")
        corrected = {"target": {"type": "task", "task": "add", "args": {"a": 2}}}
        for letter in letters:
            status, run = call(url, "POST", f"/v1/dead-letters/{letter['id']}/redrive", corrected)
            assert (status, run["parent_run_id"]) == (201, letter["id"])
        wait_for(lambda: states() == ["failed"] * (POISONS + 2) + ["succeeded"] * (20 + POISONS + 2))
        assert call(url, "GET", "/v1/dead-letters")[1]["items"] == []
        assert fleet[0].stop() == 0
