"""A job's "when", as people write it: an object with one of several kinds and what shapes it, or a string in any of their languages."""

from __future__ import annotations

from collections.abc import Container
from typing import assert_never

import msgspec
from msgspec import UNSET, UnsetType

from dueline.domain import limits
from dueline.domain.durations import format_duration
from dueline.domain.firetimes import compile_schedule
from dueline.domain.instants import format_instant
from dueline.domain.localtime import DstGap, DstOverlap, check_zone
from dueline.domain.recurrence.text import format_rule
from dueline.domain.repeats import format_repeat
from dueline.domain.schedule import (
    After,
    At,
    ChangedOccurrence,
    Cron,
    Every,
    OnExcluded,
    Repeat,
    Rule,
    Schedule,
    Shaped,
)
from dueline.wire.labels import FAR_MS, check_count, check_names_list, check_near, read_duration, read_instant
from dueline.wire.problems import Problems
from dueline.wire.schedule_kinds import (
    DEFAULT_GAP,
    DEFAULT_OVERLAP,
    DEFAULT_ZONE,
    READERS,
    Asked,
    is_calendar_period,
    translated,
)

KINDS = ("at", "cron", "calendar", "every", "after", "repeat", "rrule")
_WALL_CLOCK = frozenset({"cron", "calendar", "repeat", "rrule"})
_RECURRING = frozenset(KINDS) - {"at"}
_FORESEEN = frozenset(KINDS) - {"after"}
"""Kinds that say beforehand when they come."""
_SPELT = frozenset(f"schedule.{kind}" for kind in KINDS)
_COMPANIONS = {
    "allow_past": frozenset({"at"}),
    "dst_gap": _WALL_CLOCK,
    "dst_overlap": _WALL_CLOCK,
    "start_at": frozenset({"cron", "calendar", "every", "after", "rrule"}),
    "end_at": _RECURRING,
    "max_runs": _RECURRING,
    "calendars": _FORESEEN,
    "changed": _FORESEEN,
}
"""Which kinds each of these goes with; what is not listed goes with all."""
_BEGINS = {At: "at", Cron: "cron", Every: "start_at", After: "start_at", Repeat: "repeat", Rule: "rrule"}
"""Where a schedule says what it is counted from."""


class ChangedForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One occurrence that is left out, or moved to another time."""

    at: str | UnsetType
    to: str | None = None


class ScheduleForm(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    repr_omit_defaults=True,
):
    """Exactly one kind: `at`, `cron`, `calendar` (named fields), `every`, `after`, `repeat` (ISO 8601), `rrule` (RFC 5545), or `text` in
    any of their languages or in English. The rest shapes it."""

    text: str | None = None
    at: str | None = None
    allow_past: bool = False
    cron: str | None = None
    calendar: dict[str, int | str | list[int | str]] | None = None
    every: str | None = None
    after: str | None = None
    repeat: str | None = None
    rrule: str | None = None
    timezone: str | None = None
    dst_gap: DstGap | None = None
    dst_overlap: DstOverlap | None = None
    start_at: str | None = None
    end_at: str | None = None
    max_runs: int | None = None
    jitter: str | None = None
    calendars: list[str] = []
    on_excluded: OnExcluded = OnExcluded.SKIP
    changed: list[ChangedForm] = []


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """What is said beside a schedule and counts where the schedule does not say it itself, and where it has a meaning."""

    timezone: str | None = None
    dst_gap: DstGap | None = None
    dst_overlap: DstOverlap | None = None


_NOTHING_BESIDE = Beside()


def to_schedule(
    form: ScheduleForm | str | None,
    problems: Problems,
    *,
    seed: bytes,
    now_ms: int,
    current: Schedule | None,
    beside: Beside = _NOTHING_BESIDE,
) -> Schedule | None:
    """The schedule of a form, for a job that has `current` so far; problems are told as `schedule.…`, those of a text where it stands.

    The seed is what spreads the jobs that say `H`.
    """
    if form is None:
        return None
    if isinstance(form, str):
        field, form = "schedule", ScheduleForm(text=form)
    else:
        field = "schedule.text"
    own = {name: value for name in Beside.__struct_fields__ if (value := getattr(form, name)) is not None}
    form = msgspec.structs.replace(form, **{**msgspec.structs.asdict(beside), **own})

    def read(found: Problems, at_ms: int) -> Schedule | None:
        if form.text is None:
            return _read(form, found, seed=seed, now_ms=at_ms, current=current, own=own)
        inside = Problems()
        spelt = _spelt_out(form, inside, field=field, now_ms=at_ms)
        schedule = None if spelt is None else _read(spelt, inside, seed=seed, now_ms=at_ms, current=current, own=own)
        for path, reason in inside.found:
            found.add(field if path in _SPELT else path, reason)
        return schedule

    schedule = read(problems, now_ms)
    if isinstance(schedule, Repeat) and isinstance(current, Repeat) and 0 < current.anchor_ms < FAR_MS:
        # What counts from when it is read goes on from where it began, if the same was written then.
        for then_ms in (current.anchor_ms, current.anchor_ms - 1):
            begun = read(Problems(), then_ms)
            if isinstance(begun, Repeat) and _interval(begun) == _interval(current):
                return begun
    return schedule


def _interval(repeat: Repeat) -> tuple[object, ...]:
    return repeat.anchor_ms, repeat.months, repeat.days, repeat.clock_ms, repeat.times, repeat.timezone


def _read(
    form: ScheduleForm,
    problems: Problems,
    *,
    seed: bytes,
    now_ms: int,
    current: Schedule | None,
    own: Container[str],
) -> Schedule | None:
    """The schedule of a form without a text. `own` are the companions that are its own, and must fit."""
    kind = _kind_of(form, problems)
    if kind is None:
        return None
    form = _without_strangers(form, kind, own)
    _check_companions(form, kind, problems)
    zone = DEFAULT_ZONE
    with problems.gathering():
        zone = check_zone(form.timezone or DEFAULT_ZONE).key
    asked = Asked(form, problems, zone, seed, now_ms, current)
    base = READERS[kind](asked)
    if base is None:
        return None
    schedule: Schedule = msgspec.structs.replace(base, **_shape(asked, base))
    if schedule != current and not problems.touch("schedule"):
        _check_fires(schedule, problems, now_ms=now_ms)
    return schedule


def schedule_form(schedule: Schedule | None) -> ScheduleForm | None:
    """The schedule as it is understood: what was asked for in words or named fields is told in its canonical kind."""
    match schedule:
        case None:
            return None
        case At():
            form = ScheduleForm(at=format_instant(schedule.at_ms))
        case Cron():
            form = ScheduleForm(cron=schedule.expression, start_at=_instant(schedule.start_ms))
        case Every():
            form = ScheduleForm(every=format_duration(schedule.period_ms), start_at=_instant(schedule.anchor_ms))
        case After():
            form = ScheduleForm(after=format_duration(schedule.delay_ms), start_at=_instant(schedule.first_ms))
        case Repeat():
            form = ScheduleForm(repeat=format_repeat(schedule))
        case Rule():
            form = ScheduleForm(rrule=format_rule(schedule))
        case _:
            assert_never(schedule)
    return msgspec.structs.replace(form, **_shape_form(schedule))


def _spelt_out(form: ScheduleForm, problems: Problems, *, field: str, now_ms: int) -> ScheduleForm | None:
    """The form with a text taken for what it is written in."""
    others = [kind for kind in KINDS if getattr(form, kind) is not None]
    if others:
        problems.add(field, f"goes without {' and '.join(others)}: the text says when")
        return None
    with problems.gathering():
        return translated(form, form.text or "", field=field, now_ms=now_ms)
    return None


def _kind_of(form: ScheduleForm, problems: Problems) -> str | None:
    chosen = [kind for kind in KINDS if getattr(form, kind) is not None]
    if len(chosen) == 1:
        return chosen[0]
    if not problems.touch("schedule"):
        told = " and ".join(chosen) or "none"
        problems.add("schedule", f"needs exactly one of {', '.join(KINDS[:-1])} and {KINDS[-1]}, and has {told}")
    return None


def _without_strangers(form: ScheduleForm, kind: str, own: Container[str]) -> ScheduleForm:
    """The form without what was said beside it and has no meaning for its kind."""
    if kind in _WALL_CLOCK:
        return form
    strangers = [name for name in Beside.__struct_fields__ if name not in own]
    if form.calendars and "timezone" in strangers:
        strangers.remove("timezone")
    return msgspec.structs.replace(form, **dict.fromkeys(strangers))


def _check_companions(form: ScheduleForm, kind: str, problems: Problems) -> None:
    on_calendar = kind in _WALL_CLOCK or is_calendar_period(form.every)
    for companion, kinds in _COMPANIONS.items():
        if getattr(form, companion) and kind not in kinds and not (on_calendar and kinds is _WALL_CLOCK):
            right = " or ".join(name for name in KINDS if name in kinds)
            problems.add(f"schedule.{companion}", f"goes with {right}, not with {kind}")
    if form.timezone is not None and not on_calendar and not form.calendars:
        problems.add("schedule.timezone", f"goes with wall times or with calendars, not with {kind} alone")


def _shape(asked: Asked, base: Shaped) -> dict[str, object]:
    """What the form says besides its kind."""
    form, problems = asked.form, asked.problems
    start_ms = end_ms = None
    if form.start_at is not None and isinstance(base, Cron):
        start_ms = read_instant(form.start_at, "schedule.start_at", problems)
    if form.end_at is not None:
        end_ms = read_instant(form.end_at, "schedule.end_at", problems)
    if start_ms is not None and end_ms is not None and end_ms < start_ms:
        problems.add("schedule.end_at", "lies before start_at")
    if form.max_runs is not None:
        check_count(form.max_runs, "schedule.max_runs", problems, least=1, most=limits.MAX_RUNS_MAX)
    jitter_ms = 0
    if form.jitter is not None:
        jitter_ms = read_duration(form.jitter, "schedule.jitter", problems, least_ms=0, most_ms=limits.JITTER_MS_MAX)
    check_names_list(
        form.calendars, "schedule.calendars", problems, most=limits.CALENDARS_PER_SCHEDULE_MAX, noun="calendars"
    )
    changed = _changed(form.changed, problems)
    if form.calendars:
        # Whose days are asked about, and the days around them, must be days.
        check_near(_begins_ms(base), f"schedule.{_BEGINS[type(base)]}", problems)
        check_near(max((one.moved_to_ms or 0 for one in changed), default=0), "schedule.changed", problems)
        check_near(start_ms, "schedule.start_at", problems)
    if form.on_excluded is not OnExcluded.SKIP and not form.calendars:
        problems.add("schedule.on_excluded", "goes with calendars")
    return {
        "timezone": asked.timezone if base.timezone == DEFAULT_ZONE else base.timezone,
        "start_ms": start_ms,
        "end_ms": end_ms,
        "max_runs": form.max_runs,
        "jitter_ms": jitter_ms,
        "calendars": tuple(form.calendars),
        "on_excluded": form.on_excluded,
        "changed": changed,
    }


def _begins_ms(schedule: Shaped) -> int | None:
    """The instant that a schedule is, or is counted from."""
    match schedule:
        case At():
            return schedule.at_ms
        case After():
            return schedule.first_ms
        case Every() | Repeat() | Rule():
            return schedule.anchor_ms
        case _:
            return None


def _changed(forms: list[ChangedForm], problems: Problems) -> tuple[ChangedOccurrence, ...]:
    if len(forms) > limits.CHANGED_MAX:
        problems.add("schedule.changed", f"must be at most {limits.CHANGED_MAX}")
        return ()
    found: dict[int, ChangedOccurrence] = {}
    for index, form in enumerate(forms):
        field = f"schedule.changed[{index}]"
        at_ms = None if form.at is UNSET else read_instant(form.at, f"{field}.at", problems)
        to_ms = None if form.to is None else read_instant(form.to, f"{field}.to", problems)
        if at_ms is None:
            continue
        if at_ms in found:
            problems.add(f"{field}.at", "is given twice")
        found[at_ms] = ChangedOccurrence(at_ms, to_ms)
    return tuple(found[at_ms] for at_ms in sorted(found))


def _check_fires(schedule: Schedule, problems: Problems, *, now_ms: int) -> None:
    """A schedule that never fires is a mistake. Calendars are looked at by whoever knows them."""
    times = compile_schedule(msgspec.structs.replace(schedule, calendars=()))
    after_ms = now_ms
    if isinstance(schedule, At | After):
        after_ms = min(schedule.at_ms if isinstance(schedule, At) else schedule.first_ms, now_ms) - 1
    if times.next_fire_after(after_ms) is not None:
        return
    if schedule.end_ms is not None:
        problems.add("schedule.end_at", "lies before the first time it would fire")
    elif schedule.changed:
        problems.add("schedule.changed", "leaves nothing that fires")
    else:
        problems.add("schedule", "never fires")


def _shape_form(schedule: Shaped) -> dict[str, object]:
    zoned = isinstance(schedule, Cron | Repeat | Rule)
    gap = getattr(schedule, "dst_gap", DEFAULT_GAP)
    overlap = getattr(schedule, "dst_overlap", DEFAULT_OVERLAP)
    return {
        "timezone": schedule.timezone if zoned or schedule.calendars else None,
        "dst_gap": None if gap is DEFAULT_GAP else gap,
        "dst_overlap": None if overlap is DEFAULT_OVERLAP else overlap,
        "end_at": _instant(schedule.end_ms),
        "max_runs": schedule.max_runs,
        "jitter": format_duration(schedule.jitter_ms) if schedule.jitter_ms else None,
        "calendars": list(schedule.calendars),
        "on_excluded": schedule.on_excluded,
        "changed": [
            ChangedForm(at=format_instant(one.at_ms), to=_instant(one.moved_to_ms)) for one in schedule.changed
        ],
    }


def _instant(at_ms: int | None) -> str | None:
    return None if at_ms is None else format_instant(at_ms)
