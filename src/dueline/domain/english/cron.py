"""From what an English schedule has said to one cron expression that means exactly that; what no expression can say is refused."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from dueline.domain.crontab import DATE, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, Field
from dueline.domain.english.said import Said, Window
from dueline.domain.english.words import UNITS_MS, Words
from dueline.domain.localtime import DAY_S

_HOUR_S = 3_600
_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_QUARTER_FIRSTS = [1, 4, 7, 10]
_QUARTER_LASTS = [3, 6, 9, 12]
_WEEKDAYS = tuple(WEEKDAY.names)
_WITHIN_DAY = ("second", "minute", "hour")
_STEPS_LEAST = 5
"""How many numbers in even steps are written as a range with a step; fewer are easier to read as a list."""


class _Days(NamedTuple):
    """The three fields of days."""

    dates: list[str]
    months: list[int]
    weekdays: list[str]


def to_cron(words: Words, said: Said) -> str:
    """The expression: five fields, or six when seconds are needed."""
    days = _days(words, said)
    second, minute, hour = _clock(words, said, restricted=bool(days.dates or days.weekdays))
    months = _written(days.months, MONTH)
    rest = f"{minute} {hour} {','.join(days.dates) or '*'} {months or '*'} {','.join(days.weekdays) or '*'}"
    return rest if second == "0" else f"{second} {rest}"


def pace_s(said: Said) -> int | None:
    """Seconds from one fire to the next, where the period is shorter than a day or made of several units."""
    if not said.period or (len(said.period) == 1 and said.period[0].unit not in _WITHIN_DAY):
        return None
    return sum(amount.number * UNITS_MS.get(amount.unit, 0) for amount in said.period) // 1000


# The time of day.


def _clock(words: Words, said: Said, *, restricted: bool) -> tuple[str, str, str]:
    step_s = pace_s(said)
    if said.past:
        return _past(words, said, step_s, restricted=restricted)
    if said.times:
        if step_s is not None:
            words.refuse(
                said.where["times"], 'does not go with steps of time; say "starting tomorrow at 9:00" or leave it out'
            )
        if said.window is not None:
            words.refuse(said.window.word, "does not go with single times")
        found = _product(clock.second for clock in said.times)
        if found is None:
            words.refuse(
                said.where["times"],
                "begins times that no single cron expression has; make two schedules, or give them the same minutes",
            )
        return found
    if step_s is None:
        if said.window is not None:
            words.refuse(said.window.word, 'needs how often; say "every 15 minutes between 8:00 and 18:00"')
        while not words.ended:
            words.take()
        words.not_understood('a time, such as "at 9:00"')
    if said.window is not None:
        return _in_window(words, said.window, step_s, restricted=restricted)
    return _steps(words, said, step_s)


def _past(words: Words, said: Said, step_s: int | None, *, restricted: bool) -> tuple[str, str, str]:
    """Minutes past the hour, of every hour or of every few."""
    word = said.where["past"]
    if said.times:
        words.refuse(word, "does not go with a time of day")
    if step_s is None and said.period and said.period[0].unit != "hour":
        words.refuse(word, 'needs its hours; say "every hour at :15" or a time such as 9:15')
    hours = (step_s or _HOUR_S) / _HOUR_S
    if hours != int(hours) or 24 % int(hours):
        words.refuse(word, "goes with hours by which a day can be divided: every 1, 2, 3, 4, 6, 8 or 12 hours")
    if said.window is None:
        return "0", _written(said.past, MINUTE), "*" if hours == 1 else f"*/{int(hours)}"
    first_hour = said.window.first // _HOUR_S
    times = [
        (hour * 60 + minute) * 60
        for hour in range(first_hour, first_hour + 25, int(hours))
        for minute in sorted(set(said.past))
    ]
    return _cut(words, said.window, times, restricted=restricted)


def _steps(words: Words, said: Said, step_s: int) -> tuple[str, str, str]:
    """Steps through the whole day, which cron begins anew in every minute, hour or day."""
    word = said.where["period"]
    for size_s, whole, fields in (
        (_HOUR_S, 24, ("0", "0", "{}")),
        (60, 60, ("0", "{}", "*")),
        (1, 60, ("{}", "*", "*")),
    ):
        if step_s % size_s:
            continue
        steps = step_s // size_s
        if steps > whole or whole % steps:
            break
        step = "*" if steps == 1 else "0" if steps == whole else f"*/{steps}"
        second, minute, hour = (field.format(step) for field in fields)
        return second, minute, hour
    return words.refuse(
        word,
        "is a step by which an hour or a day cannot be divided, so on certain days cron cannot keep it; "
        "right would be 1, 5, 10, 15, 20 or 30 minutes, or 1, 2, 3, 4, 6, 8 or 12 hours",
    )


def _in_window(words: Words, window: Window, step_s: int, *, restricted: bool) -> tuple[str, str, str]:
    if step_s >= 60:
        return _cut(words, window, range(window.first, window.first + DAY_S + 1, step_s), restricted=restricted)
    if 60 % step_s or window.first % 60 or window.last % 60 or window.through:
        words.refuse(window.word, "goes with seconds by which a minute can be divided, and with whole minutes")
    minutes = range(window.first, window.first + DAY_S + 1, 60)
    _, minute, hour = _cut(words, window._replace(last=window.last - 60), minutes, restricted=restricted)
    return "*" if step_s == 1 else f"*/{step_s}", minute, hour


def _cut(words: Words, window: Window, times: Iterable[int], *, restricted: bool) -> tuple[str, str, str]:
    """The times in a window. Its end is one of them if an expression can have it; then none is later, and none is left out."""
    length = (window.last - window.first) % DAY_S or DAY_S
    end = window.first + length
    if end > DAY_S and restricted:
        words.refuse(window.word, "runs over midnight, into a day that may not be meant; make two schedules")
    within = [time for time in times if window.first <= time <= end]
    # The end of a day is the start of the next, which is not meant.
    with_end = None if end == DAY_S or length == DAY_S else _product(time % DAY_S for time in within)
    if with_end is not None:
        return with_end
    without_end = _product(time % DAY_S for time in within if time < end)
    if without_end is None or (window.through and end in within and end != DAY_S):
        words.refuse(
            window.word,
            "begins a part of the day that no single cron expression has with this step; right would be whole hours, "
            'such as "every 15 minutes between 8:00 and 18:00"',
        )
    return without_end


def _product(times: Iterable[int]) -> tuple[str, str, str] | None:
    """The three fields of times of day, or None when seconds, minutes and hours cannot be told apart."""
    found = set(times)
    seconds = {time % 60 for time in found}
    minutes = {time // 60 % 60 for time in found}
    hours = {time // _HOUR_S for time in found}
    if not found or len(found) != len(seconds) * len(minutes) * len(hours):
        return None
    return _written(seconds, SECOND), _written(minutes, MINUTE), _written(hours, HOUR)


def _written(numbers: Iterable[int], field: Field) -> str:
    """Numbers in cron's syntax. Steps over the whole hour are never said by a star: such a pattern would follow real time."""
    found = sorted(set(numbers))
    if len(found) == field.high - field.low + 1:
        return "*"
    steps = {after - before for before, after in pairwise(found)}
    if len(steps) == 1 and (step := steps.pop()) > 1:
        if field in (SECOND, MINUTE) and found[0] == field.low and found[-1] + step > field.high:
            return f"*/{step}"
        if len(found) >= _STEPS_LEAST:
            return f"{found[0]}-{found[-1]}/{step}"
    parts: list[list[int]] = []
    for number in found:
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(
        f"{part[0]}-{part[-1]}" if len(part) > 2 else ",".join(str(number) for number in part) for part in parts
    )


# The days.


def _days(words: Words, said: Said) -> _Days:
    given = [part for part in ("weekdays", "dates", "nths") if part in said.where]
    if len(given) > 1:
        words.refuse(
            said.where[given[1]],
            "names days in a second way, and cron would take days that fit either; days that fit both can be said by a rule "
            'such as "FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR"',
        )
    unit = said.period[0].unit if said.period and len(said.period) == 1 else ""
    number = said.period[0].number if unit else 1
    match unit:
        case "day" if given:
            words.refuse(said.where[given[0]], 'names days beside "every day"; leave one of them out')
        case "week":
            _need(words, said, "weekdays", 'the day, such as "weekly on monday at 9:00"')
            return _Days([], said.months, _weekdays(said))
        case "month" if said.of in ("quarter", "year"):
            words.refuse(said.where["period"], f"does not go with days of the {said.of}")
        case "month":
            _need(words, said, "dates nths", 'the day, such as "monthly on the 15th at 9:00"')
            if 12 % number or (number > 1 and said.months):
                words.refuse(
                    said.where["period"], "must divide a year: every 1, 2, 3, 4 or 6 months, counted from January"
                )
            return _in_months(words, said, said.months or list(range(1, 13, number)))
        case "quarter" | "year" if number > 1:
            words.refuse(
                said.where["period"], "is longer than cron can count; right would be every quarter or every year"
            )
        case "quarter":
            return _in_span(words, said, "quarter")
        case "year" if not said.months:
            return _in_span(words, said, "year")
        case "year":
            _need(words, said, "dates nths", 'the day, such as "yearly on 24 December at 18:00"')
            return _in_months(words, said, said.months)
    if said.of in ("quarter", "year") and not said.months:
        return _in_span(words, said, said.of)
    return _without_unit(words, said)


def _without_unit(words: Words, said: Said) -> _Days:
    """Days that no week, month or year is said for: they must tell by themselves that they come again."""
    if said.repeats_in_months:
        _need(words, said, "dates nths weekdays", 'the day, such as "every january on the 1st at 9:00"')
    if said.weekdays:
        if not (said.plural or said.repeats or said.period):
            words.refuse(said.where["weekdays"], 'is it once or every week? say "every monday" or "next monday"')
        return _Days([], said.months, _weekdays(said))
    word = said.where.get("dates") or said.where.get("nths")
    if word is not None and said.of == "date" and not said.repeats:
        words.refuse(
            word, 'is it once or every year? name the year, as in "24 December 2026", or say "every 24 December"'
        )
    if word is not None and not said.of and not (said.repeats and said.dates):
        words.refuse(word, 'needs the month; say "of the month", "of january" or "monthly on …"')
    return _in_months(words, said, said.months)


def _need(words: Words, said: Said, parts: str, expected: str) -> None:
    if not any(part in said.where for part in parts.split()):
        while not words.ended:
            words.take()
        words.not_understood(expected)


def _weekdays(said: Said) -> list[str]:
    return [_written(said.weekdays, WEEKDAY)] if len(said.weekdays) < 7 else []


def _in_months(words: Words, said: Said, months: list[int]) -> _Days:
    longest = max(_LONGEST[month - 1] for month in months or [1])
    for text in said.dates:
        number = int(text[2:]) + 1 if text.startswith("L-") else int(text.rstrip("W")) if text[0].isdigit() else 1
        if number > longest:
            words.refuse(said.where["dates"], f"is no day of these months; the longest has {longest} days")
    dates = sorted(set(said.dates), key=lambda text: (not text[0].isdigit(), len(text), text))
    return _Days(dates, [] if len(months) == 12 else months, [_named(nth) for nth in said.nths])


def _in_span(words: Words, said: Said, span: str) -> _Days:
    """The first or the last of something in a quarter or a year."""
    _need(words, said, "dates nths", f'the day, such as "on the first day of the {span} at 0:05"')
    texts = said.dates or said.nths
    word = said.where["dates" if said.dates else "nths"]
    if said.months:
        words.refuse(said.where["months"], f"does not go with days of the {span}")
    if all(text in ("1", "1W") or text.endswith("#1") for text in texts):
        months = _QUARTER_FIRSTS if span == "quarter" else [1]
    elif all(text.startswith("L") or text.endswith("L") for text in texts):
        months = _QUARTER_LASTS if span == "quarter" else [12]
    else:
        words.refuse(
            word,
            f'is no first or last day of the {span}; right would be "every 3 months on the 15th at 9:00" or "every 15 January at 9:00"',
        )
    return _in_months(words, said, months)


def _named(nth: str) -> str:
    """`1#2` as `MON#2`, which cannot be taken for another number."""
    return _WEEKDAYS[int(nth[0])] + nth[1:]


assert DATE.high == max(_LONGEST), "months are as long as cron thinks"
