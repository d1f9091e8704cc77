"""What a rule found: how much it looked at, and what was wrong with it."""

from __future__ import annotations

import msgspec

SHOWN = 5
"""Violations of one invariant that are told; the first ones say what is wrong, the others are counted."""

CLOCKS_MS = 100
"""What times that different processes wrote may differ by: each reads the store's clock with its heartbeats, and is behind it by at most
the way of such a question and back, which takes as long as a busy machine lets it."""


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
