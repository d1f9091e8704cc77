"""Celery's beat with its schedule in Django's database: a dump of `django_celery_beat`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from dueline.domain.durations import format_duration
from dueline.domain.errors import Invalid
from dueline.domain.instants import from_datetime
from dueline.moving.arguments import arguments
from dueline.moving.celery_schedules import FIELDS, HOUSEKEEPING, crontab, every, policies_of
from dueline.moving.documents import read_json
from dueline.moving.entries import Found, LeftOut, Options, Pending, Unconvertible, checked_zone, instant_text
from dueline.moving.oracles.plain import FirstOracle, OnceOracle, RateOracle
from dueline.moving.oracles.walls import Oracle

_APP = "django_celery_beat."
_PERIODS_S = {"days": 86_400.0, "hours": 3_600.0, "minutes": 60.0, "seconds": 1.0, "microseconds": 0.000001}
_LOST = ("exchange", "routing_key", "priority")


Tables = dict[tuple[str, str], dict[str, Any]]
"""Rows by their table and key."""


def read_dump(text: str, options: Options) -> Iterator[Pending]:
    """The periodic tasks of `manage.py dumpdata django_celery_beat`."""
    rows = [row for document in read_json(text) for row in (document if isinstance(document, list) else [document])]
    tables: Tables = {}
    for row in rows:
        model = row.get("model") if isinstance(row, dict) else None
        if isinstance(model, str) and model.startswith(_APP) and isinstance(row.get("fields"), dict):
            tables[model.removeprefix(_APP), str(row.get("pk"))] = row["fields"]
    tasks = [(key[1], fields) for key, fields in tables.items() if key[0] == "periodictask"]
    if not tasks:
        raise Invalid(
            ("FILE", "has no django_celery_beat.periodictask: write it with manage.py dumpdata django_celery_beat")
        )
    for pk, fields in tasks:
        yield f"periodic task {fields.get('name') or pk}", _reader(fields, tables, options)


def _reader(fields: dict[str, Any], tables: Tables, options: Options) -> Callable[[], Found]:
    return lambda: _found(fields, tables, options)


def _found(fields: dict[str, Any], tables: Tables, options: Options) -> Found:
    task = str(fields.get("task") or "")
    if task == HOUSEKEEPING:
        raise LeftOut("is Celery's own housekeeping")
    notes: list[str] = []
    schedule, oracle = _when(fields, tables, options)
    schedule, oracle = _bounded(fields, schedule, oracle, options)
    policies = policies_of()
    if fields.get("queue"):
        policies["queue"] = str(fields["queue"])
    if fields.get("expire_seconds"):
        policies["expires_after"] = format_duration(_whole(fields, "expire_seconds") * 1000)
    notes += [f"{name} is not carried over" for name in _LOST if fields.get(name)]
    if _json(fields, "headers", {}):
        notes.append("headers are not carried over")
    return Found(
        name=str(fields.get("name") or task),
        task=task,
        args=arguments(_json(fields, "args", []), _json(fields, "kwargs", {}), notes),
        schedule=schedule,
        policies=policies,
        notes=notes,
        oracle=oracle,
        disabled=fields.get("enabled") is False,
    )


def _when(fields: dict[str, Any], tables: Tables, options: Options) -> tuple[dict[str, Any], Oracle]:
    for kind in ("crontab", "interval", "clocked", "solar"):
        if fields.get(kind) is None:
            continue
        row = tables.get((f"{kind}schedule", str(fields[kind])))
        if row is None:
            raise Unconvertible(f"names the {kind} {fields[kind]!r}, which is not in the dump: dump the whole app")
        if kind == "crontab":
            zone = checked_zone(str(row.get("timezone") or options.zone))
            return crontab({name: str(row.get(name, "*")).replace(" ", "") for name in FIELDS}, zone)
        if kind == "interval":
            return every(_PERIODS_S.get(str(row.get("period")), 0.0) * _whole(row, "every"))
        if kind == "clocked":
            at_ms = _instant(row.get("clocked_time"), "clocked_time")
            if at_ms <= options.now_ms:
                raise LeftOut("its one time is past")
            return {"at": instant_text(at_ms)}, OnceOracle(at_ms // 1000)
        raise Unconvertible("follows the sun, and Dueline the clock: choose a time of day")
    raise Unconvertible("has no schedule")


def _bounded(
    fields: dict[str, Any], schedule: dict[str, Any], oracle: Oracle, options: Options
) -> tuple[dict[str, Any], Oracle]:
    """The schedule between its start and its end, once or for ever."""
    if "at" in schedule:
        return schedule, oracle
    start_s = end_s = count = None
    if fields.get("start_time"):
        start_ms = _instant(fields["start_time"], "start_time")
        if start_ms > options.now_ms:
            schedule, start_s = schedule | {"start_at": instant_text(start_ms)}, start_ms // 1000
    if fields.get("expires"):
        end_ms = _instant(fields["expires"], "expires")
        if end_ms <= options.now_ms:
            raise LeftOut("has expired")
        schedule, end_s = schedule | {"end_at": instant_text(end_ms)}, end_ms // 1000
    if fields.get("one_off"):
        if fields.get("total_run_count"):
            raise LeftOut("ran once, as it was meant to")
        schedule, count = schedule | {"max_runs": 1}, 1
    if isinstance(oracle, RateOracle):
        oracle = RateOracle(oracle.period_s, start_s, end_s)
        return schedule, oracle if count is None else FirstOracle(oracle, count)
    return schedule, oracle if start_s is end_s is count is None else FirstOracle(oracle, count, start_s, end_s)


def _json(fields: dict[str, Any], name: str, otherwise: Any) -> Any:
    """A column that holds JSON as text."""
    text = fields.get(name)
    try:
        value = json.loads(text) if isinstance(text, str) and text.strip() else text
    except ValueError:
        raise Unconvertible(f"{name} is not JSON") from None
    value = otherwise if value is None or value == "" else value
    if not isinstance(value, type(otherwise)):
        raise Unconvertible(f"{name} is no {'list' if isinstance(otherwise, list) else 'object'}")
    return value


def _whole(row: dict[str, Any], name: str) -> int:
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Unconvertible(f"{name} {value!r} is no number")
    return value


def _instant(value: Any, name: str) -> int:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        raise Unconvertible(f"{name}: {value!r} is no time") from None
    # Django writes times in UTC where it supports zones, and without one where it does not.
    return from_datetime(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))
