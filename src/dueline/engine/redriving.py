"""What a run that is tried again executes, and whether a wish was fulfilled before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from dueline.domain.errors import Conflict
from dueline.domain.ids import JobId, RunId, run_text
from dueline.domain.job import Execution, JobVersion
from dueline.domain.redriving import RedriveVersion
from dueline.store.protocol import JobStore, ReadStore
from dueline.store.retries import FinishedRun

_spec = msgspec.json.Decoder(Execution)

Executions = dict[RunId, tuple[JobVersion | None, Execution]]
"""What each run is to execute, and the version of its job that says so, if one does."""


class RedrivingStore(JobStore, ReadStore, Protocol):
    """What is needed of the store to try something again."""


async def was_redriven(store: ReadStore, tenant: str, run_id: RunId, new_id: RunId) -> bool:
    """Whether the run of a wish is there, live or finished."""
    run = await store.run(tenant, new_id)
    return run is not None and run.parent_id == run_id


async def executions_of(store: JobStore, finished: Sequence[FinishedRun], choice: RedriveVersion) -> Executions:
    """What each is to execute again: as it did, or as its job says now. A job that is deleted says what it said last to the run."""
    keys: set[tuple[JobId, int]] = set()
    latest: dict[JobId, int] = {}
    for run, _ in finished:
        if run.job_id is None or run.version is None:
            continue
        if choice is RedriveVersion.LATEST and run.job_id not in latest:
            job = await store.job(run.tenant, run.job_id)
            latest[run.job_id] = run.version if job is None else job.version
        keys.add((run.job_id, latest.get(run.job_id, run.version)))
    versions = {(one.job_id, one.version): one for one in await store.job_versions(keys)} if keys else {}
    found: Executions = {}
    for run, spec in finished:
        if spec is not None:
            found[run.id] = (None, _spec.decode(spec))
        elif run.job_id is not None and run.version is not None:
            pinned = versions[run.job_id, latest.get(run.job_id, run.version)]
            found[run.id] = (pinned, pinned.definition.execution)
        else:
            raise Conflict(f"{run_text(run.id)} says nothing of what it executed")
    return found
