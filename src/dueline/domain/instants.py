"""Instants: integer milliseconds since 1970 UTC inside, RFC 3339 outside."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from dueline.domain.errors import Invalid

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = datetime(1970, 1, 1)
_MILLISECOND = timedelta(milliseconds=1)
_SECOND = timedelta(seconds=1)
# The standard library reads more than RFC 3339: weeks, any letter for the T, a NUL after the Z.
_SHAPE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?", re.ASCII)

INSTANT_MS_MAX = 253_402_300_799_999
"""The last millisecond of the year 9999, where calendars end."""


def format_instant(at_ms: int) -> str:
    """RFC 3339 in UTC with milliseconds: `2026-03-29T01:30:00.000Z`."""
    second, millisecond = divmod(at_ms, 1000)
    return f"{_format_second(second)}.{millisecond:03d}Z"


@lru_cache(maxsize=1_000)
def _format_second(second: int) -> str:
    """Kept: many runs are due in one second."""
    return (_NAIVE_EPOCH + second * _SECOND).isoformat()


def to_datetime(at_ms: int) -> datetime:
    return _EPOCH + at_ms * _MILLISECOND


def from_datetime(moment: datetime) -> int:
    """Milliseconds of an aware datetime, rounded down."""
    return (moment - _EPOCH) // _MILLISECOND


def parse_instant(text: str, *, field: str) -> int:
    """Read RFC 3339. A time without an offset is refused: it would mean something else on every machine."""
    try:
        if not _SHAPE.fullmatch(text):
            raise ValueError
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Invalid((field, f"{text!r} is not an RFC 3339 time such as 2026-03-29T01:30:00Z")) from None
    if moment.tzinfo is None:
        raise Invalid((field, f"{text!r} has no offset: add Z or +02:00"))
    at_ms = from_datetime(moment)
    if not 0 <= at_ms <= INSTANT_MS_MAX:
        raise Invalid((field, "must lie between the years 1970 and 9999"))
    return at_ms
