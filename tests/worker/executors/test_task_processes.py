"""Functions in processes that die, hang, and cannot be started."""

import asyncio
import os
import signal
import subprocess
import sys
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dueline.domain import limits
from dueline.domain.run import OutcomeKind
from dueline.tasks.loading import load_app
from dueline.worker.executors.children import Child
from dueline.worker.executors.processes import ProcessLane
from tests.support.processes import is_alive, wait_until_dead
from tests.support.task_caller import OpenTaskCaller, TaskCaller


def lane_of(caller: TaskCaller) -> ProcessLane:
    lane = caller.executor._lane
    assert isinstance(lane, ProcessLane)
    return lane


async def pid_of(caller: TaskCaller) -> int:
    return int((await caller.call("pid")).outcome.result or "0")


async def until_dead(*pids: int) -> None:
    await asyncio.to_thread(wait_until_dead, list(pids), within_s=30)


@pytest.mark.parametrize(
    ("task", "arguments", "told"),
    [
        ("die", {"status": 0}, "exited with status 0"),
        ("die", {"status": 7}, "exited with status 7"),
        ("kill_self", {"number": signal.SIGKILL}, "was killed by SIGKILL, perhaps for want of memory"),
        ("kill_self", {"number": signal.SIGSEGV}, "was killed by SIGSEGV"),
        ("write_to_all_files", {}, "was killed by SIGKILL, perhaps for want of memory"),
    ],
)
async def test_a_process_that_dies_costs_the_run_that_it_had_begun(
    open_task_caller: OpenTaskCaller, task: str, arguments: dict[str, Any], told: str
) -> None:
    caller = open_task_caller(processes=1)
    before = await pid_of(caller)
    deadly = caller.submit(task, **arguments)
    after = caller.submit("pid")
    reply = await caller.reply(deadly)
    assert reply.outcome.kind is OutcomeKind.LOST
    assert reply.outcome.error == f"the process that ran it {told}: its effect is unknown"
    assert (await caller.reply(after)).outcome.result != str(before)


async def test_a_process_that_is_killed_from_outside_costs_only_its_own_run(open_task_caller: OpenTaskCaller) -> None:
    caller = open_task_caller(processes=3)
    keys = [caller.submit("until_stopped") for _ in range(3)]
    pids = [int(await caller.began(key)) for key in keys]
    os.kill(pids[1], signal.SIGKILL)
    assert (await caller.reply(keys[1])).outcome.kind is OutcomeKind.LOST
    assert caller.executor.in_flight == 2
    assert (await caller.call("add", a=1)).outcome.result == "2"
    caller.executor.cancel(keys)
    await caller.answered()
    assert Counter(caller.kinds().values()) == {
        OutcomeKind.LOST: 1,
        OutcomeKind.SUCCEEDED: 1,
        OutcomeKind.CANCELLED: 2,
    }


async def test_an_idle_process_that_dies_is_replaced_and_costs_nothing(open_task_caller: OpenTaskCaller) -> None:
    caller = open_task_caller(processes=1)
    for _ in range(3):
        before = await pid_of(caller)
        os.kill(before, signal.SIGKILL)
        # Some of these are sent before anybody has noticed.
        assert await pid_of(caller) != before
    assert set(caller.kinds().values()) == {OutcomeKind.SUCCEEDED}


async def test_signals_for_all_are_left_to_the_worker(open_task_caller: OpenTaskCaller) -> None:
    caller = open_task_caller(processes=1)
    pid = await pid_of(caller)
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(pid, number)
    assert await pid_of(caller) == pid


async def test_what_does_not_stop_is_killed_with_all_that_it_started(open_task_caller: OpenTaskCaller) -> None:
    caller = open_task_caller(processes=1, grace_s=0.05)
    pid = await pid_of(caller)
    key = caller.submit("spawn")
    program = int(await caller.began(key))
    caller.executor.cancel([key])
    reply = await caller.reply(key)
    assert reply.outcome.kind is OutcomeKind.CANCELLED
    assert (reply.outcome.error or "").endswith("its process was killed: its effect is unknown")
    await until_dead(pid, program)
    assert await pid_of(caller) != pid


async def test_a_call_that_waits_for_a_process_can_be_cancelled(open_task_caller: OpenTaskCaller) -> None:
    caller = open_task_caller(processes=1)
    first = caller.submit("until_stopped")
    await caller.began(first)
    second = caller.submit("add", a=1)
    caller.executor.cancel([second])
    reply = await caller.reply(second)
    assert reply.outcome.error == "it was cancelled before it began: none of 1 processes was free"
    caller.executor.cancel([first])
    await caller.answered()


async def test_closing_kills_every_process(open_task_caller: OpenTaskCaller) -> None:
    caller = open_task_caller(processes=2)
    pids = {int(await caller.began(caller.submit("until_stopped"))) for _ in range(2)}
    caller.close()
    assert not any(is_alive(pid) for pid in pids)


async def test_processes_end_with_their_worker(tmp_path: Path) -> None:
    program = tmp_path / "worker.py"
    program.write_text(
        "import asyncio, os, signal\n"
        "from tests.support.task_caller import OpenTaskCaller, TaskCaller\n"
        "async def main():\n"
        "    caller = TaskCaller(processes=2)\n"
        "    pids = [await caller.began(caller.submit('until_stopped')) for _ in range(2)]\n"
        "    print(*pids, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    worker = await asyncio.create_subprocess_exec(
        sys.executable, str(program), stdout=asyncio.subprocess.PIPE, env=environment
    )
    output, _ = await worker.communicate()
    pids = [int(pid) for pid in output.split()]
    assert (len(pids), worker.returncode) == (2, -signal.SIGKILL)
    await until_dead(*pids)


async def test_an_app_that_cannot_be_imported_is_told_and_tried_again(
    open_task_caller: OpenTaskCaller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "sometimes.py"
    good = "from dueline import App\napp = App()\n@app.task(name='one')\ndef one() -> int:\n    return 1\n"
    module.write_text(good)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    app = load_app("sometimes:app")
    module.write_text("raise ValueError('not today')\n")
    caller = open_task_caller(app=app, processes=1)
    patient = caller.submit("one")
    reply = await caller.call("one", timeout_ms=3_000)
    assert reply.outcome.kind is OutcomeKind.TIMED_OUT
    assert "it did not begin within PT3S: none of 1 processes was free" in (reply.outcome.error or "")
    assert "sometimes cannot be imported: ValueError: not today" in (reply.outcome.error or "")
    module.write_text(good)
    assert (await caller.reply(patient)).outcome.result == "1"
    del sys.modules["sometimes"]


async def test_a_process_that_hangs_while_it_starts_is_replaced(
    open_task_caller: OpenTaskCaller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "hanging.py"
    good = "from dueline import App\napp = App()\n@app.task(name='one')\ndef one() -> int:\n    return 1\n"
    module.write_text(good)
    monkeypatch.syspath_prepend(str(tmp_path))
    app = load_app("hanging:app")
    module.write_text(
        "import pathlib, time\nwhile not pathlib.Path(__file__ + '.go').exists(): time.sleep(0.01)\n" + good
    )
    monkeypatch.setattr(limits, "TASK_PROCESS_START_S", 0.2)
    caller = open_task_caller(app=app, processes=1)
    (first,) = lane_of(caller).pids
    key = caller.submit("one")
    await until_dead(first)
    monkeypatch.setattr(limits, "TASK_PROCESS_START_S", 60.0)
    (tmp_path / "hanging.py.go").touch()
    assert (await caller.reply(key)).outcome.result == "1"
    del sys.modules["hanging"]


async def test_a_machine_without_room_for_processes_keeps_its_calls_waiting(
    open_task_caller: OpenTaskCaller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> Child:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", refuse)
        caller = open_task_caller(processes=1)
    assert (await caller.call("add", a=1)).outcome.result == "2"


async def test_a_crash_loop_takes_no_memory_and_no_descriptors(
    open_task_caller: OpenTaskCaller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TASK_PROCESS_PAUSE_S_MAX", 0.01)
    caller = open_task_caller(processes=2)

    async def crash(times: int) -> None:
        for _ in range(times):
            caller.submit("die", status=1)
        await caller.answered()
        await asyncio.gather(*(caller.call("add", a=1) for _ in range(4)))

    await crash(4)
    descriptors = len(os.listdir("/proc/self/fd"))
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        await crash(20)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 512 * 1024
    assert len(os.listdir("/proc/self/fd")) <= descriptors + 4
    assert len(lane_of(caller).pids) == 2
    assert Counter(caller.kinds().values()) == {OutcomeKind.LOST: 24, OutcomeKind.SUCCEEDED: 8}


async def test_calls_that_kill_hold_up_no_others(
    open_task_caller: OpenTaskCaller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pause is for processes that cannot even start: after a call that kills, the next process is wanted at once."""
    monkeypatch.setattr("dueline.worker.executors.processes._PAUSE_S", 600.0)
    monkeypatch.setattr(limits, "TASK_PROCESS_PAUSE_S_MAX", 600.0)
    caller = open_task_caller(processes=1)
    for _ in range(4):
        caller.submit("die", status=1)
    last = caller.submit("pid")
    await caller.reply(last)
    assert Counter(caller.kinds().values()) == {OutcomeKind.LOST: 4, OutcomeKind.SUCCEEDED: 1}
