"""The circuits of a worker: one for each target, of a tenant, that failed lately."""

from __future__ import annotations

from collections import OrderedDict

from dueline.domain import limits
from dueline.domain.circuits import DEFAULT_POLICY, Circuit, CircuitPolicy

Key = tuple[str, str]
"""Tenant and host."""


class Circuits:
    """A target that never fails has no circuit, and costs one look into a table. Of too many, those used least lately are forgotten."""

    def __init__(self, policy: CircuitPolicy = DEFAULT_POLICY, *, most: int = limits.CIRCUITS_MAX) -> None:
        self._policy = policy
        self._most = most
        self._circuits: OrderedDict[Key, Circuit] = OrderedDict()

    def __len__(self) -> int:
        return len(self._circuits)

    def wait_s(self, key: Key, now_s: float) -> float | None:
        """None: a call may start. Otherwise how long to put it off."""
        circuit = self._circuits.get(key)
        if circuit is None or circuit.admit(now_s):
            return None
        return circuit.wait_s(now_s)

    def record(self, key: Key, failed: bool | None, *, started_s: float, now_s: float) -> None:
        circuit = self._circuits.get(key)
        if circuit is None:
            if not failed:
                return
            circuit = self._circuits[key] = Circuit(self._policy)
            if len(self._circuits) > self._most:
                self._circuits.popitem(last=False)
        circuit.record(failed, started_s=started_s, now_s=now_s)
        if not failed and circuit.is_idle(now_s):
            del self._circuits[key]
        elif failed:
            self._circuits.move_to_end(key)
