"""An open executor of tasks, with everything that it tells."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec

from dueline.domain.run import OutcomeKind
from dueline.tasks.app import App
from dueline.tasks.loading import load_app
from dueline.worker.executors.tasks import Progress, Report, RunInfo, TaskCall, TaskExecutor, TaskReply

PATIENCE_S = 60.0
"""Far more than any of this takes; a test that needs it has failed."""
APP = "tests.support.task_app:app"


class TaskCaller:
    """Submits calls under growing keys, and waits for what is told of them."""

    def __init__(self, app: App | None = None, **options: Any) -> None:
        self.replies: list[TaskReply] = []
        self.reports: list[tuple[int, Report]] = []
        self.executor = TaskExecutor(
            app=app or load_app(APP),
            deliver=self._receive,
            told=self._hear,
            monotonic=time.monotonic,
            **({"grace_s": 30.0} | options),
        )
        self._loop_thread = threading.get_ident()
        self._happened = asyncio.Event()
        self._submitted_total = 0
        self.executor.open(asyncio.get_running_loop())

    def submit(self, task: str, *, timeout_ms: int = 60_000, info: RunInfo | None = None, **arguments: Any) -> int:
        """Start a call, and return its key."""
        key = self._submitted_total
        self._submitted_total += 1
        info = info or RunInfo(run_id=f"run_{key}")
        self.executor.submit([TaskCall(key, task, msgspec.json.encode(arguments), timeout_ms, info)])
        return key

    async def call(self, task: str, **more: Any) -> TaskReply:
        """Perform one call and return its reply."""
        return await self.reply(self.submit(task, **more))

    async def reply(self, key: int) -> TaskReply:
        await self._until(lambda: any(reply.key == key for reply in self.replies))
        (reply,) = [reply for reply in self.replies if reply.key == key]
        return reply

    async def answered(self) -> list[TaskReply]:
        """All replies, once every call has one; no call has two."""
        await self._until(lambda: len(self.replies) >= self._submitted_total)
        assert sorted(reply.key for reply in self.replies) == list(range(self._submitted_total))
        return self.replies

    async def began(self, key: int) -> str:
        """What a call said in its first report of progress."""
        await self._until(lambda: bool(self._progress(key)))
        return self._progress(key)[0].text

    def kinds(self) -> dict[int, OutcomeKind]:
        return {reply.key: reply.outcome.kind for reply in self.replies}

    def close(self) -> None:
        self.executor.close()
        assert self.executor.in_flight == 0
        assert sorted(reply.key for reply in self.replies) == list(range(self._submitted_total))

    def _progress(self, key: int) -> list[Progress]:
        return [report for its, report in self.reports if its == key and isinstance(report, Progress)]

    async def _until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self._happened.clear()
                await self._happened.wait()

    def _receive(self, replies: list[TaskReply]) -> None:
        assert threading.get_ident() == self._loop_thread
        self.replies += replies
        self._happened.set()

    def _hear(self, key: int, report: Report) -> None:
        assert threading.get_ident() == self._loop_thread
        assert all(reply.key != key for reply in self.replies), "nothing is told after the reply"
        self.reports.append((key, report))
        self._happened.set()


OpenTaskCaller = Callable[..., TaskCaller]
