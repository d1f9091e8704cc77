"""An HTTP executor at work, for tests of what it does with targets."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

from dueline.engine.execution.exchange import USUAL
from dueline.worker.executors.http import HttpCall, HttpExecutor, HttpReply

PATIENCE_S = 30.0
"""Far more than any of this takes; a test that needs it has failed."""


class Caller:
    """An open executor, and every reply that it delivered."""

    def __init__(self, **options: Any) -> None:
        self.replies: list[HttpReply] = []
        self.batches_total = 0
        self.executor = HttpExecutor(deliver=self._receive, monotonic=time.monotonic, **options)
        self._loop_thread = threading.get_ident()
        self._arrived = asyncio.Event()
        self.executor.open(asyncio.get_running_loop())

    def _receive(self, batch: list[HttpReply]) -> None:
        assert threading.get_ident() == self._loop_thread
        self.replies += batch
        self.batches_total += 1
        self._arrived.set()

    async def answered(self, total: int) -> list[HttpReply]:
        """All replies, once there are `total` of them, and never more."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.replies) < total:
                self._arrived.clear()
                await self._arrived.wait()
        assert len(self.replies) == total
        return self.replies

    async def answered_by(self, which: Callable[[HttpReply], bool], total: int) -> list[HttpReply]:
        """The replies that `which` holds for, once there are `total` of them, whatever else has come."""
        async with asyncio.timeout(PATIENCE_S):
            while len(found := [reply for reply in self.replies if which(reply)]) < total:
                self._arrived.clear()
                await self._arrived.wait()
        return found

    def submit(self, url: str, keys: range, timeout_ms: int = 20_000) -> None:
        self.executor.submit([HttpCall(key, "POST", url, (f"dueline-run: {key}",), b"{}", timeout_ms) for key in keys])

    def close(self) -> None:
        self.executor.close()
        assert self.executor.in_flight == 0

    def a_call(self, key: object, method: str, url: str, body: bytes | None, **more: Any) -> HttpCall:
        headers, timeout_ms = more.get("headers", ()), more.get("ms", 20_000)
        options, run_headers = more.get("options", USUAL), more.get("run_headers", "")
        return HttpCall(key, method, url, headers, body, timeout_ms, options, run_headers)

    async def call(self, url: str, method: str = "GET", body: bytes | None = None, **more: Any) -> HttpReply:
        """Perform one call and return its reply."""
        before = len(self.replies)
        self.executor.submit([self.a_call(before, method, url, body, **more)])
        reply = (await self.answered(before + 1))[-1]
        assert (reply.key, reply.status is None) == (before, reply.failure is not None)
        return reply


OpenCaller = Callable[..., Caller]
