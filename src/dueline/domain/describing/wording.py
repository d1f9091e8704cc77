"""The words for numbers, days, times and lengths of time, in sentences that people read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from dueline.domain.instants import to_datetime

WEEKDAY_NAMES = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_NTH = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", -1: "last"}
_UNITS_MS = (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000))
_RUN_LEAST = 3
"""Neighbours that are told as "a through b"; two are told as two."""
_STEPS_LEAST = 5


def listed(items: Iterable[str], joint: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    *others, last = items
    return f"{', '.join(others)} {joint} {last}" if others else last


def ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def nth(number: int) -> str:
    """The word for one of a few: first to fifth, last; from the end also `2nd last`."""
    return _NTH.get(number) or (ordinal(number) if number > 0 else f"{ordinal(-number)} last")


def counted(number: int | str, noun: str) -> str:
    """`1 minute`, `15 minutes`."""
    return f"{number} {noun}" if str(number) == "1" else f"{number} {noun}s"


def length(length_ms: int) -> str:
    """A length of time in its largest exact units: `1 hour and 30 minutes`, `0.25 seconds`."""
    found = []
    for unit, unit_ms in _UNITS_MS:
        number, length_ms = divmod(length_ms, unit_ms)
        if number:
            found.append(counted(number, unit))
    if length_ms or not found:
        found.append(counted(f"{length_ms / 1000:g}", "second"))
    return listed(found)


def every(told: str) -> str:
    """`Every minute` of `1 minute`, `Every 15 minutes` of `15 minutes`."""
    single = told.startswith("1 ") and " and " not in told and "," not in told
    return f"Every {told[2:] if single else told}"


def clock(second: int) -> str:
    """A time of day, with seconds only where there are some."""
    minutes, seconds = divmod(second, 60)
    text = f"{minutes // 60:02}:{minutes % 60:02}"
    return f"{text}:{seconds:02}" if seconds else text


def local(at_ms: int, timezone: str) -> datetime:
    """The wall clock at an instant; in UTC where the calendar ends before the zone's clock can tell."""
    moment = to_datetime(at_ms)
    try:
        return moment.astimezone(UTC if timezone == "UTC" else ZoneInfo(timezone))
    except OverflowError:
        return moment


def day(moment: datetime) -> str:
    return f"{moment.day} {MONTH_NAMES[moment.month - 1]} {moment.year}"


def time_of_day(moment: datetime) -> str:
    text = clock(moment.hour * 3600 + moment.minute * 60 + moment.second)
    if not moment.microsecond:
        return text
    return f"{text}{'' if moment.second else ':00'}.{moment.microsecond // 1000:03}"


def moment(at_ms: int, timezone: str) -> str:
    """`24 December 2026 18:00 Europe/Berlin`."""
    shown = local(at_ms, timezone)
    zone = timezone if shown.tzinfo is not UTC else "UTC"
    return f"{day(shown)} {time_of_day(shown)} {zone}"


def shift(shift_s: int) -> str:
    """By how much clocks were put, without its direction."""
    return length(abs(timedelta(seconds=shift_s)) // timedelta(milliseconds=1))


def even_step(numbers: Sequence[int]) -> int | None:
    """The step of numbers that are many and evenly apart."""
    steps = {after - before for before, after in pairwise(numbers)}
    return steps.pop() if len(numbers) >= _STEPS_LEAST and len(steps) == 1 else None


def spans(numbers: Sequence[int], show: Callable[[int], str], noun: str) -> list[str]:
    """Numbers as a few words: neighbours as `a through b`, and many in even steps as `every 2nd hour from a through b`."""
    step = even_step(numbers)
    if step is not None and step > 1:
        return [f"every {ordinal(step)} {noun} from {show(numbers[0])} through {show(numbers[-1])}"]
    found = []
    for run in runs(numbers):
        if len(run) < _RUN_LEAST:
            found += [show(number) for number in run]
        else:
            found.append(f"{show(run[0])} through {show(run[-1])}")
    return found


def runs(numbers: Sequence[int]) -> list[list[int]]:
    """Neighbouring numbers together."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][-1] == number - 1:
            found[-1].append(number)
        else:
            found.append([number])
    return found


def weekdays(numbers: Iterable[int]) -> list[str]:
    """Days of the week in the order of the week, which here begins on Monday."""
    in_order = sorted((number - 1) % 7 for number in numbers)
    return [
        name
        for run in runs(in_order)
        for name in (
            [f"{_weekday(run[0])} through {_weekday(run[-1])}"]
            if len(run) >= _RUN_LEAST
            else [_weekday(number) for number in run]
        )
    ]


def _weekday(from_monday: int) -> str:
    return WEEKDAY_NAMES[(from_monday + 1) % 7]


def months(numbers: Sequence[int]) -> str:
    return listed(
        name
        for run in runs(numbers)
        for name in (
            [f"{MONTH_NAMES[run[0] - 1]} through {MONTH_NAMES[run[-1] - 1]}"]
            if len(run) >= _RUN_LEAST
            else [MONTH_NAMES[number - 1] for number in run]
        )
    )
