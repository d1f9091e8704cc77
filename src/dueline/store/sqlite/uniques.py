"""Unique runs on SQLite. The writer is alone, so who has a key when it is looked at has it until all is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dueline.domain import limits
from dueline.domain.ids import JobId
from dueline.domain.states import EndReason, RunState
from dueline.domain.uniqueness import Holder, UniqueAnswer, UniqueRun, settle
from dueline.store.requests import NothingDone, only
from dueline.store.sqlite.cancels import end_unstarted
from dueline.store.sqlite.jobs import hold_open
from dueline.store.sqlite.part import Part, pack, queries
from dueline.store.sqlite.places import leave_places
from dueline.store.sqlite.runs import enqueue
from dueline.store.sqlite.session import Session

_SQL = queries("uniques")


class UniquePart(Part):
    async def enqueue_unique(
        self, runs: Sequence[UniqueRun], *, atomic: bool, open_job: JobId | None = None
    ) -> list[UniqueAnswer]:
        return await self._effect(
            only(one.run.id for one in runs), _enqueue_unique, runs, atomic=atomic, open_job=open_job
        )

    async def forget_keys(self, *, limit: int) -> int:
        return await self._database.write(_forget_keys, limit)


def _enqueue_unique(
    session: Session, runs: Sequence[UniqueRun], *, atomic: bool, open_job: JobId | None
) -> list[UniqueAnswer]:
    if open_job is not None:
        hold_open(session, open_job)
    found = session.rows(_SQL["found"], pack([one.name for one in runs if one.name is not None]))
    holders = {
        (tenant, key): Holder(run_id, taken_ms, until_ms, RunState(state), bool(tried), due_ms)
        for tenant, key, run_id, taken_ms, until_ms, state, tried, due_ms in found
        if state is not None
    }
    settled = settle(runs, holders, now_ms=session.now_ms)
    if not settled.changes or (atomic and settled.refused):
        raise NothingDone(settled.answers)
    enqueue(session, settled.written)
    if settled.due_ms:
        moved = pack([(run_id.hex(), due_ms) for run_id, due_ms in settled.due_ms.items()])
        leave_places(session, session.rows(_SQL["reschedule"], moved))
        session.wake("waiting")
    if settled.ended:
        end_unstarted(session, settled.ended, EndReason.SUPERSEDED)
    session.rows(_SQL["take"], pack(list(_rows(settled.taken.values()))), limits.KEY_SWEEP_MS)
    return settled.answers


def _rows(runs: Iterable[UniqueRun]) -> Iterable[Any]:
    for one in runs:
        if one.dedupe is not None:
            yield one.run.tenant, one.dedupe.key, one.run.id.hex(), one.dedupe.window_ms or 0, one.run.due_ms


def _forget_keys(session: Session, limit: int) -> int:
    looked = session.rows(_SQL["aged"], limit)
    if looked:
        session.rows(_SQL["put_off"], pack([row for row in looked if row[2] is not None]), limits.KEY_SWEEP_MS)
        session.rows(_SQL["forget"], pack([row[:2] for row in looked if row[2] is None]))
    return len(looked)
