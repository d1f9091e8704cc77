"""Where tasks run: a lane takes calls, runs them in its own way, and tells how each ended. Coroutines on the loop, functions in threads."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, Protocol

import msgspec

from dueline.domain import limits
from dueline.domain.run import Outcome, OutcomeKind
from dueline.runtime.log import get_log
from dueline.tasks.attempts import attempt, attempt_async
from dueline.tasks.context import Context, Halt, Report, RunInfo
from dueline.tasks.task import Task

log = get_log(__name__)

_LEFT_RUNNING = "it did not stop when asked and may still be running: its effect is unknown"


class TaskCall(msgspec.Struct, frozen=True, gc=False):
    """One call of a task. `key` is hashable and comes back with the reply; `arguments` is a JSON object; `timeout_ms` bounds the whole
    call, also what it waits for a place to run."""

    key: Any
    task: str
    arguments: bytes
    timeout_ms: int
    info: RunInfo


class Work:
    """A call on its way. Only the loop touches it, except for `halt`, which its task looks at."""

    __slots__ = ("call", "halt", "started_s", "stopping", "task", "timer")

    def __init__(self, call: TaskCall, task: Task[..., Any]) -> None:
        self.call = call
        self.task = task
        self.halt = Halt()
        self.started_s: float | None = None
        self.stopping: OutcomeKind | None = None
        """As what it ends, once it was asked to stop."""
        self.timer: asyncio.TimerHandle | None = None


class Overseer(Protocol):
    """What a lane tells of its calls. All but `reported` is told on the loop."""

    def started(self, work: Work) -> None: ...

    def ended(self, work: Work, outcome: Outcome) -> None: ...

    def reported(self, work: Work, report: Report) -> None:
        """From any thread."""
        ...


class Lane(Protocol):
    """Every call that was submitted is told to have ended, unless it was withdrawn or abandoned, or the lane was closed."""

    def open(self, loop: asyncio.AbstractEventLoop) -> None: ...

    def submit(self, work: Work) -> None: ...

    def withdraw(self, work: Work) -> str:
        """Forget a call that has not started; answers what it waited for."""
        ...

    def stop(self, work: Work) -> None:
        """Ask a started call to stop; `halt` says why."""
        ...

    def abandon(self, work: Work) -> str:
        """Make room for other calls, although this one did not stop; answers what became of it."""
        ...

    def close(self) -> None: ...


class LoopLane:
    """Coroutines, on the loop: each starts at once. One that swallows its cancellation goes on beside the others."""

    def __init__(self, overseer: Overseer) -> None:
        self._overseer = overseer
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: dict[Work, asyncio.Task[Outcome]] = {}

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def submit(self, work: Work) -> None:
        assert self._loop is not None
        self._overseer.started(work)
        context = Context(work.call.info, report=partial(self._overseer.reported, work), halt=work.halt)
        task = self._loop.create_task(attempt_async(work.task, work.call.arguments, context))
        self._tasks[work] = task
        task.add_done_callback(partial(self._done, work))

    def withdraw(self, work: Work) -> str:
        raise AssertionError(f"{work.call.task} starts when it is submitted")

    def stop(self, work: Work) -> None:
        self._tasks[work].cancel()

    def abandon(self, work: Work) -> str:
        log.warning("coroutine abandoned", task=work.call.task)
        return _LEFT_RUNNING

    def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()

    def _done(self, work: Work, task: asyncio.Task[Outcome]) -> None:
        del self._tasks[work]
        # A task of the loop that is cancelled before its first step never gets as far as an outcome.
        not_begun = Outcome(kind=OutcomeKind.CANCELLED, error="it had not begun")
        self._overseer.ended(work, not_begun if task.cancelled() else task.result())


class Seat:
    """One thread and the call that it runs. The thread is a daemon: a task that hangs does not keep the process from ending."""

    def __init__(self, number: int, run: Callable[[Seat, Work], None]) -> None:
        self._works: SimpleQueue[Work | None] = SimpleQueue()
        self._run = run
        threading.Thread(target=self._serve, name=f"dueline-task-{number}", daemon=True).start()

    def begin(self, work: Work) -> None:
        self._works.put(work)

    def leave(self) -> None:
        """End the thread, after the call that it runs."""
        self._works.put(None)

    def _serve(self) -> None:
        while (work := self._works.get()) is not None:
            self._run(self, work)
            del work  # The arguments and the context of a call must not stay until the next one comes.


class ThreadLane:
    """Functions, in a bounded number of threads that are started as they are needed.

    A thread whose call was abandoned is replaced, up to a bound; when it comes back it takes a place that is free, or ends.
    """

    def __init__(
        self, overseer: Overseer, *, threads: int, abandoned_max: int = limits.TASK_THREADS_ABANDONED_MAX
    ) -> None:
        self._overseer = overseer
        self._threads = threads
        self._abandoned_max = abandoned_max
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: deque[Work] = deque()
        self._idle: list[Seat] = []
        self._busy: dict[Work, Seat] = {}
        self._abandoned: set[Seat] = set()
        self._seated_total = 0
        self._closed = False

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    @property
    def abandoned(self) -> int:
        """Threads whose calls were given up and have not come back."""
        return len(self._abandoned)

    def submit(self, work: Work) -> None:
        self._waiting.append(work)
        self._fill()

    def withdraw(self, work: Work) -> str:
        self._waiting.remove(work)
        return f"none of {self._threads} threads was free, and {len(self._abandoned)} more hold tasks that did not stop"

    def stop(self, work: Work) -> None:
        """The task looks at `halt` when it likes; a thread cannot be interrupted."""

    def abandon(self, work: Work) -> str:
        self._abandoned.add(self._busy.pop(work))
        log.warning("thread abandoned", task=work.call.task, abandoned=len(self._abandoned))
        self._fill()
        return _LEFT_RUNNING

    def close(self) -> None:
        self._closed = True
        self._waiting.clear()
        for seat in [*self._idle, *self._busy.values(), *self._abandoned]:
            seat.leave()

    def _fill(self) -> None:
        """Seat the calls that wait, as far as there are seats."""
        while self._waiting and not self._closed:
            seat = self._idle.pop() if self._idle else self._new_seat()
            if seat is None:
                return
            work = self._waiting.popleft()
            self._busy[work] = seat
            self._overseer.started(work)
            seat.begin(work)

    def _new_seat(self) -> Seat | None:
        overdrawn = max(len(self._abandoned) - self._abandoned_max, 0)
        if len(self._busy) + len(self._idle) + overdrawn >= self._threads:
            return None
        self._seated_total += 1
        try:
            return Seat(self._seated_total, self._carry_out)
        except RuntimeError as error:  # The machine gives no more threads; the calls wait for those that there are.
            log.warning("no thread", reason=str(error))
            return None

    def _carry_out(self, seat: Seat, work: Work) -> None:
        """In the thread."""
        context = Context(work.call.info, report=partial(self._overseer.reported, work), halt=work.halt)
        outcome = attempt(work.task, work.call.arguments, context)
        assert self._loop is not None
        with contextlib.suppress(RuntimeError):  # The loop is closed, and with it all who could hear of this.
            self._loop.call_soon_threadsafe(self._came_back, seat, work, outcome)

    def _came_back(self, seat: Seat, work: Work, outcome: Outcome) -> None:
        if self._closed:
            return
        if self._busy.pop(work, None) is None:
            self._abandoned.discard(seat)
        else:
            self._overseer.ended(work, outcome)
        if len(self._busy) + len(self._idle) < self._threads:
            self._idle.append(seat)
        else:
            seat.leave()
        self._fill()
