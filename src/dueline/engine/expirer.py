"""Deletes jobs that were to run once, a while after they have."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Protocol

from dueline.domain import endings, limits
from dueline.domain.durations import DAY_MS
from dueline.domain.errors import Conflict, NotFound
from dueline.domain.ids import JobId
from dueline.domain.schedule import At
from dueline.store.history import Finished, FinishedJobStore
from dueline.store.protocol import JobStore

_AGAIN_S = 3_600.0
_PAUSE_S = 0.1
"""Between full batches others have their turn."""
_FIRST: Finished = 0, JobId(bytes(16))


class ExpirerStore(FinishedJobStore, JobStore, Protocol):
    """What the expirer needs of the store."""


class Expirer:
    """Looks through all jobs that have finished, a batch a step. Those that finished with the end of a longer schedule stay: somebody may
    want to give it another end. Several processes may do so at once: a job is deleted by one of them."""

    def __init__(self, store: ExpirerStore, *, keep_days: int) -> None:
        self._store = store
        self._kept_ms = keep_days * DAY_MS
        self._after = _FIRST

    async def step(self) -> float:
        jobs = await self._store.finished_jobs(kept_ms=self._kept_ms, after=self._after, limit=limits.EXPIRE_BATCH)
        for job in jobs:
            if isinstance(job.definition.schedule, At):
                with suppress(NotFound, Conflict):
                    await self._store.change_job(job.tenant, job.id, partial(endings.expire, since_ms=job.updated_ms))
        if len(jobs) < limits.EXPIRE_BATCH:
            self._after = _FIRST
            return _AGAIN_S
        self._after = jobs[-1].updated_ms, jobs[-1].id
        return _PAUSE_S
