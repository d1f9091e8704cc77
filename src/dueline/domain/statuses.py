"""HTTP statuses as people name them: `200`, `2xx`, `200-204`."""

from __future__ import annotations

import re
from collections.abc import Iterable

StatusRange = tuple[int, int]
"""From and to, both inclusive."""
Statuses = tuple[StatusRange, ...]

LOWEST = 100
HIGHEST = 599
SUCCESSES: Statuses = ((200, 299),)

_CLASS = re.compile(r"[1-5][xX]{2}")
_RANGE = re.compile(r"(\d{3})(?:-(\d{3}))?", re.ASCII)


def read_status(term: int | str) -> StatusRange | None:
    """The range that a term names, or None when it names none."""
    text = str(term)
    if _CLASS.fullmatch(text):
        low = int(text[0]) * 100
        return low, low + 99
    found = _RANGE.fullmatch(text)
    if found is None:
        return None
    low, high = int(found[1]), int(found[2] or found[1])
    return (low, high) if LOWEST <= low <= high <= HIGHEST else None


def write_statuses(statuses: Iterable[StatusRange]) -> list[int | str]:
    """Terms that read as these ranges: the shortest for each."""
    return [_term(low, high) for low, high in statuses]


def holds(statuses: Statuses, status: int) -> bool:
    for low, high in statuses:  # noqa: SIM110  # asked of every reply, and in a third of the time
        if low <= status <= high:
            return True
    return False


def _term(low: int, high: int) -> int | str:
    if low == high:
        return low
    return f"{low // 100}xx" if low % 100 == 0 and high == low + 99 else f"{low}-{high}"
