"""How a worker works."""

from __future__ import annotations

import msgspec

from dueline.domain import limits
from dueline.domain.circuits import DEFAULT_POLICY, CircuitPolicy


class WorkerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`queues` empty: all of them. `host_share` is the part of the slots that one host may take before it has answered anything."""

    queues: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    """What this worker has, for runs that require it."""
    slots: int = limits.SLOTS_DEFAULT
    drain_s: float = limits.DRAIN_S
    host_share: float = limits.HOST_SHARE
    circuit: CircuitPolicy = DEFAULT_POLICY
