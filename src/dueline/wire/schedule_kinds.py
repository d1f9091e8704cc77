"""Each kind of schedule, read from its part of the form; and texts, taken for what they are written in."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, assert_never

import msgspec

from dueline.domain import limits
from dueline.domain.cron import check_cron
from dueline.domain.durations import format_duration
from dueline.domain.english.phrases import Phrase, read_english
from dueline.domain.errors import InvalidSchedule
from dueline.domain.instants import format_instant
from dueline.domain.languages import Language, recognise
from dueline.domain.localtime import DstGap, DstOverlap
from dueline.domain.recurrence.text import parse_rule
from dueline.domain.repeats import parse_repeat
from dueline.domain.schedule import After, At, Cron, Every, Repeat, Rule, Schedule
from dueline.domain.structured import structured_to_cron
from dueline.wire.labels import read_duration, read_instant
from dueline.wire.problems import Problems

if TYPE_CHECKING:
    from dueline.wire.schedules import ScheduleForm

_CALENDAR_PERIOD = re.compile(r"\s*P(?:\d+Y|\d+M)", re.ASCII)
"""A period with years or months in it. Before the T, an M is months."""
DEFAULT_ZONE = "UTC"
DEFAULT_GAP = DstGap.RUN_AFTER
DEFAULT_OVERLAP = DstOverlap.FIRST


class Asked(NamedTuple):
    """A form to read, with all that its meaning depends on."""

    form: ScheduleForm
    problems: Problems
    timezone: str
    seed: bytes
    now_ms: int
    current: Schedule | None

    @property
    def gap(self) -> DstGap:
        return self.form.dst_gap or DEFAULT_GAP

    @property
    def overlap(self) -> DstOverlap:
        return self.form.dst_overlap or DEFAULT_OVERLAP


def is_calendar_period(text: str | None) -> bool:
    """Whether a period has months or years in it, which differ in length and are counted on the calendar of the zone."""
    return text is not None and _CALENDAR_PERIOD.match(text) is not None


def translated(form: ScheduleForm, text: str, *, field: str, now_ms: int) -> ScheduleForm:
    """The form with its text in the field of the language that it is written in, or InvalidSchedule."""
    if len(text) > limits.RULE_LETTERS_MAX:
        raise InvalidSchedule(field, f"is longer than {limits.RULE_LETTERS_MAX} letters")
    plain = msgspec.structs.replace(form, text=None)
    match recognise(text):
        case Language.AT:
            return msgspec.structs.replace(plain, at=text)
        case Language.CRON:
            return msgspec.structs.replace(plain, cron=text)
        case Language.EVERY:
            return msgspec.structs.replace(plain, every=text)
        case Language.REPEAT:
            return msgspec.structs.replace(plain, repeat=text)
        case Language.RRULE:
            return msgspec.structs.replace(plain, rrule=text)
        case Language.ENGLISH:
            phrase = read_english(text, timezone=form.timezone or DEFAULT_ZONE, now_ms=now_ms, field=field)
            return _said(plain, phrase, field)
        case unknown:
            assert_never(unknown)


def _said(form: ScheduleForm, phrase: Phrase, field: str) -> ScheduleForm:
    """What a phrase means, in the fields of the form."""
    if phrase.timezone is not None and form.timezone not in (None, phrase.timezone):
        raise InvalidSchedule(field, f"says {phrase.timezone}, and timezone says {form.timezone}: leave one out")
    meant: dict[str, str | None] = {
        "cron": phrase.cron,
        "every": None if phrase.every_ms is None else format_duration(phrase.every_ms),
        "at": None if phrase.at_ms is None else format_instant(phrase.at_ms),
        "after": None if phrase.after_ms is None else format_duration(phrase.after_ms),
        "repeat": phrase.repeat,
    }
    if phrase.cron is not None or phrase.repeat is not None or form.calendars:
        meant["timezone"] = phrase.timezone or form.timezone
    else:
        # The zone was for reading the words; an instant and an interval need none.
        meant["timezone"] = None
    if phrase.start_ms is not None:
        meant["start_at"] = format_instant(phrase.start_ms)
    if phrase.end_ms is not None:
        meant["end_at"] = format_instant(phrase.end_ms)
    return msgspec.structs.replace(form, **meant)


def _to_at(asked: Asked) -> Schedule | None:
    at_ms = read_instant(asked.form.at or "", "schedule.at", asked.problems)
    if at_ms is None:
        return None
    # An instant that a job has already is not asked for anew: one whose time has passed can still be edited.
    known = isinstance(asked.current, At) and asked.current.at_ms == at_ms
    if at_ms < asked.now_ms - limits.AT_PAST_MS_MAX and not asked.form.allow_past and not known:
        asked.problems.add("schedule.at", "lies more than a minute in the past; with allow_past it runs at once")
    return At(at_ms)


def _to_cron(asked: Asked) -> Schedule | None:
    return _checked_cron(asked, asked.form.cron or "")


def _to_calendar(asked: Asked) -> Schedule | None:
    if asked.problems.touch("schedule.calendar"):
        return None
    inside = Problems()
    found = None
    with inside.gathering():
        text = structured_to_cron(asked.form.calendar or {}, field="schedule.calendar")
        found = _checked_cron(asked._replace(problems=inside), text)
    for path, reason in inside.found:
        # What is wrong with the expression is wrong with the fields that it was made of.
        asked.problems.add("schedule.calendar" if path == "schedule.cron" else path, reason)
    return found


def _checked_cron(asked: Asked, text: str) -> Schedule | None:
    if len(text) > limits.WHEN_LETTERS_MAX:
        asked.problems.add("schedule.cron", f"is longer than {limits.WHEN_LETTERS_MAX} letters")
        return None
    current = asked.current
    with asked.problems.gathering():
        return check_cron(
            text,
            asked.timezone,
            now_ms=asked.now_ms,
            seed=asked.seed,
            dst_gap=asked.gap,
            dst_overlap=asked.overlap,
            current=current if isinstance(current, Cron) else None,
        )
    return None


def _to_every(asked: Asked) -> Schedule | None:
    if is_calendar_period(asked.form.every):
        return _to_calendar_period(asked)
    period_ms = _read_period(asked, asked.form.every or "", "schedule.every")
    if asked.form.start_at is not None:
        anchor_ms = read_instant(asked.form.start_at, "schedule.start_at", asked.problems)
        return None if anchor_ms is None else Every(period_ms, anchor_ms)
    if isinstance(asked.current, Every) and asked.current.period_ms == period_ms:
        return Every(period_ms, asked.current.anchor_ms)
    return Every(period_ms, asked.now_ms)


def _to_calendar_period(asked: Asked) -> Schedule | None:
    """Every so many months or years: they differ in length, so they are counted on the calendar."""
    anchor_ms: int | None = asked.now_ms // 1000 * 1000
    if asked.form.start_at is not None:
        anchor_ms = read_instant(asked.form.start_at, "schedule.start_at", asked.problems)
    if anchor_ms is None:
        return None
    with asked.problems.gathering():
        return parse_repeat(
            f"R/{format_instant(anchor_ms)}/{(asked.form.every or '').strip()}",
            field="schedule.every",
            timezone=asked.timezone,
            dst_gap=asked.gap,
            dst_overlap=asked.overlap,
        )
    return None


def _to_after(asked: Asked) -> Schedule | None:
    delay_ms = _read_period(asked, asked.form.after or "", "schedule.after")
    if asked.form.start_at is not None:
        first_ms = read_instant(asked.form.start_at, "schedule.start_at", asked.problems)
        return None if first_ms is None else After(delay_ms, first_ms)
    if isinstance(asked.current, After) and asked.current.delay_ms == delay_ms:
        return After(delay_ms, asked.current.first_ms)
    return After(delay_ms, asked.now_ms + delay_ms)


def _to_repeat(asked: Asked) -> Schedule | None:
    with asked.problems.gathering():
        return parse_repeat(
            asked.form.repeat or "",
            field="schedule.repeat",
            timezone=asked.timezone,
            dst_gap=asked.gap,
            dst_overlap=asked.overlap,
        )
    return None


def _to_rule(asked: Asked) -> Schedule | None:
    text, current = asked.form.rrule or "", asked.current
    begins = "DTSTART" in text.upper()
    anchor_ms: int | None = asked.now_ms
    if asked.form.start_at is not None:
        anchor_ms = read_instant(asked.form.start_at, "schedule.start_at", asked.problems)
        if begins:
            asked.problems.add("schedule.start_at", "goes without DTSTART in the rule: give one of them")
    if anchor_ms is None:
        return None
    with asked.problems.gathering():
        rule = parse_rule(
            text,
            field="schedule.rrule",
            timezone=asked.form.timezone,
            anchor_ms=anchor_ms,
            dst_gap=asked.gap,
            dst_overlap=asked.overlap,
        )
        if asked.form.start_at is not None or begins or not isinstance(current, Rule):
            return rule
        # The same rule written again goes on counting from where it began.
        same = (current.rule, current.timezone) == (rule.rule, rule.timezone)
        return msgspec.structs.replace(rule, anchor_ms=current.anchor_ms) if same else rule
    return None


def _read_period(asked: Asked, text: str, field: str) -> int:
    """A period or a delay. One second is the finest that a schedule can say."""
    period_ms = read_duration(text, field, asked.problems, least_ms=0, most_ms=limits.EVERY_MS_MAX)
    if period_ms < limits.EVERY_MS_MIN and not asked.problems.touch(field):
        asked.problems.add(field, f"fires more than once a second: PT1S is the shortest, and this is {text!r}")
    return max(period_ms, limits.EVERY_MS_MIN)


READERS: dict[str, Callable[[Asked], At | Cron | Every | After | Repeat | Rule | None]] = {
    "at": _to_at,
    "cron": _to_cron,
    "calendar": _to_calendar,
    "every": _to_every,
    "after": _to_after,
    "repeat": _to_repeat,
    "rrule": _to_rule,
}
