"""What a rule found: how much it looked at, and what was wrong with it."""

from __future__ import annotations

import msgspec

SHOWN = 5
"""Violations of one invariant that are told; the first ones say what is wrong, the others are counted."""

BEHIND_MS = 25
"""By how much a worker's idea of the store's time, with which it tells starts and ends, may be behind: the way of its quickest question of
late and back. It is never ahead, and what the store and the target tell is exact: they have this machine's clock."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Of one invariant. Without anything to look at it shows nothing, and is told so."""

    invariant: str
    promise: str
    looked_at: int
    violations: list[str]
    notes: dict[str, int] = {}

    @property
    def verdict(self) -> str:
        if self.violations:
            return "BROKEN"
        return "holds" if self.looked_at else "no data"
