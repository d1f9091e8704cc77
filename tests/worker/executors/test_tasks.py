"""What the executor of tasks promises in every mode: on the loop, in threads, in processes."""

import asyncio
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dueline.domain.run import OutcomeKind
from dueline.tasks.app import App
from dueline.worker.executors.tasks import Checkpoint, Heartbeat, Progress, RunInfo, TaskCall, TaskExecutor
from tests.support.task_caller import OpenTaskCaller


class Mode:
    """A way to run tasks, and the names of the tasks that run in it."""

    def __init__(self, name: str, **options: Any) -> None:
        self.name = name
        self.options = options

    def task(self, name: str) -> str:
        return f"{name}_async" if self.name == "loop" else name


MODES = [Mode("loop"), Mode("threads", threads=4), Mode("processes", processes=2)]
every_mode = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)


@every_mode
async def test_a_task_is_carried_out(open_task_caller: OpenTaskCaller, mode: Mode) -> None:
    caller = open_task_caller(**mode.options)
    before_s = time.monotonic()
    reply = await caller.call(mode.task("add"), a=2, b=3)
    assert (reply.outcome.kind, reply.outcome.result, reply.closed) == (OutcomeKind.SUCCEEDED, "5", False)
    assert before_s <= reply.started_s <= reply.finished_s <= time.monotonic()
    assert (await caller.call(mode.task("add"), a=2)).outcome.result == "3"


@every_mode
async def test_an_error_is_told(open_task_caller: OpenTaskCaller, mode: Mode) -> None:
    reply = await open_task_caller(**mode.options).call(mode.task("raise"), message="nothing there")
    assert reply.outcome.kind is OutcomeKind.ERRORED
    told = (reply.outcome.error or "").splitlines()
    assert told[0] == "LookupError: nothing there"
    assert "task_app.py" in told[-1]
    assert told[-1].endswith("raise LookupError(message)")


@every_mode
async def test_a_task_that_exits_the_interpreter_only_fails(open_task_caller: OpenTaskCaller, mode: Mode) -> None:
    caller = open_task_caller(**mode.options)
    reply = await caller.call(mode.task("exit"))
    assert (reply.outcome.kind, (reply.outcome.error or "").splitlines()[0]) == (OutcomeKind.ERRORED, "SystemExit: 3")
    assert (await caller.call(mode.task("add"), a=1)).outcome.result == "2"


@every_mode
async def test_wrong_arguments_are_told(open_task_caller: OpenTaskCaller, mode: Mode) -> None:
    reply = await open_task_caller(**mode.options).call(mode.task("add"), a="x", c=1)
    assert reply.outcome.kind is OutcomeKind.IMPOSSIBLE
    assert "a: must be a whole number, not text" in (reply.outcome.error or "")
    assert "c: unknown field" in (reply.outcome.error or "")


@every_mode
async def test_reports_come_before_the_reply_and_the_last_of_each_kind_counts(
    open_task_caller: OpenTaskCaller, mode: Mode
) -> None:
    caller = open_task_caller(**mode.options)
    key = caller.submit(mode.task("report"), count=500)
    await caller.answered()
    last = {type(report): report for its, report in caller.reports if its == key}
    assert last == {
        Progress: Progress(499 / 500, "499 of 500"),
        Checkpoint: Checkpoint(b'{"number":499}'),
        Heartbeat: Heartbeat(),
    }
    assert len(caller.reports) <= 1001


@every_mode
async def test_a_cancelled_task_stops(open_task_caller: OpenTaskCaller, mode: Mode) -> None:
    caller = open_task_caller(**mode.options)
    key = caller.submit(mode.task("until_stopped"))
    other = caller.submit(mode.task("until_stopped"))
    await caller.began(key)
    await caller.began(other)
    caller.executor.cancel([key, "nobody's"])
    reply = await caller.reply(key)
    assert (reply.outcome.kind, reply.outcome.error) == (
        OutcomeKind.CANCELLED,
        "it was cancelled: it stopped when asked",
    )
    assert caller.executor.in_flight == 1
    caller.executor.cancel([other])
    await caller.answered()


@every_mode
async def test_a_task_out_of_time_stops(open_task_caller: OpenTaskCaller, mode: Mode) -> None:
    caller = open_task_caller(**mode.options)
    await caller.call(mode.task("add"), a=1)  # The process is there.
    reply = await caller.call(mode.task("until_stopped"), timeout_ms=100)
    assert reply.outcome.kind is OutcomeKind.TIMED_OUT
    assert reply.outcome.error == "it ran longer than PT0.1S: it stopped when asked"
    assert reply.finished_s - reply.started_s >= 0.09


@every_mode
async def test_a_task_that_does_not_stop_is_answered_after_the_grace(
    open_task_caller: OpenTaskCaller, mode: Mode, tmp_path: Path
) -> None:
    caller = open_task_caller(**mode.options, grace_s=0.1)
    release = str(tmp_path / "release")
    await caller.call(mode.task("add"), a=1)
    late = caller.submit(mode.task("stubborn"), release=release, timeout_ms=100)
    reply = await caller.reply(late)
    assert reply.outcome.kind is OutcomeKind.TIMED_OUT
    assert "its effect is unknown" in (reply.outcome.error or "")
    cancelled = caller.submit(mode.task("stubborn"), release=release)
    await caller.began(cancelled)
    caller.executor.cancel([cancelled])
    reply = await caller.reply(cancelled)
    assert reply.outcome.kind is OutcomeKind.CANCELLED
    assert "did not stop when asked" in (reply.outcome.error or "")
    assert (await caller.call(mode.task("add"), a=1)).outcome.result == "2"
    (tmp_path / "release").touch()


@pytest.mark.parametrize("mode", MODES[1:], ids=lambda mode: mode.name)
async def test_work_that_was_done_in_spite_of_a_cancel_counts(open_task_caller: OpenTaskCaller, mode: Mode) -> None:
    caller = open_task_caller(**mode.options)
    key = caller.submit("finish_when_stopped")
    await caller.began(key)
    caller.executor.cancel([key])
    reply = await caller.reply(key)
    assert (reply.outcome.kind, reply.outcome.result) == (OutcomeKind.SUCCEEDED, '"done"')
    late = await caller.call("finish_when_stopped", timeout_ms=100)
    assert (late.outcome.kind, late.outcome.error) == (
        OutcomeKind.TIMED_OUT,
        "it ran longer than PT0.1S: it ended too late",
    )


@every_mode
async def test_500_calls_at_once_get_500_replies(open_task_caller: OpenTaskCaller, mode: Mode) -> None:
    caller = open_task_caller(**mode.options)
    for number in range(500):
        caller.submit(mode.task("add"), a=number)
    replies = await caller.answered()
    assert {reply.key: reply.outcome.result for reply in replies} == {key: str(key + 1) for key in range(500)}


async def test_500_coroutines_run_side_by_side(open_task_caller: OpenTaskCaller) -> None:
    app, together = App(), asyncio.Barrier(500)

    @app.task(name="meet")
    async def meet() -> None:
        await together.wait()

    caller = open_task_caller(app=app)
    for _ in range(500):
        caller.submit("meet")
    assert Counter(reply.outcome.kind for reply in await caller.answered()) == {OutcomeKind.SUCCEEDED: 500}


@every_mode
async def test_closing_answers_everything(open_task_caller: OpenTaskCaller, mode: Mode) -> None:
    caller = open_task_caller(**mode.options)
    under_way = [caller.submit(mode.task("until_stopped")) for _ in range(2)]
    for key in under_way:
        await caller.began(key)
    caller.submit(mode.task("until_stopped"))
    caller.executor.close()
    assert {reply.closed for reply in caller.replies} == {True}
    assert set(caller.kinds().values()) == {OutcomeKind.LOST}
    assert len(caller.replies) == 3
    caller.executor.close()
    after = await caller.call(mode.task("add"), a=1)
    assert (after.closed, after.outcome.kind) == (True, OutcomeKind.LOST)
    await asyncio.sleep(0)


async def test_an_unknown_task_is_told_with_near_ones(open_task_caller: OpenTaskCaller) -> None:
    reply = await open_task_caller().call("ad")
    assert reply.outcome.kind is OutcomeKind.IMPOSSIBLE
    assert reply.outcome.error is not None
    assert reply.outcome.error.startswith("no worker that is alive has a task ad (did you mean add?); start one")
    reply = await open_task_caller().call("nothing like it")
    assert "did you mean" not in (reply.outcome.error or "")


async def test_fail_retry_and_checkpoints_that_are_too_large(open_task_caller: OpenTaskCaller) -> None:
    caller = open_task_caller()
    assert (await caller.call("fail")).outcome.kind is OutcomeKind.REFUSED
    again = (await caller.call("retry")).outcome
    assert (again.kind, again.retry_after_ms) == (OutcomeKind.ERRORED, 600_000)
    large = (await caller.call("checkpoint_too_large")).outcome
    assert (large.error or "").startswith("dueline.domain.errors.Invalid: checkpoint: is 100000 bytes long")


@pytest.mark.parametrize("mode", MODES[1:], ids=lambda mode: mode.name)
async def test_a_task_knows_its_run(open_task_caller: OpenTaskCaller, mode: Mode) -> None:
    info = RunInfo(
        run_id="run_1", job_id="job_1", attempt=2, token=9, scheduled_ms=1_000, tenant="t", checkpoint=b"[1]"
    )
    reply = await open_task_caller(**mode.options).call("identify", info=info)
    assert reply.outcome.result == '["run_1","job_1",2,9,"1970-01-01T00:00:01+00:00","t",[1]]'


async def test_a_coroutine_that_is_cancelled_before_its_first_step(open_task_caller: OpenTaskCaller) -> None:
    caller = open_task_caller()
    key = caller.submit("until_stopped_async")
    caller.executor.cancel([key])
    reply = await caller.reply(key)
    assert (reply.outcome.kind, reply.outcome.error) == (OutcomeKind.CANCELLED, "it was cancelled: it had not begun")


async def test_processes_need_an_app_with_a_name() -> None:
    with pytest.raises(ValueError, match="load_app"):
        TaskExecutor(app=App(), deliver=print, told=print, monotonic=time.monotonic, processes=1)


async def test_an_executor_must_be_open() -> None:
    executor = TaskExecutor(app=App(), deliver=print, told=print, monotonic=time.monotonic)
    with pytest.raises(RuntimeError, match="not open"):
        executor.submit([TaskCall(1, "add", b"{}", 1_000, RunInfo(run_id="run_1"))])
    executor.close()


@every_mode
async def test_a_call_without_any_time_is_not_begun(open_task_caller: OpenTaskCaller, mode: Mode) -> None:
    caller = open_task_caller(**mode.options)
    reply = await caller.call(mode.task("report"), count=1, timeout_ms=0)
    assert (reply.outcome.kind, reply.outcome.error) == (OutcomeKind.TIMED_OUT, "no time is left for it")
    assert (caller.reports, caller.executor.in_flight) == ([], 0)
