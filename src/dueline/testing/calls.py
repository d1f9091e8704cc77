"""Calls that jobs make, kept instead of sent: an executor that answers from a function and takes time only on the virtual clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from heapq import heappop, heappush
from itertools import count
from typing import Any

import msgspec

from dueline.domain.durations import parse_duration
from dueline.domain.ids import RunId
from dueline.domain.instants import to_datetime
from dueline.worker.executors.http import HttpCall, HttpFailure, HttpReply


class Call(msgspec.Struct, frozen=True):
    """One call that a job made. `scheduled_at` is what its schedule said, `at` when it was made."""

    at: datetime
    scheduled_at: datetime
    method: str
    url: str
    headers: dict[str, str]
    """Names are in lower case."""
    body: bytes | None
    attempt: int
    job_id: str | None
    run_id: str

    @property
    def late_by(self) -> timedelta:
        return self.at - self.scheduled_at

    def json(self) -> Any:
        """The body, read as JSON."""
        return msgspec.json.decode(self.body or b"null")


class Answer(msgspec.Struct, frozen=True):
    """What a target answers, and how long it takes on the virtual clock (`"90s"`, `"PT2H"`)."""

    status: int = 200
    body: str | bytes = b""
    takes: str = "0s"
    retry_after_s: int | None = None


Respond = Callable[[Call], Answer | int | None]


class RecordingExecutor:
    """Keeps every call. One that takes longer than its timeout is told to have timed out, as over a real network."""

    def __init__(
        self,
        *,
        deliver: Callable[[list[HttpReply]], None],
        monotonic: Callable[[], float],
        may_send: Callable[[], bool],
        calls: list[Call],
        respond: Callable[[], Respond],
    ) -> None:
        del may_send  # A call is sent when it is submitted, and whoever submits it has asked.
        self._deliver = deliver
        self._monotonic = monotonic
        self._calls = calls
        self._respond = respond
        self._pending: list[tuple[float, int, HttpReply]] = []
        self._numbers = count()
        self._cancelled: set[RunId] = set()

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """There is no thread to start."""

    def submit(self, calls: Sequence[HttpCall]) -> None:
        for call in calls:
            started_s = self._monotonic()
            told = _told(call, to_datetime(round(started_s * 1000)))
            self._calls.append(told)
            reply = _reply(call, self._answer(told), started_s)
            heappush(self._pending, (reply.finished_s, next(self._numbers), reply))

    def cancel(self, keys: Iterable[RunId]) -> None:
        self._cancelled.update(keys)

    def close(self) -> None:
        self._pending.clear()

    @property
    def next_s(self) -> float | None:
        """When the next call ends, by the monotonic clock."""
        if self._cancelled:
            return self._monotonic()
        return self._pending[0][0] if self._pending else None

    def deliver_ended(self) -> bool:
        """Hand over what has ended by now; answers whether there was something."""
        now_s = self._monotonic()
        ended = [reply for _, _, reply in self._pending if reply.key in self._cancelled]
        ended = [
            msgspec.structs.replace(reply, status=None, failure=HttpFailure.CANCELLED, finished_s=now_s)
            for reply in ended
        ]
        self._pending = [entry for entry in self._pending if entry[2].key not in self._cancelled]
        self._pending.sort()
        self._cancelled.clear()
        while self._pending and self._pending[0][0] <= now_s:
            ended.append(heappop(self._pending)[2])
        if ended:
            self._deliver(ended)
        return bool(ended)

    def _answer(self, call: Call) -> Answer:
        answer = self._respond()(call)
        if answer is None:
            return Answer()
        return Answer(answer) if isinstance(answer, int) else answer


def _told(call: HttpCall, at: datetime) -> Call:
    headers = {}
    for line in call.header_lines():
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return Call(
        at=at,
        scheduled_at=datetime.fromisoformat(headers["dueline-scheduled-at"]),
        method=call.method,
        url=call.url,
        headers=headers,
        body=call.body,
        attempt=int(headers["dueline-attempt"]),
        job_id=headers.get("dueline-job"),
        run_id=headers["dueline-run"],
    )


def _reply(call: HttpCall, answer: Answer, started_s: float) -> HttpReply:
    takes_ms = parse_duration(answer.takes, field="takes")
    timed_out = takes_ms > call.timeout_ms
    body = answer.body.encode() if isinstance(answer.body, str) else answer.body
    return HttpReply(
        key=call.key,
        status=None if timed_out else answer.status,
        failure=HttpFailure.TIMEOUT if timed_out else None,
        detail="it took longer than its timeout" if timed_out else "",
        retry_after=None if answer.retry_after_s is None else str(answer.retry_after_s),
        body=b"" if timed_out else body,
        truncated=False,
        started_s=started_s,
        finished_s=started_s + min(takes_ms, call.timeout_ms) / 1000,
    )
