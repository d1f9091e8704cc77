"""How tests ask recurrence rules and repeating intervals for their times."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Protocol
from zoneinfo import ZoneInfo

from dueline.domain.localtime import DstGap, DstOverlap
from dueline.domain.recurrence.text import parse_rule
from dueline.domain.recurrence.times import RuleTimes
from dueline.domain.schedule import Rule


class Times(Protocol):
    def next_after(self, at_ms: int) -> int | None: ...


def millis(text: str, zone: str = "UTC") -> int:
    """An instant, from its text with an offset or on the wall clock of a zone."""
    moment = datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(zone))).timestamp() * 1000)


def rule_of(
    text: str,
    zone: str | None = None,
    start: str = "2026-01-01T00:00:00+00:00",
    gap: DstGap = DstGap.RUN_AFTER,
    overlap: DstOverlap = DstOverlap.FIRST,
) -> Rule:
    start_ms = millis(start, zone or "UTC")
    return parse_rule(text, field="schedule.rrule", timezone=zone, anchor_ms=start_ms, dst_gap=gap, dst_overlap=overlap)


def after(times: Times, at_ms: int, count: int) -> list[int]:
    """The next occurrences, at most so many."""
    found: list[int] = []
    while len(found) < count and (following := times.next_after(found[-1] if found else at_ms)) is not None:
        found.append(following)
    return found


def between(times: Times, at_ms: int, until_ms: int) -> list[int]:
    """All occurrences after an instant and up to another."""
    found: list[int] = []
    while (following := times.next_after(found[-1] if found else at_ms)) is not None and following <= until_ms:
        found.append(following)
    return found


def shown(at_ms: int, zone: str) -> str:
    """What the wall clock of a zone shows, with its offset."""
    return datetime.fromtimestamp(at_ms / 1000, ZoneInfo(zone)).isoformat()


def wall_times(rule: Rule, since: str, count: int) -> list[str]:
    at_ms = millis(since, rule.timezone)
    return [shown(found_ms, rule.timezone) for found_ms in after(RuleTimes(rule), at_ms, count)]


def compact(text: str) -> Iterator[datetime]:
    """Dates written as `1997-09: 2 4 6..8; 1997-10: 1`, at nine in the morning."""
    for month in text.split(";"):
        head, _, days = month.strip().partition(":")
        year, number = map(int, head.split("-"))
        for first, last in re.findall(r"(\d+)(?:\.\.(\d+))?", days):
            for day in range(int(first), int(last or first) + 1):
                yield datetime(year, number, day, 9, tzinfo=UTC)
