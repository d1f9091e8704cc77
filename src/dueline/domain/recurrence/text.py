"""Recurrence rules as texts: a bare `FREQ=…`, or the lines of an iCalendar event that say when (DTSTART, RRULE, EXDATE)."""

from __future__ import annotations

from datetime import date
from typing import NoReturn

from msgspec.structs import replace

from dueline.domain import limits
from dueline.domain.contentlines import ContentLine, Stamp, read_line, read_stamp, unfolded
from dueline.domain.errors import InvalidSchedule
from dueline.domain.localtime import (
    DAY_S,
    EPOCH_DAY,
    DstGap,
    DstOverlap,
    check_zone,
    instants_of,
    start_of,
    wall_time,
)
from dueline.domain.recurrence.days import LAST_YEAR
from dueline.domain.recurrence.rules import Recurrence, format_recurrence, format_stamp, read_recurrence
from dueline.domain.schedule import Rule

_REFUSED = {
    "RDATE": "single dates cannot be added to a rule: make a job of its own for them",
    "EXRULE": "a rule cannot exclude what another names: list the dates with EXDATE, or name a calendar",
    "DTEND": "an occurrence is an instant and has no end: leave it out",
    "DURATION": "an occurrence is an instant and has no length: leave it out",
}
_SHOWN_LETTERS = 40


def parse_rule(
    text: str,
    *,
    field: str,
    timezone: str | None,
    anchor_ms: int,
    dst_gap: DstGap = DstGap.RUN_AFTER,
    dst_overlap: DstOverlap = DstOverlap.FIRST,
) -> Rule:
    """The schedule that a text means: `FREQ=…`, `RRULE:FREQ=…`, or lines with DTSTART, one RRULE, and EXDATE.

    A start in the text wins over `anchor_ms`, which is brought down to its whole second. A zone in the text must be the one given, if
    one is (None: not given; then it is UTC unless the text says otherwise). Times without a zone are on the wall clock of the schedule.
    A whole day in EXDATE excludes every occurrence of that day.
    """
    if len(text) > limits.RULE_LETTERS_MAX:
        raise InvalidSchedule(field, f"is longer than {limits.RULE_LETTERS_MAX} letters")
    lines = _Lines(text, field)
    zone = _zone(lines.start, timezone, field)
    start_s = _start_s(lines.start, zone, dst_overlap, field) if lines.start else anchor_ms // 1000
    if not 0 <= start_s <= (date(LAST_YEAR, 12, 31).toordinal() - EPOCH_DAY) * DAY_S:
        raise InvalidSchedule(field, f"DTSTART: the start must lie between the years 1970 and {LAST_YEAR}")
    recurrence = _with_until_in_utc(read_recurrence(lines.rule, field), zone)
    excluded_s: set[int] = set()
    excluded_days: set[int] = set()
    for line in lines.excluded:
        for value in line.value.split(","):
            stamp = _stamp(line, value, field)
            if stamp.second is None:
                excluded_days.add(stamp.day)
            elif stamp.utc:
                excluded_s.add(_utc_s(stamp))
            else:
                written_in = line.parameters.get("TZID", zone)
                _checked_zone(written_in, line, field)
                excluded_s.update(instants_of(written_in, stamp.day, stamp.second, dst_gap, dst_overlap))
    if len(excluded_s) + len(excluded_days) > limits.RULE_EXCLUDED_MAX:
        raise InvalidSchedule(
            field, f"EXDATE: there are more than {limits.RULE_EXCLUDED_MAX} dates; put them into a calendar"
        )
    return Rule(
        rule=format_recurrence(recurrence),
        anchor_ms=start_s * 1000,
        excluded_ms=tuple(at_s * 1000 for at_s in sorted(excluded_s)),
        excluded_days=tuple(sorted(excluded_days)),
        timezone=zone,
        dst_gap=dst_gap,
        dst_overlap=dst_overlap,
    )


def format_rule(rule: Rule) -> str:
    """The canonical text, in lines that are not folded: DTSTART on the wall clock of the zone, RRULE, then EXDATE if any.

    With the same zone and policies it reads back as the same schedule.
    """
    at_s = rule.anchor_ms // 1000
    day, second = wall_time(rule.timezone, at_s)
    # Of a time that is shown twice the wall clock alone may mean the other one.
    early = day < EPOCH_DAY
    if (
        rule.timezone == "UTC"
        or early
        or instants_of(rule.timezone, day, second, DstGap.SKIP, rule.dst_overlap)[:1] != (at_s,)
    ):
        lines = [f"DTSTART:{_utc_text(at_s)}"]
    else:
        lines = [f"DTSTART;TZID={rule.timezone}:{format_stamp(Stamp(day, second, utc=False))}"]
    lines.append(f"RRULE:{rule.rule}")
    if rule.excluded_ms:
        lines.append("EXDATE:" + ",".join(_utc_text(at_ms // 1000) for at_ms in rule.excluded_ms))
    if rule.excluded_days:
        days = (format_stamp(Stamp(day, None, utc=False)) for day in rule.excluded_days)
        lines.append("EXDATE;VALUE=DATE:" + ",".join(days))
    return "\n".join(lines)


class _Lines:
    """The lines of a text by what they are."""

    def __init__(self, text: str, field: str) -> None:
        self.start: ContentLine | None = None
        self.excluded: list[ContentLine] = []
        rules: list[str] = []
        for number, written in unfolded(text.strip()):
            line = read_line(number, written.strip())
            if line is None and "=" in written and ":" not in written:
                rules.append(written)
                continue
            if line is None:
                raise InvalidSchedule(
                    field,
                    f"line {number}: {_shown(written)!r} is no rule such as RRULE:FREQ=DAILY, no DTSTART and no EXDATE",
                )
            match line.name:
                case "RRULE":
                    rules.append(line.value)
                case "DTSTART":
                    if self.start is not None:
                        _refuse(line, field, "is given twice: a rule has one start")
                    self.start = line
                case "EXDATE":
                    self.excluded.append(line)
                case _:
                    _refuse(line, field, _REFUSED.get(line.name, "is not known here: use DTSTART, RRULE and EXDATE"))
        if not rules:
            raise InvalidSchedule(field, "RRULE is missing: add a rule such as FREQ=DAILY")
        if len(rules) > 1:
            raise InvalidSchedule(field, "RRULE is given more than once: make a job of its own for each rule")
        self.rule = rules[0]


def _zone(start: ContentLine | None, timezone: str | None, field: str) -> str:
    if timezone is not None:
        check_zone(timezone)
    written = start.parameters.get("TZID") if start is not None else None
    if start is None or written is None:
        return timezone or "UTC"
    _checked_zone(written, start, field)
    if timezone not in (None, written):
        _refuse(start, field, f"says TZID={written}, but the schedule's time zone is {timezone}: give one of them")
    return written


def _start_s(start: ContentLine, zone: str, overlap: DstOverlap, field: str) -> int:
    stamp = _stamp(start, start.value, field)
    if stamp.utc:
        return _utc_s(stamp)
    return start_of(zone, stamp.day, stamp.second or 0, overlap, field=field)


def _with_until_in_utc(recurrence: Recurrence, zone: str) -> Recurrence:
    """A time without a zone in UNTIL is one on the wall clock; of two the later is meant, since UNTIL includes it."""
    until = recurrence.until
    if until is None or until.second is None or until.utc:
        return recurrence
    at_s = instants_of(zone, until.day, until.second, DstGap.RUN_AFTER, DstOverlap.SECOND)[-1]
    return replace(recurrence, until=Stamp(*wall_time("UTC", at_s), utc=True))


def _stamp(line: ContentLine, value: str, field: str) -> Stamp:
    stamp = read_stamp(value.strip().upper())
    if stamp is None or not 1970 <= date.fromordinal(stamp.day).year <= LAST_YEAR:
        example = "20260131T090000Z, 20260131T090000 or 20260131"
        _refuse(line, field, f"{_shown(value)!r} is no time between the years 1970 and {LAST_YEAR} such as {example}")
    return stamp


def _checked_zone(name: str, line: ContentLine, field: str) -> None:
    try:
        check_zone(name)
    except InvalidSchedule as refused:
        _refuse(line, field, f"TZID: {refused.problems[0][1]}")


def _utc_s(stamp: Stamp) -> int:
    return (stamp.day - EPOCH_DAY) * DAY_S + (stamp.second or 0)


def _utc_text(at_s: int) -> str:
    return format_stamp(Stamp(*wall_time("UTC", at_s), utc=True))


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_LETTERS else f"{text[:_SHOWN_LETTERS]}…"


def _refuse(line: ContentLine, field: str, reason: str) -> NoReturn:
    raise InvalidSchedule(field, f"line {line.number}: {_shown(line.name)} {reason}")
