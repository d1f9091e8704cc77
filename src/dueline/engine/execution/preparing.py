"""What is the same for all runs of a job's version: worked out once, and kept while it is used."""

from __future__ import annotations

import msgspec

from dueline.domain import limits
from dueline.domain.gates import Gate
from dueline.domain.job import Execution, TaskTarget
from dueline.domain.limiting import own_gates
from dueline.domain.schedule import After
from dueline.engine.definitions import Definitions, Key
from dueline.engine.execution.calls import PreparedCall, prepare_call
from dueline.store.shapes import Claim

_encoder = msgspec.json.Encoder()
_spec = msgspec.json.Decoder(Execution)


class PreparedTask(msgspec.Struct, frozen=True, gc=False):
    """A task to carry out. `arguments` is a JSON object."""

    execution: Execution
    task: str
    arguments: bytes
    awaited: bool
    """Whether the job's schedule counts from the end of its runs."""
    gates: tuple[Gate, ...] = ()
    """Those that its runs pass for their own sake."""


Prepared = PreparedCall | PreparedTask


class Preparer:
    def __init__(self, definitions: Definitions, *, kept: int = limits.DEFINITIONS_KEPT) -> None:
        self._definitions = definitions
        self._kept = kept
        self._prepared: dict[Key, Prepared] = {}

    async def prepare(self, claims: list[Claim]) -> list[Prepared]:
        """What each of some claims is to carry out."""
        known = self._prepared
        keys = {
            (claim.job_id, claim.version) for claim in claims if claim.job_id is not None and claim.version is not None
        }
        missing = keys - known.keys()
        if missing:
            if len(known) > self._kept:
                known.clear()
                missing = keys
            for key, version in (await self._definitions.load(missing)).items():
                definition = version.definition
                gates = own_gates(
                    definition.execution,
                    tenant=version.tenant,
                    job_id=version.job_id,
                    job_name=definition.name,
                    version=version.version,
                )
                awaited = isinstance(definition.schedule, After)
                known[key] = _prepare(definition.execution, gates, awaited=awaited, job_name=definition.name)
        prepared = []
        for claim in claims:
            if claim.spec is not None:
                # It has no job, or what its job says was corrected for this one run.
                prepared.append(_prepare_spec(claim, _spec.decode(claim.spec)))
            else:
                assert claim.job_id is not None
                assert claim.version is not None
                prepared.append(known[claim.job_id, claim.version])
        return prepared


def _prepare_spec(claim: Claim, execution: Execution) -> Prepared:
    gates: tuple[Gate, ...] = ()
    if execution.concurrency is not None or execution.rate is not None:
        gates = own_gates(execution, tenant=claim.tenant, job_id=claim.job_id, job_name="", version=claim.version or 0)
    return _prepare(execution, gates)


def _prepare(execution: Execution, gates: tuple[Gate, ...], *, awaited: bool = False, job_name: str = "") -> Prepared:
    if isinstance(execution.target, TaskTarget):
        arguments = _encoder.encode(execution.target.args)
        return PreparedTask(execution, execution.target.task, arguments, awaited, gates)
    return prepare_call(execution, awaited=awaited, job_name=job_name, gates=gates)
