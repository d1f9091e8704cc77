"""Cron expressions as people write them: read into sets of numbers, or refused with the column and what would be right."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple, NoReturn

import msgspec

from dueline.domain.calendar_days import Days
from dueline.domain.errors import InvalidSchedule

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_SHOWN_LETTERS = 40
_HASHED = re.compile(r"H(?:\(([^()/]*)\))?")


class Field(NamedTuple):
    """One field, and the numbers that may stand in it."""

    name: str
    low: int
    high: int
    example: str
    names: Mapping[str, int] = {}
    hashed_high: int | None = None
    """The highest number that `H` may become, where not every month has the highest. Zero: no `H` here."""

    @property
    def highest_written(self) -> int:
        return 7 if self is WEEKDAY else self.high


SECOND = Field("second", 0, 59, "0, */10 or 0-30/5")
MINUTE = Field("minute", 0, 59, "0, */15 or 0,30")
HOUR = Field("hour", 0, 23, "9, */2 or 9-17")
DATE = Field("day-of-month", 1, 31, "1, 1,15, L, LW or 15W", hashed_high=28)
MONTH = Field("month", 1, 12, "1, JAN or 4-6", {name: number for number, name in enumerate(_MONTHS, 1)})
WEEKDAY = Field("day-of-week", 0, 6, "MON, 1-5, FRI-MON, FRIL or MON#2", {name: n for n, name in enumerate(_WEEKDAYS)})
YEAR = Field("year", 1970, 2199, "2026 or 2026-2028", hashed_high=0)
_FIELDS = (SECOND, MINUTE, HOUR, DATE, MONTH, WEEKDAY, YEAR)


class Crontab(msgspec.Struct, frozen=True, kw_only=True):
    """What an expression means: sorted numbers, and the rules for days."""

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: Days
    months: tuple[int, ...]
    years: tuple[int, ...] | None
    """None: every year."""
    interval_like: bool
    """Whether the hour field counts on (`*`, `*/n` or `a/n`): such patterns follow real time when the clocks change."""


class _Term(NamedTuple):
    """One part of a list."""

    field: Field
    text: str
    column: int
    seed: bytes | None

    def refuse(self, reason: str) -> NoReturn:
        shown = self.text if len(self.text) <= _SHOWN_LETTERS else f"{self.text[:_SHOWN_LETTERS]}…"
        raise InvalidSchedule(
            "schedule.cron",
            f"{self.field.name} at column {self.column}: {shown!r} {reason}; right would be {self.field.example}",
        )


class _Special(NamedTuple):
    """What is no fixed number: `L-3` is ("L", 3), `15W` ("W", 15), `LW` ("LW", 0), `FRIL` ("last", 5), `MON#2` ("nth", 1, 2)."""

    kind: str
    number: int
    nth: int = 0


def canonical(expression: str) -> str:
    """The expression with single spaces, and with what a macro stands for."""
    text = " ".join(expression.split())
    if not text.startswith("@"):
        return text
    if text.lower() not in MACROS:
        column = expression.index("@") + 1
        raise InvalidSchedule(
            "schedule.cron", f"unknown macro {text!r} at column {column}: use one of {', '.join(MACROS)}"
        )
    return MACROS[text.lower()]


def compiled(expression: str) -> Crontab:
    """The meaning of an expression without `H`."""
    return _read_plain(expression)[1]


def concrete(expression: str, seed: bytes) -> str:
    """An expression in which every `H` has become numbers. Those without one are read once for all jobs that have them."""
    return (read(expression, seed) if "h" in expression.lower() else _read_plain(expression))[0]


@lru_cache(maxsize=65_536)
def _read_plain(expression: str) -> tuple[str, Crontab]:
    return read(expression, None)


def read(expression: str, seed: bytes | None) -> tuple[str, Crontab]:
    """An expression in which every `H` has become numbers, always the same for a seed, and what it means."""
    words = [(_upper(match.group()), match.start() + 1) for match in re.finditer(r"\S+", expression)]
    if not 5 <= len(words) <= 7:
        column = words[7][1] if len(words) > 7 else len(expression) + 1
        raise InvalidSchedule(
            "schedule.cron",
            f"the number of fields at column {column} is {len(words)}, not 5 (minute hour day-of-month month day-of-week), "
            "6 (second first) or 7 (second first, year last)",
        )
    whole = len(words)
    if whole == 5:
        words.insert(0, ("0", 1))
    fields = [_Reader(field, *word, seed) for field, word in zip(_FIELDS, words, strict=False)]
    second, minute, hour, date, month, weekday = fields[:6]
    concrete = " ".join(field.concrete for field in fields[whole == 5 :])
    return concrete, Crontab(
        seconds=second.numbers(),
        minutes=minute.numbers(),
        hours=hour.numbers(),
        days=_days(date, weekday),
        months=month.numbers(),
        years=fields[6].numbers() if whole == 7 and not fields[6].open else None,
        interval_like=hour.counts_on,
    )


def _upper(word: str) -> str:
    """Names are read in any case, but not letters of other scripts that become Latin ones."""
    return word.upper() if word.isascii() else word


def _days(date: _Reader, weekday: _Reader) -> Days:
    return Days(
        dates=sum(1 << number for number in date.numbers()),
        before_last=tuple(special.number for special in date.specials if special.kind == "L"),
        near=tuple(special.number for special in date.specials if special.kind == "W"),
        last_weekday=any(special.kind == "LW" for special in date.specials),
        weekdays=sum(1 << number for number in weekday.numbers()),
        nth=tuple((special.number, special.nth) for special in weekday.specials if special.kind == "nth"),
        last=tuple(special.number for special in weekday.specials if special.kind == "last"),
        both=date.concrete[0] in "*?" or weekday.concrete[0] in "*?",
    )


class _Reader:
    """Reads one field."""

    def __init__(self, field: Field, text: str, column: int, seed: bytes | None) -> None:
        self.specials: list[_Special] = []
        self.counts_on = False
        self.open = False
        self._numbers: set[int] = set()
        written = []
        for part in text.split(","):
            term = _concrete(_Term(field, part, column, seed))
            self._read(term)
            written.append(term.text)
            column += len(part) + 1
        self.concrete = ",".join(written)

    def numbers(self) -> tuple[int, ...]:
        return tuple(sorted(self._numbers))

    def _read(self, term: _Term) -> None:
        special = _special(term)
        if special is not None:
            self.specials.append(special)
            return
        base, slash, step_text = term.text.partition("/")
        step = _step(term, step_text) if slash else 1
        if base == "*" or (base == "?" and not slash and term.field in (DATE, WEEKDAY)):
            low, high = term.field.low, term.field.high
            self.counts_on = True
            self.open |= step == 1
        elif base == "?":
            term.refuse("may stand alone in day-of-month or day-of-week only")
        elif "-" in base:
            low, high = _range(term, base)
        else:
            low = _number(term, base)
            if term.field is WEEKDAY:
                low %= 7
            high = term.field.high if slash else low
            self.counts_on |= bool(slash)
        self._numbers.update(_folded(term.field, range(low, high + 1, step)))


def _folded(field: Field, numbers: range) -> Iterator[int]:
    """Sunday is 0 and 7, and a range of weekdays may reach into the next week."""
    return (number % 7 for number in numbers) if field is WEEKDAY else iter(numbers)


def _number(term: _Term, text: str) -> int:
    if text in term.field.names:
        return term.field.names[text]
    if not re.fullmatch("[0-9]+", text):
        term.refuse("is no number" if not term.field.names else "is no number and no name")
    # Longer ones are out of every range, and Python refuses to read the very long.
    number = int(text) if len(text) <= 9 else 10**9
    if not term.field.low <= number <= term.field.highest_written:
        term.refuse(f"is not between {term.field.low} and {term.field.highest_written}")
    return number


def _step(term: _Term, text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) == 0:
        term.refuse("needs a step of 1 or more behind its slash")
    return int(text)


def _range(term: _Term, text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    low, high = _number(term, first), _number(term, last)
    if term.field is not WEEKDAY:
        if low > high:
            term.refuse("runs backwards")
        return low, high
    return (low, high) if low <= high else (low, high + 7)


def _special(term: _Term) -> _Special | None:
    """What a term means that is no set of numbers."""
    text = term.text
    if term.field is DATE:
        if text == "LW":
            return _Special("LW", 0)
        if text == "L":
            return _Special("L", 0)
        if text.startswith("L-"):
            back = _digits(text[2:])
            if back is None or back > 30:
                term.refuse("counts back from the last day by 0 to 30 days")
            return _Special("L", back)
        if text.endswith("W"):
            return _Special("W", _number(term, text[:-1]))
    elif term.field is WEEKDAY:
        if text == "L":
            term.refuse("needs the day of which the last in a month is meant")
        if text.endswith("L"):
            return _Special("last", _number(term, text[:-1]) % 7)
        if "#" in text:
            day, _, nth_text = text.partition("#")
            nth = _digits(nth_text)
            if nth is None or not 1 <= nth <= 5:
                term.refuse("needs a number from 1 to 5 behind its #")
            return _Special("nth", _number(term, day) % 7, nth)
    return None


def _digits(text: str) -> int | None:
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else None


def _concrete(term: _Term) -> _Term:
    """A term with numbers in the place of `H`: a number of the field, of a range, or a start for a step."""
    if not term.text.startswith("H"):
        return term
    base, slash, step_text = term.text.partition("/")
    match = _HASHED.fullmatch(base)
    if match is None:
        term.refuse("is no H, H/15, H(0-29) or H(0-29)/10")
    if term.field.hashed_high == 0:
        term.refuse("cannot be hashed")
    if term.seed is None:
        term.refuse("is not known here")
    low, high = term.field.low, term.field.hashed_high or term.field.high
    if match[1] is not None:
        if "-" not in match[1]:
            term.refuse("needs a range in its brackets, such as H(0-29)")
        low, high = _range(term, match[1])
    spread = high - low + 1
    if slash:
        spread = min(spread, _step(term, step_text))
    start = low + _hash(term.field, term.seed) % spread
    if not slash:
        return term._replace(text=str(start % 7 if term.field is WEEKDAY else start))
    if match[1] is None:
        # The step goes on to the end of the field, whatever the month.
        return term._replace(text=f"{start}/{step_text}")
    if term.field is WEEKDAY and high > 7:
        start, high = start % 7, high % 7
    return term._replace(text=f"{start}-{high}/{step_text}")


def _hash(field: Field, seed: bytes) -> int:
    """Mixed with the field's name, so that one seed does not give the same number to every field."""
    return int.from_bytes(sha256(field.name.encode() + b"\0" + seed).digest()[:8], "big")
