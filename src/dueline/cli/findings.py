"""What `dueline doctor` finds: how grave it is, what it means, and what to do."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from dueline.domain import limits

CLOCK_MS_WARNING = 2_000
"""Who types `--in 10s` means it by this machine's clock, and the server counts by the store's."""
CLOCK_MS_ERROR = limits.SIGNATURE_TOLERANCE_S * 1000
"""From here on receivers refuse what is signed by such a clock."""


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


class Finding(msgspec.Struct, frozen=True):
    """One check. `advice` says what to do, and is empty where nothing is to be done."""

    check: str
    level: Level
    meaning: str
    advice: str = ""


def ok(check: str, meaning: str) -> Finding:
    return Finding(check, Level.OK, meaning)


def warning(check: str, meaning: str, advice: str) -> Finding:
    return Finding(check, Level.WARNING, meaning, advice)


def error(check: str, meaning: str, advice: str) -> Finding:
    return Finding(check, Level.ERROR, meaning, advice)


class Asked(msgspec.Struct, frozen=True):
    """When a clock was asked and when it had answered, by this machine's: its own time lies in between."""

    sent_ms: int
    arrived_ms: int

    def off_by_ms(self, told_ms: int, *, grain_ms: int = 1) -> int:
        """By how much another clock is ahead of ours at least; below zero: behind. 0 where the answer leaves it open.

        A clock that tells whole seconds may be ahead of what it tells by almost one: `grain_ms`.
        """
        if told_ms > self.arrived_ms:
            return told_ms - self.arrived_ms
        return min(told_ms + grain_ms - self.sent_ms, 0)


def judge_clock(check: str, whose: str, off_ms: int) -> Finding:
    """A clock against this machine's."""
    if abs(off_ms) < CLOCK_MS_WARNING:
        return ok(
            check,
            f"The clock of {whose} was not seen to differ from this machine's by {CLOCK_MS_WARNING / 1000:g} s or more.",
        )
    told = f"The clock of {whose} is {span(abs(off_ms) / 1000)} {'ahead of' if off_ms > 0 else 'behind'} that of this machine."
    advice = "See which of them is wrong, and let NTP keep both."
    return (error if abs(off_ms) >= CLOCK_MS_ERROR else warning)(check, told, advice)


def span(seconds: float) -> str:
    """A time for people: `3.2 s`, `5 min`, `2 h`, `3 days`."""
    for most, size, unit in ((60, 1, "s"), (3_600, 60, "min"), (86_400, 3_600, "h")):
        if seconds < most:
            return f"{seconds / size:.1f} {unit}" if seconds / size < 10 else f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86_400:.0f} days"


def size(count_bytes: float) -> str:
    """An amount for people: `12 MB`."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count_bytes < 1_000:
            return f"{count_bytes:.3g} {unit}"
        count_bytes /= 1_000
    return f"{count_bytes:,.3g} TB"


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun if count == 1 else f'{noun}s'}"
