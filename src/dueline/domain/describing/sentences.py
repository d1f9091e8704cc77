"""A schedule in one English sentence, so that people can see what was understood."""

from __future__ import annotations

from typing import assert_never

from dueline.domain.crontab import compiled
from dueline.domain.describing.crontabs import describe_crontab
from dueline.domain.describing.rules import describe_rule, times_told
from dueline.domain.describing.wording import counted, day, every, length, listed, local, moment, time_of_day
from dueline.domain.localtime import DstGap, DstOverlap
from dueline.domain.schedule import After, At, Cron, Every, OnExcluded, Repeat, Rule, Schedule

_GAPS = {
    DstGap.RUN_AFTER: "",
    DstGap.SKIP: ", left out where the clocks jump over it",
    DstGap.RUN_BEFORE: ", before the change where the clocks jump over it",
}
_OVERLAPS = {
    DstOverlap.FIRST: "",
    DstOverlap.SECOND: ", the second time where the clocks show it twice",
    DstOverlap.BOTH: ", both times where the clocks show it twice",
}
_EXCLUDED = {
    OnExcluded.SKIP: "except on the days of",
    OnExcluded.BEFORE: "moved to an earlier day from the days of",
    OnExcluded.AFTER: "moved to a later day from the days of",
}


def describe(schedule: Schedule) -> str:
    """One sentence for any schedule that was checked: the same schedule always has the same."""
    return _kind(schedule) + _shape(schedule)


def _kind(schedule: Schedule) -> str:
    zone = schedule.timezone
    match schedule:
        case At():
            shown = local(schedule.at_ms, zone)
            return f"Once, on {day(shown)} at {time_of_day(shown)}, {zone}"
        case Cron():
            crontab = compiled(schedule.concrete)
            policies = "" if crontab.interval_like else _policies(schedule)
            return f"{describe_crontab(crontab)}, {zone}{policies}"
        case Every():
            return f"{every(length(schedule.period_ms))}, counted from {moment(schedule.anchor_ms, zone)}"
        case After():
            return f"{length(schedule.delay_ms)} after each run ends, first at {moment(schedule.first_ms, zone)}"
        case Repeat():
            times = "" if schedule.times is None else f", {times_told(schedule.times)}"
            start = moment(schedule.anchor_ms, zone)
            return f"{every(_period(schedule))} from {start}{times}{_policies(schedule)}"
        case Rule():
            sentence, end = describe_rule(schedule.rule, local(schedule.anchor_ms, zone))
            left_out = len(schedule.excluded_ms)
            excluded = f", without {counted(left_out, 'occurrence')} of it" if left_out else ""
            return f"{sentence}, from {moment(schedule.anchor_ms, zone)}{end}{excluded}{_policies(schedule)}"
        case _:
            assert_never(schedule)


def _period(schedule: Repeat) -> str:
    years, months = divmod(schedule.months, 12)
    weeks, days = divmod(schedule.days, 7)
    if days:
        weeks, days = 0, schedule.days
    amounts = ((years, "year"), (months, "month"), (weeks, "week"), (days, "day"))
    found = [counted(number, unit) for number, unit in amounts if number]
    if schedule.clock_ms or not found:
        found.append(length(schedule.clock_ms))
    return listed(found)


def _policies(schedule: Cron | Repeat | Rule) -> str:
    """What was chosen for the nights on which clocks change, unless it is the default or the zone has no such nights."""
    return "" if schedule.timezone == "UTC" else _GAPS[schedule.dst_gap] + _OVERLAPS[schedule.dst_overlap]


def _shape(schedule: Schedule) -> str:
    found = []
    if schedule.start_ms is not None:
        found.append(f"not before {moment(schedule.start_ms, schedule.timezone)}")
    if schedule.end_ms is not None:
        found.append(f"not after {moment(schedule.end_ms, schedule.timezone)}")
    if schedule.max_runs is not None:
        found.append(f"at most {counted(schedule.max_runs, 'run')}")
    if schedule.jitter_ms:
        found.append(f"spread over {length(schedule.jitter_ms)}")
    if schedule.calendars:
        noun = "calendar" if len(schedule.calendars) == 1 else "calendars"
        found.append(f"{_EXCLUDED[schedule.on_excluded]} {noun} {listed(schedule.calendars)}")
    left_out = sum(changed.moved_to_ms is None for changed in schedule.changed)
    moved = len(schedule.changed) - left_out
    if left_out:
        found.append(f"{counted(left_out, 'occurrence')} left out")
    if moved:
        found.append(f"{counted(moved, 'occurrence')} moved")
    return "".join(f", {part}" for part in found)
