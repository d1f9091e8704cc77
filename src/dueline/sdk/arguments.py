"""What people give to methods, and what the API is sent: Python's own datetimes and timedeltas become text, a URL becomes a target."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

import msgspec

from dueline.domain.errors import Invalid
from dueline.sdk.errors import invalid
from dueline.wire.when import duration_text, instant_text

if TYPE_CHECKING:
    from dueline.wire.notices import NotifyForm
    from dueline.wire.policies import MisfireForm, RetryForm
    from dueline.wire.schedules import ScheduleForm
    from dueline.wire.targets import TargetView

Instant = str | datetime
"""An aware datetime, or RFC 3339: `2026-03-29T01:30:00Z`."""
Duration = str | timedelta
"""A timedelta, or text: `30s`, `1h30m`, `PT15M`."""
Schedule: TypeAlias = "str | timedelta | datetime | Mapping[str, Any] | ScheduleForm"
"""Text in any language of schedules, how often (timedelta), once at an instant (datetime), or an object as the API has it."""

_TARGET = frozenset({"url", "method", "headers", "body", "task", "args"})
_PAYLOADS = frozenset({"body", "args"})
"""What belongs to the target alone: nothing in it is looked at."""


class _Execution(TypedDict, total=False):
    url: str
    """What to call: an HTTP target. `method`, `headers` and `body` go with it."""
    method: str
    headers: Mapping[str, str]
    body: Any
    """Text is sent as it stands, bytes as they are, anything else as JSON."""
    task: str
    """What to carry out, by its name, in place of a URL. `args` goes with it."""
    args: Mapping[str, Any]
    target: Mapping[str, Any] | TargetView
    """All of the target as the API has it, in place of the above."""
    queue: str
    priority: int
    """0 to 9; 9 is the most urgent."""
    fairness_key: str
    region: str
    retry: Mapping[str, Any] | RetryForm
    timeout: Duration
    """Of one attempt."""
    run_timeout: Duration | None
    """Of the whole run, with all its attempts."""
    expires_after: Duration | None
    """How long after it is due a run may still start."""
    requires: Sequence[str]
    concurrency: int | Mapping[str, Any] | None
    rate: Mapping[str, Any] | None
    notify: Mapping[str, Any] | NotifyForm | None
    """Whom to tell of the end of a run: `{"url": "https://…", "on": ["failed"]}`."""
    delivery: str
    tags: Sequence[str]


class DedupeFields(TypedDict, total=False):
    """One run of a key at a time."""

    dedupe_key: str | None
    dedupe_window: Duration | None
    dedupe_states: Sequence[str] | None
    on_conflict: str | None


class JobFields(_Execution, DedupeFields, total=False):
    """What may be said of a job, as keywords. The REST API has the meaning of each."""

    name: str | None
    schedule: Schedule | None
    timezone: str
    """Of a schedule that does not say its own."""
    overlap: str
    misfire: Mapping[str, Any] | MisfireForm
    retention: Duration | None
    """How long finished runs of the job are kept, if not as long as all others."""


class RunFields(_Execution, DedupeFields, total=False):
    """What may be said of a run without a job, as keywords."""

    due_at: Instant | None
    """When, if not at once."""


def written(fields: Mapping[str, Any], whole: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A job or a run as the API has it, of keywords. `whole` is one that has the API's form already; keywords count over it."""
    said = dict(fields)
    own = {name: said.pop(name) for name in _TARGET if name in said}
    zone = said.pop("timezone", None)
    plain = to_plain({**(whole or {}), **said})
    if own:
        if plain.get("target") is not None:
            names = ", ".join(sorted(own))
            raise invalid([("target", f"is given as a whole and by {names}: say it one way")])
        plain["target"] = _target(own)
    if zone is not None:
        plain["schedule"] = _zoned(plain.get("schedule"), zone)
    return plain


def patched(fields: Mapping[str, Any], whole: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The same as a merge patch, which has None where something goes back to its default. A text says all of a schedule, so nothing
    of the one that is there is left beside it."""
    said = dict(fields)
    if "timezone" in said and "schedule" not in said:
        said["schedule"] = {}
    patch = written(said, whole)
    schedule = patch.get("schedule")
    if isinstance(schedule, dict) and schedule.get("text") is not None:
        # Imported here, as all shapes are loaded when one is needed.
        from dueline.wire.schedules import ScheduleForm

        patch["schedule"] = {**dict.fromkeys(ScheduleForm.__struct_encode_fields__), **schedule}
    return patch


def without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What was said at all: None is what people say who leave something out."""
    return {name: value for name, value in fields.items() if value is not None}


def to_plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields with every instant and every duration in them as text; Invalid with each that cannot be."""
    problems: list[tuple[str, str]] = []
    plain = {name: _plain(value, name, problems) for name, value in fields.items()}
    if problems:
        raise invalid(problems)
    return plain


def to_text(moment: Instant | None, field: str) -> str | None:
    """An instant as text; Invalid for a datetime without a zone."""
    text: str | None = to_plain({field: moment})[field]
    return text


def _plain(value: Any, field: str, problems: list[tuple[str, str]]) -> Any:
    if field.rpartition(".")[2] in _PAYLOADS:
        return value
    match value:
        case datetime() | timedelta():
            return _text(value, field, problems)
        case msgspec.Struct():
            return msgspec.to_builtins(value)
        case Mapping():
            return {name: _plain(inner, f"{field}.{name}", problems) for name, inner in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(inner, f"{field}[{index}]", problems) for index, inner in enumerate(value)]
    return value


def _text(value: datetime | timedelta, field: str, problems: list[tuple[str, str]]) -> str | None:
    try:
        if isinstance(value, datetime):
            return instant_text(value, field=field)
        return duration_text(value, field=field)
    except Invalid as error:
        problems.extend(error.problems)
        return None


def _target(own: Mapping[str, Any]) -> dict[str, Any]:
    if "task" in own and "url" in own:
        raise invalid([("target", "is either a url to call or a task to carry out, not both")])
    target: dict[str, Any] = {name: dict(value) if isinstance(value, Mapping) else value for name, value in own.items()}
    body = target.get("body")
    if isinstance(body, bytes):
        del target["body"]
        target["body_base64"] = b64encode(body).decode()
    return target


def _zoned(schedule: Any, zone: str) -> dict[str, Any]:
    match schedule:
        case str():
            return {"text": schedule, "timezone": zone}
        case dict():
            return {"timezone": zone, **schedule}
    raise invalid([("timezone", "means nothing without a schedule")])
