"""Durations and instants, as Python has them and as the API reads them."""

from __future__ import annotations

from datetime import datetime, timedelta

from dueline.domain.durations import format_duration
from dueline.domain.errors import Invalid
from dueline.domain.instants import format_instant, from_datetime

_MILLISECOND = timedelta(milliseconds=1)


def duration_text(duration: str | timedelta, *, field: str = "duration") -> str:
    """Text is taken as it stands: whoever reads it says what is wrong with it."""
    if isinstance(duration, timedelta):
        if duration < timedelta():
            raise Invalid((field, f"{duration} is negative"))
        return format_duration(duration // _MILLISECOND)
    return duration


def instant_text(moment: str | datetime, *, field: str = "at") -> str:
    """A datetime without a zone is refused: it would mean something else on every machine."""
    if isinstance(moment, datetime):
        if moment.tzinfo is None:
            raise Invalid((field, f"{moment} has no time zone: make it aware, for instance with tzinfo=UTC"))
        return format_instant(from_datetime(moment))
    return moment
