"""The shapes in which EventBridge's schedules come: answers of its API, CloudFormation templates, and Terraform's state and files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from dueline.domain.errors import Invalid
from dueline.moving.documents import read_json

_SCHEDULE_TYPES = frozenset({"AWS::Scheduler::Schedule", "aws_scheduler_schedule"})
_RULE_TYPES = frozenset({"AWS::Events::Rule", "aws_cloudwatch_event_rule"})
_TARGET_TYPE = "aws_cloudwatch_event_target"
_ELSEWHERE = "its {} is put together elsewhere: write it as text"
_NOTHING = (
    "has no schedule: it takes what aws scheduler get-schedule and aws events describe-rule answer, CloudFormation as JSON, "
    "terraform show -json, and *.tf.json"
)


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule and one target, by whatever names the file has for them."""

    place: str
    name: str
    expression: str = ""
    timezone: str | None = None
    start: Any = None
    end: Any = None
    state: str = "ENABLED"
    flexible_minutes: int = 0
    target: dict[str, Any] = {}
    retries: int | None = None
    event_age_s: int | None = None
    dead_letters: bool = False
    deleted_after: bool = False
    notes: tuple[str, ...] = ()
    problem: str | None = None


def described(text: str) -> list[Described]:
    """Everything in a file that has, or should have, a schedule."""
    found = [one for document in read_json(text) for one in _documents(document)]
    if not found:
        raise Invalid(("FILE", _NOTHING))
    return found


def _documents(value: Any) -> Iterator[Described]:
    if isinstance(value, list):
        for inner in value:
            yield from _documents(inner)
    if not isinstance(value, dict):
        return
    if isinstance(value.get("Resources"), dict):
        for label, resource in value["Resources"].items():
            if isinstance(resource, dict) and isinstance(resource.get("Properties"), dict):
                yield from _resource(str(label), str(resource.get("Type")), resource["Properties"], {})
    elif isinstance(value.get("resource"), dict):
        yield from _terraform(_tf_resources(value["resource"]))
    elif isinstance(value.get("values") or value.get("planned_values"), dict):
        root = (value.get("values") or value["planned_values"]).get("root_module")
        yield from _terraform(list(_state_resources(root)))
    elif isinstance(value.get("Schedules"), list):
        yield from _documents(value["Schedules"])
    elif isinstance(value.get("Rules"), list):
        for rule in value["Rules"]:
            if isinstance(rule, dict):
                yield from _rule(str(rule.get("Name")), rule, {})
    elif "Targets" in value or "EventPattern" in value or ":rule/" in str(value.get("Arn")):
        yield from _rule(str(value.get("Name")), value, {})
    elif "Name" in value and ("ScheduleExpression" in value or "Target" in value):
        yield _schedule(str(value["Name"]), value)


def _resource(label: str, kind: str, properties: dict[str, Any], targets: dict[str, Any]) -> Iterator[Described]:
    if kind in _SCHEDULE_TYPES:
        yield _schedule(label, properties)
    elif kind in _RULE_TYPES:
        yield from _rule(label, properties, targets)


def _terraform(resources: list[tuple[str, str, dict[str, Any]]]) -> Iterator[Described]:
    """Rules and their targets are resources of their own there, which name one another."""
    targets: dict[str, Any] = {}
    for _, kind, values in resources:
        if kind == _TARGET_TYPE:
            targets.setdefault(_referred(values.get("rule")), []).append(values)
    for label, kind, values in resources:
        yield from _resource(label, kind, values, targets)


def _tf_resources(kinds: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (label, kind, _block(labelled, label))
        for kind, labelled in kinds.items()
        if isinstance(labelled, dict)
        for label in labelled
    ]


def _state_resources(module: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    if not isinstance(module, dict):
        return
    for resource in _list(module, "resources"):
        if isinstance(resource, dict) and isinstance(resource.get("values"), dict):
            yield str(resource.get("name")), str(resource.get("type")), resource["values"]
    for inner in _list(module, "child_modules"):
        yield from _state_resources(inner)


def _referred(value: Any) -> str:
    """The rule that a target names: `${aws_cloudwatch_event_rule.nightly.name}` is nightly."""
    text = str(value)
    parts = text.strip("${}").split(".")
    return parts[1] if text.startswith("${") and len(parts) > 2 else text


def _schedule(label: str, values: dict[str, Any]) -> Described:
    name = _text(values, "Name", "name") or label
    group = _text(values, "GroupName", "group_name")
    window = _block(values, "FlexibleTimeWindow", "flexible_time_window")
    minutes = _whole(window, "MaximumWindowInMinutes", "maximum_window_in_minutes") or 0
    zone = _either(values, "ScheduleExpressionTimezone", "schedule_expression_timezone")
    return _with_target(
        _block(values, "Target", "target"),
        place=f"schedule {name}",
        name=f"{group}/{name}" if group and group != "default" else name,
        values=values,
        timezone=zone if isinstance(zone, str) else None,
        problem=None if zone is None or isinstance(zone, str) else _ELSEWHERE.format("ScheduleExpressionTimezone"),
        start=_either(values, "StartDate", "start_date"),
        end=_either(values, "EndDate", "end_date"),
        flexible_minutes=minutes if _either(window, "Mode", "mode") == "FLEXIBLE" else 0,
        deleted_after=_either(values, "ActionAfterCompletion", "action_after_completion") == "DELETE",
    )


def _rule(label: str, values: dict[str, Any], elsewhere: dict[str, Any]) -> Iterator[Described]:
    name = _text(values, "Name", "name") or label
    place = f"rule {name}"
    if not _either(values, "ScheduleExpression", "schedule_expression"):
        # A rule for events has no time of its own, and is no business of a scheduler.
        return
    targets = [one for one in _list(values, "Targets") if isinstance(one, dict)]
    targets = targets or elsewhere.get(label) or elsewhere.get(name) or []
    if not targets:
        yield _with_target(
            {},
            place=place,
            name=name,
            values=values,
            notes=("its targets are not in the file: the task is named after it",),
        )
    for number, target in enumerate(targets, 1):
        ident = _text(target, "Id", "target_id") or number
        yield _with_target(
            target,
            place=place if len(targets) == 1 else f"{place}, target {ident}",
            name=name if len(targets) == 1 else f"{name}-{ident}",
            values=values,
        )


def _with_target(
    target: dict[str, Any], *, values: dict[str, Any], problem: str | None = None, **said: Any
) -> Described:
    expression = _either(values, "ScheduleExpression", "schedule_expression")
    if expression is None:
        problem = "has no ScheduleExpression: list-schedules leaves it out, so use get-schedule for each name"
    elif not isinstance(expression, str):
        problem = _ELSEWHERE.format("ScheduleExpression")
    retry = _block(target, "RetryPolicy", "retry_policy")
    return Described(
        expression=expression if isinstance(expression, str) else "",
        state=_state(values),
        target=target,
        retries=_whole(retry, "MaximumRetryAttempts", "maximum_retry_attempts"),
        event_age_s=_whole(retry, "MaximumEventAgeInSeconds", "maximum_event_age_in_seconds"),
        dead_letters=bool(_block(target, "DeadLetterConfig", "dead_letter_config")),
        problem=problem,
        **said,
    )


def _state(values: dict[str, Any]) -> str:
    if values.get("is_enabled") is False:
        return "DISABLED"
    return _text(values, "State", "state") or "ENABLED"


def _either(values: dict[str, Any], *names: str) -> Any:
    return next((values[name] for name in names if values.get(name) is not None), None)


def _text(values: dict[str, Any], *names: str) -> str | None:
    value = _either(values, *names)
    return value if isinstance(value, str) else None


def _list(values: dict[str, Any], name: str) -> list[Any]:
    value = values.get(name)
    return value if isinstance(value, list) else []


def _block(values: dict[str, Any], *names: str) -> dict[str, Any]:
    """A block; Terraform has them as lists of one."""
    value = _either(values, *names)
    if isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, dict) else {}


def _whole(values: dict[str, Any], *names: str) -> int | None:
    value = _either(values, *names)
    text = str(value)
    return int(text) if text.isdigit() else None
