"""EventBridge's cron: six fields with the year last, and a week that begins on Sunday with 1."""

from __future__ import annotations

import re

from dueline.moving.entries import Unconvertible
from dueline.moving.spelling import WEEKDAYS
from dueline.moving.terms import MONTHS, Field, read_terms

_DAYS = {name.lower(): number for number, name in enumerate(WEEKDAYS, 1)}
_MINUTE = Field("minutes", 0, 59)
_HOUR = Field("hours", 0, 23)
_DATE = Field("day-of-month", 1, 31)
_MONTH = Field("month", 1, 12, MONTHS)
_DAY = Field("day-of-week", 1, 7, _DAYS)
_YEAR = Field("year", 1970, 2199)
_DATE_SPECIAL = re.compile(r"L|LW|L-([0-9]|[12][0-9]|30)|([1-9]|[12][0-9]|3[01])W")
_DAY_SPECIAL = re.compile(r"([1-7]|SUN|MON|TUE|WED|THU|FRI|SAT)(L|#[1-5])")


def cron_of(text: str) -> str:
    """The expression as Dueline writes it: days of the week by their names, and the year only where it says something."""
    fields = text.upper().split()
    if len(fields) != 6:
        raise Unconvertible(f"cron({text}) has {len(fields)} fields, not 6")
    minute, hour, date, month, day, year = fields
    if (date == "?") == (day == "?"):
        raise Unconvertible(f"cron({text}): exactly one of day-of-month and day-of-week must be ?")
    for field, written in ((_MINUTE, minute), (_HOUR, hour), (_MONTH, month), (_YEAR, year)):
        _check(field, written)
    spelt = [minute, hour, "*" if date == "?" else _date(date), month, "*" if day == "?" else _day(day)]
    return " ".join(spelt if year == "*" else ["0", *spelt, year])


def _check(field: Field, text: str) -> None:
    if "?" in text:
        raise Unconvertible(f"the {field.name} {text!r} is none that can be read")
    read_terms(field, text)


def _date(text: str) -> str:
    for term in text.split(","):
        if not _DATE_SPECIAL.fullmatch(term):
            _check(_DATE, term)
    return text


def _day(text: str) -> str:
    return ",".join(_day_term(term) for term in text.split(","))


def _day_term(term: str) -> str:
    if term == "L":
        # The last day of a week that begins on Sunday.
        return "SAT"
    special = _DAY_SPECIAL.fullmatch(term)
    if special is not None:
        return _day_name(special[1]) + special[2]
    _check(_DAY, term)
    if "/" in term:
        # A step counts from Sunday to Saturday.
        numbers = read_terms(_DAY, term)[0].numbers(_DAY)
        return ",".join(WEEKDAYS[number - 1] for number in numbers)
    return term if term == "*" else "-".join(_day_name(end) for end in term.split("-"))


def _day_name(text: str) -> str:
    return WEEKDAYS[int(text) - 1] if text.isdigit() else text
