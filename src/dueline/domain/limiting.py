"""What jobs and runs say themselves of how many may be under way at once, and how many may start in a time."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dueline.domain.gates import Gate, GateId, Rate, Scope
from dueline.domain.ids import JobId, job_text
from dueline.domain.job import Execution, HttpTarget, Job
from dueline.domain.keys import fill_key


def payload_of(execution: Execution) -> tuple[str, object]:
    """What keys are filled from, with what it is called."""
    target = execution.target
    return ("body", target.body) if isinstance(target, HttpTarget) else ("args", target.args)


def own_gates(
    execution: Execution, *, tenant: str, job_id: JobId | None, job_name: str, version: int
) -> tuple[Gate, ...]:
    """The gates that a run passes for its own sake: its job's, or those of its keys. Runs of a tenant with the same key pass the same gate,
    whatever jobs they are of."""
    gates: dict[GateId, Gate] = {}
    for key, most, rate in _asked(execution):
        if key is None and job_id is None:
            continue
        if key is None:
            assert job_id is not None
            gate = Gate(Scope.JOB, job_text(job_id), "", most, rate, version)
        else:
            of, payload = payload_of(execution)
            names = {"tenant": tenant}
            if job_id is not None:
                names |= {"job.id": job_text(job_id), "job.name": job_name}
            gate = Gate(Scope.KEY, fill_key(key, payload=payload, of=of, names=names), tenant, most, rate)
        same = gates.get(gate.id)
        gates[gate.id] = gate if same is None else msgspec.structs.replace(same, rate=rate)
    return tuple(gates.values())


def changed_gate(before: Job, after: Job) -> Gate | None:
    """A job's own gate, if a change of the job changes what it lets through. Those who wait there do not wait for a run of the new version
    to say so."""
    old, new = _job_gate(before), _job_gate(after)
    return None if (old.most, old.rate) == (new.most, new.rate) else new


def _job_gate(job: Job) -> Gate:
    execution = job.definition.execution
    gates = own_gates(execution, tenant="", job_id=job.id, job_name="", version=job.version)
    nothing = Gate(Scope.JOB, job_text(job.id), as_of=job.version)
    return next((gate for gate in gates if gate.scope is Scope.JOB), nothing)


def _asked(execution: Execution) -> Iterator[tuple[str | None, int | None, Rate | None]]:
    """Each limit with its key."""
    if execution.concurrency is not None:
        yield execution.concurrency.key, execution.concurrency.limit, None
    if execution.rate is not None:
        yield execution.rate.key, None, execution.rate.rate
