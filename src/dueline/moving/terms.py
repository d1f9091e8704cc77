"""The terms of a cron field: what the dialects of cron have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from dueline.moving.entries import Unconvertible

MONTHS: Mapping[str, int] = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6,
    "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,
}  # fmt: skip
_TERM = re.compile(r"([*?]|[0-9]{1,4}|[a-z]{3})(?:-([0-9]{1,4}|[a-z]{3}))?(?:/([0-9]{1,4}))?")


class Field(NamedTuple):
    """A field, its numbers and the names for them."""

    name: str
    low: int
    high: int
    names: Mapping[str, int] = {}


class Term(NamedTuple):
    """One part of a list. A star goes from the field's first number to its last."""

    text: str
    star: bool
    first: int
    last: int | None
    step: int | None

    def numbers(self, field: Field) -> range:
        """What it means where a step behind a single number goes on to the end of the field."""
        if self.star:
            return range(field.low, field.high + 1, self.step or 1)
        last = self.last if self.last is not None else self.first if self.step is None else field.high
        return range(self.first, last + 1, self.step or 1)


def read_terms(field: Field, text: str) -> list[Term]:
    """The terms of a field, or Unconvertible with the one that is wrong."""
    return [_read_term(field, part.strip().lower()) for part in text.split(",")]


def _read_term(field: Field, text: str) -> Term:
    match = _TERM.fullmatch(text)
    if match is None or (match[1] in "*?" and match[2] is not None):
        raise Unconvertible(f"the {field.name} {text!r} is none that can be read")
    star = match[1] in "*?"
    first = field.low if star else _number(field, match[1], text)
    last = None if match[2] is None else _number(field, match[2], text)
    step = None if match[3] is None else int(match[3])
    if step == 0:
        raise Unconvertible(f"the {field.name} {text!r} needs a step of 1 or more behind its slash")
    if last is not None and last < first:
        raise Unconvertible(f"the {field.name} {text!r} runs backwards, which is not taken there")
    return Term(text, star, first, last, step)


def _number(field: Field, written: str, text: str) -> int:
    number = field.names.get(written, int(written) if written.isdigit() else -1)
    if not field.low <= number <= field.high:
        raise Unconvertible(f"the {field.name} {text!r} is not within {field.low}-{field.high}")
    return number
