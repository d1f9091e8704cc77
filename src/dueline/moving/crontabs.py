"""crontab(5), as Vixie cron, Debian's cron and cronie read it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dueline.moving.commands import command_name
from dueline.moving.curls import read_call
from dueline.moving.entries import (
    LONGEST_TIMEOUT,
    Found,
    Options,
    Pending,
    Unconvertible,
    checked_zone,
    on_clock_changes,
)
from dueline.moving.oracles.vixie import VixieOracle
from dueline.moving.terms import MONTHS, Field, read_terms

POLICIES: dict[str, Any] = {
    "timeout": LONGEST_TIMEOUT,
    "retry": {"max_attempts": 1},
    "overlap": "allow",
    "misfire": {"policy": "skip"},
    "delivery": "at_most_once",
}
"""Cron starts a command beside the last one, forgets what it missed, and tries nothing again."""
_MACROS = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_SETTING = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([A-Za-z_][A-Za-z0-9_]*))\s*=\s*(.*?)\s*$""")
_WEEKDAYS = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
_FIELDS = (
    Field("minute", 0, 59),
    Field("hour", 0, 23),
    Field("day of month", 1, 31),
    Field("month", 1, 12, MONTHS),
    Field("day of week", 0, 7, _WEEKDAYS),
)
_MAIL = frozenset({"MAILTO", "MAILFROM"})


def read_crontab(text: str, options: Options) -> Iterator[Pending]:
    """The entries of a crontab, by their lines. Settings count for the lines below them."""
    settings: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        setting = None if stripped[0] in "@*0123456789-" else _SETTING.match(stripped)
        if setting is not None:
            settings = settings | {setting[1] or setting[2] or setting[3]: _unquoted(setting[4])}
            continue
        yield f"line {number}", _Line(stripped, settings, options).read


class _Line:
    def __init__(self, text: str, settings: dict[str, str], options: Options) -> None:
        self._text = text
        self._settings = settings
        self._options = options

    def read(self) -> Found:
        if self._text.startswith("@"):
            expression, rest = self._split(1)
            if expression.lower() == "@reboot":
                raise Unconvertible(
                    "@reboot starts with a machine, not at a time: start it with the system's own means"
                )
            if expression.lower() not in _MACROS:
                raise Unconvertible(f"{expression} is not known: write the five fields that it stands for")
        else:
            expression, rest = self._split(5)
            _check(expression)
        user = ""
        if self._options.system:
            user, rest = [*rest.split(None, 1), "", ""][:2]
        if not rest:
            raise Unconvertible("has no command" + (" behind the user" if self._options.system else ""))
        command, stdin = _command(rest)
        zone = checked_zone(self._settings.get("CRON_TZ") or self._options.zone)
        args: dict[str, Any] = {"command": command}
        if stdin is not None:
            args["stdin"] = stdin
        if user:
            args["user"] = user
        environment = {name: value for name, value in self._settings.items() if name != "CRON_TZ" and name not in _MAIL}
        if environment:
            args["env"] = environment
        name = command_name(command)
        found = Found(
            name=name,
            task=name,
            args=args,
            schedule={"cron": _spelt(expression), "timezone": zone, **_on_clock_changes(expression, zone)},
            policies=dict(POLICIES),
            notes=self._notes(),
            oracle=VixieOracle(expression, zone),
        )
        return self._as_call(found, command) if stdin is None else found

    def _as_call(self, found: Found, command: str) -> Found:
        """The same as a call, where the command does nothing else and nobody said what is to become of commands."""
        if self._options.url or self._options.task or any(name.lower().endswith("_proxy") for name in self._settings):
            return found
        call = read_call(command)
        if call is not None:
            found.name, found.target = call.name, call.target
            found.policies["timeout"] = call.timeout or LONGEST_TIMEOUT
            found.notes += call.notes
        return found

    def _split(self, fields: int) -> tuple[str, str]:
        words = self._text.split(None, fields)
        if len(words) < fields:
            raise Unconvertible(f"has {len(words)} words, which is neither a setting nor {fields} fields and a command")
        return " ".join(words[:fields]), words[fields].strip() if len(words) > fields else ""

    def _notes(self) -> list[str]:
        notes = []
        if self._options.timezone is None and not self._settings.get("CRON_TZ"):
            notes.append("names no zone: taken as UTC; cron takes the machine's, so say --timezone")
        if self._settings.get("MAILTO"):
            notes.append("its output went to MAILTO: Dueline keeps results with the run and sends no mail")
        if "TZ" in self._settings:
            notes.append("TZ is part of its environment; the schedule does not follow it, as cron's does not")
        if "RANDOM_DELAY" in self._settings:
            notes.append("RANDOM_DELAY is not carried over: give the schedule a jitter")
        return notes


def _check(expression: str) -> None:
    """Refuse what cron refuses, and what one cron reads otherwise than another."""
    for field, text in zip(_FIELDS, expression.split(), strict=True):
        if "~" in text:
            raise Unconvertible(f"the {field.name} {text!r} is drawn by lot: Dueline has H, a number of the job's own")
        for term in read_terms(field, text):
            if "?" in term.text:
                raise Unconvertible(f"the {field.name} {term.text!r} is none that cron reads")
            if term.step is not None and term.last is None and not term.star:
                one, other = str(term.first), f"{term.first}-{field.high}/{term.step}"
                raise Unconvertible(
                    f"the {field.name} {term.text!r} is {one} to one cron and {other} to another: write which is meant"
                )


def _on_clock_changes(expression: str, zone: str) -> dict[str, str]:
    """Cron makes up for times of day that are jumped over, and repeats none; entries that count minutes follow the clock."""
    fields = expression.split()
    if len(fields) == 5 and fields[0].startswith("*") and not fields[1].startswith("*"):
        return on_clock_changes(zone, gap="skip", overlap="both")
    return {}


def _spelt(expression: str) -> str:
    """The expression, with hours that do not begin with a star as times of day: to Dueline a star anywhere counts on."""
    fields = expression.split()
    if len(fields) == 5 and "*" in fields[1] and not fields[1].startswith("*"):
        fields[1] = fields[1].replace("*", "0-23")
    return " ".join(fields)


def _command(text: str) -> tuple[str, str | None]:
    """A percent sign ends the command, and the next ones end lines of its input; behind a backslash it is itself."""
    parts = [part.replace("\\%", "%") for part in re.split(r"(?<!\\)%", text)]
    return parts[0].strip(), "\n".join(parts[1:]) if len(parts) > 1 else None


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
