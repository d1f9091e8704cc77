"""Times as people read them in a table: short, and by the clock on their own wall."""

from __future__ import annotations

from dueline.domain.instants import parse_instant, to_datetime


def short_time(text: str, *, now_ms: int) -> str:
    """An instant in the zone of whoever looks, which `TZ` names: `20:04:31` of today, `Nov 16 20:04` of this year, else `2025-11-16`."""
    moment = to_datetime(parse_instant(text, field="time")).astimezone()
    now = to_datetime(now_ms).astimezone()
    if moment.date() == now.date():
        return f"{moment:%H:%M:%S}"
    return f"{moment:%b %d %H:%M}" if moment.year == now.year else f"{moment:%Y-%m-%d}"
