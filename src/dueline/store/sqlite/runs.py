"""Runs on SQLite: from ready to their end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dueline.domain import limits
from dueline.domain.fairness import promoted
from dueline.domain.ids import BootId, JobId, RunId
from dueline.domain.overlap import Overlap
from dueline.domain.run import NewRun
from dueline.domain.states import RunKind, RunState
from dueline.store.records import last_attempt, to_promoted
from dueline.store.requests import only
from dueline.store.shapes import (
    Blocked,
    Claim,
    Claimed,
    Confirmed,
    Finish,
    Postponed,
    Promoted,
    Retry,
    Upcoming,
)
from dueline.store.sqlite.flows import rank_all, write_runs
from dueline.store.sqlite.gates import leave_gates
from dueline.store.sqlite.jobs import hold_open
from dueline.store.sqlite.part import Part, array, pack, queries, unpack
from dueline.store.sqlite.places import end_runs, follow, keep_failed, leave_places, vacate
from dueline.store.sqlite.session import Session

_SQL = queries("runs")
_KINDS = {kind.value: kind for kind in RunKind}


class RunPart(Part):
    async def enqueue(self, runs: Sequence[NewRun], *, open_job: JobId | None = None) -> set[RunId]:
        return await self._effect(only(run.id for run in runs), enqueue, runs, open_job)

    async def upcoming(self) -> Upcoming:
        return await self._database.read(_upcoming)

    async def count_waiting(self, *, until_ms: int, limit: int) -> int:
        return await self._database.read(_count_waiting, until_ms, limit)

    async def promote(self, *, ahead_ms: int, limit: int) -> Promoted:
        return await self._database.write(_promote, ahead_ms, limit)

    async def tell_ready(self, queues: Iterable[str]) -> None:
        await self._database.write(_tell_ready, queues)

    async def claim(self, worker: BootId, queue: str, lane: str, *, ahead_ms: int, limit: int) -> Claimed:
        return await self._database.write(_claim, worker, queue, lane, ahead_ms, limit)

    async def claims_of(self, worker: BootId) -> list[Claim]:
        """Asked in the order of the writes, so that a claim whose caller gave up waiting is seen."""
        return await self._database.write(_claims_of, worker)

    async def confirm(self, claims: Sequence[Claim]) -> Confirmed:
        """Asked in the order of the writes. Where no place is taken, nothing is written, and nobody waits for the disk."""
        return await self._database.write(_confirm, claims)

    async def release(self, claims: Sequence[Claim]) -> set[RunId]:
        return await self._database.write(_release, claims)

    async def finish(self, finishes: Sequence[Finish]) -> set[RunId]:
        return await self._database.write(_finish, finishes)

    async def retry(self, retries: Sequence[Retry]) -> set[RunId]:
        return await self._database.write(_retry, retries)

    async def postpone(self, postponed: Sequence[Postponed]) -> set[RunId]:
        return await self._database.write(_postpone, postponed)

    async def hold_blocked(self, blocked: Sequence[Blocked]) -> set[RunId]:
        return await self._database.write(hold_blocked, blocked)

    async def skip_blocked(self, blocked: Sequence[Blocked], *, reason: str) -> set[RunId]:
        return await self._database.write(skip_blocked, blocked, reason)

    async def queues(self) -> list[tuple[str, str]]:
        return await self._database.read(_queues)


def enqueue(session: Session, runs: Sequence[NewRun], open_job: JobId | None = None) -> set[RunId]:
    """Write runs, inside whatever transaction the caller is in."""
    if open_job is not None:
        hold_open(session, open_job)
    rows = write_runs(session, _SQL["enqueue"], runs)
    for queue, state in {row[1:] for row in rows}:
        session.wake(f"ready/{queue}" if state == RunState.READY else "waiting")
    return {row[0] for row in rows}


def _upcoming(session: Session) -> Upcoming:
    return Upcoming(*session.rows(_SQL["upcoming"])[0])


def _count_waiting(session: Session, until_ms: int, limit: int) -> int:
    ((waiting,),) = session.rows(_SQL["count_waiting"], until_ms, limit)
    return int(waiting)


def _promote(session: Session, ahead_ms: int, limit: int) -> Promoted:
    near = session.rows(_SQL["near"], ahead_ms, limit, limits.AHEAD_MS)
    ranks = rank_all(session, (promoted(*row[3:]) for row in near))
    session.rows(_SQL["promote"], pack([(row[0].hex(), rank) for row, rank in zip(near, ranks, strict=True)]))
    ready = to_promoted(near)
    _tell_ready(session, ready.queues)
    return ready


def _tell_ready(session: Session, queues: Iterable[str]) -> None:
    session.wake(*(f"ready/{queue}" for queue in queues))


def _claim(session: Session, worker: BootId, queue: str, lane: str, ahead_ms: int, limit: int) -> Claimed:
    """Several statements about the same runs: nobody writes between them, and the moment is one."""
    picked = _pick(session, worker, queue, lane, ahead_ms, limit)
    rivals = [claim.run_id for claim in picked if claim.exclusive and claim.due_ms <= session.now_ms]
    blocked = []
    if rivals:
        session.rows(_SQL["claim_place"], array(rivals))
        blocked = [_to_blocked(row) for row in session.rows(_SQL["claim_blocked"], array(rivals))]
        waiting = {one.run_id for one in blocked}
        picked = [claim for claim in picked if claim.run_id not in waiting]
    if picked:
        session.rows(_SQL["claim"], worker, array([claim.run_id for claim in picked]))
    return Claimed(picked, blocked)


def _pick(session: Session, worker: BootId, queue: str, lane: str, ahead_ms: int, limit: int) -> list[Claim]:
    rows = unpack(session.value(_SQL["pick"], worker, queue, lane, ahead_ms, limit))
    long = [bytes.fromhex(row[0]) for row in rows if row.pop()]
    specs = dict(session.rows(_SQL["long_specs"], array(long))) if long else {}
    for row in rows:
        row[0] = run_id = bytes.fromhex(row[0])
        row[2] = bytes.fromhex(row[2]) or None
        row[5] = _KINDS[row[5]]
        row[11] = bool(row[11])
        row[12] = row[12] or specs.get(run_id)
        row[15] = row[15] and Overlap(row[15])
        row += (False, queue)
    return [Claim(*row) for row in rows]


def _claims_of(session: Session, worker: BootId) -> list[Claim]:
    return [_to_claim(row) for row in session.rows(_SQL["claims_of"], worker)]


def _confirm(session: Session, claims: Sequence[Claim]) -> Confirmed:
    shared = [claim for claim in claims if not claim.exclusive]
    exclusive = [claim for claim in claims if claim.exclusive]
    confirmed = Confirmed(dict(session.rows(_SQL["confirm"], pack_claims(shared), limits.EARLY_MS)), [])
    if exclusive:
        asked = pack_claims(exclusive)
        session.rows(_SQL["confirm_place"], asked, limits.EARLY_MS)
        for *run, placed in session.rows(_SQL["confirm_exclusive"], asked, limits.EARLY_MS):
            if placed:
                confirmed.tokens[run[0]] = run[1]
            else:
                confirmed.blocked.append(_to_blocked(run))
    return confirmed


def _release(session: Session, claims: Sequence[Claim]) -> set[RunId]:
    rows = session.rows(_SQL["release"], pack_claims(claims))
    # A run that was begun before keeps its place; one that was not is as if it had never been claimed.
    vacate(session, [(run_id, job_id) for run_id, job_id, begun_ms, _ in rows if begun_ms is None])
    leave_gates(session, [row[0] for row in rows])
    session.wake(*{f"ready/{row[3]}" for row in rows})
    return {row[0] for row in rows}


def _finish(session: Session, finishes: Sequence[Finish]) -> set[RunId]:
    ends = pack(
        [
            (
                end.run_id.hex(),
                end.token,
                end.state,
                end.started_ms,
                end.finished_ms,
                last_attempt(end.attempt),
                end.reason,
            )
            for end in finishes
        ]
    )
    accepted = {end.run_id for end in finishes}
    exclusive = {end.run_id for end in finishes if end.exclusive}
    awaited = {end.run_id: end.finished_ms for end in finishes if end.awaited}
    rows: list[Any] = []
    # As a rule all are accepted, and nobody has to know their jobs: then they need not be read back one by one.
    if session.written(_SQL["finish"], ends) < len(finishes) or exclusive or awaited:
        rows = session.rows(_SQL["finished"], ends)
        accepted = {row[0] for row in rows}
    end_runs(session, accepted)
    failed = {end.run_id for end in finishes if end.state is RunState.FAILED}
    if failed:
        keep_failed(session, accepted & failed)
    if exclusive:
        leave_places(session, [row for row in rows if row[0] in exclusive])
    gated = {end.run_id for end in finishes if end.gated}
    if gated:
        leave_gates(session, accepted & gated)
    if awaited:
        follow(session, [row for row in rows if row[0] in awaited], ended_ms=awaited)
    return accepted


def _retry(session: Session, retries: Sequence[Retry]) -> set[RunId]:
    ends = [(end.run_id.hex(), end.token, end.due_ms, end.attempt) for end in retries]
    rows = session.rows(_SQL["retry"], pack(ends))
    gated = {end.run_id for end in retries if end.gated}
    if gated:
        leave_gates(session, [row[0] for row in rows if row[0] in gated])
    if rows:
        session.wake("waiting")
    return {row[0] for row in rows}


def _postpone(session: Session, postponed: Sequence[Postponed]) -> set[RunId]:
    later = [(one.run_id.hex(), one.token, one.due_ms, one.reason) for one in postponed]
    rows = session.rows(_SQL["postpone"], pack(later))
    vacate(session, [(run_id, job_id) for run_id, job_id, begun_ms in rows if begun_ms is None])
    leave_gates(session, [row[0] for row in rows])
    if rows:
        session.wake("waiting")
    return {row[0] for row in rows}


def hold_blocked(session: Session, blocked: Sequence[Blocked]) -> set[RunId]:
    return {row[0] for row in session.rows(_SQL["hold_blocked"], pack_claims(blocked))}


def skip_blocked(session: Session, blocked: Sequence[Blocked], reason: str) -> set[RunId]:
    rows = session.rows(_SQL["skip_blocked"], pack_claims(blocked), reason)
    end_runs(session, [row[0] for row in rows])
    follow(session, rows)
    return {row[0] for row in rows}


def _queues(session: Session) -> list[tuple[str, str]]:
    return session.rows(_SQL["queues"])


def pack_claims(claims: Sequence[Claim | Blocked]) -> str:
    return pack([(claim.run_id.hex(), claim.token) for claim in claims])


def _to_blocked(row: Any) -> Blocked:
    fields = (*row[:5], None if row[5] is None else Overlap(row[5]))
    return Blocked(*fields)


def _to_claim(row: Any) -> Claim:
    overlap = None if row[15] is None else Overlap(row[15])
    fields = (*row[:5], _KINDS[row[5]], *row[6:11], bool(row[11]), *row[12:15], overlap, bool(row[16]), row[17])
    return Claim(*fields)
