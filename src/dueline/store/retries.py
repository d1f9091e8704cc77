"""What a store does for finished runs that are tried again. A part of the protocol."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from dueline.domain.ids import RunId
from dueline.domain.run import Run
from dueline.store.shapes import Redrive


class FinishedRun(NamedTuple):
    """A run that has ended. `spec` is what it executed, where no version of a job says it."""

    run: Run
    spec: str | None


class RetryStore(Protocol):
    async def finished_run(self, tenant: str, run_id: RunId) -> FinishedRun | None:
        """A run that has ended, however it did."""

    async def try_again(self, tenant: str, redrive: Redrive) -> bool:
        """Write a run that repeats a finished one, unless the same request did so before. If that one is a dead letter, it is dealt with.
        Answers whether the new run is there. If not, nothing was written: the finished one is gone, or another has the new one's id."""
