"""Days in English schedules: days of the week, days counted in a month, and the months themselves."""

from __future__ import annotations

import re

from dueline.domain.english.said import Said
from dueline.domain.english.times import read_ordinal
from dueline.domain.english.words import GROUPS, MONTHS, PLURAL_DAYS, UNITS, WEEKDAYS, Word, Words

_LAST = 0
"""The ordinal that "last" is."""


def read_weekdays(words: Words, said: Said) -> None:
    """A list of weekdays and of ranges of them: "monday and thursday", "mon-fri", "weekdays"."""
    first = words.peek()
    found: list[int] = []
    plural = False
    while True:
        word = words.take()
        plural |= word.text in PLURAL_DAYS
        if word.text in GROUPS:
            found += GROUPS[word.text]
        else:
            low = high = WEEKDAYS[word.text]
            at = words.at
            if words.accept_any("to", "through", "until", "till", "-"):
                if words.peek().text in WEEKDAYS:
                    plural |= words.peek().text in PLURAL_DAYS
                    high = WEEKDAYS[words.take().text]
                else:
                    words.at = at
            found += [number % 7 for number in range(low, (high if high >= low else high + 7) + 1)]
        at = words.at
        if not words.accept_and() or not (words.peek().text in WEEKDAYS or words.peek().text in GROUPS):
            words.at = at
            break
    # Several days cannot be one day of this week.
    said.set_weekdays(words, sorted(set(found)), first, plural=plural or len(set(found)) > 1)


def begins_ordinals(words: Words) -> bool:
    """Whether days by their number come next."""
    at = words.at
    words.accept("the")
    numbered = words.peek().text == "day" and re.fullmatch("[0-9]{1,2}", words.peek(1).text)
    found = words.peek().text == "last" or _is_nearest(words) or bool(numbered) or read_ordinal(words) is not None
    words.at = at
    return found


def _is_nearest(words: Words) -> bool:
    return {words.peek().text, words.peek(1).text} == {"weekday", "nearest"}


def read_ordinals(words: Words, said: Said) -> None:
    """Days by their number: "the 1st and 15th", "last day", "second and last friday", "weekday nearest the 15th", and of what."""
    words.accept("the")
    if words.peek().text == "day":
        words.take()
    first = words.peek()
    dates: list[str] = []
    nths: list[str] = []
    while True:
        _item(words, dates, nths)
        at = words.at
        if not words.accept_and():
            break
        words.accept("the")
        if words.peek().text != "last" and read_ordinal(words) is None:
            words.at = at
            break
        words.at = at
        words.accept_and()
    if dates:
        said.add_dates(words, dates, first)
    if nths:
        said.add_nths(words, nths, first)
    unit = UNITS.get(words.peek().text)
    if unit is not None and dates and dates[-1].isdigit():
        words.refuse(first, f'is not understood before {words.peek().shown!r}; say "every {dates[-1]} {unit}s"')
    counted = words.peek(-1).text in ("day", "days") and any(text.isdigit() for text in dates)
    if words.accept("of"):
        read_of(words, said, first)
    elif counted and said.repeats:
        words.refuse(
            first,
            'can mean two things; say "every 3 days at 9:00" or "on day 3 of every month at 9:00"'.replace(
                "3", dates[0]
            ),
        )


def _item(words: Words, dates: list[str], nths: list[str]) -> None:
    """Numbers and what they count: weekdays, days, or nothing, which are days too."""
    words.accept("the")
    if _is_nearest(words):
        words.take()
        words.take()
        words.accept("to")
        words.accept("the")
        number = _number(words)
        if number == _LAST:
            words.not_understood('"weekday nearest the 15th"')
        dates.append(f"{number}W")
        return
    word = words.peek()
    numbers = [_number(words)]
    while True:
        at = words.at
        if not words.accept_and():
            break
        words.accept("the")
        number = _LAST if words.peek().text == "last" else read_ordinal(words) or -1
        if number == _LAST:
            words.take()
        if number < 0:
            words.at = at
            break
        numbers.append(number)
    noun = words.peek()
    if noun.text in WEEKDAYS:
        words.take()
        nths += [_nth(words, word, number, WEEKDAYS[noun.text]) for number in numbers]
    elif words.accept("weekday"):
        if not set(numbers) <= {_LAST, 1}:
            words.refuse(word, 'counts weekdays; only "first weekday" and "last weekday" can be said')
        dates += ["LW" if number == _LAST else "1W" for number in numbers]
    elif words.accept("last", "day") or words.accept("to", "last", "day"):
        if len(numbers) > 1 or numbers[0] in (_LAST, 1):
            words.refuse(word, 'is not understood; right would be "second last day" or "last day"')
        dates.append(f"L-{numbers[0] - 1}")
    else:
        words.accept_any("day", "days")
        if _LAST in numbers and words.peek(-1).text not in ("day", "days"):
            words.not_understood('"last day", "last weekday" or "last friday"')
        dates += ["L" if number == _LAST else str(number) for number in numbers]


def _number(words: Words) -> int:
    if words.accept("last"):
        return _LAST
    number = read_ordinal(words)
    if number is None and re.fullmatch("[0-9]{1,2}", words.peek().text) and words.peek(-1).text == "day":
        if not 1 <= int(words.peek().text) <= 31:
            words.refuse(words.peek(), "is no day of a month; they are 1 to 31")
        number = int(words.take().text)
    if number is None:
        words.not_understood('days such as "monday", "the 15th", "the last day" or "24 December 2026"')
    return number


def _nth(words: Words, word: Word, number: int, weekday: int) -> str:
    if number > 5:
        words.refuse(word, "is more than the weeks of a month; right would be first to fifth, or last")
    return f"{weekday}L" if number == _LAST else f"{weekday}#{number}"


def read_of(words: Words, said: Said, word: Word) -> None:
    """What days are counted in: "the month", "every quarter", "the year", or months by name."""
    words.accept_any("the", "every", "each", "a")
    unit = words.peek().text
    if unit in ("month", "quarter", "year"):
        words.take()
        if said.of:
            words.refuse(word, "says a second time what days are counted in")
        said.of = unit
        return
    months: list[int] = []
    first = words.peek()
    while words.peek().text in MONTHS:
        low = high = MONTHS[words.take().text]
        if words.accept_any("to", "through", "-"):
            if words.peek().text not in MONTHS:
                words.not_understood("the last month, such as june")
            high = MONTHS[words.take().text]
        months += [(number - 1) % 12 + 1 for number in range(low, (high if high >= low else high + 12) + 1)]
        at = words.at
        if not words.accept_and() or words.peek().text not in MONTHS:
            words.at = at
            break
    if not months:
        words.not_understood('"of the month", "of january" or "of every quarter"')
    said.add_months(words, sorted(set(months)), first)
    said.of = said.of or "months"
