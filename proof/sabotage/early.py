"""Dueline whose processes take the store's clock to be fifty milliseconds ahead, so that everything starts before its time. The store would
refuse to let it, and is told not to."""

from __future__ import annotations

from dueline.cli.main import main
from dueline.domain import limits
from dueline.runtime.clock import StoreTime

AHEAD_MS = 50

_measured = StoreTime.measured


def measured(self: StoreTime, store_ms: int, *, sent_s: float) -> None:
    _measured(self, store_ms + AHEAD_MS, sent_s=sent_s)


if __name__ == "__main__":
    StoreTime.measured = measured  # type: ignore[method-assign]
    limits.EARLY_MS += AHEAD_MS
    main()
