"""The clauses of English schedules, in any order: each is read into what was said, and what is said twice is refused."""

from __future__ import annotations

import re
from collections.abc import Callable

from dueline.domain.english.bounds import read_between, read_from, read_starting, read_until, read_window
from dueline.domain.english.days import begins_ordinals, read_of, read_ordinals, read_weekdays
from dueline.domain.english.said import Said
from dueline.domain.english.times import (
    Amount,
    Now,
    read_amount,
    read_amounts,
    read_clock,
    read_clocks,
    read_day,
    read_instant_word,
    read_relative_day,
)
from dueline.domain.english.words import ADVERBS, GROUPS, MONTHS, ORDINALS, UNITS, WEEKDAYS, Word, Words

_PAST = re.compile(r":([0-5]\d)", re.ASCII)
_ENDS = ("ends", "ended", "finishes", "finished", "completes", "completed", "stops", "stopped", "done", "over")


def read_said(words: Words, now: Now) -> Said:
    """Everything that a text says, clause by clause, to its end."""
    said = Said(now)
    while not words.ended:
        word = words.peek()
        reader = _READERS.get(word.text, _bare)
        at = words.at
        reader(words, said)
        if words.at == at:
            words.not_understood()
        if words.peek().text == "and" and words.peek(1).text:
            words.take()
    return said


def _every(words: Words, said: Said) -> None:
    every = words.take()
    word = words.peek()
    if words.accept("other"):
        _other(words, said, every)
    elif words.accept("half", "an", "hour") or words.accept("half", "hour") or words.accept("half", "a", "hour"):
        said.set_period(words, [Amount(30, "minute", every)])
    elif words.accept("quarter", "hour") or words.accept("quarter", "of", "an", "hour"):
        said.set_period(words, [Amount(15, "minute", every)])
    elif _is_ordinal_second(words) or (word.text != "second" and begins_ordinals(words)):
        said.repeats = True
        if not _dated(words, said):
            read_ordinals(words, said)
    elif word.text in UNITS:
        words.take()
        said.set_period(words, [Amount(1, UNITS[word.text], every)], bare=True)
    elif word.text in WEEKDAYS or word.text in GROUPS:
        said.repeats = True
        read_weekdays(words, said)
    elif _dated(words, said):
        said.repeats = True
    elif word.text in MONTHS:
        said.repeats = True
        said.repeats_in_months = True
        _months(words, said)
    elif word.text in ("noon", "midnight", "midday"):
        said.set_period(words, [Amount(1, "day", every)], bare=True)
    else:
        amounts = read_amounts(words)
        if not amounts:
            _refuse_after_every(words, every)
        if not _delay(words, said, amounts):
            said.set_period(words, amounts)


def _refuse_after_every(words: Words, every: Word) -> None:
    if re.fullmatch(r"\d+\.\d+", words.peek().text):
        words.refuse(words.peek(), 'is no whole number; say "every 90 minutes" or "every 1 hour and 30 minutes"')
    words.not_understood(
        f'"{every.text} day", "{every.text} weekday", "{every.text} monday" or "{every.text} 15 minutes"'
    )


def _other(words: Words, said: Said, every: Word) -> None:
    word = words.peek()
    if word.text in UNITS:
        words.take()
        said.set_period(words, [Amount(2, UNITS[word.text], every)])
    elif word.text in WEEKDAYS:
        said.set_period(words, [Amount(2, "week", every)])
        read_weekdays(words, said)
    else:
        words.not_understood('"every other day", "every other week on monday" or "every other monday"')


def _is_ordinal_second(words: Words) -> bool:
    """Whether "second" is the ordinal: before what there can be a second of, and not before its end."""
    after = words.peek(1).text
    return words.peek().text == "second" and (
        after in WEEKDAYS or after in ORDINALS or after in ("day", "weekday", "and", "last", "to", "of", "hour", "minute", "week", "month")
    )  # fmt: skip


def _dated(words: Words, said: Said) -> bool:
    """A date: with a year it is one day, without one a day of every year."""
    day = read_day(words)
    if day is None:
        return False
    if day.year is not None:
        said.set_day(words, day.ordinal, day.word)
    else:
        said.add_dates(words, [str(day.day)], day.word)
        said.add_months(words, [day.month, *_more_months(words)], day.word)
        said.of = said.of or "date"
    return True


def _more_months(words: Words) -> list[int]:
    """The july of "the 1st of january and july", but not that of "1 january and 1 july"."""
    found: list[int] = []
    while True:
        at = words.at
        words.accept_and()
        month = MONTHS.get(words.peek().text)
        if month is None or words.at == at or words.peek(1).text[:1].isdigit():
            words.at = at
            return found
        words.take()
        found.append(month)


def _adverb(words: Words, said: Said) -> None:
    word = words.take()
    said.set_period(words, [Amount(1, ADVERBS[word.text], word)], bare=True)


def _once(words: Words, said: Said) -> None:
    word = words.take()
    if words.accept_any("a", "per", "every", "each"):
        unit = UNITS.get(words.peek().text)
        if unit is None:
            words.not_understood('"once a day at 9:00"')
        words.take()
        said.set_period(words, [Amount(1, unit, word)], bare=True)
    else:
        said.once = word


def _at(words: Words, said: Said) -> None:
    word = words.take()
    minutes = _past_hour(words)
    if minutes is not None:
        said.set_past(words, minutes, word)
        return
    said.set_times(words, read_clocks(words), word)


def _past_hour(words: Words) -> list[int] | None:
    """Minutes past the hour: `:15`, `15 minutes past`, `minute 15`, the top of the hour. Nothing is taken when there are none."""
    at = words.at
    if words.accept("the", "top", "of", "the", "hour") or words.accept("the", "start", "of", "the", "hour"):
        return [0]
    named = words.accept_any("minute", "minutes")
    found: list[int] = []
    colons = False
    while not found or words.accept_and():
        text = words.peek().text
        match = _PAST.fullmatch(text)
        colons |= match is not None
        if match is None and not re.fullmatch("[0-9]{1,2}", text):
            break
        number = int(match[1] if match else text)
        if number > 59 and (named or words.peek(1).text in ("minutes", "past")):
            words.refuse(words.peek(), "is no minute; they go from 0 to 59")
        found.append(number)
        words.take()
    tail = (words.accept_any("minute", "minutes", "mins", "min"), words.accept("past"))
    if tail[1] or (named and found):
        _the_hour(words)
    if not found or not (colons or named or tail[1]):
        words.at = at
        return None
    return found


def _the_hour(words: Words) -> None:
    """ "the hour" says nothing more; "every hour" is left to be read as what it is."""
    if words.accept("the", "hour") or words.accept("of", "the", "hour") or words.peek(1).text != "hour":
        return
    words.accept("of")


def _on(words: Words, said: Said) -> None:
    words.take()
    if words.accept("the", "hour"):
        said.set_past(words, [0], words.peek(-1))
    elif words.peek().text in WEEKDAYS or words.peek().text in GROUPS:
        read_weekdays(words, said)
    elif not _one_day(words, said) and not _dated(words, said):
        read_ordinals(words, said)


def _one_day(words: Words, said: Said) -> bool:
    """A single day that is told from today, or a moment in one word."""
    relative = read_relative_day(words, said.now)
    if relative is not None:
        said.set_day(words, *relative)
        return True
    word = words.peek()
    at_ms = read_instant_word(words, said.now)
    if at_ms is not None:
        said.set_moment(words, at_ms, word)
    return at_ms is not None


def _in(words: Words, said: Said) -> None:
    word = words.take()
    if words.accept("every") or words.accept("each"):
        words.at -= 1
        return
    amounts = read_amounts(words, articles=True)
    if amounts:
        said.set_delay(words, amounts, word)
    elif words.peek().text in MONTHS:
        _months(words, said)
    else:
        words.accept("the")
        words.not_understood('"in 2 hours", "in january" or "in Europe/Berlin"')


def _months(words: Words, said: Said) -> None:
    word = words.peek()
    read_of(words, said, word)


def _now(words: Words, said: Said) -> None:
    word = words.take()
    if word.text == "right" and not words.accept("now"):
        words.not_understood('"right now"')
    said.set_moment(words, said.now.at_ms, word)


def _delay(words: Words, said: Said, amounts: list[Amount]) -> bool:
    """ "15 minutes after the last run ends", in the ways that people say it."""
    word = words.peek()
    if not words.accept("after"):
        return False
    words.accept_any("the", "each", "every", "a")
    words.accept_any("last", "previous", "prior")
    if not words.accept_any("run", "one", "job", "execution", "it", "completion"):
        words.not_understood('"15 minutes after the last run ends"')
    words.accept_any("is", "has")
    words.accept_any(*_ENDS)
    said.set_after(words, amounts, word)
    return True


def _bare(words: Words, said: Said) -> None:
    """What stands without a word that leads it."""
    word = words.peek()
    if (word.text in WEEKDAYS or word.text in GROUPS) and not begins_ordinals(words):
        read_weekdays(words, said)
        return
    if _one_day(words, said) or _dated(words, said):
        return
    if word.text in MONTHS:
        _months(words, said)
        return
    past = _past_hour(words)
    if past is not None:
        said.set_past(words, past, word)
        return
    amounts = read_amounts(words)
    if amounts:
        if words.accept("from", "now"):
            said.set_delay(words, amounts, word)
        elif not _delay(words, said, amounts):
            words.refuse(
                word,
                'is how long, and not when; say "every 15 minutes", "in 15 minutes" or "15 minutes after each run"',
            )
        return
    if read_amount(words, articles=True) is not None:
        words.refuse(word, 'is how long, and not when; say "every hour" or "in an hour"')
    if begins_ordinals(words):
        read_ordinals(words, said)
        return
    at = words.at
    if words.peek(1).text == "-":
        read_window(words, said, word, ("-",))
    elif read_clock(words, bare=False) is not None:
        words.at = at
        said.set_times(words, read_clocks(words), word)


_READERS: dict[str, Callable[[Words, Said], None]] = {
    **dict.fromkeys(("every", "each"), _every),
    **dict.fromkeys(ADVERBS, _adverb),
    **dict.fromkeys(("from",), read_from),
    **dict.fromkeys(("starting", "starts", "beginning", "start"), read_starting),
    **dict.fromkeys(("until", "till", "ending", "ends"), read_until),
    **dict.fromkeys(("now", "immediately", "right"), _now),
    "once": _once,
    "at": _at,
    "on": _on,
    "between": read_between,
    "in": _in,
    "of": lambda words, said: read_of(words, said, words.take()),
}
