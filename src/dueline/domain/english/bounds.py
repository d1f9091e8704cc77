"""Bounds in English schedules: the part of a day between two times, and the dates between which a schedule holds."""

from __future__ import annotations

from collections.abc import Iterable

from dueline.domain.english.days import read_weekdays
from dueline.domain.english.said import Said, Window
from dueline.domain.english.times import Now, read_clock, read_day, read_instant_word, read_relative_day
from dueline.domain.english.words import WEEKDAYS, Word, Words


def read_between(words: Words, said: Said) -> None:
    word = words.take()
    if _moment_ahead(words, said.now):
        said.set_start(words, _moment(words, said.now, last=False), word)
        if not words.accept("and"):
            words.not_understood('"and", and the date of the end')
        said.set_end(words, _moment(words, said.now, last=True), word)
    else:
        read_window(words, said, word, ("and",))


def read_from(words: Words, said: Said) -> None:
    word = words.take()
    if words.accept("now", "on") or words.accept("now"):
        return
    if words.peek().text in WEEKDAYS:
        read_weekdays(words, said)
    elif _moment_ahead(words, said.now):
        said.set_start(words, _moment(words, said.now, last=False), word)
        if words.accept_any("to", "until", "till", "through"):
            said.set_end(words, _moment(words, said.now, last=True), word)
    else:
        read_window(words, said, word, ("to", "until", "till", "-", "through"))


def read_starting(words: Words, said: Said) -> None:
    word = words.take()
    words.accept_any("on", "from", "at")
    if words.accept("now"):
        return
    said.set_start(words, _moment(words, said.now, last=False), word)


def read_until(words: Words, said: Said) -> None:
    word = words.take()
    words.accept_any("on", "at")
    if not _moment_ahead(words, said.now) and read_clock(words, bare=True) is not None:
        words.refuse(word, 'needs its beginning too; say "from 8:00 until 18:00"')
    said.set_end(words, _moment(words, said.now, last=True), word)


def _moment_ahead(words: Words, now: Now) -> bool:
    at = words.at
    found = read_relative_day(words, now) is not None or read_day(words) is not None
    found = found or read_instant_word(words, now) is not None
    words.at = at
    return found


def _moment(words: Words, now: Now, *, last: bool) -> tuple[int, int | None]:
    """A bound in milliseconds and its time of day if it has one: without one, a day begins or ends at midnight."""
    at_ms = read_instant_word(words, now)
    if at_ms is not None:
        return at_ms, None
    relative = read_relative_day(words, now)
    if relative is not None:
        ordinal = relative[0]
    else:
        day = read_day(words)
        if day is None:
            words.not_understood('a date such as 2026-12-31, "31 December 2026" or "tomorrow at 9:00"')
        if day.year is None:
            words.refuse(day.word, 'needs its year here, such as "31 December 2026"')
        ordinal = day.ordinal
    at = words.at
    words.accept("at")
    clock = read_clock(words, bare=words.at > at)
    if clock is None:
        words.at = at
        return (now.instant_ms(ordinal + 1, 0) - 1 if last else now.instant_ms(ordinal, 0)), None
    return now.instant_ms(ordinal, clock.second), clock.second


def read_window(words: Words, said: Said, word: Word, joints: Iterable[str]) -> None:
    """The times from one to another, with one of the joints between them."""
    first = read_clock(words, bare=True)
    if first is None:
        words.not_understood('times such as "between 8:00 and 18:00"')
    joint = words.peek().text
    if joint not in joints:
        words.not_understood(f'"{next(iter(joints))}", and the time of the end')
    words.take()
    last = read_clock(words, bare=True, end=True)
    if last is None:
        words.not_understood("the time of the end, such as 18:00")
    for clock, other in ((first, last), (last, first)):
        if other.marked and not clock.sure:
            words.refuse(clock.word, f"is it am or pm? say {clock.word.text}am or {clock.word.text}pm")
    if first.second >= last.second and ":" not in first.word.text + last.word.text and not (first.sure or last.sure):
        words.refuse(last.word, 'is before the beginning; say it with minutes, such as "between 9:00 and 17:00"')
    said.set_window(words, Window(first.second, last.second, joint == "through", word))
