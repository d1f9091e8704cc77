"""The small pieces of English schedules: numbers, amounts of time, times of day, dates and moments."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import NamedTuple

from dueline.domain.crontab import YEAR
from dueline.domain.english.words import MONTHS, NUMBERS, ORDINALS, UNITS, WEEKDAYS, Word, Words
from dueline.domain.instants import from_datetime
from dueline.domain.localtime import DstGap, DstOverlap, stretches, wall_day

_DIGITS_MAX = 9
_TIME = re.compile(r"(\d{1,2})(?::(\d\d))?(?::(\d\d))?(am|pm)?", re.ASCII)
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th)", re.ASCII)
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)(?:t(\d\d:\d\d(?::\d\d)?)(?:\.\d+)?(z|[+-]\d\d:\d\d)?)?", re.ASCII)
_UNCLEAR = re.compile(r"\d{1,4}[/.]\d{1,2}[/.]\d{1,4}", re.ASCII)
_WEEK_DAYS = 7


class Amount(NamedTuple):
    """A number of a unit, such as 15 minutes."""

    number: int
    unit: str
    word: Word


class Clock(NamedTuple):
    """A time of day in seconds from midnight. `sure` when it cannot be the other half of the day."""

    second: int
    sure: bool
    marked: bool
    word: Word


class Day(NamedTuple):
    """A date, with its year unless it is one of every year."""

    year: int | None
    month: int
    day: int
    word: Word

    @property
    def ordinal(self) -> int:
        assert self.year is not None, "a day of every year is no day"
        return date(self.year, self.month, self.day).toordinal()


class Now(NamedTuple):
    """The present in the zone that a phrase is read for."""

    at_ms: int
    timezone: str

    @property
    def day(self) -> int:
        return wall_day(self.timezone, self.at_ms // 1000)

    def instant_ms(self, day: int, second: int) -> int:
        """A wall clock time by the default policies: the first instant after a gap, the first of two showings."""
        for part in stretches(self.timezone, day, DstGap.RUN_AFTER, DstOverlap.FIRST):
            if part.from_s <= second < part.until_s:
                return 1000 * (part.midnight_s + second if part.at_s is None else part.at_s)
        raise AssertionError("with these policies every second of a day is somewhere")


def read_number(words: Words) -> int | None:
    """A whole number in digits or as a word up to twelve."""
    word = words.peek()
    if word.text in NUMBERS:
        words.take()
        return NUMBERS[word.text]
    if not re.fullmatch("[0-9]+", word.text):
        return None
    if len(word.text) > _DIGITS_MAX:
        words.refuse(word, f"is too large; a number has at most {_DIGITS_MAX} digits")
    words.take()
    return int(word.text)


def read_amount(words: Words, *, articles: bool = False) -> Amount | None:
    """A number and its unit; with articles also "an hour". Nothing is taken unless both are there."""
    at, word = words.at, words.peek()
    number = 1 if articles and words.accept_any("a", "an") else read_number(words)
    unit = UNITS.get(words.peek().text)
    if number is None or unit is None:
        words.at = at
        return None
    if number == 0:
        words.refuse(word, "is no time at all; count from 1")
    words.take()
    return Amount(number, unit, word)


def read_amounts(words: Words, *, articles: bool = False) -> list[Amount]:
    """Amounts that add up: "1 day and 2 hours"."""
    found: list[Amount] = []
    while True:
        at = words.at
        if found:
            words.accept_and()
        amount = read_amount(words, articles=articles)
        if amount is None or amount.unit in [one.unit for one in found]:
            words.at = at
            return found
        found.append(amount)


def read_ordinal(words: Words) -> int | None:
    """`1st` to `31st`, or a word up to twelfth."""
    word = words.peek()
    if word.text in ORDINALS:
        words.take()
        return ORDINALS[word.text]
    match = _ORDINAL.fullmatch(word.text)
    if match is None:
        return None
    if not 1 <= int(match[1]) <= 31:
        words.refuse(word, "is no day of a month; they are 1st to 31st")
    words.take()
    return int(match[1])


def read_clock(words: Words, *, bare: bool, end: bool = False) -> Clock | None:
    """A time of day; bare hours (`9`) only where a time must stand, 24:00 only as an end. Nothing is taken when there is none."""
    word = words.peek()
    if word.text in ("noon", "midday", "midnight"):
        words.take()
        return Clock(0 if word.text == "midnight" else 43_200, True, False, word)
    match = _TIME.fullmatch(word.text)
    if match is None:
        return None
    half = match[4] or (words.peek(1).text if words.peek(1).text in ("am", "pm", "o'clock") else None)
    if not (bare or match[2] or half):
        return None
    words.take()
    if half and not match[4]:
        words.take()
    hour, minute, second = int(match[1]), int(match[2] or 0), int(match[3] or 0)
    marked = half in ("am", "pm")
    if marked:
        if not 1 <= hour <= 12:
            words.refuse(word, f"is no time; with {half} the hour is 1 to 12")
        hour = hour % 12 + (12 if half == "pm" else 0)
    if (hour, minute, second) == (24, 0, 0) and not end:
        words.refuse(word, "is the end of a day; say 0:00, which is the start of the next")
    if (hour > 23 and (hour, minute, second) != (24, 0, 0)) or minute > 59 or second > 59:
        words.refuse(word, "is no time of day; they go from 0:00 to 23:59")
    return Clock(hour * 3600 + minute * 60 + second, marked or hour == 0 or hour > 12, marked, word)


def read_clocks(words: Words) -> list[Clock]:
    """A list of times, with bare hours. When one is marked am or pm, every one must be clear."""
    first = read_clock(words, bare=True)
    if first is None:
        words.not_understood("a time such as 9:00, 9am, noon or 17:30")
    found = [first]
    while True:
        at = words.at
        clock = read_clock(words, bare=True) if words.accept_and() else None
        # "at 9:00 and 15 minutes …" or "at 9:00, 24 December" goes on with something else.
        if clock is None or words.peek().text in MONTHS or words.peek().text in UNITS:
            words.at = at
            break
        found.append(clock)
    if any(clock.marked for clock in found):
        for clock in found:
            if not clock.sure:
                words.refuse(clock.word, f"is it am or pm? say {clock.word.text}am or {clock.word.text}pm")
    return found


def read_day(words: Words) -> Day | None:
    """A date: `2026-12-24`, `24 December [2026]`, `the 24th of December`, `December 24[, 2026]`. Nothing is taken when there is none."""
    at, word = words.at, words.peek()
    if _UNCLEAR.fullmatch(word.text):
        words.refuse(word, "is read differently from place to place; say 2026-12-24 or 24 December 2026")
    iso = _ISO.fullmatch(word.text)
    if iso is not None and iso[2] is None:
        words.take()
        year, month, day = map(int, iso[1].split("-"))
        return _checked(words, Day(year, month, day, word))
    words.accept("the")
    word = words.peek()
    number = read_ordinal(words)
    if number is None:
        number = _day_number(words)
    if number is not None:
        words.accept("of")
    month_number = MONTHS.get(words.peek().text)
    if month_number is None:
        words.at = at
        return None
    words.take()
    if number is None:
        number = read_ordinal(words)
        if number is None:
            number = _day_number(words)
        if number is None:
            words.at = at
            return None
    return _checked(words, Day(_year(words), month_number, number, word))


def _day_number(words: Words) -> int | None:
    return int(words.take().text) if re.fullmatch("[0-9]{1,2}", words.peek().text) else None


def _year(words: Words) -> int | None:
    return int(words.take().text) if re.fullmatch("[0-9]{4}", words.peek().text) else None


def _checked(words: Words, day: Day) -> Day:
    """The date, if it is one. 29 February is a date of every year in which there is one."""
    if day.year is not None and not YEAR.low <= day.year <= YEAR.high:
        words.refuse(day.word, f"lies in the year {day.year}; years go from {YEAR.low} to {YEAR.high}")
    try:
        date(2000 if day.year is None else day.year, day.month, day.day)
    except ValueError:
        words.refuse(day.word, "is no date of the calendar")
    return day


def read_relative_day(words: Words, now: Now) -> tuple[int, Word] | None:
    """Today, tomorrow, the day after tomorrow or the next of a weekday, which is never today; as an ordinal."""
    word = words.peek()
    if words.accept("today"):
        return now.day, word
    if words.accept("tomorrow"):
        return now.day + 1, word
    if words.accept("the", "day", "after", "tomorrow") or words.accept("day", "after", "tomorrow"):
        return now.day + 2, word
    if word.text == "next" and words.peek(1).text in WEEKDAYS:
        weekday = WEEKDAYS[words.peek(1).text]
        words.accept("next", words.peek(1).text)
        return now.day + 1 + (weekday - (now.day + 1)) % _WEEK_DAYS, word
    return None


def read_instant_word(words: Words, now: Now) -> int | None:
    """`2026-12-24T18:00`, in the zone unless it has an offset, as milliseconds."""
    word = words.peek()
    iso = _ISO.fullmatch(word.text)
    if iso is None or iso[2] is None:
        return None
    try:
        moment = datetime.fromisoformat(word.text.upper())
    except ValueError:
        words.refuse(word, "is no moment of the calendar")
    _checked(words, Day(moment.year, moment.month, moment.day, word))
    words.take()
    if moment.tzinfo is not None:
        return from_datetime(moment)
    return now.instant_ms(moment.toordinal(), moment.hour * 3600 + moment.minute * 60 + moment.second)
