"""ISO 8601 repeating intervals: `R5/2026-01-31T00:00:00Z/P1M`, read, written, and turned into instants.

The k-th occurrence is always computed from the start, and so never drifts: 31 January, 28 February, 31 March. It is the start on the
wall clock of the zone, k × months later (at most the last day of that month), k × days later, at the same time of day; then, in real
time, k × hours, minutes and seconds later.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, datetime
from typing import NoReturn

from dueline.domain import limits
from dueline.domain.durations import DAY_MS
from dueline.domain.errors import InvalidSchedule
from dueline.domain.instants import INSTANT_MS_MAX, format_instant, from_datetime
from dueline.domain.localtime import DAY_S, DstGap, DstOverlap, check_zone, instants_of, start_of, wall_time
from dueline.domain.schedule import Repeat

_EXAMPLE = "R5/2026-01-31T00:00:00Z/P1M"
_SHOWN_LETTERS = 60
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)(Z|[+-]\d\d:\d\d)?)?", re.ASCII)
_WHOLE = r"(\d{1,9})"
_PERIOD = re.compile(
    rf"P(?:{_WHOLE}Y)?(?:{_WHOLE}M)?(?:{_WHOLE}W)?(?:{_WHOLE}D)?"
    rf"(?:T(?=\d)(?:{_WHOLE}H)?(?:{_WHOLE}M)?(?:(\d{{1,9}}(?:\.\d{{1,3}})?)S)?)?",
    re.ASCII,
)
_YEAR_DAYS = 365.2425
_MONTH_MS = _YEAR_DAYS * DAY_MS / 12
_LAST_YEAR = 9_998
"""The last year that Python's dates can tell, less one for the zones."""
_ESTIMATE_STEPS = 4
"""How far an estimate of k can be off: months are at most some days longer or shorter than their mean, clocks a day."""


def parse_repeat(text: str, *, field: str, timezone: str, dst_gap: DstGap, dst_overlap: DstOverlap) -> Repeat:
    """The schedule that `R[times]/start/period` or `R[times]/start/end` means.

    `R5` are five occurrences, the first at the start; `R` goes on for ever. A start without an offset is on the wall clock of the zone.
    The period between a start and an end is real time.
    """
    if len(text) > limits.WHEN_LETTERS_MAX:
        _refuse(field, text, f"is longer than {limits.WHEN_LETTERS_MAX} letters")
    check_zone(timezone)
    parts = text.strip().split("/")
    if len(parts) != 3:
        _refuse(field, text, f"has {len(parts)} parts, not the three of repetitions/start/period")
    times = _times(parts[0], field)
    if parts[1].startswith("P"):
        _refuse(field, text, "begins with a period; the start must be given before it")
    anchor_ms = _moment(parts[1], "start", field, timezone, dst_overlap)
    months, days, clock_ms = 0, 0, 0
    if parts[2].startswith("P"):
        months, days, clock_ms = _period(parts[2], field)
    else:
        clock_ms = _moment(parts[2], "end", field, timezone, dst_overlap) - anchor_ms
        if clock_ms <= 0:
            _refuse(field, parts[2], "as the end does not lie after the start")
    if not months and not days and clock_ms < limits.EVERY_MS_MIN:
        _refuse(field, parts[2], "is a period shorter than a second, the finest there is")
    if months * _MONTH_MS + days * DAY_MS + clock_ms > limits.REPEAT_YEARS_MAX * 366 * DAY_MS:
        _refuse(field, parts[2], f"is a period longer than {limits.REPEAT_YEARS_MAX} years")
    return Repeat(
        anchor_ms=anchor_ms,
        months=months,
        days=days,
        clock_ms=clock_ms,
        times=times,
        timezone=timezone,
        dst_gap=dst_gap,
        dst_overlap=dst_overlap,
    )


def format_repeat(repeat: Repeat) -> str:
    """The canonical text: the start in UTC, and the period in years, months, days, hours, minutes and seconds.

    With the same zone and policies it reads back as the same schedule.
    """
    times = "" if repeat.times is None else str(repeat.times)
    start = format_instant(repeat.anchor_ms).replace(".000Z", "Z")
    years, months = divmod(repeat.months, 12)
    minutes, rest_ms = divmod(repeat.clock_ms, 60_000)
    hours, minutes = divmod(minutes, 60)
    # No days come of hours: a day on the calendar is not always 24 of them.
    date_part = "".join(f"{count}{unit}" for count, unit in ((years, "Y"), (months, "M"), (repeat.days, "D")) if count)
    seconds = f"{rest_ms // 1000}.{rest_ms % 1000:03}".rstrip("0").rstrip(".") if rest_ms else ""
    clock_part = "".join(f"{count}{unit}" for count, unit in ((hours, "H"), (minutes, "M"), (seconds, "S")) if count)
    return f"R{times}/{start}/P{date_part}" + (f"T{clock_part}" if clock_part else "")


class RepeatTimes:
    """The occurrences of a repeating interval. The first is the start itself, exactly.

    Repetitions count periods: one that the clocks jump over and that is left out counts, one that they show twice counts once.
    """

    single = False

    def __init__(self, repeat: Repeat) -> None:
        self._repeat = repeat
        self._anchor_s, self._fraction_ms = divmod(repeat.anchor_ms, 1000)
        self._day, self._second = wall_time(repeat.timezone, self._anchor_s)
        self._mean_ms = repeat.months * _MONTH_MS + repeat.days * DAY_MS + repeat.clock_ms

    def next_after(self, at_ms: int) -> int | None:
        """The first occurrence strictly after `at_ms`, or None when there is none any more.

        Where to look is computed, and corrected by a few steps: an answer far from the start costs no more than the first.
        """
        repeat = self._repeat
        if at_ms < repeat.anchor_ms:
            return repeat.anchor_ms
        if not repeat.months and not repeat.days:
            number = (at_ms - repeat.anchor_ms) // repeat.clock_ms + 1
            found_ms = repeat.anchor_ms + number * repeat.clock_ms
            return found_ms if self._counts(number) and found_ms <= INSTANT_MS_MAX else None
        number = max(0, int((at_ms - repeat.anchor_ms) / self._mean_ms) - _ESTIMATE_STEPS)
        while self._counts(number) and (instants_ms := self._instants_ms(number)) is not None:
            for found_ms in instants_ms:
                if found_ms > at_ms:
                    return found_ms
            number += 1
        return None

    def _counts(self, number: int) -> bool:
        return self._repeat.times is None or number < self._repeat.times

    def _instants_ms(self, number: int) -> tuple[int, ...] | None:
        """When the occurrence of a number comes: mostly once. None: past the end of the calendar."""
        repeat = self._repeat
        if number == 0:
            return (repeat.anchor_ms,)
        day = _months_later(self._day, number * repeat.months)
        if day is None or day + number * repeat.days > date(_LAST_YEAR, 12, 31).toordinal():
            return None
        day += number * repeat.days
        clock_ms = number * repeat.clock_ms + self._fraction_ms
        if day * DAY_MS + clock_ms > date(_LAST_YEAR, 12, 31).toordinal() * DAY_MS:
            return None
        found = instants_of(repeat.timezone, day, self._second, repeat.dst_gap, repeat.dst_overlap)
        return tuple(at_s * 1000 + clock_ms for at_s in found)


def _months_later(day: int, months: int) -> int | None:
    """The same date some months later, or the last one of that month."""
    since = date.fromordinal(day)
    year, month = divmod(since.year * 12 + since.month - 1 + months, 12)
    if year > _LAST_YEAR:
        return None
    return date(year, month + 1, min(since.day, monthrange(year, month + 1)[1])).toordinal()


def _times(text: str, field: str) -> int | None:
    if text == "R":
        return None
    if not re.fullmatch(r"R\d{1,10}", text, re.ASCII):
        _refuse(field, text, "is no number of repetitions: write R5 for five times, R for ever")
    times = int(text[1:])
    if not 1 <= times <= limits.REPEAT_TIMES_MAX:
        _refuse(field, text, f"is not between R1 and R{limits.REPEAT_TIMES_MAX}; R alone goes on for ever")
    return times


def _moment(text: str, name: str, field: str, timezone: str, overlap: DstOverlap) -> int:
    shape = _MOMENT.fullmatch(text)
    try:
        if shape is None:
            raise ValueError
        moment = datetime.fromisoformat(text)
    except ValueError:
        _refuse(field, text, f"is no {name} such as 2026-01-31T00:00:00Z")
    if moment.tzinfo is not None:
        at_ms = from_datetime(moment)
    else:
        second = moment.hour * 3_600 + moment.minute * 60 + moment.second
        at_s = start_of(timezone, _told(moment, field, text), second, overlap, field=field)
        at_ms = at_s * 1000 + moment.microsecond // 1000
    if not 0 <= at_ms <= INSTANT_MS_MAX - 366 * DAY_S * 1000:
        _refuse(field, text, f"as the {name} does not lie between the years 1970 and {_LAST_YEAR}")
    return at_ms


def _told(moment: datetime, field: str, text: str) -> int:
    if not 1970 <= moment.year <= _LAST_YEAR:
        _refuse(field, text, f"does not lie between the years 1970 and {_LAST_YEAR}")
    return moment.toordinal()


def _period(text: str, field: str) -> tuple[int, int, int]:
    """Months, days and milliseconds."""
    shape = _PERIOD.fullmatch(text)
    if shape is None or not any(shape.groups()):
        _refuse(field, text, "is no period such as P1M, P1W or P1DT12H, with a fraction in the seconds at most")
    years, months, weeks, days, hours, minutes = (int(count or 0) for count in shape.groups()[:6])
    seconds, _, fraction = (shape.group(7) or "0").partition(".")
    clock_ms = ((hours * 60 + minutes) * 60 + int(seconds)) * 1000 + int(fraction.ljust(3, "0"))
    return years * 12 + months, weeks * 7 + days, clock_ms


def _refuse(field: str, text: str, reason: str) -> NoReturn:
    shown = text if len(text) <= _SHOWN_LETTERS else f"{text[:_SHOWN_LETTERS]}…"
    raise InvalidSchedule(field, f"{shown!r} {reason}; right would be {_EXAMPLE}")
