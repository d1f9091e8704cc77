"""How tests ask cron for its times."""

from datetime import datetime
from zoneinfo import ZoneInfo

from dueline.domain.cron import next_second_after
from dueline.domain.localtime import DstGap, DstOverlap


def next_s(
    expression: str, zone: str, at_s: int, gap: DstGap = DstGap.RUN_AFTER, overlap: DstOverlap = DstOverlap.FIRST
) -> int | None:
    at_ms = next_second_after(expression, zone, gap, overlap, at_s)
    assert at_ms is None or at_ms % 1000 == 0
    return None if at_ms is None else at_ms // 1000


def seconds(text: str, zone: str = "UTC") -> int:
    """An instant, from its text with an offset or on the wall clock of a zone."""
    moment = datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(zone))).timestamp())


def fires(
    expression: str,
    zone: str,
    since: str,
    count: int,
    gap: DstGap = DstGap.RUN_AFTER,
    overlap: DstOverlap = DstOverlap.FIRST,
) -> list[str]:
    """The next occurrences after a moment on the wall clock, as the wall clock shows them with its offset."""
    at_s = seconds(since, zone)
    shown: list[str] = []
    for _ in range(count):
        found_s = next_s(expression, zone, at_s, gap, overlap)
        if found_s is None:
            return [*shown, "never"]
        at_s = found_s
        shown.append(datetime.fromtimestamp(at_s, ZoneInfo(zone)).isoformat())
    return shown
