"""Cron expressions: five fields, or six with seconds first, in an IANA zone, by Debian cron's rules (through `cronsim`)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
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
_NO_ZONES = ("localtime", "posixrules", "posix/", "right/")
"""Files that systems keep beside the zones: each machine has its own, or they count leap seconds."""
_DAY_S = 86_400
_SEARCH_S = 366 * _DAY_S * limits.SEARCH_YEARS
_EPOCH = datetime(1970, 1, 1)


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
        if not name or len(name) > _ZONE_LETTERS_MAX or not name.isprintable() or name.startswith(_NO_ZONES):
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
    """Milliseconds of the first match strictly after a whole second, or None when none comes within the search bound.

    A time of day that the clocks jump over comes when they have jumped; one that they show twice comes once, the first time. Patterns
    with a star in the minute or the hour match whatever the wall clock shows, and so follow real time.
    """
    zone = UTC if timezone == "UTC" else ZoneInfo(timezone)
    minute, hour = expression.split()[-5:-3]
    if minute.startswith("*") or hour.startswith("*"):
        found_s = _next_in_real_time(expression, zone, at_s)
    else:
        found_s = _next_time_of_day(expression, zone, at_s)
    return found_s * 1000 if found_s is not None and found_s - at_s <= _SEARCH_S else None


# cronsim searches on a wall clock without a zone. Where it is given one it steps over matches next to changes of half an hour, or at
# midnight, and handles six fields otherwise than five.


def _next_time_of_day(expression: str, zone: tzinfo, at_s: int) -> int | None:
    for match in CronSim(expression, _wall(at_s + _offset_s(zone, at_s))):
        first_s = int(match.replace(tzinfo=zone, fold=0).timestamp())
        second_s = int(match.replace(tzinfo=zone, fold=1).timestamp())
        # In a gap the two readings lie on either side of the change, the later first.
        found_s = first_s if first_s <= second_s else _change_s(zone, second_s, first_s)
        if found_s > at_s:
            return found_s
    return None


def _next_in_real_time(expression: str, zone: tzinfo, at_s: int) -> int | None:
    """Search each stretch between two changes of the clocks by itself."""
    since_s = at_s + 1
    while True:
        offset_s = _offset_s(zone, since_s)
        match = next(CronSim(expression, _wall(since_s - 1 + offset_s)), None)
        if match is None:
            return None
        found_s = int((match - _EPOCH).total_seconds()) - offset_s
        # A change that is set back before the match is of no account, unless it shows again what the clocks showed just now.
        changed_s = next((s for s in (min(since_s + _DAY_S, found_s), found_s) if _offset_s(zone, s) != offset_s), None)
        if changed_s is None:
            return found_s
        since_s = _change_s(zone, since_s, changed_s)


def _change_s(zone: tzinfo, before_s: int, after_s: int) -> int:
    """The second in which the offset of `before_s` ends, given that it has ended by `after_s`."""
    offset_s = _offset_s(zone, before_s)
    while after_s - before_s > 1:
        middle_s = (before_s + after_s) // 2
        if _offset_s(zone, middle_s) == offset_s:
            before_s = middle_s
        else:
            after_s = middle_s
    return after_s


def _offset_s(zone: tzinfo, at_s: int) -> int:
    offset = datetime.fromtimestamp(at_s, zone).utcoffset()
    assert offset is not None, "a zone has an offset"
    return int(offset.total_seconds())


def _wall(seconds: int) -> datetime:
    return _EPOCH + timedelta(seconds=seconds)
