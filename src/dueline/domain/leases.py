"""Trust in a lease: how long an owner may act on it, and when a taker may call an owner dead."""

from __future__ import annotations

from dueline.domain import limits
from dueline.domain.ids import BootId


class LeaseTrust:
    """An owner's own view of its lease, on its own monotonic clock.

    It counts from when the last successful renewal was *sent*, so a slow reply never stretches it; it ends a margin before
    others may take over.
    """

    def __init__(self, *, lease_s: float = limits.LEASE_S, margin_s: float = limits.LEASE_MARGIN_S) -> None:
        self._trusted_s = lease_s - margin_s
        self._until_s = float("-inf")

    def renewed(self, *, sent_s: float) -> None:
        self._until_s = max(self._until_s, sent_s + self._trusted_s)

    def revoke(self) -> None:
        self._until_s = float("-inf")

    def holds(self, now_s: float) -> bool:
        return now_s < self._until_s


class Silence:
    """How long each other process has been silent, as far as this one has seen for itself.

    The store's clock may jump; a process is taken for dead only when its lease has expired *and* its beat stood still for a whole
    lease before our own eyes. Eyes that were shut saw nothing: while the store was away nobody could beat, and when it is back
    everybody gets a whole lease to do so.
    """

    def __init__(self, *, lease_s: float = limits.LEASE_S) -> None:
        self._lease_s = lease_s
        self._seen: dict[BootId, tuple[int, float]] = {}
        self._looked_s = float("-inf")

    def observe(self, beats: dict[BootId, int], *, now_s: float) -> None:
        """Take in the current beat of every registered process."""
        seen = self._seen if now_s - self._looked_s <= self._lease_s / 2 else {}
        self._looked_s = now_s
        self._seen = {
            boot_id: seen[boot_id] if boot_id in seen and seen[boot_id][0] == beat else (beat, now_s)
            for boot_id, beat in beats.items()
        }

    def is_silent(self, boot_id: BootId, *, now_s: float) -> bool:
        """Whether the process has not moved its beat for a whole lease. One we never saw registered is gone already."""
        seen = self._seen.get(boot_id)
        return seen is None or now_s - seen[1] >= self._lease_s
