"""Celery's beat: the schedule in a Python file, which is read and not run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from dueline.domain.durations import format_duration
from dueline.domain.errors import Invalid
from dueline.moving.entries import (
    HOWEVER_LATE,
    LONGEST_TIMEOUT,
    Found,
    LeftOut,
    Options,
    Pending,
    Unconvertible,
    checked_zone,
)
from dueline.moving.oracles.celery import CeleryOracle
from dueline.moving.oracles.plain import RateOracle
from dueline.moving.oracles.walls import Oracle
from dueline.moving.python_values import Call, Module, Reference, Zone, dotted
from dueline.moving.spelling import WEEKDAYS, Times, schedule_of

SCHEDULE_NAMES = frozenset({"beat_schedule", "CELERY_BEAT_SCHEDULE", "CELERYBEAT_SCHEDULE"})
_ZONE_NAMES = frozenset({"timezone", "CELERY_TIMEZONE"})
_UTC_NAMES = frozenset({"enable_utc", "CELERY_ENABLE_UTC"})
_DEADLINE_NAMES = frozenset({"beat_cron_starting_deadline", "CELERY_BEAT_CRON_STARTING_DEADLINE"})
_FIELDS = ("minute", "hour", "day_of_week", "day_of_month", "month_of_year")
_BOUNDS = {"minute": (0, 59), "hour": (0, 23), "day_of_week": (0, 6), "day_of_month": (1, 31), "month_of_year": (1, 12)}
_LOST_OPTIONS = frozenset({"exchange", "routing_key", "priority", "countdown", "eta", "headers", "serializer", "link"})
HOUSEKEEPING = "celery.backend_cleanup"


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


def read_beat(text: str, options: Options) -> Iterator[Pending]:
    """The entries of `beat_schedule`, whatever it is assigned to, and of `add_periodic_task`."""
    module = Module(text)
    settings = _Settings(module, options)
    entries = list(_entries(module, settings))
    if not entries:
        raise Invalid(
            (
                "FILE",
                "has no beat_schedule = {…}, no CELERY_BEAT_SCHEDULE and no add_periodic_task(…) with values in the file",
            )
        )
    yield from entries


class _Settings:
    """What the file says for all entries."""

    def __init__(self, module: Module, options: Options) -> None:
        self.options = options
        self._said: dict[str, ast.expr] = {}
        for node in module.nodes():
            for name, value in _assigned(node):
                for kind in (_ZONE_NAMES, _UTC_NAMES, _DEADLINE_NAMES):
                    if name in kind:
                        self._said[min(kind)] = value
        self._module = module

    def zone(self) -> str:
        said = self._value(_ZONE_NAMES)
        if isinstance(said, Zone):
            return checked_zone(said.name)
        if isinstance(said, str) and said:
            return checked_zone(said)
        if said is not None:
            raise Unconvertible("the setting timezone cannot be known without running the file: say --timezone")
        if self._value(_UTC_NAMES) is False and self.options.timezone is None:
            raise Unconvertible("enable_utc is off, so it follows the machine's time: say --timezone")
        return self.options.zone

    def deadline_s(self) -> float | None:
        said = self._value(_DEADLINE_NAMES)
        return float(said) if isinstance(said, int | float) and not isinstance(said, bool) else None

    def _value(self, kind: frozenset[str]) -> Any:
        node = self._said.get(min(kind))
        try:
            return None if node is None else self._module.value(node)
        except Unconvertible:
            return node


def _entries(module: Module, settings: _Settings) -> Iterator[Pending]:
    for node in module.nodes():
        for name, value in _assigned(node):
            if name not in SCHEDULE_NAMES:
                continue
            if not isinstance(value, ast.Dict):
                yield f"line {value.lineno}", lambda line=value.lineno: _unknown(line)
                continue
            for key, part in zip(value.keys, value.values, strict=True):
                label = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else "entry"
                yield f"line {part.lineno}, {label}", _Entry(module, settings, label, part).read
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and dotted(target.value).rpartition(".")[2] in SCHEDULE_NAMES:
                    label = target.slice.value if isinstance(target.slice, ast.Constant) else "entry"
                    yield f"line {node.lineno}, {label}", _Entry(module, settings, str(label), node.value).read
        if isinstance(node, ast.Call) and dotted(node.func).endswith("add_periodic_task"):
            yield f"line {node.lineno}", _Added(module, settings, node).read


def _unknown(line: int) -> Found:
    raise Unconvertible(f"line {line}: the schedule is put together when the file runs: write it as one dict")


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names and values that a statement brings together: assignments, and the keywords of `conf.update(…)`."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name | ast.Attribute):
                yield dotted(target).rpartition(".")[2], node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None and isinstance(node.target, ast.Name):
        yield node.target.id, node.value
    elif isinstance(node, ast.Call) and dotted(node.func).endswith("conf.update"):
        yield from ((word.arg, word.value) for word in node.keywords if word.arg is not None)
        for part in node.args:
            if isinstance(part, ast.Dict):
                pairs = zip(part.keys, part.values, strict=True)
                yield from ((str(key.value), value) for key, value in pairs if isinstance(key, ast.Constant))


class _Entry:
    """One item of the schedule: a dict with `task`, `schedule`, `args`, `kwargs` and `options`."""

    def __init__(self, module: Module, settings: _Settings, label: str, node: ast.expr) -> None:
        self._module = module
        self._settings = settings
        self._label = label
        self._node = node

    def read(self) -> Found:
        entry = self._module.value(self._node)
        if not isinstance(entry, dict) or "task" not in entry or "schedule" not in entry:
            raise Unconvertible("needs a dict with task and schedule")
        task = entry["task"].name if isinstance(entry["task"], Reference) else entry["task"]
        if not isinstance(task, str):
            raise Unconvertible("the name of the task cannot be known without running the file")
        if task == HOUSEKEEPING:
            raise LeftOut("is Celery's own housekeeping")
        notes: list[str] = []
        if entry.get("relative"):
            notes.append("relative rounds its times to the unit of the interval: give the schedule a start_at")
        return found_of(
            name=self._label,
            task=task,
            when=entry["schedule"],
            positional=entry.get("args") or [],
            keywords=entry.get("kwargs") or {},
            options=entry.get("options") or {},
            settings=self._settings,
            notes=notes,
        )


class _Added:
    """`app.add_periodic_task(schedule, task.s(1, key=2), name=…)`."""

    def __init__(self, module: Module, settings: _Settings, node: ast.Call) -> None:
        self._module = module
        self._settings = settings
        self._node = node

    def read(self) -> Found:
        call = self._module.called(self._node)
        signature = call.args[1] if len(call.args) > 1 else call.keywords.get("sig")
        if not call.args or not isinstance(signature, Call) or call.args[0] is None:
            raise Unconvertible("needs a schedule and a signature such as task.s(…)")
        task = signature.name
        for ending in (".s", ".si", ".signature", ".subtask"):
            task = task.removesuffix(ending)
        notes = [f"the task is named {task!r} after its function: Celery knows it by its module as well"]
        options = {name: value for name, value in call.keywords.items() if name in ("expires", "queue", *_LOST_OPTIONS)}
        name = call.keywords.get("name")
        return found_of(
            name=name if isinstance(name, str) else task,
            task=task,
            when=call.args[0],
            positional=signature.args,
            keywords=signature.keywords,
            options=options,
            settings=self._settings,
            notes=notes,
        )


def found_of(
    *,
    name: str,
    task: str,
    when: Any,
    positional: list[Any],
    keywords: dict[str, Any],
    options: dict[str, Any],
    settings: _Settings,
    notes: list[str],
) -> Found:
    """A job of what an entry says."""
    crontab = isinstance(when, Call) and when.last == "crontab"
    zone = settings.zone() if crontab else "UTC"
    schedule, oracle = _when(when, zone)
    policies = policies_of(settings.deadline_s() if crontab else None)
    args = arguments(positional, keywords, notes)
    for option, value in options.items():
        if option == "queue" and isinstance(value, str):
            policies["queue"] = value
        elif option == "expires" and isinstance(value, int | float | timedelta):
            seconds = value.total_seconds() if isinstance(value, timedelta) else value
            policies["expires_after"] = format_duration(int(seconds * 1000))
        else:
            notes.append(f"the option {option} is not carried over")
    return Found(name=name, task=task, args=args, schedule=schedule, policies=policies, notes=notes, oracle=oracle)


def arguments(positional: list[Any], keywords: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """Arguments by name, as Dueline has them. Those without one go into a list."""
    values = dict(keywords)
    if positional:
        values["args"] = list(positional)
        notes.append("arguments without a name are in args: Dueline's tasks take theirs by name")
    if not _is_json(values):
        raise Unconvertible("an argument is no literal that JSON has: pass it by its name or by reference")
    return values


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(inner) for key, inner in value.items())
    if isinstance(value, list):
        return all(_is_json(inner) for inner in value)
    return value is None or isinstance(value, str | int | float)


def _when(when: Any, zone: str) -> tuple[dict[str, Any], Oracle]:
    if isinstance(when, Call) and when.last == "schedule":
        when = when.args[0] if when.args else when.keywords.get("run_every")
    if isinstance(when, timedelta):
        return every(when.total_seconds())
    if isinstance(when, int | float) and not isinstance(when, bool):
        return every(float(when))
    if isinstance(when, Call) and when.last == "crontab":
        fields = {**dict(zip(_FIELDS, when.args, strict=False)), **when.keywords}
        unknown = sorted(set(fields) - {*_FIELDS, "nowfun", "app"})
        if unknown:
            raise Unconvertible(f"crontab has no field {unknown[0]!r}")
        return crontab({name: fields.get(name, "*") for name in _FIELDS}, zone)
    if isinstance(when, Call) and when.last == "solar":
        raise Unconvertible("follows the sun, and Dueline the clock: choose a time of day")
    raise Unconvertible("its schedule is no crontab(…), timedelta(…), schedule(…) or number of seconds")


def every(seconds: float) -> tuple[dict[str, Any], Oracle]:
    """A fixed rate, from when the job is created."""
    if seconds < 1:
        raise Unconvertible(f"runs every {seconds:g} s: a second is the shortest that a schedule can say")
    return {"every": format_duration(round(seconds * 1000))}, RateOracle(seconds)


def crontab(fields: dict[str, Any], zone: str) -> tuple[dict[str, Any], Oracle]:
    """Celery's five fields, all of which must fit."""
    texts = {name: _text(name, fields[name]) for name in _FIELDS}
    numbers = {name: _numbers(name, text) for name, text in texts.items()}
    times = Times(
        minutes=numbers["minute"],
        hours=numbers["hour"],
        dates=_restricted(numbers["day_of_month"], 31),
        months=_restricted(numbers["month_of_year"], 12),
        weekdays=_restricted(numbers["day_of_week"], 7),
        hours_count_on=texts["hour"].startswith("*"),
    )
    return schedule_of(times, zone), CeleryOracle(*(texts[name] for name in _FIELDS), timezone=zone)


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
