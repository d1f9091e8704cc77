"""Schedules in plain English: a small grammar that refuses what it does not understand, and never guesses.

A text is a row of clauses in any order: how often (`every 15 minutes`, `daily`, `every weekday`), days (`on the 1st and 15th of the
month`, `mondays`), times (`at 9:00 and 17:00`), a part of the day (`between 8:00 and 18:00`), months (`in january`), bounds (`from
2027-03-01`, `until 2027-12-31`), a time zone; or a single moment (`tomorrow at 7pm`, `in 2 hours`), or a pause (`15 minutes after
each run ends`). What each of them means is told in docs/guides/schedules.md, where a test compares every line with this module.
"""

from __future__ import annotations

import msgspec

from dueline.domain import limits
from dueline.domain.durations import format_duration
from dueline.domain.english.clauses import read_said
from dueline.domain.english.cron import pace_s, to_cron
from dueline.domain.english.said import Said
from dueline.domain.english.times import Amount, Clock, Now
from dueline.domain.english.words import UNITS_MS, Words
from dueline.domain.instants import format_instant
from dueline.domain.localtime import check_zone

_DAY_UNITS = {"day": 1, "week": 7}


class Phrase(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a text was understood to be: exactly one of the five kinds, and what else it says.

    `repeat` is an ISO 8601 repeating interval on the calendar of the zone, for "every 2 weeks on monday", which cron cannot count.
    `timezone` is given only where the text names one. Both bounds are inclusive; `start_ms` is also where `every_ms` counts from.
    """

    cron: str | None = None
    every_ms: int | None = None
    at_ms: int | None = None
    after_ms: int | None = None
    repeat: str | None = None
    timezone: str | None = None
    start_ms: int | None = None
    end_ms: int | None = None


def read_english(text: str, *, timezone: str, now_ms: int, field: str) -> Phrase:
    """The meaning of a text, in a zone unless it names another, as seen from now; or InvalidSchedule with the column.

    A wall clock time that the clocks jump over is the first instant after the jump, and of two showings the first is meant.
    Whether a date that is written out has passed is for the caller to judge; "today at 9:00" must lie ahead.
    """
    words = Words(text, field=field)
    named = words.take_zone()
    now = Now(now_ms, named or check_zone(timezone).key)
    if words.ended:
        words.not_understood()
    said = read_said(words, now)
    if said.start_ms is not None and said.end_ms is not None and said.end_ms <= said.start_ms:
        words.refuse(said.where["end"], "ends before it starts")
    phrase = _single(words, said) if "one time" in said.where else _recurring(words, said)
    # An interval says itself when it begins.
    start_ms = said.start_ms if phrase.repeat is None else None
    return msgspec.structs.replace(phrase, timezone=named, start_ms=start_ms, end_ms=said.end_ms)


# Once.


def _single(words: Words, said: Said) -> Phrase:
    word = said.where["one time"]
    weekday = said.day is not None and len(said.weekdays) == 1 and not (said.repeats or said.plural)
    other = said.other_than("one time", "times", *(["weekdays"] if weekday else []))
    if other is not None:
        words.refuse(other, "does not go with a single day or moment; leave one of them out")
    if said.repeats:
        words.refuse(word, 'is a single day, and comes once; leave out "every", or the year')
    if said.moment_ms is not None:
        if said.times:
            words.refuse(said.where["times"], "does not go with a moment that has its time already")
        return Phrase(at_ms=said.moment_ms)
    if said.delay and not said.times:
        length_ms = _length_ms(words, said.delay)
        if length_ms > limits.EVERY_MS_MAX:
            words.refuse(word, "lies more than ten years ahead; name the date")
        return Phrase(at_ms=said.now.at_ms + length_ms)
    day = said.day
    if day is None:
        day = said.now.day + _whole_days(words, said)
    if weekday and day % 7 != said.weekdays[0]:
        words.refuse(said.where["weekdays"], "is not the weekday of that date; leave it out")
    at_ms = said.now.instant_ms(day, _one_time(words, said).second)
    if at_ms < said.now.at_ms - limits.AT_PAST_MS_MAX and day == said.now.day and word.text == "today":
        words.refuse(said.times[0].word, 'has passed today; say "tomorrow"')
    return Phrase(at_ms=at_ms)


def _whole_days(words: Words, said: Said) -> int:
    """The days of "in 2 days at 9:00"."""
    if any(amount.unit not in _DAY_UNITS for amount in said.delay):
        words.refuse(said.where["times"], 'does not go with a time from now; say "in 2 days at 9:00" or "in 2 hours"')
    days = sum(amount.number * _DAY_UNITS[amount.unit] for amount in said.delay)
    if days * UNITS_MS["day"] > limits.EVERY_MS_MAX:
        words.refuse(said.where["one time"], "lies more than ten years ahead; name the date")
    return days


def _one_time(words: Words, said: Said) -> Clock:
    if not said.times:
        words.not_understood('a time, such as "tomorrow at 9:00"')
    if len(said.times) > 1:
        words.refuse(said.times[1].word, "is a second time; here there is one")
    return said.times[0]


def _length_ms(words: Words, amounts: list[Amount]) -> int:
    for amount in amounts:
        if amount.unit not in UNITS_MS:
            words.refuse(amount.word, f"counts {amount.unit}s, which differ in length; name the date, or count days")
    return sum(amount.number * UNITS_MS[amount.unit] for amount in amounts)


# Again and again.


def _recurring(words: Words, said: Said) -> Phrase:
    if said.once is not None:
        words.refuse(said.once, 'is a single run; name its day, such as "once on 24 December 2026 at 18:00"')
    if said.after:
        other = said.other_than("after", "start", "end")
        if other is not None:
            words.refuse(other, "does not go with a pause between runs")
        return Phrase(after_ms=_period_ms(words, said.after))
    if len(said.period) > 1 or (pace_s(said) is not None and not said.bare):
        if said.other_than("period", "start", "end") is None:
            return Phrase(every_ms=_period_ms(words, said.period))
        _length_ms(words, said.period)
    if not said.times and said.start_second is not None and pace_s(said) is None:
        # "every day starting tomorrow at 9:00" is at 9:00 on the other days too.
        said.set_times(words, [Clock(said.start_second, True, False, said.where["start"])], said.where["start"])
    if len(said.period) == 1 and said.period[0].unit in _DAY_UNITS and said.period[0].number > 1:
        return Phrase(repeat=_repeat(words, said))
    return Phrase(cron=to_cron(words, said))


def _period_ms(words: Words, amounts: list[Amount]) -> int:
    period_ms = _length_ms(words, amounts)
    if not limits.EVERY_MS_MIN <= period_ms <= limits.EVERY_MS_MAX:
        words.refuse(
            amounts[0].word,
            f"must be between {format_duration(limits.EVERY_MS_MIN)} and {format_duration(limits.EVERY_MS_MAX)}",
        )
    return period_ms


def _repeat(words: Words, said: Said) -> str:
    """Every so many days or weeks at a time of day, from the first time after its start on, or ahead if it names none."""
    amount = said.period[0]
    weekly = amount.unit == "week"
    other = said.other_than("period", "times", "start", "end", *(["weekdays"] if weekly else []))
    if other is not None:
        words.refuse(other, f"does not go with every {amount.number} {amount.unit}s")
    if weekly and len(said.weekdays) != 1:
        if said.weekdays:
            words.refuse(said.where["weekdays"], "is more than one day; make a schedule for each")
        words.not_understood('the day, such as "every 2 weeks on monday at 9:00"')
    if not said.times:
        words.not_understood(f'a time, such as "every {amount.number} {amount.unit}s at 9:00", or "every 48 hours"')
    second = _one_time(words, said).second
    _period_ms(words, said.period)
    since_ms = said.now.at_ms + 1 if said.start_ms is None else said.start_ms
    day = Now(since_ms, said.now.timezone).day
    while (weekly and day % 7 != said.weekdays[0]) or said.now.instant_ms(day, second) < since_ms:
        day += 1
    days = amount.number * _DAY_UNITS[amount.unit]
    return f"R/{format_instant(said.now.instant_ms(day, second))}/P{days}D"
