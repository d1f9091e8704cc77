"""When schedules of the simulation fire, worked out anew: three simple kinds, by arithmetic alone."""

from __future__ import annotations

from collections.abc import Iterator

from dueline.domain.schedule import At, Cron, Every, Schedule

_MINUTE_MS = 60_000


def occurrences(schedule: Schedule | None, *, after_ms: int, until_ms: int) -> Iterator[int]:
    """Those after an instant, up to another, which is included. Of a schedule that counts from the end of its runs there are none here."""
    match schedule:
        case At(at_ms=at_ms):
            if after_ms < at_ms <= until_ms:
                yield at_ms
        case Every(period_ms=period_ms, anchor_ms=anchor_ms):
            yield from _grid(anchor_ms, period_ms, after_ms, until_ms)
        case Cron(expression=expression):
            yield from _grid(0, minutes_of(expression) * _MINUTE_MS, after_ms, until_ms)


def minutes_of(expression: str) -> int:
    """Of `*/n * * * *` in UTC with an n that divides an hour, so that it is a grid."""
    first, rest = expression.split(" ", 1)
    minutes = 1 if first == "*" else int(first.removeprefix("*/"))
    assert rest == "* * * *", expression
    assert 60 % minutes == 0, expression
    return minutes


def _grid(anchor_ms: int, period_ms: int, after_ms: int, until_ms: int) -> Iterator[int]:
    steps = (after_ms - anchor_ms) // period_ms + 1
    yield from range(anchor_ms + steps * period_ms, until_ms + 1, period_ms)
