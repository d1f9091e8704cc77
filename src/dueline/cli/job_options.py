"""The options by which jobs and runs are written, told once: `job create`, `job edit` and `run create` share them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from dueline.cli import options
from dueline.cli.connecting import read_object
from dueline.cli.shared_options import Shared, with_options

_TARGET: dict[str, Any] = {
    "url": options.Url,
    "method": options.Method,
    "header": options.Headers,
    "body": options.Body,
    "connect_timeout": options.ConnectTimeout,
    "expect": options.Expect,
    "task": options.Task,
    "args": options.Args,
    "arg": options.Arg,
}
_SCHEDULE: dict[str, Any] = {
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
}
_RETRY: dict[str, Any] = {
    "retry_attempts": options.RetryAttempts,
    "retry_backoff": options.RetryBackoff,
    "retry_base": options.RetryBase,
    "retry_cap": options.RetryCap,
    "retry_delays": options.RetryDelays,
    "retry_on": options.RetryOn,
    "never_on": options.NeverOn,
}
_LIMITS: dict[str, Any] = {
    "concurrency": options.Concurrency,
    "concurrency_key": options.ConcurrencyKey,
    "rate": options.Rate,
    "rate_burst": options.RateBurst,
    "rate_key": options.RateKey,
}
_EXECUTION: dict[str, Any] = {
    "queue": options.Queue,
    "priority": options.Priority,
    "fairness_key": options.FairnessKey,
    "region": options.Region,
    "tag": options.Tags,
    **_RETRY,
    "timeout": options.Timeout,
    "run_timeout": options.RunTimeout,
    "expires_after": options.ExpiresAfter,
    "require": options.Requires,
    **_LIMITS,
    "notify_url": options.NotifyUrl,
    "notify_on": options.NotifyOn,
    "notify_late_after": options.NotifyLateAfter,
    "delivery": options.Delivery,
}
_DEDUPE: dict[str, Any] = {
    "dedupe_key": options.DedupeKey,
    "dedupe_window": options.DedupeWindow,
    "dedupe_state": options.DedupeStates,
    "on_conflict": options.OnConflict,
}
_JOB: dict[str, Any] = {
    "file": options.FileOption,
    **_TARGET,
    **_SCHEDULE,
    "name": options.Name,
    **_EXECUTION,
    "overlap": options.Overlap,
    "misfire": options.Misfire,
    "misfire_window": options.MisfireWindow,
    "misfire_cap": options.MisfireCap,
    "retention": options.Retention,
    **_DEDUPE,
}
_RUN: dict[str, Any] = {
    "file": options.FileOption,
    **_TARGET,
    "at": options.At,
    "in_": options.In,
    **_EXECUTION,
    **_DEDUPE,
}
_KINDS = ("text", "at", "cron", "calendar", "every", "after", "repeat", "rrule")
SCHEDULE_MEMBERS = (
    *_KINDS,
    *("allow_past", "timezone", "dst_gap", "dst_overlap", "start_at", "end_at", "max_runs", "jitter", "calendars"),
    *("on_excluded", "changed"),
)
"""All that a schedule can have, so that one can take the place of any other."""


class Written(NamedTuple):
    """What somebody wrote of a job or a run: the JSON of a file, and that of the options, which counts where both say something."""

    file: dict[str, Any]
    given: dict[str, Any]

    def whole(self) -> dict[str, Any]:
        return options.overlay(self.file, self.given)

    def patch(self) -> dict[str, Any]:
        """A merge patch. A schedule of any kind replaces the one that is there; a mere companion changes nothing else."""
        schedule = self.given.get("schedule")
        if isinstance(schedule, dict) and any(kind in schedule for kind in _KINDS):
            whole = {**dict.fromkeys(SCHEDULE_MEMBERS), **schedule}
            return options.overlay(self.file, {**self.given, "schedule": whole})
        return self.whole()


def job_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all options that write a job; its parameter `asked` gets what they say, as Written."""
    return with_options(command, _shared(_JOB), partial(_written, _job))


def run_options(command: Callable[..., None]) -> Callable[..., None]:
    """The same for a run without a job."""
    return with_options(command, _shared(_RUN), partial(_written, _run))


def _shared(known: dict[str, Any]) -> dict[str, Shared]:
    return {name: Shared(annotation, False if name == "allow_past" else None) for name, annotation in known.items()}


def _written(to_json: Callable[..., dict[str, Any]], **said: Any) -> Written:
    return Written(read_object(said.pop("file")), to_json(**said))


def _job(**said: Any) -> dict[str, Any]:
    """The JSON that the options stand for."""
    return {
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
        **options.misfire_of(said["misfire"], said["misfire_window"], said["misfire_cap"]),
        **options.given(name=said["name"], overlap=said["overlap"], retention=said["retention"]),
        **options.dedupe_of(*(said[name] for name in _DEDUPE)),
        **_execution(said),
    }


def _run(**said: Any) -> dict[str, Any]:
    return {
        **options.given(due_at=options.instant_of(said["at"], said["in_"])),
        **_execution(said),
        **options.dedupe_of(*(said[name] for name in _DEDUPE)),
    }


def _execution(said: dict[str, Any]) -> dict[str, Any]:
    """What jobs and runs share."""
    return {
        **options.target_of(**{name: said[name] for name in _TARGET}),
        **options.retry_of(**{name: said[name] for name in _RETRY}),
        **options.given(tags=said["tag"], requires=said["require"]),
        **options.concurrency_of(said["concurrency"], said["concurrency_key"]),
        **options.rate_of(said["rate"], said["rate_burst"], said["rate_key"]),
        **options.notify_of(said["notify_url"], said["notify_on"], said["notify_late_after"]),
        **options.given(
            **{
                name: said[name]
                for name in (
                    *("queue", "priority", "fairness_key", "region"),
                    *("timeout", "run_timeout", "expires_after", "delivery"),
                )
            }
        ),
    }
