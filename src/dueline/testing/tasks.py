"""Tasks in tests: carried out for real, one after the other, at a moment of the virtual clock."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dueline.domain.run import Outcome, OutcomeKind, no_such_task
from dueline.tasks.app import App
from dueline.tasks.attempts import attempt, attempt_async
from dueline.tasks.context import Context, Halt, Report
from dueline.tasks.task import Task
from dueline.worker.executors.lanes import TaskCall
from dueline.worker.executors.tasks import TaskReply


class VirtualCrew:
    """Takes calls, and carries them out when it is told to. They take no time on the virtual clock, and so are never out of it.

    Coroutines are awaited on the loop; functions run in a thread beside it, where they may do whatever a plain function may.
    """

    def __init__(
        self,
        *,
        deliver: Callable[[list[TaskReply]], None],
        told: Callable[[Any, Report], None],
        monotonic: Callable[[], float],
        apps: Sequence[App],
    ) -> None:
        self._deliver = deliver
        self._told = told
        self._monotonic = monotonic
        self._apps = apps
        self._waiting: deque[TaskCall] = deque()

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """There is nothing to start."""

    def submit(self, calls: Sequence[TaskCall]) -> None:
        self._waiting.extend(calls)

    def cancel(self, keys: Iterable[Any]) -> None:
        """Whatever was submitted is carried out before anybody can cancel it."""

    def room(self) -> int | None:
        return None

    def has(self, task: str) -> bool:
        return self._task(task) is not None

    def limit_of(self, task: str) -> int | None:
        known = self._task(task)
        return None if known is None else known.options.concurrency

    def close(self) -> None:
        self._waiting.clear()

    async def carry_out(self) -> bool:
        """Carry out what was submitted; answers whether there was something."""
        began = bool(self._waiting)
        while self._waiting:
            call = self._waiting.popleft()
            outcome = await self._attempt(call)
            now_s = self._monotonic()
            self._deliver([TaskReply(call.key, outcome, now_s, now_s)])
        return began

    async def _attempt(self, call: TaskCall) -> Outcome:
        task = self._task(call.task)
        if task is None:
            return self._unknown(call.task)
        reports: list[Report] = []
        context = Context(call.info, report=reports.append, halt=Halt())
        if task.is_async:
            outcome = await attempt_async(task, call.arguments, context)
        else:
            outcome = await asyncio.to_thread(attempt, task, call.arguments, context)
        for report in reports:
            self._told(call.key, report)
        return outcome

    def _task(self, name: str) -> Task[..., Any] | None:
        return next((app.tasks[name] for app in self._apps if name in app.tasks), None)

    def _unknown(self, name: str) -> Outcome:
        if self._apps:
            return no_such_task(name, [known for app in self._apps for known in app.tasks])
        return Outcome(
            kind=OutcomeKind.IMPOSSIBLE, error=f"there is no task {name} here: name its app with dueline.use(app)"
        )
