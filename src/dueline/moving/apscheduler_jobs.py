"""Jobs of APScheduler 3: a function, a trigger, and what the scheduler does when it is late."""

from __future__ import annotations

from datetime import date, datetime
from math import isfinite
from typing import Any

from dueline.domain import limits
from dueline.domain.durations import format_duration
from dueline.domain.instants import from_datetime
from dueline.moving.apscheduler_cron import FIELDS, cron_schedule
from dueline.moving.arguments import arguments
from dueline.moving.entries import (
    HOWEVER_LATE,
    LONGEST_TIMEOUT,
    Found,
    LeftOut,
    Options,
    Unconvertible,
    checked_zone,
    instant_text,
    on_clock_changes,
)
from dueline.moving.oracles.apscheduler import ApschedulerOracle
from dueline.moving.oracles.plain import OnceOracle, RateOracle
from dueline.moving.oracles.walls import Oracle, zone_named
from dueline.moving.python_values import Call, Zone

_UNITS_S = {"weeks": 604_800, "days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
_TRIGGERS = {"CronTrigger": "cron", "IntervalTrigger": "interval", "DateTrigger": "date"}
_MACROS = {
    "@yearly": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@hourly": "0 * * * *",
}
TRIGGERS = ("cron", "interval", "date")
_POSITIONAL = {
    "cron": (*FIELDS, "start_date", "end_date", "timezone", "jitter"),
    "interval": ("weeks", "days", "hours", "minutes", "seconds", "start_date", "end_date", "timezone", "jitter"),
    "date": ("run_date", "timezone"),
}
_CRONTAB_FIELDS = ("minute", "hour", "day", "month", "day_of_week")


class Defaults:
    """What the scheduler says for all of its jobs."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.zone: Any = None
        self.unknown: list[str] = []
        self._job: dict[str, Any] = {}

    def take(self, job_defaults: Any) -> None:
        if not isinstance(job_defaults, dict):
            raise Unconvertible("is no dict")
        self._job = job_defaults

    def of_job(self, said: dict[str, Any], name: str, otherwise: float) -> float | None:
        """What a job says, or else the scheduler, or else APScheduler."""
        value = said.get(name, self._job.get(name, otherwise))
        if value is not None and not (isinstance(value, int | float) and isfinite(value)):
            raise Unconvertible(f"{name} cannot be known without running the file")
        return value


def found_of(function: str, trigger: Any, said: tuple[dict[str, Any], dict[str, Any]], defaults: Defaults) -> Found:
    """A job of what was said of it and of its trigger."""
    of_job, of_trigger = said
    kind, fields = _trigger(trigger, of_trigger)
    notes = list(defaults.unknown)
    notes += [
        f"{name} is not known to the trigger {kind}, and left out" for name in fields if name not in _POSITIONAL[kind]
    ]
    schedule, oracle = _schedule(kind, fields, defaults, notes)
    for name in ("executor", "jobstore"):
        if of_job.get(name) not in (None, "default"):
            notes.append(f"{name} is not carried over")
    label = of_job.get("id") or of_job.get("name")
    return Found(
        name=label if isinstance(label, str) else function.rpartition(":")[2].rpartition(".")[2],
        task=function.replace(":", "."),
        args=arguments(of_job.get("args") or [], of_job.get("kwargs") or {}, notes),
        schedule=schedule,
        policies=_policies(of_job, defaults, notes),
        notes=notes,
        oracle=oracle,
        disabled="next_run_time" in of_job and of_job["next_run_time"] is None,
    )


def _trigger(trigger: Any, said: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The kind of a trigger, and its fields."""
    if isinstance(trigger, Call):
        if trigger.last == "from_crontab":
            text = trigger.args[0] if trigger.args else trigger.keywords.get("expr")
            words = _MACROS.get(str(text), str(text)).split()
            if len(words) != 5:
                raise Unconvertible(f"from_crontab takes 5 fields, and {text!r} has {len(words)}")
            zone = trigger.args[1] if len(trigger.args) > 1 else trigger.keywords.get("timezone")
            return "cron", dict(zip(_CRONTAB_FIELDS, words, strict=True)) | ({"timezone": zone} if zone else {})
        kind = _TRIGGERS.get(trigger.last)
        if kind is None:
            raise Unconvertible(
                f"the trigger {trigger.last} has no schedule of its kind here: make a job for each part of it"
            )
        given = dict(zip(_POSITIONAL[kind], trigger.args, strict=False))
        return kind, {name: value for name, value in (given | trigger.keywords).items() if value is not None}
    if trigger is None and not said:
        raise LeftOut("runs once, at once, when the program starts: dueline run create does that")
    if trigger not in (None, *TRIGGERS):
        raise Unconvertible(f"the trigger {trigger!r} is none of cron, interval and date")
    return trigger or "date", said


def _schedule(kind: str, fields: dict[str, Any], defaults: Defaults, notes: list[str]) -> tuple[dict[str, Any], Oracle]:
    zone = _zone(fields, defaults, notes, asked=kind == "cron")
    if kind == "date":
        return _once(fields, zone, defaults.options.now_ms)
    start_ms, end_ms = (_instant(fields.get(name), zone, name) for name in ("start_date", "end_date"))
    if end_ms is not None and end_ms <= defaults.options.now_ms:
        raise LeftOut("its end_date is past")
    shape: dict[str, Any] = {}
    if start_ms is not None:
        shape["start_at"] = instant_text(start_ms)
    if end_ms is not None:
        shape["end_at"] = instant_text(end_ms)
    if fields.get("jitter"):
        shape["jitter"] = format_duration(int(_quantity(fields, "jitter") * 1000))
        notes.append("jitter moves a start to both sides there, and only to later here")
    bounds = (None if start_ms is None else start_ms // 1000, None if end_ms is None else end_ms // 1000)
    if kind == "interval":
        seconds = sum(_quantity(fields, unit) * length for unit, length in _UNITS_S.items()) or 1
        if seconds < 1:
            raise Unconvertible(f"runs every {seconds:g} s: a second is the shortest that a schedule can say")
        return {"every": format_duration(round(seconds * 1000)), **shape}, RateOracle(seconds, *bounds)
    texts = {name: _text(fields, name) for name in FIELDS if name in fields}
    if not texts:
        raise Unconvertible("the cron trigger has no field")
    schedule = cron_schedule(texts, zone) | on_clock_changes(zone, gap="skip", overlap="both")
    return schedule | shape, ApschedulerOracle(texts, zone, *bounds)


def _once(fields: dict[str, Any], zone: str, now_ms: int) -> tuple[dict[str, Any], Oracle]:
    at_ms = _instant(fields.get("run_date"), zone, "run_date")
    if at_ms is None:
        raise LeftOut("runs once, at once, when the program starts: dueline run create does that")
    if at_ms <= now_ms:
        raise LeftOut("its run_date is past")
    return {"at": instant_text(at_ms)}, OnceOracle(at_ms // 1000)


def _zone(fields: dict[str, Any], defaults: Defaults, notes: list[str], *, asked: bool) -> str:
    said = fields.get("timezone") or defaults.zone
    if isinstance(said, Zone):
        said = said.name
    if said is not None and not isinstance(said, str):
        raise Unconvertible("the timezone cannot be known without running the file: write its name")
    if said is None and defaults.options.timezone is None and asked:
        notes.append("names no timezone: taken as UTC; APScheduler takes the machine's, so say --timezone")
    return checked_zone(said or defaults.options.zone)


def _instant(value: Any, zone: str, name: str) -> int | None:
    """A date, a time or text, on the wall clock of the zone unless it says its own."""
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        raise Unconvertible(f"{name} {value!r} is no time such as 2026-03-29 09:00:00") from None
    if isinstance(moment, date) and not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    if not isinstance(moment, datetime):
        raise Unconvertible(f"{name} is no time with its value in the file")
    return from_datetime(moment if moment.tzinfo is not None else moment.replace(tzinfo=zone_named(zone)))


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields[name]
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise Unconvertible(f"{name} cannot be known without running the file")
    return str(value).strip()


def _quantity(fields: dict[str, Any], unit: str) -> float:
    value = fields.get(unit, 0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise Unconvertible(f"{unit} is no number")
    return value


def _policies(of_job: dict[str, Any], defaults: Defaults, notes: list[str]) -> dict[str, Any]:
    """One run at a time, and no second one for what came late, unless somebody said otherwise."""
    instances = int(defaults.of_job(of_job, "max_instances", 1) or 1)
    grace_s = defaults.of_job(of_job, "misfire_grace_time", 1)
    coalesce = defaults.of_job(of_job, "coalesce", True)
    policies: dict[str, Any] = {
        "timeout": LONGEST_TIMEOUT,
        "retry": {"max_attempts": 1},
        "overlap": "skip",
        "misfire": {"policy": "fire_once" if coalesce else "fire_all"},
        "delivery": "at_most_once",
    }
    if instances > 1:
        policies["overlap"] = "allow"
        policies["concurrency"] = instances
        notes.append(f"what comes while {instances} runs are under way is skipped there, and waits here")
    if grace_s is None:
        policies["misfire"]["window"] = HOWEVER_LATE
    elif grace_s * 1000 > limits.MISFIRE_GRACE_MS:
        policies["misfire"]["window"] = format_duration(int(grace_s * 1000))
    else:
        policies["misfire"] = {"policy": "skip"}
    return policies
