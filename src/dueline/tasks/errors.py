"""What a task raises to say more than that it failed."""

from __future__ import annotations

from datetime import timedelta

from dueline.domain import limits
from dueline.domain.durations import parse_duration
from dueline.domain.errors import Invalid
from dueline.wire.when import duration_text


class Retry(Exception):
    """Try again, after exactly this long where it is given, otherwise as the retry policy says. It counts as an attempt."""

    def __init__(self, reason: str = "", *, after: str | timedelta | None = None) -> None:
        super().__init__(reason or "the task asked to be tried again")
        self.after_ms: int | None = None
        if after is not None:
            self.after_ms = parse_duration(duration_text(after), field="after", most_ms=limits.RETRY_CAP_MS_MAX)


class Fail(Exception):
    """It failed, and would fail again: the run is not retried, whatever its policy says."""


class Cancelled(BaseException):
    """The task was asked to stop.

    Like `asyncio.CancelledError` it is no Exception, so that an `except Exception` on its way does not keep the task running.
    """


class NotLoaded(Invalid):
    """The app cannot be had: correct its name, or what is wrong in its module."""

    def __init__(self, reason: str) -> None:
        super().__init__(("app", reason))
