"""Days from iCalendar files (RFC 5545), such as the feeds of holidays that calendar programs offer.

No general reader: of each event only the days that it covers are taken. A day is one on the wall clock that the event is written in;
times in UTC are brought to the calendar's own zone (X-WR-TIMEZONE) where it names one. Events that are cancelled are left out, and
whatever is no event is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import NoReturn

from dueline.domain import limits
from dueline.domain.calendars import Calendar, merged
from dueline.domain.contentlines import ContentLine, Stamp, read_line, read_stamp, unfolded
from dueline.domain.durations import parse_duration
from dueline.domain.errors import Invalid, InvalidSchedule
from dueline.domain.localtime import DAY_S, EPOCH_DAY, DstGap, DstOverlap, check_zone, instants_of, wall_time
from dueline.domain.recurrence.rules import format_recurrence, format_stamp, read_recurrence
from dueline.domain.recurrence.times import RuleTimes
from dueline.domain.schedule import Rule

_READ = frozenset(
    ["DTSTART", "DTEND", "DURATION", "RRULE", "EXDATE", "RDATE", "RECURRENCE-ID", "STATUS", "UID", "X-WR-TIMEZONE"]
)
_SHOWN_LETTERS = 40


def parse_icalendar(text: str, *, now_day: int, field: str = "icalendar") -> Calendar:
    """The days of all events of a file; recurring ones from their start to some years after `now_day`.

    A broken file is refused with the number of the line.
    """
    if len(text) > limits.CALENDAR_LETTERS_MAX:
        raise Invalid((field, f"is longer than {limits.CALENDAR_LETTERS_MAX} letters"))
    file = _File(text, field)
    until_day = now_day + limits.CALENDAR_YEARS_AHEAD * 366
    ranges: list[tuple[int, int]] = []
    for event in file.events:
        for days in event.days(file.replaced.get(event.uid, frozenset()), until_day):
            ranges.append(days)
            if len(ranges) > limits.CALENDAR_EVENTS_MAX:
                event.refuse(event.line, f"from here on there are more than {limits.CALENDAR_EVENTS_MAX} occurrences")
    found = merged(ranges)
    if len(found) > limits.CALENDAR_DATES_MAX:
        raise Invalid((field, f"has more than {limits.CALENDAR_DATES_MAX} days or stretches of days"))
    return Calendar(ranges=found)


class _File:
    """The events of a file, and which occurrences of recurring ones it replaces by events of their own."""

    def __init__(self, text: str, field: str) -> None:
        self.events: list[_Event] = []
        self.replaced: dict[str, set[int]] = {}
        self._field = field
        self._zone: str | None = None
        for lines in self._components(text):
            event = _Event(lines, self._zone, field)
            if event.replaces_s is not None:
                self.replaced.setdefault(event.uid, set()).add(event.replaces_s)
            if not event.cancelled:
                self.events.append(event)

    def _components(self, text: str) -> Iterator[list[ContentLine]]:
        """The lines of each event, in it directly; its alarms have lines of their own. The first line is its BEGIN."""
        within: list[str] = []
        event: list[ContentLine] = []
        number = 1
        for number, written in unfolded(text.removeprefix("\ufeff")):
            line = read_line(number, written)
            if line is None:
                self._refuse(number, f"{_shown(written)!r} is no line such as DTSTART:20261225")
            name = line.value.upper()
            if not within and (line.name, name) != ("BEGIN", "VCALENDAR"):
                self._refuse(number, "an iCalendar file begins with BEGIN:VCALENDAR")
            if line.name == "BEGIN":
                within.append(name)
                event = [line] if within == ["VCALENDAR", "VEVENT"] else event
            elif line.name == "END":
                if within.pop() != name:
                    self._refuse(number, f"END:{_shown(name)} ends what did not begin")
                if name == "VEVENT" and within == ["VCALENDAR"]:
                    yield event
            elif line.name in _READ and within == ["VCALENDAR", "VEVENT"]:
                event.append(line)
            elif line.name == "X-WR-TIMEZONE" and within == ["VCALENDAR"]:
                self._zone = _known_zone(line.value)
        if within:
            self._refuse(number, f"the file ends before END:{within[-1]}")

    def _refuse(self, number: int, reason: str) -> NoReturn:
        raise Invalid((self._field, f"line {number}: {reason}"))


class _Event:
    """One event. Its times are seconds of a clock without a zone, which runs as its wall clock does and never changes."""

    def __init__(self, lines: list[ContentLine], zone: str | None, field: str) -> None:
        self.line = lines[0]
        self._field = field
        self._zone = zone
        self._all = {name: [line for line in lines if line.name == name] for name in _READ}
        self.uid = self._all["UID"][0].value if self._all["UID"] else ""
        self.cancelled = any(line.value.upper() == "CANCELLED" for line in self._all["STATUS"])
        replaces = self._all["RECURRENCE-ID"]
        self.replaces_s = self._clock_s(replaces[0], replaces[0].value)[0] if replaces else None
        if not self._all["DTSTART"]:
            self.refuse(self.line, "this event has no DTSTART")
        start = self._all["DTSTART"][0]
        self._start_s, self._whole_days = self._clock_s(start, start.value)
        self._length_s = self._length(self._start_s)

    def days(self, replaced: set[int] | frozenset[int], until_day: int) -> Iterator[tuple[int, int]]:
        """The first and last day of each occurrence that begins no later than a day."""
        left_out = set(replaced) if self.replaces_s is None else set()
        left_out_days = set()
        for line in self._all["EXDATE"]:
            for value in line.value.split(","):
                at_s, whole_day = self._clock_s(line, value)
                if whole_day:
                    left_out_days.add(at_s // DAY_S)
                left_out.add(at_s)
        for at_s in self._starts(until_day):
            if at_s in left_out or at_s // DAY_S in left_out_days:
                continue
            last_s = at_s + max(self._length_s, 1) - 1
            yield at_s // DAY_S + EPOCH_DAY, last_s // DAY_S + EPOCH_DAY

    def refuse(self, line: ContentLine, reason: str) -> NoReturn:
        raise Invalid((self._field, f"line {line.number}: {reason}"))

    def _starts(self, until_day: int) -> Iterator[int]:
        """The start, which always counts, those of the rule, and those listed."""
        yield self._start_s
        for line in self._all["RDATE"]:
            for value in line.value.split(","):
                yield self._clock_s(line, value.partition("/")[0])[0]
        until_ms = ((until_day - EPOCH_DAY + 1) * DAY_S - 1) * 1000
        for line in self._all["RRULE"]:
            times = RuleTimes(Rule(self._rule(line), self._start_s * 1000))
            at_ms: int | None = self._start_s * 1000
            while at_ms is not None and (at_ms := times.next_after(at_ms)) is not None and at_ms <= until_ms:
                yield at_ms // 1000

    def _rule(self, line: ContentLine) -> str:
        try:
            recurrence = read_recurrence(line.value, self._field)
        except InvalidSchedule as refused:
            self.refuse(line, f"RRULE {refused.problems[0][1]}")
        text = format_recurrence(recurrence)
        if recurrence.until is None or recurrence.until.second is None:
            return text
        # The end of a rule is in UTC where the start has a zone; here everything is on the wall clock.
        start = self._all["DTSTART"][0]
        until_s, _ = self._clock_s(start, format_stamp(recurrence.until))
        until = Stamp(until_s // DAY_S + EPOCH_DAY, until_s % DAY_S, utc=True)
        return text.replace(f"UNTIL={format_stamp(recurrence.until)}", f"UNTIL={format_stamp(until)}")

    def _length(self, start_s: int) -> int:
        if self._all["DTEND"]:
            end = self._all["DTEND"][0]
            length_s = self._clock_s(end, end.value)[0] - start_s
            if length_s < 0:
                self.refuse(end, "the event ends before it begins")
        elif self._all["DURATION"]:
            line = self._all["DURATION"][0]
            try:
                length_s = parse_duration(line.value.removeprefix("+"), field=self._field) // 1000
            except Invalid as refused:
                self.refuse(line, f"DURATION {refused.problems[0][1]}")
        else:
            length_s = 0
        return max(length_s, DAY_S) if self._whole_days else length_s

    def _clock_s(self, line: ContentLine, value: str) -> tuple[int, bool]:
        """A time on the clock of this event, and whether a whole day is meant."""
        stamp = read_stamp(value.strip().upper())
        if stamp is None or not 1970 <= date.fromordinal(stamp.day).year <= 9_998:
            self.refuse(line, f"{line.name} {_shown(value)!r} is no date or time since 1970 such as 20261225")
        zone = _known_zone(line.parameters.get("TZID", "")) or self._zone
        if stamp.utc and zone is not None:
            at_s = instants_of("UTC", stamp.day, stamp.second or 0, DstGap.RUN_AFTER, DstOverlap.FIRST)[0]
            stamp = Stamp(*wall_time(zone, at_s), utc=False)
        return (stamp.day - EPOCH_DAY) * DAY_S + (stamp.second or 0), stamp.second is None


def _known_zone(name: str) -> str | None:
    """The name of a zone that is known here. Some programs have names of their own, and describe them in the file."""
    try:
        check_zone(name)
    except InvalidSchedule:
        return None
    return name


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_LETTERS else f"{text[:_SHOWN_LETTERS]}…"
