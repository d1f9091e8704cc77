"""Cron expressions: five fields, or six with seconds first, in an IANA zone, by Debian cron's rules (through `cronsim`)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from dueline.domain import limits
from dueline.domain.errors import InvalidSchedule

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_ZONE_LETTERS_MAX = 64


def check_cron(expression: str, timezone: str, *, now_ms: int) -> str:
    """The canonical expression, or the reason why it cannot be one."""
    text = " ".join(expression.split())
    if text.startswith("@"):
        if text.lower() not in MACROS:
            raise InvalidSchedule("schedule.cron", f"unknown macro {text!r}: use one of {', '.join(MACROS)}")
        text = MACROS[text.lower()]
    zone = check_zone(timezone)
    try:
        CronSim(text, datetime.fromtimestamp(now_ms // 1000, zone))
    except CronSimError as error:
        reason = f"{expression!r} never fires" if _fits_no_month(text) else f"{error} in {expression!r}"
        raise InvalidSchedule("schedule.cron", reason) from None
    if next_second_after(text, timezone, now_ms // 1000) is None:
        raise InvalidSchedule("schedule.cron", f"{expression!r} never fires")
    return text


def check_zone(name: str) -> ZoneInfo:
    try:
        if not name or len(name) > _ZONE_LETTERS_MAX or not name.isprintable():
            raise ValueError
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidSchedule(
            "schedule.timezone", f"unknown time zone {name!r}: use an IANA name such as Europe/Berlin"
        ) from None


def _fits_no_month(text: str) -> bool:
    """Whether day and month are good, but not for each other: 31 February never comes, and is not misspelt."""
    fields = text.split(" ")
    return len(fields) >= 5 and all(
        _is_readable([*fields[:-3], day, month, fields[-1]]) for day, month in (("*", fields[-2]), (fields[-3], "*"))
    )


def _is_readable(fields: list[str]) -> bool:
    try:
        CronSim(" ".join(fields), datetime.fromtimestamp(0, UTC))
    except CronSimError:
        return False
    return True


@lru_cache(maxsize=131_072)
def next_second_after(expression: str, timezone: str, at_s: int) -> int | None:
    """Milliseconds of the first match strictly after a whole second, or None when none comes within the search bound."""
    start = datetime.fromtimestamp(at_s, UTC if timezone == "UTC" else ZoneInfo(timezone))
    search = CronSim(expression, start)
    limit = start + timedelta(days=366 * limits.SEARCH_YEARS)
    # cronsim wraps its own bound (fifty years) in StopIteration; ours is lower, and the answer must lie after the question.
    for moment in search:
        found_s = int(moment.timestamp())
        if found_s > at_s:
            return found_s * 1000 if moment.astimezone(UTC) <= limit.astimezone(UTC) else None
    return None
