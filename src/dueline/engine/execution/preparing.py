"""What is the same for all runs of a job's version: worked out once, and kept while it is used."""

from __future__ import annotations

import msgspec

from dueline.domain import limits
from dueline.domain.gates import Gate
from dueline.domain.job import Execution, TaskTarget
from dueline.domain.limiting import own_gates
from dueline.domain.schedule import After
from dueline.engine.definitions import Definitions, Kept, size_of
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
        self._kept: Kept[Prepared] = Kept(kept)

    async def prepare(self, claims: list[Claim]) -> list[Prepared]:
        """What each of some claims is to carry out."""
        get = self._kept.get
        keys = {
            (claim.job_id, claim.version) for claim in claims if claim.job_id is not None and claim.version is not None
        }
        known = {key: get(key) for key in keys}
        missing = [key for key, prepared in known.items() if prepared is None]
        if missing:
            for key, version in (await self._definitions.load(missing, keep=False)).items():
                definition = version.definition
                gates = own_gates(
                    definition.execution,
                    tenant=version.tenant,
                    job_id=version.job_id,
                    job_name=definition.name,
                    version=version.version,
                )
                awaited = isinstance(definition.schedule, After)
                known[key] = one = _prepare(definition.execution, gates, awaited=awaited, job_name=definition.name)
                self._kept.put(key, one, size=size_of(version))
        prepared: list[Prepared] = []
        for claim in claims:
            if claim.spec is not None:
                # It has no job, or what its job says was corrected for this one run.
                prepared.append(_prepare_spec(claim, _spec.decode(claim.spec)))
            else:
                assert claim.job_id is not None
                assert claim.version is not None
                found = known[claim.job_id, claim.version]
                assert found is not None, "versions of live runs are there"
                prepared.append(found)
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
