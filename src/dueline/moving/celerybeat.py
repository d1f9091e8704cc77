"""Celery's beat: the schedule in a Python file, which is read and not run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from datetime import timedelta
from math import isfinite
from typing import Any

from dueline.domain.durations import format_duration
from dueline.domain.errors import Invalid
from dueline.moving.arguments import arguments
from dueline.moving.celery_schedules import FIELDS, HOUSEKEEPING, crontab, every, policies_of
from dueline.moving.entries import (
    Found,
    LeftOut,
    Options,
    Pending,
    Unconvertible,
    checked_zone,
)
from dueline.moving.oracles.walls import Oracle
from dueline.moving.python_values import Call, Module, Reference, Zone, dotted

SCHEDULE_NAMES = frozenset({"beat_schedule", "CELERY_BEAT_SCHEDULE", "CELERYBEAT_SCHEDULE"})
_ZONE_NAMES = frozenset({"timezone", "CELERY_TIMEZONE"})
_UTC_NAMES = frozenset({"enable_utc", "CELERY_ENABLE_UTC"})
_DEADLINE_NAMES = frozenset({"beat_cron_starting_deadline", "CELERY_BEAT_CRON_STARTING_DEADLINE"})
_LOST_OPTIONS = frozenset({"exchange", "routing_key", "priority", "countdown", "eta", "headers", "serializer", "link"})


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
        return float(said) if isinstance(said, int | float) and isfinite(said) else None

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
            for label, part in _items(module, value):
                yield f"line {part.lineno}, {label}", _Entry(module, settings, label, part).read
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and dotted(target.value).rpartition(".")[2] in SCHEDULE_NAMES:
                    name = str(target.slice.value) if isinstance(target.slice, ast.Constant) else "entry"
                    yield f"line {node.lineno}, {name}", _Entry(module, settings, name, node.value).read
        if isinstance(node, ast.Call) and dotted(node.func).endswith("add_periodic_task"):
            yield f"line {node.lineno}", _Added(module, settings, node).read


def _items(module: Module, node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The entries of a dict in the file, and of those that are merged into it; what is no dict is one entry, and refused as such."""
    held = module.meant(node)
    if not isinstance(held, ast.Dict):
        yield "beat_schedule", node
        return
    for key, part in zip(held.keys, held.values, strict=True):
        if key is None:
            yield from _items(module, part)
        else:
            yield (key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else "entry"), part


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
            raise Unconvertible(
                "is no dict with task and schedule in the file: what a run puts together cannot be read"
            )
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
    positional: Any,
    keywords: Any,
    options: Any,
    settings: _Settings,
    notes: list[str],
) -> Found:
    """A job of what an entry says."""
    crontab = isinstance(when, Call) and when.last == "crontab"
    zone = settings.zone() if crontab else "UTC"
    schedule, oracle = _when(when, zone)
    policies = policies_of(settings.deadline_s() if crontab else None)
    args = arguments(positional, keywords, notes)
    if not isinstance(options, dict):
        raise Unconvertible("its options are no dict with values in the file")
    for option, value in options.items():
        if option == "queue" and isinstance(value, str):
            policies["queue"] = value
        elif option == "expires" and (seconds := _seconds(value)) is not None:
            policies["expires_after"] = format_duration(int(seconds * 1000))
        else:
            notes.append(f"the option {option} is not carried over")
    return Found(name=name, task=task, args=args, schedule=schedule, policies=policies, notes=notes, oracle=oracle)


def _seconds(value: Any) -> float | None:
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value if isinstance(value, int | float) and isfinite(value) else None


def _when(when: Any, zone: str) -> tuple[dict[str, Any], Oracle]:
    if isinstance(when, Call) and when.last == "schedule":
        when = when.args[0] if when.args else when.keywords.get("run_every")
    if isinstance(when, timedelta):
        return every(when.total_seconds())
    if isinstance(when, int | float) and not isinstance(when, bool):
        return every(float(when))
    if isinstance(when, Call) and when.last == "crontab":
        fields = {**dict(zip(FIELDS, when.args, strict=False)), **when.keywords}
        unknown = sorted(set(fields) - {*FIELDS, "nowfun", "app"})
        if unknown:
            raise Unconvertible(f"crontab has no field {unknown[0]!r}")
        return crontab({name: fields.get(name, "*") for name in FIELDS}, zone)
    if isinstance(when, Call) and when.last == "solar":
        raise Unconvertible("follows the sun, and Dueline the clock: choose a time of day")
    raise Unconvertible("its schedule is no crontab(…), timedelta(…), schedule(…) or number of seconds")
