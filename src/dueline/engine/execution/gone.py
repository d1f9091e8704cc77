"""Targets that say they are gone for good: their jobs are paused, with a note that says why."""

from __future__ import annotations

from functools import partial

from dueline.domain.changes import JobChange, JobInHand, pause
from dueline.domain.errors import Conflict, NotFound, StoreUnavailable
from dueline.domain.ids import JobId
from dueline.runtime.wakeup import Wakeup
from dueline.store.protocol import JobStore
from dueline.store.shapes import Claim

NOTE = "The target answered 410 Gone: it asks not to be called any more."
_IDLE_S = 60.0


class GoneTargets:
    """A job that was edited since its run began is left alone: it may call something else now."""

    def __init__(self, store: JobStore) -> None:
        self._store = store
        self._jobs: dict[JobId, Claim] = {}
        self.wakeup = Wakeup()

    def add(self, claim: Claim) -> None:
        if claim.job_id is not None:
            self._jobs[claim.job_id] = claim
            self.wakeup.wake()

    async def step(self) -> float:
        while self._jobs:
            job_id, claim = self._jobs.popitem()
            try:
                await self._store.change_job(claim.tenant, job_id, partial(_decide, claim))
            except StoreUnavailable:
                self._jobs[job_id] = claim
                raise
            except (NotFound, Conflict):
                continue
        return _IDLE_S


def _decide(claim: Claim, hand: JobInHand) -> JobChange:
    if hand.job.version != claim.version:
        raise Conflict("the job was edited since")
    return pause(hand, note=NOTE)
