"""Carries out Python tasks: coroutines on the loop, functions in threads or in processes."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from dueline.domain import limits
from dueline.domain.durations import format_duration
from dueline.domain.run import Outcome, OutcomeKind, no_such_task
from dueline.tasks.app import App
from dueline.tasks.context import Checkpoint, Heartbeat, Progress, Report, RunInfo
from dueline.worker.executors.lanes import Lane, LoopLane, TaskCall, ThreadLane, Work
from dueline.worker.executors.processes import ProcessLane

__all__ = ["Checkpoint", "Heartbeat", "Progress", "Report", "RunInfo", "TaskCall", "TaskExecutor", "TaskReply"]


class TaskReply(msgspec.Struct, frozen=True, gc=False):
    """What became of one call. `closed` says that the executor was closed before it ended: then nobody knows."""

    key: Any
    outcome: Outcome
    started_s: float
    finished_s: float
    closed: bool = False


class TaskExecutor:
    """Every submitted call gets exactly one reply, whatever happens to it.

    All methods belong to the thread of the event loop, and `deliver` and `told` are called there. What a call reported is told before
    its reply is delivered, and never after; of reports of one kind that gather, the last is told.

    A call that is cancelled or out of time is asked to stop. It gets a grace, and then its reply, whether it has stopped or not: a
    coroutine or a thread that did not stop is left behind, a process is killed.
    """

    def __init__(
        self,
        *,
        app: App,
        deliver: Callable[[list[TaskReply]], None],
        told: Callable[[Any, Report], None],
        monotonic: Callable[[], float],
        threads: int = limits.TASK_THREADS_DEFAULT,
        processes: int = 0,
        grace_s: float = limits.TASK_GRACE_S,
    ) -> None:
        """With `processes`, functions run in as many processes instead of threads; the app must have been loaded by its name."""
        if processes and app.origin is None:
            raise ValueError("processes load the app by its name: get it from load_app('module:app')")
        self._app = app
        self._deliver = deliver
        self._told = told
        self._monotonic = monotonic
        self._grace_s = grace_s
        self._places = processes or threads
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_lane = LoopLane(self)
        self._lane: Lane = ThreadLane(self, threads=threads)
        if processes and app.origin is not None:
            self._lane = ProcessLane(self, app=app.origin, processes=processes)
        self._works: set[Work] = set()
        self._replies: list[TaskReply] = []
        self._closed = False
        # Between the loop and the threads of tasks.
        self._lock = threading.Lock()
        self._reports: dict[Work, dict[type[Report], Report]] = {}

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the processes, if there are any; replies go to `loop` from now on."""
        self._loop = loop
        self._loop_lane.open(loop)
        self._lane.open(loop)

    def submit(self, calls: Sequence[TaskCall]) -> None:
        """Carry out the calls; never blocks. After `close` they are answered as closed."""
        loop = self._opened()
        for call in calls:
            task = self._app.tasks.get(call.task)
            if self._closed:
                self._reply(call, _closed_outcome(), closed=True)
            elif task is None:
                self._reply(call, no_such_task(call.task, self._app.tasks))
            elif call.timeout_ms <= 0:
                self._reply(call, Outcome(kind=OutcomeKind.TIMED_OUT, error="no time is left for it"))
            else:
                work = Work(call, task)
                self._works.add(work)
                work.timer = loop.call_later(call.timeout_ms / 1000, self._stop, work, OutcomeKind.TIMED_OUT)
                self._lane_of(work).submit(work)

    def cancel(self, keys: Iterable[Any]) -> None:
        """End the calls with these keys that are not answered yet."""
        wanted = frozenset(keys)
        for work in [each for each in self._works if each.call.key in wanted]:
            self._stop(work, OutcomeKind.CANCELLED)

    def room(self) -> int | None:
        """How many calls more could begin at once; None: as many as one likes, because all tasks are coroutines."""
        if all(task.is_async for task in self._app.tasks.values()):
            return None
        return max(self._places - sum(not work.task.is_async for work in self._works), 0)

    def has(self, task: str) -> bool:
        return task in self._app.tasks

    def limit_of(self, task: str) -> int | None:
        """How many calls of a task there may be at a time, if its app says so."""
        known = self._app.tasks.get(task)
        return None if known is None else known.options.concurrency

    @property
    def in_flight(self) -> int:
        """Calls submitted whose reply has not been delivered."""
        return len(self._works) + len(self._replies)

    def close(self) -> None:
        """Answer every call, deliver the last replies, kill the processes. Blocks for milliseconds. Threads that run a task are left."""
        if self._loop is None or self._closed:
            return
        self._closed = True
        for work in self._works:
            work.halt.reason = work.halt.reason or "the worker was closed"
        self._loop_lane.close()
        self._lane.close()
        for work in list(self._works):
            self._finish(work, _closed_outcome(), closed=True)
        self._hand_over()

    # What the lanes tell.

    def started(self, work: Work) -> None:
        work.started_s = self._monotonic()

    def ended(self, work: Work, outcome: Outcome) -> None:
        if work not in self._works:
            return  # It was answered when it was abandoned.
        if work.stopping is OutcomeKind.TIMED_OUT:
            outcome = Outcome(kind=OutcomeKind.TIMED_OUT, error=_joined(_out_of_time(work), _last_words(outcome)))
        elif work.stopping is OutcomeKind.CANCELLED and outcome.kind is not OutcomeKind.SUCCEEDED:
            outcome = Outcome(kind=OutcomeKind.CANCELLED, error=_joined("it was cancelled", _last_words(outcome)))
        self._finish(work, outcome)

    def reported(self, work: Work, report: Report) -> None:
        with self._lock:
            wake = not self._reports
            self._reports.setdefault(work, {})[type(report)] = report
        if wake:
            with contextlib.suppress(RuntimeError):  # The loop is closed: nobody is left to tell.
                self._opened().call_soon_threadsafe(self._tell)

    def _stop(self, work: Work, kind: OutcomeKind) -> None:
        """Ask for the end of a call. The first who asks says as what it ends."""
        if work.stopping is not None:
            return
        work.stopping = kind
        said = _out_of_time(work) if kind is OutcomeKind.TIMED_OUT else "it was cancelled"
        if work.started_s is None:
            waited = self._lane_of(work).withdraw(work)
            self._finish(work, Outcome(kind=kind, error=_joined(_not_started(work, kind), waited)))
            return
        work.halt.reason = said
        _cancel_timer(work)
        work.timer = self._opened().call_later(self._grace_s, self._give_up, work, said)
        self._lane_of(work).stop(work)

    def _give_up(self, work: Work, said: str) -> None:
        assert work.stopping is not None
        became = self._lane_of(work).abandon(work)
        self._finish(work, Outcome(kind=work.stopping, error=_joined(said, became)))

    def _finish(self, work: Work, outcome: Outcome, *, closed: bool = False) -> None:
        _cancel_timer(work)
        try:
            self._tell()
        finally:
            self._works.discard(work)
            self._reply(work.call, outcome, started_s=work.started_s, closed=closed)

    def _tell(self) -> None:
        with self._lock:
            reports, self._reports = self._reports, {}
        for work, kinds in reports.items():
            for report in kinds.values() if work in self._works else ():
                self._told(work.call.key, report)

    def _reply(self, call: TaskCall, outcome: Outcome, *, started_s: float | None = None, closed: bool = False) -> None:
        now_s = self._monotonic()
        if not self._replies:
            self._opened().call_soon(self._hand_over)
        self._replies.append(TaskReply(call.key, outcome, now_s if started_s is None else started_s, now_s, closed))

    def _hand_over(self) -> None:
        replies, self._replies = self._replies, []
        if replies:
            self._deliver(replies)

    def _lane_of(self, work: Work) -> Lane:
        return self._loop_lane if work.task.is_async else self._lane

    def _opened(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise RuntimeError("the task executor is not open")
        return self._loop


def _cancel_timer(work: Work) -> None:
    if work.timer is not None:
        work.timer.cancel()


def _closed_outcome() -> Outcome:
    return Outcome(kind=OutcomeKind.LOST, error="the worker was closed before it ended: its effect is unknown")


def _out_of_time(work: Work) -> str:
    return f"it ran longer than {format_duration(work.call.timeout_ms)}"


def _not_started(work: Work, kind: OutcomeKind) -> str:
    if kind is OutcomeKind.CANCELLED:
        return "it was cancelled before it began"
    return f"it did not begin within {format_duration(work.call.timeout_ms)}"


def _last_words(outcome: Outcome) -> str:
    if outcome.kind is OutcomeKind.SUCCEEDED:
        return "it ended too late"
    return outcome.error or ""


def _joined(said: str, more: str) -> str:
    return (f"{said}: {more}" if more else said)[: limits.ERROR_LETTERS_MAX]
