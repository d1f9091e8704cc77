"""Runs that are to end before their time, on SQLite: displaced by a later one, asked for by somebody, or too late."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dueline.domain.ids import BootId, JobId, RunId
from dueline.store.requests import NothingDone, only
from dueline.store.shapes import Blocked, CancelAnswer, CancelAsked
from dueline.store.sqlite.part import Part, pack, pack_ids, queries
from dueline.store.sqlite.places import end_runs, follow, leave_places
from dueline.store.sqlite.progress import sweep_progress
from dueline.store.sqlite.runs import hold_blocked, pack_claims, skip_blocked
from dueline.store.sqlite.session import Session

_SQL = queries("cancels")
_JOBS = queries("jobs")
_PLANS = queries("plans")
_ANSWERS = {0: CancelAnswer.ENDED, 1: CancelAnswer.ASKED, None: CancelAnswer.OVER}
"""By whether a run is being executed; None: it has ended."""


class CancelPart(Part):
    async def displace_blocked(self, blocked: Sequence[Blocked], *, reason: str) -> set[RunId]:
        return await self._database.write(_displace_blocked, blocked, reason)

    async def cancels_of(self, worker: BootId) -> list[CancelAsked]:
        return await self._database.read(_cancels_of, worker)

    async def sweep_cancelled(self, *, limit: int) -> int:
        return await self._database.write(_sweep_cancelled, limit)

    async def sweep_awaiting(self) -> int:
        return await self._database.write(_sweep_awaiting)

    async def cancel_waiting(self, ends: Sequence[tuple[RunId, str]]) -> set[RunId]:
        return await self._database.write(_cancel_waiting, ends)

    async def cancel_runs(self, tenant: str, run_ids: Sequence[RunId], *, reason: str) -> dict[RunId, CancelAnswer]:
        return await self._effect(only(run_ids), _cancel_runs, tenant, run_ids, reason)

    async def expire(self, *, limit: int) -> int:
        return await self._database.write(_expire, limit)


def _displace_blocked(session: Session, blocked: Sequence[Blocked], reason: str) -> set[RunId]:
    """The writer is alone, so what was found stays true until the last step. The place is left last: what is held by then has its turn."""
    rows = session.rows(_SQL["displace_found"], pack_claims(blocked))
    outdated = {row[0] for row in rows if row[0] < row[2]}
    skip_blocked(session, [run for run in blocked if run.run_id in outdated], reason)
    found = [row for row in rows if row[0] not in outdated]
    latest: dict[JobId, RunId] = {}
    for run_id, job_id, *_ in found:
        latest[job_id] = max(run_id, latest.get(job_id, run_id))
    still_blocked = {row[0] for row in found}
    staying = set(latest.values())
    skip_blocked(session, [run for run in blocked if run.run_id in still_blocked - staying], reason)
    held = hold_blocked(session, [run for run in blocked if run.run_id in staying])
    waited = pack([(run_id.hex(), job_id.hex()) for job_id, run_id in latest.items()])
    older = session.rows(_SQL["displace_older"], waited, reason)
    end_runs(session, [row[0] for row in older])
    follow(session, older)
    _end_or_ask(session, {(row[2], row[1], row[3]) for row in found}, reason)
    return held


def _end_or_ask(session: Session, runs: set[tuple[RunId, JobId, int]], reason: str) -> None:
    """Ask the runs that are being executed to end, and end the others, each given as (run id, job id, executing)."""
    asked = [run_id for run_id, _, executing in runs if executing]
    if asked and session.rows(_SQL["displace_ask"], pack_ids(asked), reason):
        session.wake("cancel")
    waiting = [(run_id, job_id) for run_id, job_id, executing in runs if not executing]
    if waiting:
        session.rows(_JOBS["cancel_runs"], pack([(run_id.hex(), reason) for run_id, _ in waiting]))
        _end(session, waiting)


def end_unstarted(session: Session, run_ids: Iterable[RunId], reason: str) -> None:
    """End runs that nobody executes, inside whatever transaction the caller is in."""
    _end(session, session.rows(_JOBS["cancel_runs"], pack([(run_id.hex(), reason) for run_id in run_ids])))


def _cancels_of(session: Session, worker: BootId) -> list[CancelAsked]:
    return [CancelAsked(*row) for row in session.rows(_SQL["cancels_of"], worker)]


def _sweep_cancelled(session: Session, limit: int) -> int:
    ended = session.rows(_SQL["sweep_cancelled"], limit)
    _end(session, ended)
    return len(ended)


def _sweep_awaiting(session: Session) -> int:
    rows = session.rows(_PLANS["follow_lost"])
    if rows:
        session.wake("plans")
    return len(rows)


def _cancel_waiting(session: Session, ends: Sequence[tuple[RunId, str]]) -> set[RunId]:
    ended = session.rows(_SQL["cancel_waiting"], pack([(run_id.hex(), reason) for run_id, reason in ends]))
    _end(session, ended)
    return {row[0] for row in ended}


def _cancel_runs(session: Session, tenant: str, run_ids: Sequence[RunId], reason: str) -> dict[RunId, CancelAnswer]:
    """The writer is alone, so what was found is what is ended or asked."""
    found = session.rows(_SQL["cancel_found"], tenant, pack_ids(run_ids))
    answers = {row[0]: _ANSWERS[row[2]] for row in found}
    live = {row for row in found if row[2] is not None}
    if not live:
        raise NothingDone(answers)
    _end_or_ask(session, live, reason)
    return answers


def _expire(session: Session, limit: int) -> int:
    ended = session.rows(_SQL["expire"], limit)
    _end(session, ended)
    sweep_progress(session)
    return len(ended)


def _end(session: Session, runs: Sequence[Any]) -> None:
    """What follows the records of ended runs, given as (run id, job id)."""
    end_runs(session, [row[0] for row in runs])
    leave_places(session, runs)
    follow(session, runs)
