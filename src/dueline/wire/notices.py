"""Whom to tell of the ends of runs, as people write it."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from dueline.domain import limits
from dueline.domain.durations import format_duration
from dueline.domain.job import Notify
from dueline.domain.states import TERMINAL, RunState
from dueline.domain.templates import as_text, compile_template
from dueline.wire.labels import read_duration
from dueline.wire.problems import Problems
from dueline.wire.targets import check_headers, check_url

_ENDS = tuple(state for state in RunState if state in TERMINAL)
_ON = [RunState.FAILED.value, RunState.EXPIRED.value]
_NO_PLACES = "must not have places for values: the body says which run it is"


class NotifyForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call that tells of the end of a run. `on` names the states of ends that are told; `late_after`: also any that comes later."""

    url: str | UnsetType
    on: list[str] = msgspec.field(default_factory=_ON.copy)
    headers: dict[str, str] = {}
    sign: bool = True
    late_after: str | None = None


def to_notify(form: NotifyForm | None, problems: Problems) -> Notify | None:
    """What was asked for; problems are told as `notify.…`."""
    if form is None:
        return None
    for index, state in enumerate(form.on):
        if state not in _ENDS:
            problems.add(f"notify.on[{index}]", f"must be one of {', '.join(_ENDS)}")
    late_after_ms = None
    if form.late_after is not None:
        late_after_ms = read_duration(
            form.late_after, "notify.late_after", problems, least_ms=1_000, most_ms=limits.LATE_AFTER_MS_MAX
        )
    elif not form.on:
        problems.add(
            "notify.on",
            f"must name an end: {', '.join(_ENDS)}, unless there is a late_after. Leave notify out to be told of none",
        )
    url = "" if form.url is UNSET else form.url
    if compile_template(url, as_text) is not None:
        problems.add("notify.url", _NO_PLACES)
    elif form.url is not UNSET:
        check_url(url, problems, field="notify.url", has_job=False)
    check_headers(form.headers, problems, field="notify.headers", has_job=False)
    for name, value in form.headers.items():
        if compile_template(value, as_text) is not None:
            problems.add(f"notify.headers.{name}", _NO_PLACES)
    told = tuple(state for state in _ENDS if state in form.on)
    return Notify(url=url, on=told, headers=form.headers, sign=form.sign, late_after_ms=late_after_ms)


def notify_form(notify: Notify | None) -> NotifyForm | None:
    if notify is None:
        return None
    return NotifyForm(
        url=notify.url,
        on=list(notify.on),
        headers=notify.headers,
        sign=notify.sign,
        late_after=None if notify.late_after_ms is None else format_duration(notify.late_after_ms),
    )
