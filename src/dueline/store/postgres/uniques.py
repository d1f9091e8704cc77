"""Unique runs on PostgreSQL: keys are locked, then job and runs, then looked at, and what follows is written in the same transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dueline.domain import limits
from dueline.domain.ids import JobId, RunId
from dueline.domain.states import EndReason, RunState
from dueline.domain.uniqueness import Holder, KeyName, Settlement, UniqueAnswer, UniqueRun, settle
from dueline.store.postgres.following import follow_and_leave, lock_awaiting
from dueline.store.postgres.jobs import hold_open
from dueline.store.postgres.part import Part, Ranks, queries
from dueline.store.postgres.reaching import Connection
from dueline.store.postgres.runs import enqueue_arguments
from dueline.store.requests import NothingDone, only

_SQL = queries("uniques")
_RUNS = queries("runs")
_CANCELS = queries("cancels")


class UniquePart(Part):
    async def enqueue_unique(
        self, runs: Sequence[UniqueRun], *, atomic: bool, open_job: JobId | None = None
    ) -> list[UniqueAnswer]:
        try:
            async with self._effect(only(one.run.id for one in runs)) as connection:
                hand = await _Hand.lock(connection, runs, open_job)
                settled = settle(runs, hand.holders, now_ms=hand.now_ms)
                if not settled.changes or (atomic and settled.refused):
                    raise NothingDone(settled.answers)
                topics = await hand.write(settled, self._ranks)
        except NothingDone as nothing:
            refusals: list[UniqueAnswer] = nothing.value
            return refusals
        self._notices.announce(*topics)
        return settled.answers

    async def forget_keys(self, *, limit: int) -> int:
        looked: int = await self._database.fetchval(_SQL["forget"], limit, limits.KEY_SWEEP_MS)
        return looked


class _Hand:
    """Keys, and the runs that have them, while they are locked."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._run_ids: dict[KeyName, RunId] = {}
        self._awaiting: frozenset[bytes] = frozenset()
        self.holders: dict[KeyName, Holder] = {}
        self.now_ms = 0

    @classmethod
    async def lock(cls, connection: Connection, runs: Sequence[UniqueRun], open_job: JobId | None) -> _Hand:
        hand = cls(connection)
        first: dict[KeyName, UniqueRun] = {}
        for one in runs:
            if one.name is not None:
                first.setdefault(one.name, one)
        for tenant, key, run_id, now_ms in await connection.fetch(_SQL["lock"], *_columns(first.values())):
            hand._run_ids[tenant, key] = run_id
            hand.now_ms = now_ms
        others = {name: run_id for name, run_id in hand._run_ids.items() if run_id != first[name].run.id}
        moves = {one.name for one in runs if one.dedupe is not None and one.dedupe.moves}
        moved = [run_id for name, run_id in others.items() if name in moves]
        if moved:
            hand._awaiting = await lock_awaiting(connection, moved)
        if open_job is not None:
            await hold_open(connection, open_job)
        if moved:
            await connection.execute(_SQL["lock_runs"], moved)
        if others:
            await hand._look(others)
        return hand

    async def _look(self, names: Iterable[KeyName]) -> None:
        tenants, keys = zip(*names, strict=True)
        for tenant, key, run_id, taken_ms, until_ms, state, tried, due_ms, now_ms in await self._connection.fetch(
            _SQL["found"], tenants, keys
        ):
            self.now_ms = now_ms
            if state is not None:
                self.holders[tenant, key] = Holder(run_id, taken_ms, until_ms, RunState(state), tried, due_ms)

    async def write(self, settled: Settlement, ranks: Ranks) -> set[str]:
        """Answers whom to wake. Places are left last: from there on nothing may be waited for."""
        connection = self._connection
        topics = {"waiting", *(f"ready/{run.queue}" for run in settled.written)}
        if settled.written:
            ranked = await ranks.of_new(settled.written)
            await connection.execute(_RUNS["enqueue"], *enqueue_arguments(settled.written, ranked))
        passed = [one for name, one in settled.taken.items() if self._run_ids[name] != one.run.id]
        if passed:
            await connection.execute(_SQL["take"], *_columns(passed))
        moved, ended = [], []
        if settled.due_ms:
            moved = await connection.fetch(_SQL["reschedule"], list(settled.due_ms), list(settled.due_ms.values()))
        if settled.ended:
            ended = await connection.fetch(_CANCELS["cancel_runs"], settled.ended, EndReason.SUPERSEDED)
        left = [(run_id, job_id) for run_id, job_id in moved if job_id is not None]
        return topics | await follow_and_leave(connection, ended, self._awaiting, idle=left)


def _columns(runs: Iterable[UniqueRun]) -> list[Any]:
    """Runs and their keys as the arrays that `lock` and `take` unnest."""
    rows = [
        (one.run.tenant, one.dedupe.key, one.run.id, one.dedupe.window_ms or 0, one.run.due_ms)
        for one in runs
        if one.dedupe is not None
    ]
    return [*([row[column] for row in rows] for column in range(5)), limits.KEY_SWEEP_MS]
