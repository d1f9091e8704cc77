"""Durations of fixed length: integer milliseconds inside, ISO 8601 outside; `15m` is read as well."""

from __future__ import annotations

import re

from dueline.domain.errors import Invalid

DAY_MS = 86_400_000

_UNITS_MS = {"w": 7 * DAY_MS, "d": DAY_MS, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_NUMBER = r"(\d{1,12}(?:\.\d{1,6})?)"
_ISO = re.compile(
    rf"P(?:{_NUMBER}W)?(?:{_NUMBER}D)?(?:T(?=\d)(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?", re.ASCII
)
_ISO_UNITS = ("w", "d", "h", "m", "s")
_SHORT_PART = re.compile(rf"{_NUMBER}(ms|w|d|h|m|s)", re.ASCII)
_SHORT = re.compile(rf"(?:{_NUMBER}(?:ms|w|d|h|m|s))+", re.ASCII)


def parse_duration(text: str, *, field: str, least_ms: int = 0, most_ms: int = 10_000 * DAY_MS) -> int:
    """Milliseconds of `PT15M`, `P1DT2H`, `15m` or `1h30m`, within bounds. Months and years have no fixed length and are refused."""
    duration_ms = _read(text.strip())
    if duration_ms is None:
        raise Invalid((field, f"{text!r} is not a duration such as PT15M or 15m"))
    if not least_ms <= duration_ms <= most_ms:
        raise Invalid((field, f"must be between {format_duration(least_ms)} and {format_duration(most_ms)}"))
    return duration_ms


def format_duration(duration_ms: int) -> str:
    """ISO 8601, in its largest exact units: `PT15M`, `P1DT2H`, `PT0.25S`."""
    days, rest = divmod(duration_ms, DAY_MS)
    hours, rest = divmod(rest, 3_600_000)
    minutes, rest = divmod(rest, 60_000)
    seconds = f"{rest / 1000:g}" if rest else ""
    clock = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "") + (f"{seconds}S" if seconds else "")
    if not days and not clock:
        return "PT0S"
    return "P" + (f"{days}D" if days else "") + (f"T{clock}" if clock else "")


def _read(text: str) -> int | None:
    iso = _ISO.fullmatch(text)
    if iso and any(iso.groups()):
        return round(
            sum(float(count) * _UNITS_MS[unit] for count, unit in zip(iso.groups(), _ISO_UNITS, strict=True) if count)
        )
    if _SHORT.fullmatch(text):
        return round(sum(float(part[1]) * _UNITS_MS[part[2]] for part in _SHORT_PART.finditer(text)))
    return None
