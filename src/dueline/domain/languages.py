"""In which language a schedule is written when it is a single string, told by its shape alone."""

from __future__ import annotations

import re
from enum import StrEnum


class Language(StrEnum):
    """What a string is to be read as. Its own reader then says whether it is right."""

    AT = "at"
    CRON = "cron"
    EVERY = "every"
    REPEAT = "repeat"
    RRULE = "rrule"
    ENGLISH = "english"


_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*?(?:Z|[+-]\d\d:?\d\d)", re.ASCII | re.IGNORECASE)
_DURATION = re.compile(r"P(?=[\dT])[\dYMWDTHS.,]*|(?:\d+(?:\.\d+)?(?:ms|w|d|h|m|s))+", re.ASCII | re.IGNORECASE)
_REPEAT = re.compile(r"R-?\d*/", re.ASCII | re.IGNORECASE)
_RRULE = re.compile(r"(?:RRULE|DTSTART|EXDATE|RDATE|EXRULE)\s*[:;]|(?:[A-Z]+=[^;\s]*;)*FREQ=", re.IGNORECASE)
_CRON_FIELD = re.compile(
    r"(?:JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC|SUN|MON|TUE|WED|THU|FRI|SAT|[\d*?/#LWH(),-])+",
    re.ASCII | re.IGNORECASE,
)
_CRON_FIELDS_LEAST = 4
"""One fewer than there are: a field that was forgotten is a mistake in cron, and is told as one."""


def recognise(text: str) -> Language:
    """The language of a text; English is what nothing else looks like.

    A time is an instant only when its offset stands with it: without one it means a wall clock, and English reads those in the zone.
    A star makes it cron whatever else is in it, since no other language has one.
    """
    stripped = text.strip()
    words = stripped.split()
    if stripped.startswith("@"):
        return Language.CRON
    if _RRULE.match(stripped):
        return Language.RRULE
    if _REPEAT.match(stripped):
        return Language.REPEAT
    if _DURATION.fullmatch(stripped):
        return Language.EVERY
    if _INSTANT.fullmatch(stripped):
        return Language.AT
    if "*" in stripped or (len(words) >= _CRON_FIELDS_LEAST and all(_CRON_FIELD.fullmatch(word) for word in words)):
        return Language.CRON
    return Language.ENGLISH
