"""What a cron expression means, in words: told from the numbers that are searched for, so that it cannot say anything else."""

from __future__ import annotations

from itertools import pairwise, product

from dueline.domain.calendar_days import Days
from dueline.domain.crontab import Crontab
from dueline.domain.describing.wording import (
    MONTH_NAMES,
    WEEKDAY_NAMES,
    clock,
    counted,
    even_step,
    every,
    listed,
    months,
    nth,
    ordinal,
    runs,
    spans,
    weekdays,
)

_TIMES_LISTED_MAX = 6
"""Times of day that are told one by one."""
_RUNS_TOLD_MAX = 4
_EVERY_DATE = sum(1 << number for number in range(1, 32))
_EVERY_WEEKDAY = sum(1 << number for number in range(7))


def describe_crontab(crontab: Crontab) -> str:
    """A sentence without its zone: the times, the days, the years."""
    times = _times(crontab)
    days = _days(crontab)
    if not days:
        daily = times.startswith("At ") and "past" not in times
        days = ("every day" if daily else "") + _in_months(crontab)
    years = "" if crontab.years is None else f"in {listed(spans(crontab.years, str, 'year'))}"
    return " ".join(part.strip() for part in (times, days, years) if part)


# Times.


def _times(crontab: Crontab) -> str:
    seconds, minutes, hours = crontab.seconds, crontab.minutes, crontab.hours
    if len(seconds) * len(minutes) * len(hours) <= _TIMES_LISTED_MAX:
        return f"At {listed(_each(seconds, minutes, hours))}"
    if seconds != (0,):
        return _with_seconds(seconds, minutes, hours)
    step = _step(minutes, 60)
    if step is not None:
        return every(counted(step, "minute")) + _during(hours)
    if len(minutes) > 1:
        if len(hours) == 1 and (even := even_step(minutes)) is not None:
            first, *_, last = _each(seconds, minutes, hours)
            return f"{every(counted(even, 'minute'))} from {first} through {last}"
        past = _past(minutes, "minute")
        return f"{past} past every hour" if len(hours) == 24 else f"{past} past the hour{_during(hours)}"
    steps = {after - before for before, after in pairwise(hours)}
    if len(steps) != 1:
        return f"At {listed(_each(seconds, minutes, hours))}"
    if len(hours) == 24:
        return "Every hour on the hour" if minutes == (0,) else f"{_past(minutes, 'minute')} past every hour"
    first, *_, last = _each(seconds, minutes, hours)
    return f"{every(counted(steps.pop(), 'hour'))} from {first} through {last}"


def _each(seconds: tuple[int, ...], minutes: tuple[int, ...], hours: tuple[int, ...]) -> list[str]:
    return [clock(hour * 3600 + minute * 60 + second) for hour, minute, second in product(hours, minutes, seconds)]


def _with_seconds(seconds: tuple[int, ...], minutes: tuple[int, ...], hours: tuple[int, ...]) -> str:
    step = _step(seconds, 60)
    if step is not None:
        lead = every(counted(step, "second"))
    elif len(minutes) == 60:
        lead = f"{_past(seconds, 'second')} past every minute"
    else:
        lead = f"{_past(seconds, 'second')} past the minute"
    if len(minutes) == 60:
        return lead + _during(hours)
    noun = "minute" if len(minutes) == 1 else "minutes"
    where = f"{lead} in {noun} {listed(spans(minutes, str, 'minute'))}"
    return f"{where} of every hour" if len(hours) == 24 else f"{where} of the hour{_during(hours)}"


def _past(numbers: tuple[int, ...], noun: str) -> str:
    """`At 5 and 20 minutes`, or `Every 7 minutes from 0 through 56 minutes`: past what follows."""
    step = even_step(numbers)
    if step is not None:
        return f"{every(counted(step, noun))} from {numbers[0]} through {numbers[-1]} {noun}s"
    return f"At {listed(map(str, numbers))} {noun if numbers == (1,) else f'{noun}s'}"


def _step(numbers: tuple[int, ...], whole: int) -> int | None:
    """The step by which numbers go through the whole, without a shorter or longer one at its end."""
    if len(numbers) == 1:
        return None
    step = whole // len(numbers)
    return step if numbers == tuple(range(0, whole, step)) and whole % step == 0 else None


def _during(hours: tuple[int, ...]) -> str:
    """Hours as parts of the day, each to its last minute; a part may go over midnight."""
    if len(hours) == 24:
        return ""
    parts = runs(hours)
    if len(parts) > 1 and parts[0][0] == 0 and parts[-1][-1] == 23:
        parts = [*parts[1:-1], parts[-1] + parts[0]]
    if len(parts) > _RUNS_TOLD_MAX:
        told = listed(spans(hours, lambda hour: clock(hour * 3600), "hour"))
        return f" in {told}" if told.startswith("every") else f" in the hours {told}"
    return " " + listed(f"between {clock(part[0] * 3600)} and {part[-1]:02}:59" for part in parts)


# Days.


def _days(crontab: Crontab) -> str:
    days = crontab.days
    of = "of the month" if len(crontab.months) == 12 else f"of {months(crontab.months)}"
    any_date, any_weekday = days.dates == _EVERY_DATE, days.weekdays == _EVERY_WEEKDAY
    if (any_date and any_weekday) or (not days.both and (any_date or any_weekday)):
        return ""
    if any_date:
        return f"on {_weekdays(crontab, of)}"
    if any_weekday:
        return f"on {_dates(days, crontab.months, of)}"
    if days.both:
        return f"on {_weekdays(crontab, of)}, if it is also {_dates(days, crontab.months, of)}"
    return f"on {_dates(days, crontab.months, of)} or on {_weekdays(crontab, of)}"


def _dates(days: Days, in_months: tuple[int, ...], of: str) -> str:
    numbers = [number for number in range(1, 32) if days.dates >> number & 1]
    special = days.before_last or days.near or days.last_weekday
    if len(numbers) == len(in_months) == 1 and not special:
        return f"{numbers[0]} {MONTH_NAMES[in_months[0] - 1]}"
    found = spans(numbers, lambda number: f"the {ordinal(number)}", "day")
    found += [f"the weekday nearest the {ordinal(number)}" for number in sorted(set(days.near))]
    found += ["the last weekday"] if days.last_weekday else []
    for back in sorted(set(days.before_last), reverse=True):
        before = "" if back == 0 else "day before the last " if back == 1 else f"{ordinal(back)} day before the last "
        found.append(f"the {before or 'last '}day")
    return f"{listed(found)} {of}"


def _weekdays(crontab: Crontab, of: str) -> str:
    days = crontab.days
    found = weekdays(number for number in range(7) if days.weekdays >> number & 1)
    counted_ones = [f"the {nth(number)} {WEEKDAY_NAMES[weekday]}" for weekday, number in dict.fromkeys(days.nth)]
    counted_ones += [f"the last {WEEKDAY_NAMES[weekday]}" for weekday in dict.fromkeys(days.last)]
    told = listed(found + counted_ones)
    return f"{told} {of}" if counted_ones else told + _in_months(crontab)


def _in_months(crontab: Crontab) -> str:
    return "" if len(crontab.months) == 12 else f" in {months(crontab.months)}"
