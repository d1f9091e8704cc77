"""One attempt of a task: from its arguments to its outcome, whatever its function does."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import traceback
from typing import Any

import msgspec

from dueline.domain import limits
from dueline.domain.errors import Invalid
from dueline.domain.run import Outcome, OutcomeKind
from dueline.domain.texts import clean_text, kept_result
from dueline.tasks.context import Context
from dueline.tasks.errors import Cancelled, Fail, Retry
from dueline.tasks.task import Task

_FRAMES_MAX = 8
"""Frames told of a traceback, the innermost ones: further out it is the same story every time."""
_MESSAGE_LETTERS_MAX = limits.ERROR_LETTERS_MAX // 2
"""The message of an error; the rest is for where it was raised."""
_CAUSES_MAX = 3


def attempt(task: Task[..., Any], arguments: bytes, context: Context) -> Outcome:
    """Run a plain function here and now. Nothing that it raises gets past, and it leaves no context variables behind."""
    try:
        positional, named = _arguments(task, arguments, context)
        result = contextvars.copy_context().run(task.function, *positional, **named)
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            raise TypeError("the function returned something to await: declare it with async def")
    except BaseException as error:  # reason: the task's own code runs here, and every call gets its outcome.
        return _failed(error, context)
    return _succeeded(result)


async def attempt_async(task: Task[..., Any], arguments: bytes, context: Context) -> Outcome:
    """The same for a coroutine function, in the task of the loop that awaits this."""
    try:
        positional, named = _arguments(task, arguments, context)
        result = await task.function(*positional, **named)
    except BaseException as error:  # reason: the same; an exit raised here would end the loop.
        return _failed(error, context)
    return _succeeded(result)


def _arguments(task: Task[..., Any], raw: bytes, context: Context) -> tuple[list[Any], dict[str, Any]]:
    try:
        positional, named = task.parameters.read(raw)
    except Invalid as error:
        raise _Unfit(str(error)) from None
    return ([context, *positional] if task.parameters.takes_context else positional), named


class _Unfit(Exception):
    """The arguments do not fit, which no further attempt changes."""


def _succeeded(result: Any) -> Outcome:
    """The result as JSON, always: a task that did its work is not failed, and so done again, for what it returned."""
    if result is None:
        return Outcome(kind=OutcomeKind.SUCCEEDED)
    try:
        encoded = msgspec.json.encode(result)
    except Exception:  # reason: an encoder calls into the classes of the task.
        encoded = msgspec.json.encode(clean_text(_said(repr, result)))
    return Outcome(kind=OutcomeKind.SUCCEEDED, result=kept_result(encoded))


def _failed(error: BaseException, context: Context) -> Outcome:
    match error:
        case _Unfit():
            told = clean_text(f"the arguments do not fit: {error}")[: limits.ERROR_LETTERS_MAX]
            return Outcome(kind=OutcomeKind.IMPOSSIBLE, error=told)
        case Fail():
            return Outcome(kind=OutcomeKind.REFUSED, error=_told(error))
        case Retry(after_ms=after_ms):
            return Outcome(kind=OutcomeKind.ERRORED, error=_told(error), retry_after_ms=after_ms)
        case Cancelled() | asyncio.CancelledError() if context.cancelled:
            return Outcome(kind=OutcomeKind.CANCELLED, error="it stopped when asked")
        case _:
            return Outcome(kind=OutcomeKind.ERRORED, error=_told(error))


def _told(error: BaseException) -> str:
    """Type and message, then the causes, then where it was raised, innermost last; what is too long loses its outer frames."""
    lines = [_headline(error)[:_MESSAGE_LETTERS_MAX]]
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    for _ in range(_CAUSES_MAX):
        if cause is None:
            break
        lines.append(f"because of {_headline(cause)}"[: _MESSAGE_LETTERS_MAX // _CAUSES_MAX // 2])
        cause = cause.__cause__
    head = "\n".join(lines)
    frames: list[str] = []
    room = limits.ERROR_LETTERS_MAX - len(head)
    for frame in reversed(traceback.extract_tb(error.__traceback__, limit=-_FRAMES_MAX)):
        if frame.filename == __file__:
            continue
        line = clean_text(
            f"\n  {frame.filename}:{frame.lineno} in {frame.name}" + (f": {frame.line}" if frame.line else "")
        )
        room -= len(line)
        if room < 0:
            break
        frames.insert(0, line)
    return head + "".join(frames)


def _headline(error: BaseException) -> str:
    kind = type(error)
    name = (
        kind.__qualname__
        if kind.__module__ in ("builtins", "dueline.tasks.errors")
        else f"{kind.__module__}.{kind.__qualname__}"
    )
    message = _said(str, error)
    return clean_text(f"{name}: {message}" if message else name)


def _said(how: Any, value: Any) -> str:
    try:
        return str(how(value))
    except Exception:  # reason: these are methods of the task's own classes.
        return f"<{type(value).__name__} that cannot be shown>"
