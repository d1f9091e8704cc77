"""The words of which English schedules are made: the vocabulary, a cursor over a text, and how a word is refused."""

from __future__ import annotations

import re
from contextlib import suppress
from difflib import get_close_matches
from typing import NamedTuple, NoReturn

from dueline.domain import limits
from dueline.domain.errors import InvalidSchedule
from dueline.domain.localtime import check_zone

EXAMPLE = '"every weekday at 9:00", "last friday of the month at 17:30", "in 2 hours" or "2026-12-24 18:00"'

WEEKDAY_NAMES = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
WEEKDAYS = {
    spelt: number for number, name in enumerate(WEEKDAY_NAMES) for spelt in (name, f"{name}s", name[:3], f"{name[:3]}s")
} | {"tues": 2, "weds": 3, "thur": 4, "thurs": 4}
PLURAL_DAYS = {f"{name}s" for name in WEEKDAY_NAMES} | {"mons", "fris", "weekdays", "weekends"}
"""Words that say by themselves that they come again and again. `tues`, `weds` and `thurs` are no plurals."""
GROUPS = {"weekday": range(1, 6), "weekdays": range(1, 6), "weekend": (0, 6), "weekends": (0, 6)}
MONTHS = {spelt: n for n, name in enumerate(MONTH_NAMES, 1) for spelt in (name, name[:3])} | {"sept": 9}
NUMBERS = {
    word: number
    for number, word in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), 1
    )
}
ORDINALS = {
    word: number
    for number, word in enumerate(
        ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"),
        1,
    )
}  # fmt: skip
UNITS = {
    **dict.fromkeys(("second", "seconds", "sec", "secs", "s"), "second"),
    **dict.fromkeys(("minute", "minutes", "min", "mins", "m"), "minute"),
    **dict.fromkeys(("hour", "hours", "hr", "hrs", "h"), "hour"),
    **dict.fromkeys(("day", "days", "d"), "day"),
    **dict.fromkeys(("week", "weeks", "w"), "week"),
    **dict.fromkeys(("month", "months"), "month"),
    **dict.fromkeys(("quarter", "quarters"), "quarter"),
    **dict.fromkeys(("year", "years"), "year"),
}
ADVERBS = {
    "hourly": "hour",
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "quarterly": "quarter",
    "yearly": "year",
    "annually": "year",
}
UNITS_MS = {"second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000, "week": 7 * 86_400_000}

_LARGE_NUMBERS = (
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
    "thirty", "forty", "forty-five", "fifty", "sixty", "ninety", "hundred",
)  # fmt: skip
_SAY_TIMES = 'does not say when; name the times, such as "every day at 9:00 and 17:00"'
_SAY_TIME = 'is no time; name one, such as "every day at 6:00" or "today at 20:00"'
_SAY_WEEKS = 'means twice a week to some and every two weeks to others; say "every 2 weeks on monday at 9:00"'
_SAY_MONTHS = (
    'can mean two things; say "every 2 months on the 1st at 9:00" or "on the 1st and 15th of the month at 9:00"'
)
_SAY_WEEKDAY = 'is no word here; "weekday" is Monday to Friday, and calendars leave out holidays'
_SAY_CALENDAR = "is not understood; days are left out by calendars, and single occurrences by skipping them"
ADVICE = {
    **dict.fromkeys(("twice", "thrice", "times"), _SAY_TIMES),
    **dict.fromkeys(("morning", "evening", "night", "nightly", "tonight", "afternoon"), _SAY_TIME),
    **dict.fromkeys(("biweekly", "bi-weekly", "fortnightly", "fortnight", "semiweekly"), _SAY_WEEKS),
    **dict.fromkeys(("bimonthly", "bi-monthly", "semimonthly"), _SAY_MONTHS),
    **dict.fromkeys(("business", "workday", "workdays", "working"), _SAY_WEEKDAY),
    **dict.fromkeys(("except", "excluding", "but", "not", "unless", "holiday", "holidays"), _SAY_CALENDAR),
    **dict.fromkeys(_LARGE_NUMBERS, "must be written in digits; numbers are words up to twelve only"),
    **dict.fromkeys(("sunrise", "sunset", "dawn", "dusk"), _SAY_TIME),
    "for": 'is not understood; name the end, such as "until 2027-01-31"',
    "during": 'is not understood; say "between 9:00 and 17:00"',
    "this": 'can mean two things; say "next friday", or the date',
}
"""Words that people use and that do not say enough, or not one thing."""

_KNOWN = sorted(
    {word for word in (*WEEKDAYS, *GROUPS, *MONTHS, *NUMBERS, *ORDINALS, *UNITS, *ADVERBS) if len(word) > 2}
    | {"every", "each", "other", "between", "from", "until", "through", "starting", "tomorrow", "today", "next", "last"}
    | {"noon", "midnight", "after", "past", "the", "and", "half", "now", "once", "nearest"}
)
_WORD = re.compile(r"[^\s,]+")
_ENDED = re.compile(r"[.!]+$")
_AMOUNT = re.compile(r"(?:\d+(?:s|secs?|m|mins?|h|hrs?|d|w))+", re.ASCII)
_AMOUNT_PART = re.compile(r"\d+|[a-z]+", re.ASCII)
_ENDS = r"\d{1,2}(?::\d\d){0,2}(?:am|pm)?|\d{1,2}(?:st|nd|rd|th)|[a-z]{3,9}"
_SPAN = re.compile(rf"({_ENDS})(-)({_ENDS})", re.ASCII)
_ZONE = re.compile(r"\(?([A-Za-z][\w+-]*(?:/[\w+-]+)+|utc|gmt)\)?", re.ASCII | re.IGNORECASE)
_ABBREVIATED = re.compile(
    r"\(?(?:[cemp][sd]?t|ces?t|wes?t|ees?t|bst|ist|jst|msk|ae[sd]t|(?:utc|gmt)[+-].*)\)?", re.ASCII
)
_SHOWN_LETTERS = 40


class Word(NamedTuple):
    """One word: in small letters, as it was written, its column from 1, and whether a comma stands before it."""

    text: str
    shown: str
    column: int
    after_comma: bool = False


class Words:
    """A cursor over the words of a text. Past the last there is always an empty one."""

    def __init__(self, text: str, *, field: str) -> None:
        self.field = field
        if len(text) > limits.WHEN_LETTERS_MAX:
            raise InvalidSchedule(
                field, f"is longer than {limits.WHEN_LETTERS_MAX} letters at column {limits.WHEN_LETTERS_MAX + 1}"
            )
        self._words = _split(text)
        self._end = Word("", "", len(text.rstrip()) + 1)
        self.at = 0

    @property
    def ended(self) -> bool:
        return self.at >= len(self._words)

    def peek(self, ahead: int = 0) -> Word:
        index = self.at + ahead
        return self._words[index] if 0 <= index < len(self._words) else self._end

    def take(self) -> Word:
        word = self.peek()
        self.at += 1
        return word

    def accept(self, *texts: str) -> bool:
        """Take these words, all of them in this order or none."""
        if all(self.peek(ahead).text == text for ahead, text in enumerate(texts)):
            self.at += len(texts)
            return True
        return False

    def accept_any(self, *texts: str) -> bool:
        """Take one of these words."""
        return not self.ended and self.peek().text in texts and self.accept(self.peek().text)

    def accept_and(self) -> bool:
        """Go on in a list: over a comma, an "and", or both."""
        return self.accept("and") or self.accept("&") or self.peek().after_comma

    def take_zone(self) -> str | None:
        """Take out the time zone, wherever it is named; the words around it close up."""
        places = [index for index, word in enumerate(self._words) if index > 0 and _ZONE.fullmatch(word.shown)]
        for word in self._words:
            if _ABBREVIATED.fullmatch(word.text):
                self.refuse(word, "stands for more than one clock; use UTC or an IANA name such as Europe/Berlin")
        if len(places) > 1:
            self.refuse(self._words[places[1]], "is a second time zone; a schedule has one")
        if not places:
            return None
        [place] = places
        name = self._zone(self._words[place])
        last = place + (self.peek(place + 1).text == "time")
        first = place - (self.peek(place - 1).text == "in")
        del self._words[first : last + 1]
        return name

    def _zone(self, word: Word) -> str:
        name = word.shown.strip("()")
        spelt = name if "/" in name else name.upper()
        for tried in (spelt, re.sub(r"(?<![a-z])[a-z]", lambda letter: letter[0].upper(), name.lower())):
            with suppress(InvalidSchedule):
                return check_zone(tried).key
        return self.refuse(word, "is no time zone; use an IANA name such as Europe/Berlin")

    def refuse(self, word: Word, reason: str) -> NoReturn:
        shown = word.shown if len(word.shown) <= _SHOWN_LETTERS else f"{word.shown[:_SHOWN_LETTERS]}…"
        place = f"at column {word.column}: {shown!r}" if shown else f"at column {word.column}, the end:"
        raise InvalidSchedule(self.field, f"{place} {reason}")

    def not_understood(self, expected: str = "") -> NoReturn:
        """Refuse the word under the cursor: with advice, the nearest word, what is expected here, or examples."""
        word = self.peek()
        if word.text in ADVICE:
            self.refuse(word, ADVICE[word.text])
        near = [] if word.text in _KNOWN else get_close_matches(word.text, _KNOWN, n=2, cutoff=0.7)
        wrong = "is not understood" if word.text not in _KNOWN else "is not understood here"
        if not word.text:
            wrong = "something is missing"
        if near:
            self.refuse(word, f"{wrong}; did you mean {' or '.join(map(repr, near))}?")
        self.refuse(word, f"{wrong}; right would be {expected or EXAMPLE}")


def _split(text: str) -> list[Word]:
    found: list[Word] = []
    end = 0
    matches = list(_WORD.finditer(text))
    for match in matches:
        shown = match.group()
        if match is matches[-1]:
            shown = _ENDED.sub("", shown) if shown.lower() not in ("a.m.", "p.m.") else shown
        if shown:
            after_comma = "," in text[end : match.start()]
            found += _simple(Word(_plain(shown), shown, match.start() + 1, after_comma))
        end = match.end()
    return found


def _plain(shown: str) -> str:
    """Small letters, but not of other scripts, of which some become Latin ones."""
    text = shown.replace("\u2013", "-").replace("\u2019", "'")
    return {"a.m.": "am", "p.m.": "pm"}.get(text.lower(), text.lower()) if text.isascii() else text


def _simple(word: Word) -> list[Word]:
    """What is written together, `15m`, `1h30m`, `mon-fri` or `8:00-18:00`, as the words it is made of."""
    if _AMOUNT.fullmatch(word.text):
        parts = [(part.group(), part.start()) for part in _AMOUNT_PART.finditer(word.text)]
    elif (span := _SPAN.fullmatch(word.text)) and not _ABBREVIATED.fullmatch(word.text):
        parts = [(span[number], span.start(number)) for number in (1, 2, 3)]
    else:
        return [word]
    return [
        Word(text, word.shown[start : start + len(text)], word.column + start, word.after_comma and start == 0)
        for text, start in parts
    ]
