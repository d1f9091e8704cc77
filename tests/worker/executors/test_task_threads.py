"""Functions in threads: how many, which waits, and what becomes of those that hang."""

import asyncio
import threading
from pathlib import Path

import pytest

from dueline.domain.run import OutcomeKind
from dueline.tasks.app import App
from dueline.worker.executors import lanes
from dueline.worker.executors.lanes import ThreadLane
from tests.support.task_caller import OpenTaskCaller, TaskCaller


def lane_of(caller: TaskCaller) -> ThreadLane:
    lane = caller.executor._lane
    assert isinstance(lane, ThreadLane)
    return lane


async def test_no_more_threads_than_asked_for_and_the_rest_waits_its_turn(open_task_caller: OpenTaskCaller) -> None:
    app, order = App(), []
    gate, meeting = threading.Event(), threading.Barrier(4)

    @app.task(name="hold")
    def hold() -> None:
        meeting.wait()
        gate.wait()

    @app.task(name="note")
    def note(number: int) -> str:
        order.append(number)
        return threading.current_thread().name

    caller = open_task_caller(app=app, threads=3)
    for _ in range(3):
        caller.submit("hold")
    keys = [caller.submit("note", number=number) for number in range(10)]
    await asyncio.to_thread(meeting.wait)
    assert order == []
    gate.set()
    names = {(await caller.reply(key)).outcome.result for key in keys}
    assert len(names) <= 3
    assert sorted(order) == list(range(10))


async def test_a_call_that_waits_is_cancelled_or_runs_out_of_time_without_having_begun(
    open_task_caller: OpenTaskCaller, tmp_path: Path
) -> None:
    caller = open_task_caller(threads=1)
    first = caller.submit("stubborn", release=str(tmp_path / "release"))
    await caller.began(first)
    cancelled = caller.submit("add", a=1)
    late = caller.submit("add", a=1, timeout_ms=100)
    caller.executor.cancel([cancelled])
    reply = await caller.reply(cancelled)
    assert reply.outcome.kind is OutcomeKind.CANCELLED
    assert (reply.outcome.error or "").startswith("it was cancelled before it began: none of 1 threads was free")
    assert reply.started_s == reply.finished_s
    reply = await caller.reply(late)
    assert reply.outcome.kind is OutcomeKind.TIMED_OUT
    assert (reply.outcome.error or "").startswith("it did not begin within PT0.1S: none of 1 threads was free")
    (tmp_path / "release").touch()
    assert (await caller.reply(first)).outcome.result == '"released"'


async def test_threads_that_hang_are_replaced_up_to_a_bound_and_come_back(
    open_task_caller: OpenTaskCaller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = open_task_caller(threads=2, grace_s=0.02)
    lane = lane_of(caller)
    monkeypatch.setattr(lane, "_abandoned_max", 3)
    release = str(tmp_path / "release")
    for abandoned in range(1, 6):
        reply = await caller.call("stubborn", release=release, timeout_ms=20)
        assert reply.outcome.kind is OutcomeKind.TIMED_OUT
        assert lane.abandoned == abandoned
    # Three beyond the two that there may be, and those two hang as well.
    waiting = caller.submit("add", a=1)
    unlucky = await caller.call("add", a=1, timeout_ms=50)
    assert unlucky.outcome.kind is OutcomeKind.TIMED_OUT
    assert "none of 2 threads was free, and 5 more hold tasks that did not stop" in (unlucky.outcome.error or "")
    (tmp_path / "release").touch()
    assert (await caller.reply(waiting)).outcome.result == "2"
    names = {(await caller.call("thread_name")).outcome.result for _ in range(5)}
    assert len(names) <= 2
    assert len(caller.replies) == 12, "what came late was dropped"


async def test_a_machine_without_threads_keeps_its_calls_waiting(
    open_task_caller: OpenTaskCaller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    caller = open_task_caller(threads=2)
    with monkeypatch.context() as patch:
        patch.setattr(lanes, "Seat", refuse)
        key = caller.submit("add", a=1)
    assert (await caller.call("add", a=2)).outcome.result == "3"
    assert (await caller.reply(key)).outcome.result == "2"


async def test_idle_threads_end_with_the_executor() -> None:
    before = set(threading.enumerate())
    caller = TaskCaller(threads=3)
    await asyncio.gather(*(caller.call("add", a=1) for _ in range(9)))
    mine = [thread for thread in threading.enumerate() if thread not in before]
    assert 1 <= len(mine) <= 3
    caller.close()
    for thread in mine:
        await asyncio.to_thread(thread.join, 30)
        assert not thread.is_alive()


async def test_a_thread_that_ends_after_its_loop_does_no_harm(tmp_path: Path) -> None:
    threads: list[threading.Thread] = []

    async def begin() -> None:
        before = set(threading.enumerate())
        caller = TaskCaller(threads=1)
        await caller.began(caller.submit("stubborn", release=str(tmp_path / "release")))
        threads.extend(set(threading.enumerate()) - before)
        caller.close()

    await asyncio.to_thread(asyncio.run, begin())
    (tmp_path / "release").touch()
    (thread,) = [each for each in threads if each.name.startswith("dueline-task")]
    await asyncio.to_thread(thread.join, 30)
    assert not thread.is_alive()
