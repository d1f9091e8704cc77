"""Runs on PostgreSQL: from ready to their end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

import asyncpg

from dueline.domain import limits
from dueline.domain.fairness import promoted
from dueline.domain.ids import BootId, JobId, RunId
from dueline.domain.overlap import Overlap
from dueline.domain.run import NewRun
from dueline.domain.states import RunKind
from dueline.store.postgres.following import follow, lock_awaiting
from dueline.store.postgres.fronts import FRONT, Front
from dueline.store.postgres.gates import leave_gates
from dueline.store.postgres.jobs import hold_open
from dueline.store.postgres.part import Part, common_column, in_order, queries, run_columns, sparse_column
from dueline.store.postgres.places import leave_places
from dueline.store.records import encode_attempt, encode_last_attempt, to_promoted
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

_SQL = queries("runs")
_PLANS = queries("plans")
_KINDS = {kind.value: kind for kind in RunKind}
"""Looked up for every claim, in a fraction of the time that the enumeration takes."""
_CLAIMED_MS = 8
_RANK = itemgetter(17)
"""Where these are in what `claim` answers."""


def _now_s() -> float:
    return asyncio.get_running_loop().time()


def enqueue_arguments(runs: Sequence[NewRun], ranks: Sequence[int | None]) -> list[Any]:
    return [
        limits.AHEAD_MS,
        *run_columns(runs, ranks),
        sparse_column([run.parent_id for run in runs]),
        sparse_column([run.spec for run in runs]),
        sparse_column([run.notifies or None for run in runs]),
    ]


class RunPart(Part):
    async def enqueue(self, runs: Sequence[NewRun], *, open_job: JobId | None = None) -> set[RunId]:
        args = enqueue_arguments(runs, await self._ranks.of_new(runs))
        about = only(run.id for run in runs)
        if open_job is not None:
            async with self._effect(about) as connection:
                await hold_open(connection, open_job)
                new = {RunId(row[0]) for row in await connection.fetch(_SQL["enqueue"], *args)}
        elif await self._enqueue_new(len(runs), args, about):
            new = {run.id for run in runs}
        else:
            async with self._lone_effect(about) as connection:
                new = {RunId(row[0]) for row in await connection.fetch(_SQL["enqueue"], *args)}
        self._notices.announce("waiting", *{f"ready/{run.queue}" for run in runs})
        return new

    async def _enqueue_new(self, count: int, args: Sequence[Any], about: bytes) -> bool:
        """As a rule all are new, and to look for each takes a fifth of what PostgreSQL needs to write it."""
        try:
            async with self._lone_effect(about) as connection:
                status = await connection.execute(_SQL["enqueue_new"], *args)
        except asyncpg.UniqueViolationError:
            return False
        return status == f"INSERT 0 {count}"

    async def upcoming(self) -> Upcoming:
        rows = await self._database.fetch(_SQL["upcoming"])
        return Upcoming(*rows[0])

    async def count_waiting(self, *, until_ms: int, limit: int) -> int:
        waiting: int = await self._database.fetchval(_SQL["count_waiting"], until_ms, limit)
        return waiting

    async def promote(self, *, ahead_ms: int, limit: int) -> Promoted:
        async with self._database.transaction() as connection:
            near = await connection.fetch(_SQL["near"], ahead_ms, limit, limits.AHEAD_MS)
            ranks = await self._ranks.of_ready([promoted(*row[3:]) for row in near])
            if near:
                await connection.execute(_SQL["promote"], [row[0] for row in near], ranks)
        ready = to_promoted(near)
        await self.tell_ready(ready.queues)
        return ready

    async def tell_ready(self, queues: Iterable[str]) -> None:
        self._notices.announce(*(f"ready/{queue}" for queue in queues))

    async def claim(self, worker: BootId, queue: str, lane: str, *, ahead_ms: int, limit: int) -> Claimed:
        front = self._fronts.of(queue, lane)
        since = front.begin(_now_s())
        rows = await self._read(front, since, worker, queue, lane, ahead_ms, limit)
        if len(rows) < limit and since != FRONT and front.begin(_now_s()) == FRONT:
            more = await self._read(front, FRONT, worker, queue, lane, ahead_ms, limit - len(rows))
            # One that was found blocked is found again, as it stands by now.
            rows = sorted({row["id"]: row for row in (*rows, *more)}.values(), key=_RANK)
        claims, blocked = [], []
        for row in rows:
            if row[_CLAIMED_MS] is None:
                blocked.append(_to_blocked(row))
            else:
                claims.append(_to_claim(row, queue))
        return Claimed(claims, blocked)

    async def _read(
        self, front: Front, since: int, worker: BootId, queue: str, lane: str, ahead_ms: int, limit: int
    ) -> list[asyncpg.Record]:
        """What is claimed of a line from a rank on, in order; its front learns what that took."""
        began_s = _now_s()
        rows = await self._database.fetch(_SQL["claim"], worker, queue, lane, ahead_ms, limit, since)
        rows.sort(key=_RANK)
        now_s = _now_s()
        last_rank = _RANK(rows[-1]) if rows else None
        front.looked(since, last_rank, found=len(rows), asked=limit, took_s=now_s - began_s, now_s=now_s)
        return rows

    async def claims_of(self, worker: BootId) -> list[Claim]:
        return [_to_claim(row, row["queue"]) for row in await self._database.fetch(_SQL["claims_of"], worker)]

    async def confirm(self, claims: Sequence[Claim]) -> Confirmed:
        shared = [claim for claim in claims if not claim.exclusive]
        exclusive = [claim for claim in claims if claim.exclusive]
        confirmed = Confirmed({}, [])
        if shared:
            rows = await self._database.fetch(_SQL["confirm"], *_owned(shared), limits.EARLY_MS)
            confirmed.tokens.update((row[0], row[1]) for row in rows if not row[2])
            marked = {row[0] for row in rows if row[2]}
            if marked:
                again = [claim for claim in shared if claim.run_id in marked]
                rows = await self._database.fetch(_SQL["confirm_marked"], *_owned(again), limits.EARLY_MS)
                confirmed.tokens.update((row[0], row[1]) for row in rows)
        if exclusive:
            for row in await self._database.fetch(_SQL["confirm_exclusive"], *_owned(exclusive), limits.EARLY_MS):
                if row["placed"]:
                    confirmed.tokens[row["id"]] = row["token"]
                else:
                    confirmed.blocked.append(_to_blocked(row))
        return confirmed

    async def release(self, claims: Sequence[Claim]) -> set[RunId]:
        claims = sorted(claims, key=in_order)
        async with self._database.transaction() as connection:
            rows = await connection.fetch(_SQL["release"], *_owned(claims))
            topics = await leave_gates(connection, [row[0] for row in rows])
        self._notices.announce(*topics, *{f"ready/{row[1]}" for row in rows})
        return {RunId(row[0]) for row in rows}

    async def postpone(self, postponed: Sequence[Postponed]) -> set[RunId]:
        postponed = sorted(postponed, key=in_order)
        async with self._database.transaction() as connection:
            rows = await connection.fetch(
                _SQL["postpone"],
                [put_off.run_id for put_off in postponed],
                [put_off.token for put_off in postponed],
                [put_off.due_ms for put_off in postponed],
                [put_off.reason for put_off in postponed],
            )
            topics = await leave_gates(connection, [row[0] for row in rows])
        self._notices.announce("waiting", *topics)
        return {RunId(row[0]) for row in rows}

    async def finish(self, finishes: Sequence[Finish]) -> set[RunId]:
        finishes = sorted(finishes, key=in_order)
        args = (
            [end.run_id for end in finishes],
            common_column([end.token for end in finishes]),
            common_column([end.state for end in finishes]),
            [end.started_ms for end in finishes],
            [end.finished_ms for end in finishes],
            common_column([encode_last_attempt(end.attempt) for end in finishes]),
            sparse_column([end.reason for end in finishes]),
            [end.run_id for end in finishes if end.gated],
            any(end.awaited for end in finishes),
            any(end.exclusive for end in finishes) and not any(end.awaited for end in finishes),
        )
        try:
            # As a rule none is in history yet: not to ask spares a tenth.
            return await self._finish(_SQL["finish_new"], finishes, args)
        except asyncpg.UniqueViolationError:
            return await self._finish(_SQL["finish"], finishes, args)

    async def _finish(self, statement: str, finishes: Sequence[Finish], args: Sequence[Any]) -> set[RunId]:
        awaited = {end.run_id: end.finished_ms for end in finishes if end.awaited}
        topics: set[str] = set()
        if not awaited:
            ((ids, _, woken),) = await self._database.fetch(statement, *args)
        else:
            exclusive = {end.run_id for end in finishes if end.exclusive}
            async with self._database.transaction() as connection:
                awaiting = await lock_awaiting(connection, list(awaited))
                ((ids, job_ids, woken),) = await connection.fetch(statement, *args)
                ended = list(zip(ids, job_ids or (), strict=True))
                follows = [(run_id, job_id, awaited[run_id]) for run_id, job_id in ended if run_id in awaited]
                topics = await follow(connection, follows, awaiting)
                woken += await leave_places(connection, [one for one in ended if one[0] in exclusive])
        self._notices.announce(*topics, *(f"ready/{queue}" for queue in woken))
        return set(ids)

    async def retry(self, retries: Sequence[Retry]) -> set[RunId]:
        retries = sorted(retries, key=in_order)
        args = (
            [end.run_id for end in retries],
            [end.token for end in retries],
            [end.due_ms for end in retries],
            [encode_attempt(end.attempt) for end in retries],
        )
        gated = {end.run_id for end in retries if end.gated}
        topics: set[str] = set()
        if not gated:
            rows = await self._database.fetch(_SQL["retry"], *args)
        else:
            async with self._database.transaction() as connection:
                rows = await connection.fetch(_SQL["retry"], *args)
                topics = await leave_gates(connection, [row[0] for row in rows if row[0] in gated])
        self._notices.announce("waiting", *topics)
        return {RunId(row[0]) for row in rows}

    async def hold_blocked(self, blocked: Sequence[Blocked]) -> set[RunId]:
        rows = await self._database.fetch(
            _SQL["hold_blocked"], [run.run_id for run in blocked], [run.token for run in blocked]
        )
        return {RunId(row[0]) for row in rows}

    async def skip_blocked(self, blocked: Sequence[Blocked], *, reason: str) -> set[RunId]:
        run_ids = [run.run_id for run in blocked]
        args = (run_ids, [run.token for run in blocked], reason)
        if not await self._database.fetch(_PLANS["lock_awaiting"], run_ids):
            # As a rule nothing awaits them, and one statement does it.
            return {RunId(row[0]) for row in await self._database.fetch(_SQL["skip_blocked"], *args)}
        async with self._database.transaction() as connection:
            awaiting = await lock_awaiting(connection, run_ids)
            rows = await connection.fetch(_SQL["skip_blocked"], *args)
            topics = await follow(connection, rows, awaiting)
        self._notices.announce(*topics)
        return {RunId(row[0]) for row in rows}


def _to_blocked(row: asyncpg.Record) -> Blocked:
    overlap = row["overlap"]
    return Blocked(
        row["id"],
        row["token"],
        row["job_id"],
        row["version"],
        row["held"],
        None if overlap is None else Overlap(overlap),
    )


def _owned(claims: Sequence[Claim]) -> tuple[list[RunId], list[int]]:
    """Claims as columns: whose run, by which token."""
    return [claim.run_id for claim in claims], [claim.token for claim in claims]


def _to_claim(row: asyncpg.Record, queue: str) -> Claim:
    """A claim has the columns of `claim` and `claims_of` in their order, up to the queue. Named one by one, because a list of the rest
    would take longer than all of this."""
    (
        run_id,
        token,
        job_id,
        version,
        tenant,
        kind,
        scheduled_ms,
        due_ms,
        claimed_ms,
        attempt,
        lost,
        exclusive,
        spec,
        begun_ms,
        expires_ms,
        overlap,
        gated,
    ) = row[:17]
    return Claim(
        run_id,
        token,
        job_id,
        version,
        tenant,
        _KINDS[kind],
        scheduled_ms,
        due_ms,
        claimed_ms,
        attempt,
        lost,
        exclusive,
        spec,
        begun_ms,
        expires_ms,
        None if overlap is None else Overlap(overlap),
        gated,
        queue,
    )
