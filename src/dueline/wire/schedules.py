"""A job's "when", as people write it: once at an instant, by a cron expression, or at a fixed rate."""

from __future__ import annotations

from typing import assert_never

import msgspec

from dueline.domain import limits
from dueline.domain.cron import check_cron
from dueline.domain.durations import format_duration
from dueline.domain.instants import format_instant
from dueline.domain.localtime import DstGap, DstOverlap, check_zone
from dueline.domain.schedule import At, Cron, Every, Schedule
from dueline.wire.labels import read_duration, read_instant
from dueline.wire.problems import Problems

_DEFAULT_ZONE = "UTC"
_DEFAULT_GAP = DstGap.RUN_AFTER
_DEFAULT_OVERLAP = DstOverlap.FIRST
_KINDS = ("at", "cron", "every")
_COMPANIONS = {
    "allow_past": "at",
    "timezone": "cron",
    "dst_gap": "cron",
    "dst_overlap": "cron",
    "start_at": "every",
}


class ScheduleForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Exactly one of `at`, `cron` and `every`. `start_at` is where a fixed rate is anchored."""

    at: str | None = None
    allow_past: bool = False
    cron: str | None = None
    timezone: str | None = None
    dst_gap: DstGap | None = None
    dst_overlap: DstOverlap | None = None
    every: str | None = None
    start_at: str | None = None


def to_schedule(
    form: ScheduleForm | None, problems: Problems, *, seed: bytes, now_ms: int, current: Schedule | None
) -> Schedule | None:
    """The schedule of a form, for a job that has `current` so far; problems are told as `schedule.…`.

    The seed is what spreads the jobs that say `H`.
    """
    if form is None:
        return None
    chosen = [kind for kind in _KINDS if getattr(form, kind) is not None]
    if len(chosen) != 1:
        if not problems.touch("schedule"):
            problems.add(
                "schedule", f"needs exactly one of at, cron and every, and has {' and '.join(chosen) or 'none'}"
            )
        return None
    for companion, kind in _COMPANIONS.items():
        if getattr(form, companion) and kind not in chosen:
            problems.add(f"schedule.{companion}", f"goes with {kind}, not with {chosen[0]}")
    if form.at is not None:
        return _to_at(form.at, problems, allow_past=form.allow_past, now_ms=now_ms, current=current)
    if form.cron is not None:
        return _to_cron(form, form.cron, problems, seed=seed, now_ms=now_ms, current=current)
    return _to_every(form, problems, now_ms=now_ms, current=current)


def schedule_form(schedule: Schedule | None) -> ScheduleForm | None:
    match schedule:
        case None:
            return None
        case At():
            return ScheduleForm(at=format_instant(schedule.at_ms))
        case Cron():
            return ScheduleForm(
                cron=schedule.expression,
                timezone=schedule.timezone,
                dst_gap=None if schedule.dst_gap is _DEFAULT_GAP else schedule.dst_gap,
                dst_overlap=None if schedule.dst_overlap is _DEFAULT_OVERLAP else schedule.dst_overlap,
            )
        case Every():
            return ScheduleForm(every=format_duration(schedule.period_ms), start_at=format_instant(schedule.anchor_ms))
        case _:
            assert_never(schedule)


def _to_at(
    text: str, problems: Problems, *, allow_past: bool, now_ms: int, current: Schedule | None
) -> Schedule | None:
    at_ms = read_instant(text, "schedule.at", problems)
    if at_ms is None:
        return None
    schedule = At(at_ms)
    # An instant that a job has already is not asked for anew: one whose time has passed can still be edited.
    if at_ms < now_ms - limits.AT_PAST_MS_MAX and not allow_past and schedule != current:
        problems.add("schedule.at", "lies more than a minute in the past; with allow_past it runs at once")
    return schedule


def _to_cron(
    form: ScheduleForm, text: str, problems: Problems, *, seed: bytes, now_ms: int, current: Schedule | None
) -> Schedule | None:
    if len(text) > limits.WHEN_LETTERS_MAX:
        problems.add("schedule.cron", f"is longer than {limits.WHEN_LETTERS_MAX} letters")
        return None
    zone = _DEFAULT_ZONE
    with problems.gathering():
        zone = check_zone(form.timezone or _DEFAULT_ZONE).key
    with problems.gathering():
        return check_cron(
            text,
            zone,
            now_ms=now_ms,
            seed=seed,
            dst_gap=form.dst_gap or _DEFAULT_GAP,
            dst_overlap=form.dst_overlap or _DEFAULT_OVERLAP,
            current=current if isinstance(current, Cron) else None,
        )
    return None


def _to_every(form: ScheduleForm, problems: Problems, *, now_ms: int, current: Schedule | None) -> Schedule | None:
    period_ms = read_duration(
        form.every or "", "schedule.every", problems, least_ms=limits.EVERY_MS_MIN, most_ms=limits.EVERY_MS_MAX
    )
    if form.start_at is not None:
        anchor_ms = read_instant(form.start_at, "schedule.start_at", problems)
        return None if anchor_ms is None else Every(period_ms, anchor_ms)
    if isinstance(current, Every) and current.period_ms == period_ms:
        return current
    return Every(period_ms, now_ms)
