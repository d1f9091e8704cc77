"""What the wall clock of a zone shows, minute by minute."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from importlib.resources import files
from typing import Protocol
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)


class Oracle(Protocol):
    """When another scheduler would fire."""

    def fires(self, since_s: int, until_s: int) -> Iterator[int]:
        """Seconds of UTC after one instant and up to another, ascending."""
        ...


@lru_cache(maxsize=64)
def zone_named(name: str) -> tzinfo:
    """A zone by the edition that Dueline ships: an older one on this machine would look like a difference of rules."""
    if name == "UTC":
        return UTC
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as rules:
        return ZoneInfo.from_file(rules, key=name)


def wall_at(zone: str, at_s: int) -> datetime:
    """The wall clock at an instant, without its offset."""
    return datetime.fromtimestamp(at_s, zone_named(zone)).replace(tzinfo=None, fold=0)


def walk(zone: str, since_s: int, until_s: int) -> Iterator[tuple[int, datetime]]:
    """Every whole minute after one instant and up to another, with what the wall clock shows then."""
    first_s = (since_s // 60 + 1) * 60
    count = max(0, (until_s - first_s) // 60 + 1)
    return zip(range(first_s, first_s + count * 60, 60), _walls(zone, first_s, count), strict=True)


@lru_cache(maxsize=2)
def _walls(zone: str, first_s: int, count: int) -> tuple[datetime, ...]:
    """Kept, because the entries of a file mostly have one zone: a year takes 30 MB, and half a second to make."""
    return tuple(wall_at(zone, at_s) for at_s in range(first_s, first_s + count * 60, 60))
