"""The options by which a job is written: the same for `job create` and `job edit`, told once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from dueline.cli import options
from dueline.cli.connecting import read_object

_OPTIONS: dict[str, Any] = {
    "file": options.FileOption,
    "url": options.Url,
    "method": options.Method,
    "header": options.Headers,
    "body": options.Body,
    "schedule": options.ScheduleText,
    "at": options.At,
    "in_": options.In,
    "cron": options.Cron,
    "every": options.Every,
    "after": options.After,
    "repeat": options.Repeat,
    "rrule": options.Rrule,
    "timezone": options.Timezone,
    "dst_gap": options.DstGap,
    "dst_overlap": options.DstOverlap,
    "start_at": options.StartAt,
    "end_at": options.EndAt,
    "max_runs": options.MaxRuns,
    "jitter": options.Jitter,
    "calendar": options.Calendars,
    "on_excluded": options.OnExcluded,
    "allow_past": options.AllowPast,
    "name": options.Name,
    "queue": options.Queue,
    "priority": options.Priority,
    "region": options.Region,
    "tag": options.Tags,
    "retry_attempts": options.RetryAttempts,
    "retry_backoff": options.RetryBackoff,
    "retry_base": options.RetryBase,
    "retry_cap": options.RetryCap,
    "timeout": options.Timeout,
    "overlap": options.Overlap,
    "misfire": options.Misfire,
    "misfire_window": options.MisfireWindow,
    "misfire_cap": options.MisfireCap,
    "delivery": options.Delivery,
}
_KINDS = ("text", "at", "cron", "calendar", "every", "after", "repeat", "rrule")
SCHEDULE_MEMBERS = (
    *_KINDS,
    *("allow_past", "timezone", "dst_gap", "dst_overlap", "start_at", "end_at", "max_runs", "jitter", "calendars"),
    *("on_excluded", "changed"),
)
"""All that a schedule can have, so that one can take the place of any other."""


class Written(NamedTuple):
    """What somebody wrote of a job: the JSON of a file, and that of the options, which counts where both say something."""

    file: dict[str, Any]
    given: dict[str, Any]

    def job(self) -> dict[str, Any]:
        return options.overlay(self.file, self.given)

    def patch(self) -> dict[str, Any]:
        """A merge patch. A schedule of any kind replaces the one that is there; a mere companion changes nothing else."""
        schedule = self.given.get("schedule")
        if isinstance(schedule, dict) and any(kind in schedule for kind in _KINDS):
            whole = {**dict.fromkeys(SCHEDULE_MEMBERS), **schedule}
            return options.overlay(self.file, {**self.given, "schedule": whole})
        return self.job()


def job_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all options that write a job; its parameter `asked` gets what they say, as Written."""
    own = inspect.signature(command, eval_str=True).parameters
    parameters: list[inspect.Parameter] = []
    for name, parameter in own.items():
        if name == "asked":
            parameters += [_parameter(option, annotation) for option, annotation in _OPTIONS.items()]
        else:
            parameters.append(parameter)

    def run(**values: Any) -> None:
        said = {name: values.pop(name) for name in _OPTIONS}
        command(**values, asked=Written(read_object(said.pop("file")), _job(**said)))

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    vars(run)["__signature__"] = inspect.Signature(parameters)
    return run


def _parameter(name: str, annotation: Any) -> inspect.Parameter:
    default = False if name == "allow_past" else None
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)


def _job(**said: Any) -> dict[str, Any]:
    """The JSON that the options stand for."""
    return {
        **options.target_of(said["url"], said["method"], said["header"], said["body"]),
        **options.schedule_of(
            said["schedule"],
            at=options.instant_of(said["at"], said["in_"]),
            allow_past=said["allow_past"] or None,
            calendars=said["calendar"],
            **{
                name: said[name]
                for name in ("cron", "every", "after", "repeat", "rrule", "timezone", "dst_gap", "dst_overlap")
            },
            **{name: said[name] for name in ("start_at", "end_at", "max_runs", "jitter", "on_excluded")},
        ),
        **options.retry_of(said["retry_attempts"], said["retry_backoff"], said["retry_base"], said["retry_cap"]),
        **options.misfire_of(said["misfire"], said["misfire_window"], said["misfire_cap"]),
        **options.given(tags=said["tag"]),
        **options.given(
            **{name: said[name] for name in ("name", "queue", "priority", "region", "timeout", "overlap", "delivery")}
        ),
    }
