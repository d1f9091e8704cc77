"""Whether a job fires when its source would: a year of both, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from heapq import merge
from itertools import groupby, islice

import msgspec

from dueline.domain.firetimes import compile_schedule
from dueline.domain.localtime import DAY_S
from dueline.domain.schedule import Schedule
from dueline.moving.entries import Entry
from dueline.moving.oracles.walls import zone_named

YEAR_S = 366 * DAY_S
FIRES_MAX = 600_000
"""Fires of a source that are compared: every minute of a year, or a week of every second. What is left is told."""
SHOWN = 5


class Verdict(StrEnum):
    SAME = "same"
    DIFFERS = "differs"
    NOT_COMPARED = "not_compared"


class Difference(msgspec.Struct, frozen=True):
    """One instant at which only one of the two fires. `clocks_change`: the clocks of its zone change within a day of it."""

    utc: str
    local: str
    only: str
    clocks_change: bool


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What came of comparing one job with its source."""

    name: str
    place: str
    verdict: Verdict
    fires: int = 0
    differences: int = 0
    first: list[Difference] = []
    until: str | None = None
    complete: bool = True
    """Whether the whole year was compared: there may be too many fires in it."""
    reason: str | None = None


def verify(entry: Entry, *, since_ms: int, source: str) -> Comparison:
    """The fires of a job over a year, held against those of its source."""
    assert entry.job is not None, "only what was converted is compared"
    name = entry.job["name"]
    if entry.oracle is None or entry.schedule is None:
        return Comparison(
            name=name, place=entry.place, verdict=Verdict.NOT_COMPARED, reason="its source does not say when it fires"
        )
    zone = str(entry.job["schedule"].get("timezone", "UTC"))
    since_s = since_ms // 1000
    until_s = since_s + YEAR_S
    theirs = list(islice(entry.oracle.fires(since_s, until_s), FIRES_MAX + 1))
    complete = len(theirs) <= FIRES_MAX
    if not complete:
        until_s = theirs[FIRES_MAX - 1]
        del theirs[FIRES_MAX:]
    found = list(_differences(theirs, _ours(entry.schedule, since_ms, until_s)))
    shown = [_shown(at_s, source if is_theirs else "Dueline", zone) for at_s, is_theirs in found[:SHOWN]]
    return Comparison(
        name=name,
        place=entry.place,
        verdict=Verdict.DIFFERS if found else Verdict.SAME,
        fires=len(theirs),
        differences=len(found),
        first=shown,
        until=_text(datetime.fromtimestamp(until_s, zone_named("UTC"))),
        complete=complete,
    )


def _ours(schedule: Schedule, since_ms: int, until_s: int) -> Iterator[int]:
    times = compile_schedule(schedule)
    at_ms, left = times.next_fire_after(since_ms), schedule.max_runs
    while at_ms is not None and at_ms // 1000 <= until_s and left != 0:
        yield at_ms // 1000
        at_ms, left = times.next_fire_after(at_ms), None if left is None else left - 1


def _differences(theirs: list[int], ours: Iterator[int]) -> Iterator[tuple[int, bool]]:
    """Instants that only one of two ascending lists has, and whether it is theirs."""
    sides = merge(((at_s, True) for at_s in theirs), ((at_s, False) for at_s in ours))
    for at_s, same in groupby(sides, key=lambda pair: pair[0]):
        who = {is_theirs for _, is_theirs in same}
        if len(who) == 1:
            yield at_s, who.pop()


def _shown(at_s: int, only: str, zone: str) -> Difference:
    local = datetime.fromtimestamp(at_s, zone_named(zone))
    around = {(local + timedelta(days=days)).utcoffset() for days in (-1, 1)}
    return Difference(
        _text(datetime.fromtimestamp(at_s, zone_named("UTC"))), local.isoformat(), only, clocks_change=len(around) > 1
    )


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
