"""What tasks tell of themselves while they run, on its way to the store: gathered for a moment, the last of each kind written."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection

import msgspec

from dueline.domain import limits
from dueline.domain.errors import StoreUnavailable
from dueline.domain.ids import RunId
from dueline.engine.execution.gating import Works
from dueline.engine.execution.preparing import PreparedTask
from dueline.runtime.wakeup import Wakeup
from dueline.store.protocol import RunStore
from dueline.store.shapes import Saved
from dueline.tasks.context import Checkpoint, Progress, Report

_IDLE_S = 60.0
_BATCH = 200


class Saves:
    """A task that tells much costs the store a few writes a second. What was told before an attempt ended is written before its end is."""

    def __init__(self, save: Callable[[list[Saved]], Awaitable[set[RunId]]], *, monotonic: Callable[[], float]) -> None:
        self._save = save
        self._monotonic = monotonic
        self._waiting: dict[RunId, Saved] = {}
        self._writing = asyncio.Lock()
        self._next_s = 0.0
        self.wakeup = Wakeup()

    def add(self, run_id: RunId, token: int, report: Report) -> None:
        saved = self._waiting.get(run_id)
        if saved is None or saved.token != token:
            saved = Saved(run_id, token)
        match report:
            case Checkpoint(json=told):
                saved = msgspec.structs.replace(saved, checkpoint=told.decode())
            case Progress(fraction=fraction, text=text):
                saved = msgspec.structs.replace(saved, progress=fraction, note=text)
            case _:
                pass  # That it is alive is told by the time of writing.
        self._waiting[run_id] = saved
        self.wakeup.wake()

    async def step(self) -> float:
        """Write a batch, not too soon after the one before."""
        if not self._waiting:
            return _IDLE_S
        wait_s = self._next_s - self._monotonic()
        if wait_s > 0:
            return wait_s
        await self._write(list(self._waiting)[:_BATCH])
        self._next_s = self._monotonic() + limits.SAVE_GROUP_S
        return limits.SAVE_GROUP_S if self._waiting else _IDLE_S

    async def flush(self, run_ids: Collection[RunId]) -> None:
        """Write at once what is waiting of some runs. Afterwards nothing of it is on its way any more."""
        if not self._waiting.keys().isdisjoint(run_ids):
            await self._write(run_ids)

    async def _write(self, run_ids: Collection[RunId]) -> None:
        """One write at a time, so that none overtakes another. What is told meanwhile adds to what is being written, and waits."""
        async with self._writing:
            batch = [self._waiting[run_id] for run_id in run_ids if run_id in self._waiting]
            done = batch
            try:
                if batch:
                    await self._save(batch)
            except StoreUnavailable:
                done = []
                raise
            finally:
                for saved in done:
                    if self._waiting[saved.run_id] is saved:
                        del self._waiting[saved.run_id]


async def checkpoints_of(store: RunStore, works: Works) -> dict[RunId, bytes]:
    """From where attempts go on, for tasks that were tried before."""
    again = [claim.run_id for claim, work in works if claim.begun_ms is not None and isinstance(work, PreparedTask)]
    told = await store.progress_of(again) if again else {}
    return {run_id: kept.checkpoint.encode() for run_id, kept in told.items() if kept.checkpoint is not None}
