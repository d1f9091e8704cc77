"""What stores tell of runs that wait: where they stand, and who stands before them."""

from __future__ import annotations

import msgspec

from dueline.domain.gates import Seen
from dueline.domain.ids import RunId


class AtGate(msgspec.Struct, frozen=True):
    """A run that waits at a gate."""

    name: str
    seen: Seen
    before: int
    """How many wait before it, as far as they were counted."""
    under_way: tuple[RunId, ...]
    """Some of those that have the places."""


class Standing(msgspec.Struct, frozen=True):
    """Where a live run stands. `before` are ready runs of its line that come first, by tenant, as far as they were counted."""

    lane: str
    before: dict[str, int]
    gate: AtGate | None
    other: RunId | None
    """The run of its job that it must not run beside."""
    now_ms: int


class Waiting(msgspec.Struct, frozen=True):
    """What a tenant has ready in a queue, and with what weight."""

    tenant: str
    ready: int
    oldest_ms: int
    weight: float
