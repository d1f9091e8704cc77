"""Finished runs tried again by hand, however they ended: new runs, with the old ones as their parents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from dueline.domain.errors import Conflict, NotFound
from dueline.domain.ids import RunId, run_text
from dueline.domain.redriving import RedriveVersion, redriven_id, redriven_run
from dueline.domain.states import RunState
from dueline.engine.quotas import QuotaKeeper
from dueline.engine.redriving import RedrivingStore, executions_of, was_redriven
from dueline.runtime.chance import Chance
from dueline.runtime.clock import StoreTime
from dueline.store.retries import RetryStore
from dueline.store.shapes import Redrive


class RetriesStore(RetryStore, RedrivingStore, Protocol):
    """What retries need of the store."""


class RetryAsked(msgspec.Struct, frozen=True, kw_only=True):
    """How to try again. The same `key` makes the same run, however often it is asked; without one every request makes its own. `force`:
    also what succeeded."""

    key: str | None = None
    version: RedriveVersion = RedriveVersion.PINNED
    force: bool = False


class Retries:
    def __init__(self, store: RetriesStore, time: Callable[[], StoreTime], chance: Chance, quotas: QuotaKeeper) -> None:
        self._store = store
        self._time = time
        self._chance = chance
        self._quotas = quotas

    async def retry(self, tenant: str, run_id: RunId, asked: RetryAsked) -> RunId:
        """Answers the new run. Conflict for a run that has not ended, and for one that succeeded unless it is forced. It counts as a run
        that somebody asks for, against the tenant's quota."""
        finished = await self._store.finished_run(tenant, run_id)
        if finished is None:
            raise await self._refusal(tenant, run_id)
        key = self._chance.entropy().hex() if asked.key is None else asked.key
        new_id = redriven_id(run_id, key)
        if asked.key is not None and await was_redriven(self._store, tenant, run_id, new_id):
            return new_id
        if finished.run.state is RunState.SUCCEEDED and not asked.force:
            raise Conflict("the run succeeded: say force to run it once more")
        await self._quotas.take_runs(tenant, 1)
        version, execution = (await executions_of(self._store, [finished], asked.version))[run_id]
        due_ms = self._time().now_ms()
        run = redriven_run(finished.run, version, execution, key=key, due_ms=due_ms, edited=False)
        if not await self._store.try_again(tenant, Redrive(run_id, run)):
            raise NotFound("run", run_text(run_id))
        return new_id

    async def _refusal(self, tenant: str, run_id: RunId) -> Exception:
        run = await self._store.run(tenant, run_id)
        if run is None:
            return NotFound("run", run_text(run_id))
        return Conflict(f"the run is {run.state}: it can be tried again once it has ended")
