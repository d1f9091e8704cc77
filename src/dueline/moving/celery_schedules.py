"""What Celery's beat does with its entries, and when: crontabs, intervals, and what becomes of them as jobs."""

from __future__ import annotations

from math import isfinite
from typing import Any

from dueline.domain.durations import format_duration
from dueline.moving.entries import HOWEVER_LATE, LONGEST_TIMEOUT, Unconvertible
from dueline.moving.oracles.celery import CeleryOracle
from dueline.moving.oracles.plain import RateOracle
from dueline.moving.oracles.walls import Oracle
from dueline.moving.spelling import WEEKDAYS, Times, schedule_of

HOUSEKEEPING = "celery.backend_cleanup"
FIELDS = ("minute", "hour", "day_of_week", "day_of_month", "month_of_year")
_BOUNDS = {"minute": (0, 59), "hour": (0, 23), "day_of_week": (0, 6), "day_of_month": (1, 31), "month_of_year": (1, 12)}


def policies_of(deadline_s: float | None = None) -> dict[str, Any]:
    """Beat sends a task beside the last one, and after a pause once for all that it missed. Retrying is the task's own affair."""
    window = HOWEVER_LATE if deadline_s is None else format_duration(int(deadline_s * 1000))
    return {
        "timeout": LONGEST_TIMEOUT,
        "retry": {"max_attempts": 1},
        "overlap": "allow",
        "misfire": {"policy": "fire_once", "window": window},
        "delivery": "at_most_once",
    }


def every(seconds: float) -> tuple[dict[str, Any], Oracle]:
    """A fixed rate, from when the job is created."""
    if not isfinite(seconds):
        raise Unconvertible(f"runs every {seconds} s, which is no time")
    if seconds < 1:
        raise Unconvertible(f"runs every {seconds:g} s: a second is the shortest that a schedule can say")
    return {"every": format_duration(round(seconds * 1000))}, RateOracle(seconds)


def crontab(fields: dict[str, Any], zone: str) -> tuple[dict[str, Any], Oracle]:
    """Celery's five fields, all of which must fit."""
    texts = {name: _text(name, fields[name]) for name in FIELDS}
    numbers = {name: _numbers(name, text) for name, text in texts.items()}
    times = Times(
        minutes=numbers["minute"],
        hours=numbers["hour"],
        dates=_restricted(numbers["day_of_month"], 31),
        months=_restricted(numbers["month_of_year"], 12),
        weekdays=_restricted(numbers["day_of_week"], 7),
        hours_count_on=texts["hour"].startswith("*"),
    )
    return schedule_of(times, zone), CeleryOracle(**texts, timezone=zone)


def _restricted(numbers: frozenset[int], everything: int) -> frozenset[int] | None:
    return None if len(numbers) == everything else numbers


def _text(name: str, value: Any) -> str:
    if isinstance(value, list | set) and all(isinstance(one, int) for one in value):
        return ",".join(str(one) for one in sorted(value))
    if value is None:
        return "*"
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise Unconvertible(f"{name} is no number, no text and no list of numbers")
    return str(value).strip()


def _numbers(name: str, text: str) -> frozenset[int]:
    """The numbers of a field. A range may run over the end of the field."""
    low, high = _BOUNDS[name]
    found: set[int] = set()
    for term in text.split(","):
        span, slash, step_text = term.strip().partition("/")
        if slash and not (step_text.isdigit() and int(step_text)):
            raise Unconvertible(f"{name}: {term!r} needs a step of 1 or more behind its slash")
        if span == "*":
            numbers = list(range(low, high + 1))
        else:
            first, dash, last = span.partition("-")
            begin = _number(name, first)
            end = _number(name, last) if dash else begin
            if slash and not dash:
                raise Unconvertible(f"{name}: {term!r} has a step without a range, which Celery does not read")
            numbers = [*range(begin, end + 1)] if begin <= end else [*range(begin, high + 1), *range(low, end + 1)]
        found.update(numbers[:: int(step_text) if slash else 1])
    return frozenset(found)


def _number(name: str, text: str) -> int:
    low, high = _BOUNDS[name]
    if name == "day_of_week" and text[:3].upper() in WEEKDAYS:
        return WEEKDAYS.index(text[:3].upper())
    if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
        raise Unconvertible(f"{name}: {text!r} is not between {low} and {high}")
    return int(text)
