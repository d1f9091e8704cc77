"""Amazon EventBridge: schedules of its Scheduler, and rules with a schedule."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from dueline.domain import limits
from dueline.domain.durations import format_duration
from dueline.domain.instants import from_datetime
from dueline.moving.entries import (
    Found,
    LeftOut,
    Options,
    Pending,
    Unconvertible,
    checked_zone,
    instant_text,
    on_clock_changes,
)
from dueline.moving.eventbridge_cron import cron_of
from dueline.moving.eventbridge_files import Described, described
from dueline.moving.oracles.eventbridge import EventBridgeOracle
from dueline.moving.oracles.plain import OnceOracle, RateOracle
from dueline.moving.oracles.walls import Oracle, wall_at, zone_named

EVENT_AGE_S = 86_400
RETRIES = 185
"""How long, and how often, EventBridge tries to deliver unless a target says otherwise."""
_EXPRESSION = re.compile(r"\s*(cron|rate|at)\s*\(\s*(.*?)\s*\)\s*")
_RATE = re.compile(r"([0-9]{1,9})\s+(minute|hour|day)s?")
_UNITS_S = {"minute": 60, "hour": 3_600, "day": 86_400}
_PARAMETERS = re.compile(r"(?:Parameters|_parameters|InputTransformer|input_transformer|InputPath|input_path)$")


def read_schedules(text: str, options: Options) -> Iterator[Pending]:
    """The schedules of a file, and of every rule a job for each of its targets."""
    for one in described(text):
        yield one.place, _reader(one, options)


def _reader(one: Described, options: Options) -> Callable[[], Found]:
    return lambda: _found(one, options)


def _found(one: Described, options: Options) -> Found:
    if one.problem is not None:
        raise Unconvertible(one.problem)
    notes = list(one.notes)
    schedule, oracle = _when(one, options)
    if one.flexible_minutes:
        schedule["jitter"] = format_duration(one.flexible_minutes * 60_000)
    if one.dead_letters:
        notes.append("its dead-letter queue is not carried over: failed runs are kept, see dueline deadletter list")
    if one.deleted_after:
        notes.append("is deleted once it has run: here it stays, finished")
    lost = [name for name in one.target if _PARAMETERS.search(name) and one.target[name]]
    if lost:
        notes.append(f"of the target, these are not carried over: {', '.join(lost)}")
    return Found(
        name=one.name,
        task=_task(one),
        args=_args(one, notes),
        schedule=schedule,
        policies=_policies(one, notes),
        notes=notes,
        oracle=oracle,
        disabled=one.state.upper() == "DISABLED",
    )


def _when(one: Described, options: Options) -> tuple[dict[str, Any], Oracle]:
    said = _EXPRESSION.fullmatch(one.expression)
    if said is None:
        raise Unconvertible(f"{one.expression!r} is no cron(…), rate(…) or at(…)")
    kind, inside = said.groups()
    zone = checked_zone(one.timezone or "UTC")
    if kind == "at":
        return _once(inside, zone, options.now_ms)
    start_ms, end_ms = _instant(one.start, "StartDate"), _instant(one.end, "EndDate")
    if end_ms is not None and end_ms <= options.now_ms:
        raise LeftOut("its EndDate is past")
    shape = {} if start_ms is None else {"start_at": instant_text(start_ms)}
    if end_ms is not None:
        shape["end_at"] = instant_text(end_ms)
    bounds = (None if start_ms is None else start_ms // 1000, None if end_ms is None else end_ms // 1000)
    if kind == "rate":
        rate = _RATE.fullmatch(inside)
        if rate is None or int(rate[1]) == 0:
            raise Unconvertible(f"rate({inside}) is no rate such as rate(5 minutes)")
        seconds = int(rate[1]) * _UNITS_S[rate[2]]
        return {"every": format_duration(seconds * 1000), **shape}, RateOracle(seconds, *bounds)
    changes = on_clock_changes(zone, gap="skip", overlap="first")
    cron = {"cron": cron_of(inside), "timezone": zone, **changes, **shape}
    return cron, EventBridgeOracle(inside, zone, *bounds)


def _once(text: str, zone: str, now_ms: int) -> tuple[dict[str, Any], Oracle]:
    try:
        wall = datetime.fromisoformat(text)
        at_s = int(wall.replace(tzinfo=zone_named(zone)).timestamp())
        shown = wall_at(zone, at_s)
        if wall.tzinfo is not None:
            raise ValueError("the zone is said beside it")
    except (ValueError, OverflowError):
        raise Unconvertible(f"at({text}) is no time such as at(2026-11-20T13:00:00)") from None
    if shown != wall:
        raise Unconvertible(f"at({text}) is a time that the clocks of {zone} jump over")
    if at_s * 1000 <= now_ms:
        raise LeftOut("its one time is past")
    return {"at": instant_text(at_s * 1000)}, OnceOracle(at_s)


def _instant(value: Any, name: str) -> int | None:
    """A date of the service: RFC 3339, or seconds as older commands write them."""
    if value is None or value == "":
        return None
    if isinstance(value, int | float) and isfinite(value):
        return int(value * 1000)
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        raise Unconvertible(f"{name} {value!r} is no time") from None
    return from_datetime(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))


def _policies(one: Described, notes: list[str]) -> dict[str, Any]:
    """EventBridge delivers beside what runs already, tries again for a day, and gives up then."""
    retries = RETRIES if one.retries is None else one.retries
    age_s = EVENT_AGE_S if one.event_age_s is None else one.event_age_s
    attempts = retries + 1
    if attempts > limits.ATTEMPTS_MAX:
        attempts = limits.ATTEMPTS_MAX
        if one.retries is not None:
            notes.append(f"MaximumRetryAttempts is brought down: Dueline makes at most {limits.ATTEMPTS_MAX} attempts")
    age = format_duration(age_s * 1000)
    return {
        "retry": {"max_attempts": attempts, "cap": "PT15M", "max_elapsed": age},
        "expires_after": age,
        "overlap": "allow",
        "misfire": {"policy": "fire_all", "window": age},
    }


def _task(one: Described) -> str:
    """What the target is called: `report` of `arn:aws:lambda:…:function:report`."""
    arn = one.target.get("Arn", one.target.get("arn"))
    if not isinstance(arn, str) or not arn.strip():
        return one.name
    if ":aws-sdk:" in arn:
        return arn.partition(":aws-sdk:")[2].replace(":", ".")
    return re.split(r"[:/]", arn.removesuffix(":$LATEST"))[-1] or one.name


def _args(one: Described, notes: list[str]) -> dict[str, Any]:
    """The input of the target: an object is the arguments, anything else is one of them."""
    text = one.target.get("Input", one.target.get("input"))
    if text is None or text == "":
        return {}
    if not isinstance(text, str):
        raise Unconvertible("the Input of its target is put together elsewhere: write it as text")
    if "<aws.scheduler." in text:
        notes.append(
            "its input has places such as <aws.scheduler.scheduled-time>, which stay as they are: tasks know their run"
        )
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    return value if isinstance(value, dict) else {"input": value}
