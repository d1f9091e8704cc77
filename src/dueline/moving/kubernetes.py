"""Kubernetes' CronJobs, from manifests or from `kubectl get cronjobs -o yaml`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from dueline.domain import limits
from dueline.domain.durations import format_duration
from dueline.domain.errors import Invalid
from dueline.moving.documents import read_yaml
from dueline.moving.entries import (
    HOWEVER_LATE,
    LONGEST_TIMEOUT,
    Found,
    Options,
    Pending,
    Unconvertible,
    checked_zone,
    on_clock_changes,
)
from dueline.moving.oracles.kubernetes import KubernetesOracle
from dueline.moving.oracles.plain import RateOracle
from dueline.moving.oracles.walls import Oracle
from dueline.moving.terms import MONTHS, Field, read_terms

OVERLAPS = {"Allow": "allow", "Forbid": "skip", "Replace": "cancel_previous"}
BACKOFF_LIMIT = 6
"""How often Kubernetes tries again unless a Job says otherwise: first after ten seconds, at last every six minutes."""
_MACROS = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_EVERY = re.compile(r"@every ((?:[0-9]+(?:\.[0-9]+)?(?:h|m|s))+)")
_PART = re.compile(r"([0-9.]+)(h|m|s)")
_UNITS_S = {"h": 3_600.0, "m": 60.0, "s": 1.0}
_ZONE = re.compile(r"(?:CRON_TZ|TZ)=(\S+)\s+(.*)")
_DAYS = ("day of month", "day of week")
_FIELDS = (
    Field("minute", 0, 59),
    Field("hour", 0, 23),
    Field("day of month", 1, 31),
    Field("month", 1, 12, MONTHS),
    Field("day of week", 0, 6, {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}),
)
_LOST_OF_JOB = (
    "completions",
    "parallelism",
    "podFailurePolicy",
    "successPolicy",
    "completionMode",
    "backoffLimitPerIndex",
)
_LOST_OF_POD = (
    "initContainers",
    "volumes",
    "serviceAccountName",
    "nodeSelector",
    "affinity",
    "tolerations",
    "imagePullSecrets",
)
_LOST_OF_CONTAINER = ("envFrom", "volumeMounts", "resources", "workingDir", "securityContext")


def read_cronjobs(text: str, options: Options) -> Iterator[Pending]:
    """The CronJobs of a file; what else is in it is left alone."""
    found = [manifest for document in read_yaml(text) for manifest in _manifests(document)]
    if not found:
        raise Invalid(("FILE", "has no object of the kind CronJob"))
    for number, manifest in enumerate(found, 1):
        yield f"CronJob {_name(manifest) or number}", _reader(manifest, options)


def _reader(manifest: dict[str, Any], options: Options) -> Callable[[], Found]:
    return lambda: _found(manifest, options)


def _manifests(document: Any) -> Iterator[dict[str, Any]]:
    if isinstance(document, list):
        for inner in document:
            yield from _manifests(inner)
    elif isinstance(document, dict):
        if document.get("kind") == "CronJob":
            yield document
        elif isinstance(document.get("items"), list):
            yield from _manifests(document["items"])


def _name(manifest: dict[str, Any]) -> str:
    metadata = _object(manifest, "metadata")
    name, namespace = metadata.get("name") or metadata.get("generateName"), metadata.get("namespace")
    return "" if not name else f"{namespace}/{name}" if namespace and namespace != "default" else str(name)


def _found(manifest: dict[str, Any], options: Options) -> Found:
    spec = _object(manifest, "spec")
    name = _name(manifest)
    if not name:
        raise Unconvertible("has no metadata.name")
    if not isinstance(spec.get("schedule"), str):
        raise Unconvertible("has no spec.schedule")
    notes: list[str] = []
    schedule, oracle = _when(spec, options, notes)
    job = _object(_object(spec, "jobTemplate"), "spec")
    pod = _object(_object(job, "template"), "spec")
    return Found(
        name=name,
        task=name.rpartition("/")[2],
        args=_container(pod, notes),
        schedule=schedule,
        policies=_policies(spec, job, pod, notes),
        notes=notes,
        oracle=oracle,
        disabled=spec.get("suspend") is True,
    )


def _when(spec: dict[str, Any], options: Options, notes: list[str]) -> tuple[dict[str, Any], Oracle]:
    text, zone = " ".join(spec["schedule"].split()), spec.get("timeZone")
    written = _ZONE.fullmatch(text)
    if written is not None:
        zone, text = zone or written[1], written[2]
        notes.append("names its zone in the schedule, which Kubernetes no longer takes")
    if not zone and options.timezone is None:
        notes.append("names no timeZone: taken as UTC; say --timezone if the controller has another")
    zone = checked_zone(str(zone or options.zone))
    length = _EVERY.fullmatch(text)
    if length is not None:
        seconds = sum(float(part[1]) * _UNITS_S[part[2]] for part in _PART.finditer(length[1]))
        notes.append("counts from when the job is created, not from when the CronJob was")
        return {"every": format_duration(round(seconds * 1000))}, RateOracle(seconds)
    if text.startswith("@"):
        if text not in _MACROS:
            raise Unconvertible(f"{text} is not known: write the five fields that it stands for")
        cron = text
    else:
        cron = _cron(text)
    changes = on_clock_changes(zone, gap="skip", overlap="both")
    return {"cron": cron, "timezone": zone, **changes}, KubernetesOracle(text, zone)


def _cron(text: str) -> str:
    """The expression as Dueline means it: a stepped star in a field for days restricts it here, and is a star there."""
    fields = text.split()
    if len(fields) != 5:
        raise Unconvertible(f"the schedule has {len(fields)} fields, not 5")
    return " ".join(_spelt(field, written) for field, written in zip(_FIELDS, fields, strict=True))


def _spelt(field: Field, text: str) -> str:
    terms = read_terms(field, text)
    if field.name not in _DAYS:
        return text.replace("?", "*")
    if any(term.star and term.step in (None, 1) for term in terms):
        return "*"
    whole = f"{field.low}-{field.high}"
    return ",".join(f"{whole}/{term.step}" if term.star else term.text.upper() for term in terms)


def _policies(spec: dict[str, Any], job: dict[str, Any], pod: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    overlap = OVERLAPS.get(str(spec.get("concurrencyPolicy") or "Allow"))
    if overlap is None:
        raise Unconvertible(f"concurrencyPolicy {spec['concurrencyPolicy']!r} is none of {', '.join(OVERLAPS)}")
    if overlap == "skip":
        notes.append(
            "Kubernetes may start the last one that it skipped when the one before ends: overlap queue_one does that"
        )
    attempts = _number(job, "backoffLimit", BACKOFF_LIMIT) + 1
    if attempts > limits.ATTEMPTS_MAX:
        notes.append(f"backoffLimit is brought down: Dueline makes at most {limits.ATTEMPTS_MAX} attempts")
    deadline_s = _number(spec, "startingDeadlineSeconds", -1)
    whole_s, attempt_s = _number(job, "activeDeadlineSeconds", 0), _number(pod, "activeDeadlineSeconds", 0)
    policies: dict[str, Any] = {
        "timeout": LONGEST_TIMEOUT,
        "retry": {"max_attempts": min(attempts, limits.ATTEMPTS_MAX), "base": "PT10S", "cap": "PT6M"},
        "overlap": overlap,
        "misfire": {
            "policy": "fire_once",
            "window": HOWEVER_LATE if deadline_s < 0 else format_duration(deadline_s * 1000),
        },
    }
    shortest_s = min((number for number in (whole_s, attempt_s) if number), default=0)
    if shortest_s:
        policies["timeout"] = format_duration(min(shortest_s * 1000, limits.TIMEOUT_MS_MAX))
    if whole_s:
        policies["run_timeout"] = format_duration(min(whole_s * 1000, limits.RUN_TIMEOUT_MS_MAX))
    notes += [f"jobTemplate.spec.{name} is not carried over" for name in _LOST_OF_JOB if job.get(name) not in (None, 1)]
    return policies


def _container(pod: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """What the first container runs, as arguments."""
    containers = [one for one in _list(pod, "containers") if isinstance(one, dict)]
    if not containers:
        raise Unconvertible("has no container")
    first = containers[0]
    if len(containers) > 1:
        others = ", ".join(str(one.get("name")) for one in containers[1:])
        notes.append(f"the containers {others} are not carried over: only {first.get('name')} is")
    args: dict[str, Any] = {name: first[name] for name in ("image", "command", "args") if first.get(name)}
    variables = [one for one in _list(first, "env") if isinstance(one, dict)]
    environment = {str(one.get("name")): str(one["value"]) for one in variables if "value" in one}
    if environment:
        args["env"] = environment
    elsewhere = [str(one.get("name")) for one in variables if "valueFrom" in one]
    if elsewhere:
        notes.append(f"the values of {', '.join(elsewhere)} come from elsewhere: give them to the worker")
    lost = [name for name in _LOST_OF_POD if pod.get(name)] + [name for name in _LOST_OF_CONTAINER if first.get(name)]
    if lost:
        notes.append(f"of the pod, these are not carried over: {', '.join(lost)}")
    return args


def _object(holder: dict[str, Any], name: str) -> dict[str, Any]:
    value = holder.get(name)
    return value if isinstance(value, dict) else {}


def _list(holder: dict[str, Any], name: str) -> list[Any]:
    value = holder.get(name)
    return value if isinstance(value, list) else []


def _number(holder: dict[str, Any], name: str, otherwise: int) -> int:
    value = holder.get(name)
    if value is None:
        return otherwise
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Unconvertible(f"{name} {value!r} is no number")
    return value
