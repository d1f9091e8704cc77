"""A job's "when", as it is stored: what was asked for, checked and in canonical form. `firetimes` turns it into instants.

A schedule is one of several kinds, and every kind may be shaped: bounded, limited, spread, kept off some days, and changed for
single occurrences.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from dueline.domain.localtime import DstGap, DstOverlap


class OnExcluded(StrEnum):
    """What becomes of an occurrence on a day that a calendar excludes: nothing, or the nearest day before or after it."""

    SKIP = "skip"
    BEFORE = "before"
    AFTER = "after"


class ChangedOccurrence(msgspec.Struct, frozen=True, array_like=True):
    """One occurrence that does not come when the schedule says: it is left out, or comes at another time."""

    at_ms: int
    moved_to_ms: int | None = None


class Shaped(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, cache_hash=True, gc=False):
    """What every kind of schedule may have. Both bounds are inclusive; `timezone` is whose days the calendars name."""

    timezone: str = "UTC"
    start_ms: int | None = None
    end_ms: int | None = None
    max_runs: int | None = None
    jitter_ms: int = 0
    calendars: tuple[str, ...] = ()
    on_excluded: OnExcluded = OnExcluded.SKIP
    changed: tuple[ChangedOccurrence, ...] = ()


class At(Shaped, frozen=True, tag="at", omit_defaults=True):
    """Once, at an instant."""

    at_ms: int


class Cron(Shaped, frozen=True, tag="cron", omit_defaults=True):
    """Whenever a cron expression matches the wall clock of the zone.

    `hashed` is the expression with numbers for every `H`, and empty where there was none. Numbers are what is searched for, so that
    jobs share their answers.
    """

    expression: str
    dst_gap: DstGap = DstGap.RUN_AFTER
    dst_overlap: DstOverlap = DstOverlap.FIRST
    hashed: str = ""

    @property
    def concrete(self) -> str:
        return self.hashed or self.expression


class Every(Shaped, frozen=True, tag="every", omit_defaults=True):
    """At a fixed rate: anchor + k × period in real time, whatever the wall clock does."""

    period_ms: int
    anchor_ms: int


class After(Shaped, frozen=True, tag="after", omit_defaults=True):
    """At a fixed delay: first at an instant, then each time that long after the last run ended."""

    delay_ms: int
    first_ms: int


class Repeat(Shaped, frozen=True, tag="repeat", omit_defaults=True):
    """An ISO 8601 repeating interval: anchor + k × period on the calendar of the zone, counted from the anchor and so never drifting.

    `months`, `days` and `clock_ms` are the parts of the period: calendar months, calendar days, and real time. `times` None: for ever.
    """

    anchor_ms: int
    months: int = 0
    days: int = 0
    clock_ms: int = 0
    times: int | None = None
    dst_gap: DstGap = DstGap.RUN_AFTER
    dst_overlap: DstOverlap = DstOverlap.FIRST


class Rule(Shaped, frozen=True, tag="rrule", omit_defaults=True):
    """An RFC 5545 recurrence rule on the calendar of the zone: the rule itself in canonical form, its start, and what is excluded.

    `excluded_days` are whole days on the wall clock, as ordinals.
    """

    rule: str
    anchor_ms: int
    excluded_ms: tuple[int, ...] = ()
    excluded_days: tuple[int, ...] = ()
    dst_gap: DstGap = DstGap.RUN_AFTER
    dst_overlap: DstOverlap = DstOverlap.FIRST


Schedule = At | Cron | Every | After | Repeat | Rule
