"""Options that several commands share, and the JSON that they stand for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from dueline.cli.connecting import read_payload
from dueline.cli.naming import job_id_of, job_id_of_its_runs, propose_jobs
from dueline.domain.durations import parse_duration
from dueline.domain.instants import format_instant
from dueline.runtime.clock import SystemClock
from dueline.wire.reading import Unreadable, decode

_RATE = re.compile(r"([0-9]{1,12}) */ *(.+)")

JobId = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="The id of the job, or its name.", callback=job_id_of, autocompletion=propose_jobs
    ),
]
OfJob = Annotated[
    str | None,
    typer.Option(
        "--job",
        metavar="ID",
        help="Only of a job, by its id or its name.",
        callback=job_id_of_its_runs,
        autocompletion=propose_jobs,
    ),
]
FileOption = Annotated[
    Path | None, typer.Option("--file", "-f", help="A file with the JSON, - for standard input; options override it.")
]
Url = Annotated[str | None, typer.Option("--url", help="The URL to call.")]
Method = Annotated[str | None, typer.Option("--method", help="The HTTP method. Default: POST.")]
Headers = Annotated[list[str] | None, typer.Option("--header", help="A header, as 'Name: value'; repeat it.")]
Body = Annotated[
    str | None, typer.Option("--body", help="The body: a JSON object or list, or any text; @FILE takes it from a file.")
]
ConnectTimeout = Annotated[
    str | None, typer.Option("--connect-timeout", help="How long connecting may take. Default: 10s.")
]
Expect = Annotated[
    list[str] | None,
    typer.Option("--expect", help="A status that is a success: 200, 2xx or 200-204; repeat it. Default: 2xx."),
]
Task = Annotated[str | None, typer.Option("--task", help="The task to carry out, in place of a URL to call.")]
Args = Annotated[str | None, typer.Option("--args", help="Its arguments: a JSON object; @FILE takes them from a file.")]
Arg = Annotated[
    list[str] | None,
    typer.Option("--arg", help="One argument, as name=value; repeat it. A value that is not JSON is text."),
]
Queue = Annotated[str | None, typer.Option("--queue", help="The queue. Default: default.")]
Priority = Annotated[int | None, typer.Option("--priority", help="0 to 9; 9 is the most urgent. Default: 5.")]
FairnessKey = Annotated[
    str | None, typer.Option("--fairness-key", help="Runs of different keys take turns within their tenant.")
]
DedupeKey = Annotated[str | None, typer.Option("--dedupe-key", help="One live run of a key at a time.")]
DedupeWindow = Annotated[
    str | None, typer.Option("--dedupe-window", help="Only runs of the last while count, also those that succeeded.")
]
DedupeStates = Annotated[
    list[str] | None, typer.Option("--dedupe-state", help="A state in which another run is in the way; repeat it.")
]
OnConflict = Annotated[
    str | None, typer.Option("--on-conflict", help="If one is: reject, ignore, replace or reschedule it.")
]
Region = Annotated[str | None, typer.Option("--region", help="The region to run in.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag; repeat it.")]
RetryAttempts = Annotated[int | None, typer.Option("--retry-attempts", help="Attempts in all. Default: 5.")]
RetryBackoff = Annotated[str | None, typer.Option("--retry-backoff", help="exponential, fixed or list.")]
RetryBase = Annotated[str | None, typer.Option("--retry-base", help="The first wait, such as 1s.")]
RetryCap = Annotated[str | None, typer.Option("--retry-cap", help="The longest wait, such as 5m.")]
RetryDelays = Annotated[
    str | None, typer.Option("--retry-delays", help="The waits, such as 1s,10s,1m; the last is repeated. Means list.")
]
RetryOn = Annotated[
    list[str] | None,
    typer.Option("--retry-on", help="What to try again, in place of the default: 503, 5xx, timeout, …; repeat it."),
]
NeverOn = Annotated[
    list[str] | None, typer.Option("--never-on", help="What not to try again, named the same way; repeat it.")
]
Timeout = Annotated[str | None, typer.Option("--timeout", help="How long an attempt may take. Default: 30s.")]
RunTimeout = Annotated[
    str | None, typer.Option("--run-timeout", help="How long the whole run may take, with all its attempts.")
]
ExpiresAfter = Annotated[
    str | None, typer.Option("--expires-after", help="How long after it is due it may still start, such as 1h.")
]
Requires = Annotated[list[str] | None, typer.Option("--require", help="A label that a worker must have; repeat it.")]
Concurrency = Annotated[
    int | None, typer.Option("--concurrency", help="How many runs may be under way at once, 1 to 10000.")
]
ConcurrencyKey = Annotated[
    str | None,
    typer.Option(
        "--concurrency-key", help="Of all runs with the same key, such as '{{body.customer}}', in place of the job."
    ),
]
Rate = Annotated[str | None, typer.Option("--rate", help="How many runs may start in a time, such as 100/1m.")]
RateBurst = Annotated[
    int | None, typer.Option("--rate-burst", help="How many of them may start at once. Default: all of them.")
]
RateKey = Annotated[str | None, typer.Option("--rate-key", help="Of all runs with the same key, in place of the job.")]
NotifyUrl = Annotated[str | None, typer.Option("--notify-url", help="Where to tell of the ends of runs.")]
NotifyOn = Annotated[
    list[str] | None,
    typer.Option("--notify-on", help="An end to tell of; repeat it. Default: failed and expired."),
]
NotifyLateAfter = Annotated[
    str | None,
    typer.Option(
        "--notify-late-after", help="Tell also of any end that comes later than this after its time, such as 5m."
    ),
]
Delivery = Annotated[str | None, typer.Option("--delivery", help="at_least_once or at_most_once.")]
At = Annotated[str | None, typer.Option("--at", help="Once, at an RFC 3339 time.")]
In = Annotated[str | None, typer.Option("--in", help="Once, after a while such as 2s or PT15M.")]
Cron = Annotated[str | None, typer.Option("--cron", help="By a cron expression; six fields have seconds first.")]
Every = Annotated[str | None, typer.Option("--every", help="At a fixed rate, such as 15m.")]
ScheduleText = Annotated[
    str | None,
    typer.Option(
        "--schedule", help="In any language: English, cron, a duration, an instant, R5/…/P1M, FREQ=…, or a JSON object."
    ),
]
After = Annotated[str | None, typer.Option("--after", help="At a fixed delay after each run ends, such as 15m.")]
Repeat = Annotated[
    str | None, typer.Option("--repeat", help="By an ISO 8601 repeating interval, such as R5/2026-01-31T00:00:00Z/P1M.")
]
Rrule = Annotated[str | None, typer.Option("--rrule", help="By an RFC 5545 rule, such as FREQ=MONTHLY;BYDAY=-1FR.")]
DstGap = Annotated[
    str | None,
    typer.Option("--dst-gap", help="A time of day that the clocks jump over: run_after, skip or run_before."),
]
DstOverlap = Annotated[
    str | None,
    typer.Option("--dst-overlap", help="A time of day that the clocks show twice: first, second or both."),
]
Timezone = Annotated[
    str | None, typer.Option("--timezone", help="The zone of the wall clock and of calendars, such as Europe/Berlin.")
]
StartAt = Annotated[
    str | None, typer.Option("--start-at", help="Not before this time; --every and --rrule count from it.")
]
EndAt = Annotated[str | None, typer.Option("--end-at", help="Not after this RFC 3339 time.")]
MaxRuns = Annotated[int | None, typer.Option("--max-runs", help="So many scheduled runs at most.")]
Jitter = Annotated[str | None, typer.Option("--jitter", help="Spread the starts over this while, such as 5m.")]
Calendars = Annotated[
    list[str] | None, typer.Option("--calendar", help="Not on the days of a calendar, by its name; repeat it.")
]
OnExcluded = Annotated[
    str | None, typer.Option("--on-excluded", help="What falls on such a day: skip, or comes before or after it.")
]
AllowPast = Annotated[bool, typer.Option("--allow-past", help="Let --at lie in the past, and run at once.")]
Name = Annotated[str | None, typer.Option("--name", help="A name, unique among living jobs.")]
Overlap = Annotated[str | None, typer.Option("--overlap", help="skip, queue_one, queue_all, cancel_previous or allow.")]
Misfire = Annotated[str | None, typer.Option("--misfire", help="fire_once, fire_all or skip.")]
MisfireWindow = Annotated[
    str | None, typer.Option("--misfire-window", help="How long ago a missed occurrence may be. Default: 1h.")
]
MisfireCap = Annotated[
    int | None, typer.Option("--misfire-cap", help="How many missed ones fire_all runs. Default: 100.")
]
Retention = Annotated[
    str | None,
    typer.Option("--retention", help="How long its finished runs are kept, such as 7d, if less than others."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
IfVersion = Annotated[int | None, typer.Option("--if-version", help="Only if the job is at this version.")]
Limit = Annotated[int | None, typer.Option("--limit", help="Rows of a page.")]
Cursor = Annotated[str | None, typer.Option("--cursor", help="Where to go on: what the last page told.")]
Everything = Annotated[bool, typer.Option("--all", help="All pages.")]


def given(**values: Any) -> dict[str, Any]:
    """The values that were given."""
    return {name: value for name, value in values.items() if value is not None}


def target_of(
    *,
    url: str | None = None,
    method: str | None = None,
    header: list[str] | None = None,
    body: str | None = None,
    connect_timeout: str | None = None,
    expect: list[str] | None = None,
    task: str | None = None,
    args: str | None = None,
    arg: list[str] | None = None,
) -> dict[str, Any]:
    """The target that options ask for; empty when they ask for none. It says its type, so that it can replace one of another."""
    kinds = [kind for kind, said in (("http", url), ("task", task)) if said is not None]
    if len(kinds) > 1:
        raise typer.BadParameter("give --url or --task, not both", param_hint="--task")
    target = given(
        type=kinds[0] if kinds else None,
        url=url,
        method=method,
        headers=dict(_header(line) for line in header) if header else None,
        body=None if body is None else read_payload(body),
        connect_timeout=connect_timeout,
        expected_status=expect,
        task=task,
        args=_arguments(args, arg or []) if args is not None or arg else None,
    )
    return {"target": target} if target else {}


def retry_of(
    *,
    retry_attempts: int | None,
    retry_backoff: str | None,
    retry_base: str | None,
    retry_cap: str | None,
    retry_delays: str | None,
    retry_on: list[str] | None,
    never_on: list[str] | None,
) -> dict[str, Any]:
    """The retry policy that options ask for; empty when they ask for none."""
    delays = None if retry_delays is None else [delay.strip() for delay in retry_delays.split(",")]
    retry = given(
        max_attempts=retry_attempts,
        backoff="list" if retry_backoff is None and delays else retry_backoff,
        base=retry_base,
        cap=retry_cap,
        delays=delays,
        retry_on=retry_on,
        never_on=never_on,
    )
    return {"retry": retry} if retry else {}


def concurrency_of(limit: int | None, key: str | None) -> dict[str, Any]:
    concurrency = given(limit=limit, key=key)
    return {"concurrency": concurrency} if concurrency else {}


def notify_of(url: str | None, on: list[str] | None, late_after: str | None) -> dict[str, Any]:
    notify = given(url=url, on=on, late_after=late_after)
    return {"notify": notify} if notify else {}


def rate_of(text: str | None, burst: int | None, key: str | None = None) -> dict[str, Any]:
    """The rate that options ask for; empty when they ask for none. A new one does not keep the burst of the one that was there."""
    rate: dict[str, Any] = {}
    if text is not None:
        said = _RATE.fullmatch(text)
        if said is None:
            raise typer.BadParameter(f"{text!r} is not so many in a time, such as 100/1m", param_hint="--rate")
        rate = {"limit": int(said[1]), "per": said[2], "burst": None}
    rate |= given(burst=burst, key=key)
    return {"rate": rate} if rate else {}


def instant_of(at: str | None, in_: str | None) -> str | None:
    """The instant that --at or --in names."""
    if in_ is None:
        return at
    if at is not None:
        raise typer.BadParameter("give --at or --in, not both", param_hint="--in")
    return format_instant(SystemClock().wall_ms() + parse_duration(in_, field="--in"))


def dedupe_of(key: str | None, window: str | None, states: list[str] | None, on_conflict: str | None) -> dict[str, Any]:
    return given(dedupe_key=key, dedupe_window=window, dedupe_states=states or None, on_conflict=on_conflict)


def schedule_of(text: str | None, **members: Any) -> dict[str, Any]:
    """The schedule that options ask for; empty when they ask for none."""
    spelt = None if text is None else read_schedule(text, hint="--schedule")
    schedule = given(**members)
    if spelt is None:
        return {"schedule": schedule} if schedule else {}
    if not schedule:
        return {"schedule": spelt}
    return {"schedule": overlay(spelt if isinstance(spelt, dict) else {"text": spelt}, schedule)}


def read_schedule(text: str, *, hint: str) -> str | dict[str, Any]:
    """A schedule as it is written on a command line: a JSON object, or a text in any language."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        schedule = decode(text.encode("utf-8", "replace"))
    except Unreadable as error:
        raise typer.BadParameter(str(error), param_hint=hint) from None
    return schedule if isinstance(schedule, dict) else text


def misfire_of(policy: str | None, window: str | None, cap: int | None) -> dict[str, Any]:
    misfire = given(policy=policy, window=window, cap=cap)
    return {"misfire": misfire} if misfire else {}


def overlay(lower: dict[str, Any], upper: dict[str, Any]) -> dict[str, Any]:
    """Two JSON objects as one; where both say something, the upper one counts. Null stays null."""
    merged = dict(lower)
    for name, value in upper.items():
        under = merged.get(name)
        merged[name] = overlay(under, value) if isinstance(under, dict) and isinstance(value, dict) else value
    return merged


def _arguments(text: str | None, lines: list[str]) -> dict[str, Any]:
    """The arguments of a task: those of an object, and single ones over them."""
    arguments = {} if text is None else read_payload(text, hint="--args")
    if not isinstance(arguments, dict):
        raise typer.BadParameter("must be a JSON object", param_hint="--args")
    for line in lines:
        name, equals, value = line.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{line!r} is not name=value", param_hint="--arg")
        try:
            arguments[name] = decode(value.encode("utf-8", "replace"))
        except Unreadable:
            arguments[name] = value
    return arguments


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon:
        raise typer.BadParameter(f"{line!r} is not 'Name: value'", param_hint="--header")
    return name.strip(), value.strip()
