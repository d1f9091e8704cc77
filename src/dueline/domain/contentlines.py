"""Lines of iCalendar text (RFC 5545, section 3.1): `NAME;PARAMETER=value:value`, long ones folded over several."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

# Each letter can be read in one way only: a long broken line must not take long to refuse.
_HEAD = re.compile(r'([A-Za-z0-9-]+)((?:;[A-Za-z0-9-]+=(?:"[^"]*"|[^";:])*)*):')
_PARAMETER = re.compile(r';([A-Za-z0-9-]+)=((?:"[^"]*"|[^";:])*)')
_DATE = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?", re.ASCII)


class ContentLine(NamedTuple):
    """One property. Its name and the names of its parameters are in upper case, quotes around a parameter's value are gone."""

    number: int
    """Of the first line of the text that it stands on, from 1."""
    name: str
    parameters: Mapping[str, str]
    value: str


class Stamp(NamedTuple):
    """A date, or a date with a time of day, as a wall clock or UTC shows it."""

    day: int
    """As an ordinal."""
    second: int | None
    """Of the day; None: the whole day is meant."""
    utc: bool


def unfolded(text: str) -> Iterator[tuple[int, str]]:
    """The lines with the number of their first one; what begins with a space or a tab goes on from the line before it."""
    number, whole = 0, ""
    for at, line in enumerate(re.split(r"\r\n|\n|\r", text), 1):
        if line[:1] in (" ", "\t") and whole:
            whole += line[1:]
            continue
        if whole.strip():
            yield number, whole
        number, whole = at, line
    if whole.strip():
        yield number, whole


def read_line(number: int, line: str) -> ContentLine | None:
    """The property on a line, or None where there is none."""
    head = _HEAD.match(line)
    if head is None:
        return None
    parameters = {name.upper(): value.replace('"', "") for name, value in _PARAMETER.findall(head.group(2))}
    return ContentLine(number, head.group(1).upper(), parameters, line[head.end() :].strip())


def read_stamp(text: str) -> Stamp | None:
    """What `20261225`, `20261225T090000` or `20261225T090000Z` says, or None if it is no such thing."""
    shape = _DATE.fullmatch(text)
    if shape is None:
        return None
    year, month, date, hour, minute, second = (int(part or 0) for part in shape.groups()[:6])
    try:
        moment = datetime(year, month, date, hour, minute, second)
    except ValueError:
        return None
    within = None if shape.group(4) is None else hour * 3_600 + minute * 60 + second
    return Stamp(moment.toordinal(), within, bool(shape.group(7)))
