"""The entries of a source on their way to jobs: what was found, what became of it, and what people should know of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any
from urllib.parse import quote

import msgspec

from dueline.domain.errors import DuelineError, Invalid
from dueline.domain.ids import JobId
from dueline.domain.instants import INSTANT_MS_MAX, format_instant
from dueline.domain.limits import NAME_LETTERS_MAX
from dueline.domain.localtime import check_zone
from dueline.domain.schedule import Schedule
from dueline.domain.texts import CONTROL
from dueline.moving.oracles.walls import Oracle
from dueline.wire.jobs import JobInput, to_definition
from dueline.wire.problems import Problems
from dueline.wire.reading import read_value

LONGEST_TIMEOUT = "P1D"
"""For sources that let work take as long as it takes: the longest that an attempt may have."""
HOWEVER_LATE = "P366D"
"""A misfire window for sources that make up for what they missed however long ago it was."""
_PLACE = re.compile(r"(?<!\{)\{([a-z_]*)\}(?!\})")
_ANY_JOB = JobId(bytes(16))


class Unconvertible(DuelineError):
    """An entry cannot become a job; the reason says what to do instead."""


class LeftOut(DuelineError):
    """An entry need not become a job: it is over, switched off, or not meant for people."""


class Outcome(StrEnum):
    CONVERTED = "converted"
    LEFT_OUT = "left_out"
    REFUSED = "refused"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What whoever moves in says besides the file."""

    now_ms: int
    timezone: str | None = None
    """The zone of what names none; None: nobody said, so it is UTC."""
    url: str | None = None
    """A URL with places for `{name}` and `{task}`: jobs call it, in place of carrying out tasks."""
    task: str | None = None
    """One task for all jobs, in place of one for each."""
    system: bool = False
    """Whether a crontab has a column for the user."""
    include_disabled: bool = False

    @property
    def zone(self) -> str:
        return self.timezone or "UTC"


class Found(msgspec.Struct, kw_only=True):
    """An entry as it was read, with all that makes a job of it."""

    name: str
    task: str
    schedule: dict[str, Any]
    policies: dict[str, Any]
    args: dict[str, Any] = {}
    target: dict[str, Any] | None = None
    """What it calls, where it is a call already."""
    notes: list[str] = []
    oracle: Oracle | None = None
    disabled: bool = False


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an entry. `place` is where it stands in its file: a line, or a name."""

    place: str
    outcome: Outcome
    notes: list[str]
    job: dict[str, Any] | None = None
    schedule: Schedule | None = None
    oracle: Oracle | None = None

    @property
    def task(self) -> str | None:
        """The task that workers must have for it."""
        return None if self.job is None else self.job["target"].get("task")


Pending = tuple[str, Callable[[], Found]]
"""The place of an entry, and what reads it: it may raise Unconvertible or LeftOut."""


def convert(pending: Iterable[Pending], options: Options) -> list[Entry]:
    """The entries as jobs with names of their own, each as the server would take it, or with the reason why not."""
    check_url(options.url)
    if options.timezone is not None and (reason := zone_problem(options.timezone)):
        raise Invalid(("--timezone", reason))
    taken: set[str] = set()
    return [_converted(place, read, options, taken) for place, read in pending]


def check_url(template: str | None) -> None:
    """Refuse a template with places that mean nothing."""
    unknown = [name for name in _PLACE.findall(template or "") if name not in ("name", "task")]
    if unknown:
        raise Invalid(("--url", f"{{{unknown[0]}}} is no place: use {{name}} and {{task}}"))


def zone_problem(name: str) -> str | None:
    """Why a name is no zone."""
    try:
        check_zone(name)
    except Invalid as error:
        return error.problems[0][1]
    return None


def checked_zone(name: str) -> str:
    if reason := zone_problem(name):
        raise Unconvertible(reason)
    return name


def on_clock_changes(zone: str, *, gap: str, overlap: str) -> dict[str, str]:
    """What a schedule says of the nights on which clocks change, where it is not the default. UTC has no such nights."""
    said = {} if gap == "run_after" else {"dst_gap": gap}
    if overlap != "first":
        said["dst_overlap"] = overlap
    return {} if zone == "UTC" else said


def instant_text(at_ms: int) -> str:
    """An instant as jobs have it."""
    if not 0 <= at_ms <= INSTANT_MS_MAX:
        raise Unconvertible("names a time that does not lie between the years 1970 and 9999")
    return format_instant(at_ms)


def named(text: str, *, otherwise: str) -> str:
    """A name that a job or a task may have."""
    name = CONTROL.sub(" ", text).strip()[:NAME_LETTERS_MAX].strip()
    return name or otherwise


def _converted(place: str, read: Callable[[], Found], options: Options, taken: set[str]) -> Entry:
    try:
        found = read()
        if found.disabled and not options.include_disabled:
            raise LeftOut("is switched off: left out; --include-disabled writes it, and then it is active once created")
        job = _job(found, options, taken)
        schedule = _checked(job, options.now_ms)
    except LeftOut as reason:
        return Entry(place=place, outcome=Outcome.LEFT_OUT, notes=[str(reason)])
    except Unconvertible as reason:
        # What is wrong in the very line of the entry need not name it again.
        told = str(reason).removeprefix(f"{place.partition(',')[0]}: ")
        return Entry(place=place, outcome=Outcome.REFUSED, notes=[told])
    notes = list(found.notes)
    if found.disabled:
        notes.append(f"was switched off: once it is created, say dueline job pause for {job['name']!r}")
    taken.add(job["name"])
    return Entry(place=place, outcome=Outcome.CONVERTED, notes=notes, job=job, schedule=schedule, oracle=found.oracle)


def _job(found: Found, options: Options, taken: set[str]) -> dict[str, Any]:
    name = _free(named(found.name, otherwise="job"), taken)
    task = options.task or named(found.task, otherwise="task")
    target: dict[str, Any]
    if found.target is not None:
        target = found.target
    elif options.url is None:
        target = {"type": "task", "task": task, "args": found.args}
    else:
        # What answers a call is new, and knows how long it may take; the default of calls fits it better.
        found.policies.pop("timeout", None)
        places = {"name": quote(name, safe=""), "task": quote(task, safe="")}
        url = _PLACE.sub(lambda place: places[place[1]], options.url)
        target = {"type": "http", "url": url, "body": found.args}
    return {"name": name, "target": target, "schedule": found.schedule, **found.policies}


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number behind it where another entry has it already."""
    free, number = name, 2
    while free in taken:
        suffix = f"-{number}"
        free, number = name[: NAME_LETTERS_MAX - len(suffix)] + suffix, number + 1
    return free


def _checked(job: dict[str, Any], now_ms: int) -> Schedule | None:
    """The schedule of a job that the server would take."""
    problems = Problems()
    try:
        return to_definition(read_value(job, JobInput, problems), problems, job_id=_ANY_JOB, now_ms=now_ms).schedule
    except Invalid as error:
        told = "; ".join(f"{field}: {reason}" for field, reason in error.problems)
        raise Unconvertible(f"Dueline would refuse it: {told}") from None
