"""What happens between a call and its answer, step by step, for whoever does the waiting: threads and coroutines take the same steps.

An operation is a generator that asks for calls and pauses, and is sent their answers. `steps` carries one out, with the retries of its
calls, and itself asks only for two things: to send a request, and to let time pass.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple, TypeVar

import msgspec

from dueline.runtime.chance import Chance
from dueline.runtime.clock import Clock
from dueline.sdk.answers import Answer, read_answer, read_plain
from dueline.sdk.calls import Call, Request, to_request
from dueline.sdk.errors import ApiError, Unreachable, to_error, unreadable
from dueline.sdk.retries import RetryPolicy, may_repeat, wait_s
from dueline.wire.reading import Unreadable

T = TypeVar("T")

SEND_S_MIN = 0.001
"""A time of zero would mean not to wait at all to the sockets of Python."""


class Send(NamedTuple):
    """Send a request, and be told its answer, or be thrown Unreachable."""

    request: Request
    timeout_s: float


class Pause(NamedTuple):
    """Let time pass."""

    for_s: float


Operation = Generator[Call[Any] | Pause, Any, T]
Steps = Generator[Send | Pause, Any, T]


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """On which terms calls are made. `timeout_s` bounds one call with all its attempts."""

    api_key: str | None
    timeout_s: float
    retry: RetryPolicy
    clock: Clock
    chance: Chance

    def __repr__(self) -> str:
        """Without the key: tracebacks are read by many."""
        return f"<terms of {self.timeout_s:g} s>"


def call_steps(call: Call[T], terms: Terms) -> Steps[T]:
    """One call; its answer in its shape."""
    return _reading(call, terms, lambda answer: read_answer(answer, call.kind()))


def plain_call_steps(call: Call[Any], terms: Terms) -> Steps[Any]:
    """One call; its answer as it was sent."""
    return _reading(call, terms, lambda answer: read_plain(answer, is_text=call.is_text))


def operation_steps(operation: Operation[T], terms: Terms) -> Steps[T]:
    """An operation of several calls. What a call ends with is thrown into it where it waits for the answer."""
    told: Any = None
    failure: Exception | None = None
    while True:
        try:
            asked = operation.send(told) if failure is None else operation.throw(failure)
        except StopIteration as ended:
            return ended.value  # type: ignore[no-any-return]  # what ends a generator has lost its type
        told = failure = None
        if isinstance(asked, Pause):
            yield asked
            continue
        try:
            told = yield from call_steps(asked, terms)
        except (ApiError, Unreachable) as error:
            failure = error


def _reading(call: Call[Any], terms: Terms, read: Callable[[Answer], Any]) -> Steps[Any]:
    fresh_key = terms.chance.entropy().hex() if terms.retry.attempts_max > 1 else None
    request = to_request(call, api_key=terms.api_key, fresh_key=fresh_key)
    timeout_s = terms.timeout_s if call.timeout_s is None else min(call.timeout_s, terms.timeout_s)
    answer = yield from _exchange(request, terms, timeout_s=timeout_s)
    try:
        return read(answer)
    except Unreadable as error:
        raise unreadable(answer, str(error)) from None


def _exchange(request: Request, terms: Terms, *, timeout_s: float) -> Steps[Answer]:
    deadline_s = terms.clock.monotonic_s() + timeout_s
    attempt = 0
    while True:
        attempt += 1
        failure: ApiError | Unreachable
        try:
            left_s = max(deadline_s - terms.clock.monotonic_s(), SEND_S_MIN)
            answer: Answer = yield Send(request, left_s)
        except Unreachable as error:
            failure = error
        else:
            if answer.status < 400:
                return answer
            failure = to_error(answer)
        again = attempt < terms.retry.attempts_max and may_repeat(failure, harmless=request.harmless)
        pause_s = wait_s(terms.retry, failure, attempt=attempt, fraction=terms.chance.fraction())
        if not again or terms.clock.monotonic_s() + pause_s >= deadline_s:
            raise failure
        yield Pause(pause_s)
