"""Rates, as the store's answers say it: no more runs are let through a gate in any time than its rate allows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from dueline.domain.gates import Gate, GateId, Limit, Scope, Wish
from dueline.domain.ids import RunId, job_text
from dueline.domain.job import Job
from dueline.domain.limiting import own_gates
from dueline.store.shapes import Tenant
from tests.simulation.trace import Fact, Trace

_PASSES_KEPT = 50
_ROUNDED_MS = 1
"""Moments are told in whole milliseconds, rounded up."""


class Tolls:
    """Sees who was let through, from which moment on. What a gate lets through is decided by the latest word on it."""

    def __init__(self, trace: Trace, now_ms: Callable[[], int], wrong: list[str]) -> None:
        """What may not be is added to `wrong`."""
        self._facts = trace.facts
        self._now_ms = now_ms
        self._words: dict[GateId, Gate] = {}
        self._passes: defaultdict[GateId, list[int]] = defaultdict(list)
        self._wrong = wrong

    def entered(self, args: tuple[Any, ...], _kwargs: dict[str, Any], starts: dict[RunId, int]) -> None:
        wishes: list[Wish] = args[0]
        now_ms = self._now_ms()
        for wish in wishes:
            for gate in wish.gates:
                self._hear(gate)
            start_ms = starts.get(wish.run_id)
            if start_ms is None:
                self._facts[Fact.AT_GATE] += 1
                continue
            if start_ms > now_ms:
                self._facts[Fact.AWAITED_TOKEN] += 1
            for gate in wish.gates:
                self._pass(self._words[gate.id], start_ms)

    def put(self, _args: tuple[Any, ...], _kwargs: dict[str, Any], limit: Limit) -> None:
        self._hear(limit.gate)

    def deleted(self, args: tuple[Any, ...], _kwargs: dict[str, Any], _done: bool) -> None:
        self._hear(Gate(args[0], args[1], as_of=self._now_ms()))

    def tenant_put(self, _args: tuple[Any, ...], _kwargs: dict[str, Any], tenant: Tenant) -> None:
        limit = tenant.quotas.limit(tenant.tenant, updated_ms=tenant.updated_ms)
        self._hear(Gate(Scope.TENANT, tenant.tenant, as_of=tenant.updated_ms) if limit is None else limit.gate)

    def job_changed(self, _args: tuple[Any, ...], _kwargs: dict[str, Any], job: Job) -> None:
        gates = own_gates(
            job.definition.execution,
            tenant=job.tenant,
            job_id=job.id,
            job_name=job.definition.name,
            version=job.version,
        )
        nothing = Gate(Scope.JOB, job_text(job.id), as_of=job.version)
        self._hear(next((gate for gate in gates if gate.scope is Scope.JOB), nothing))

    def _hear(self, gate: Gate) -> None:
        known = self._words.get(gate.id)
        if known is None or gate.as_of > known.as_of:
            self._words[gate.id] = gate
            self._passes.pop(gate.id, None)

    def _pass(self, gate: Gate, start_ms: int) -> None:
        if gate.rate is None:
            return
        passes, interval_ms = self._passes[gate.id], gate.rate.interval_us / 1000
        for place, earlier_ms in enumerate(passes):
            least_ms = earlier_ms + (len(passes) - place + 1 - gate.rate.burst) * interval_ms
            if start_ms + _ROUNDED_MS < least_ms:
                self._wrong.append(
                    f"I9: {gate.scope} {gate.name} lets a run start at {start_ms}, {least_ms - start_ms} ms before its rate allows it"
                )
                break
        passes.append(start_ms)
        del passes[:-_PASSES_KEPT]
