"""APScheduler 3: jobs that a Python file adds, which is read and not run. Its stores hold pickles, which are never opened."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from dueline.domain.errors import Invalid
from dueline.moving.apscheduler_jobs import TRIGGERS, Defaults, found_of
from dueline.moving.documents import read_json
from dueline.moving.entries import Found, Options, Pending, Unconvertible
from dueline.moving.python_values import Module, Reference, dotted

_OF_THE_JOB = frozenset(
    {
        "id",
        "name",
        "args",
        "kwargs",
        "misfire_grace_time",
        "coalesce",
        "max_instances",
        "next_run_time",
        "executor",
        "jobstore",
        "replace_existing",
    }
)


def read_program(text: str, options: Options) -> Iterator[Pending]:
    """What `add_job(…)` and `@scheduled_job(…)` say in a Python file."""
    module = Module(text)
    defaults = _defaults(module, options)
    entries = list(_calls(module, defaults))
    if not entries:
        raise Invalid(("FILE", "has no add_job(…) and no @scheduled_job(…)"))
    yield from entries


def read_jobs(text: str, options: Options) -> Iterator[Pending]:
    """A JSON list of jobs, as Flask-APScheduler has them: `{"id", "func", "trigger": "cron", "hour": 9}`."""
    jobs: list[Any] = []
    for document in read_json(text):
        inner = document.get("jobs", document) if isinstance(document, dict) else document
        jobs += inner if isinstance(inner, list) else [inner]
    defaults = Defaults(options)
    for number, job in enumerate(jobs, 1):
        label = job.get("id") if isinstance(job, dict) else None
        yield f"job {label or number}", _json_reader(job, defaults)


def _json_reader(job: Any, defaults: Defaults) -> Callable[[], Found]:
    return lambda: _of_json(job, defaults)


def _of_json(job: Any, defaults: Defaults) -> Found:
    if not isinstance(job, dict):
        raise Unconvertible("is no object")
    said = dict(job)
    trigger = said.pop("trigger", None)
    function = said.pop("func", None) or said.get("name") or said.get("id")
    if isinstance(trigger, dict):
        said |= {name: value for name, value in trigger.items() if name != "type"}
        trigger = trigger.get("type")
    if not isinstance(function, str):
        raise Unconvertible("has no func")
    return found_of(function, trigger, _split(said), defaults)


def _defaults(module: Module, options: Options) -> Defaults:
    """The zone and the job defaults of the scheduler that the file makes."""
    found = Defaults(options)
    for node in module.nodes():
        if not isinstance(node, ast.Call):
            continue
        name = dotted(node.func).rpartition(".")[2]
        if not name.endswith("Scheduler") and name != "configure":
            continue
        for word in node.keywords:
            try:
                if word.arg == "timezone":
                    found.zone = module.value(word.value)
                elif word.arg == "job_defaults":
                    found.take(module.value(word.value))
            except Unconvertible:
                found.unknown.append(f"{word.arg} of the scheduler cannot be known without running the file")
    return found


def _calls(module: Module, defaults: Defaults) -> Iterator[Pending]:
    for node in module.nodes():
        if isinstance(node, ast.Call) and dotted(node.func).endswith("add_job"):
            yield f"line {node.lineno}", _reader(module, node, None, defaults)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and _schedules(decorator):
                    yield f"line {decorator.lineno}", _reader(module, decorator, node.name, defaults)


def _schedules(decorator: ast.Call) -> bool:
    """Whether it is `scheduled_job(…)`, or Flask-APScheduler's `task("cron", …)`."""
    name = dotted(decorator.func).rpartition(".")[2]
    first = decorator.args[0] if decorator.args else None
    return name == "scheduled_job" or (name == "task" and isinstance(first, ast.Constant) and first.value in TRIGGERS)


def _reader(module: Module, node: ast.Call, function: str | None, defaults: Defaults) -> Callable[[], Found]:
    def read() -> Found:
        call = module.called(node)
        positional = list(call.args)
        target: Any = function
        if function is None:
            target = positional.pop(0) if positional else call.keywords.get("func")
        if isinstance(target, Reference):
            target = target.name
        if not isinstance(target, str):
            raise Unconvertible("the function cannot be known without running the file")
        said = dict(call.keywords)
        said.pop("func", None)
        trigger = positional.pop(0) if positional else said.pop("trigger", None)
        said |= dict(zip(("args", "kwargs", "id", "name"), positional, strict=False))
        return found_of(target, trigger, _split(said), defaults)

    return read


def _split(said: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is said of the job, and what is said of its trigger."""
    of_job = {name: value for name, value in said.items() if name in _OF_THE_JOB}
    return of_job, {name: value for name, value in said.items() if name not in _OF_THE_JOB and value is not None}


def is_program(text: str) -> bool:
    """Whether a file is Python rather than JSON."""
    return not text.lstrip("\ufeff \t\r\n").startswith(("{", "["))
