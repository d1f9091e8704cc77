"""A slow, obvious account of when a schedule fires: every second of UTC is looked at on the wall clock of the zone.

It knows the part of cron that scenarios use, whose hours are `*`, so that clock changes ask for no policy.
What else there is it does not judge.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from proof.records import instant_ms

_RANGES = [(0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 7)]
_DURATION = re.compile(r"PT(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?")


class Unjudged(ValueError):
    """A schedule that this account does not know. It is a fault of the scenario, not of what is judged."""


def fires_ms(schedule: dict[str, Any]) -> list[int]:
    """Every instant of a schedule that has a first and a last one, in milliseconds."""
    if "at" in schedule:
        return [instant_ms(schedule["at"])]
    if "start_at" not in schedule or "end_at" not in schedule:
        raise Unjudged(f"a schedule without start and end: {schedule}")
    first_ms, last_ms = instant_ms(schedule["start_at"]), instant_ms(schedule["end_at"])
    if "every" in schedule:
        return list(range(first_ms, last_ms + 1, _duration_ms(schedule["every"])))
    if "cron" in schedule:
        return list(_cron(schedule["cron"], schedule.get("timezone", "UTC"), first_ms, last_ms))
    raise Unjudged(f"an unknown kind of schedule: {schedule}")


def _duration_ms(text: str) -> int:
    found = _DURATION.fullmatch(text)
    if not found or not any(found.groups()):
        raise Unjudged(f"an unknown duration: {text}")
    return round((int(found[1] or 0) * 60 + float(found[2] or 0)) * 1000)


def _cron(expression: str, zone: str, first_ms: int, last_ms: int) -> Iterator[int]:
    fields = expression.split()
    if len(fields) == 5:
        fields = ["0", *fields]
    if len(fields) != 6 or fields[2] != "*":
        raise Unjudged(f"an expression that is not judged: {expression}")
    second, minute, hour, day, month, weekday = (
        _numbers(field, *bounds) for field, bounds in zip(fields, _RANGES, strict=True)
    )
    either = not (fields[3].startswith("*") or fields[5].startswith("*"))
    at = datetime.fromtimestamp(math.ceil(first_ms / 1000), ZoneInfo("UTC"))
    while (at_ms := round(at.timestamp() * 1000)) <= last_ms:
        wall = at.astimezone(ZoneInfo(zone))
        on_day, on_weekday = wall.day in day, bool({wall.isoweekday(), wall.isoweekday() % 7} & weekday)
        days_fit = (on_day or on_weekday) if either else (on_day and on_weekday)
        if wall.second in second and wall.minute in minute and wall.hour in hour and wall.month in month and days_fit:
            yield at_ms
        at += timedelta(seconds=1)


def _numbers(field: str, low: int, high: int) -> set[int]:
    found: set[int] = set()
    for term in field.split(","):
        span, _, step = term.partition("/")
        if span == "*":
            first, last = low, high
        elif "-" in span:
            first, last = map(int, span.split("-"))
        else:
            first = int(span)
            last = high if step else first
        found |= set(range(first, last + 1, int(step or 1)))
    return found
