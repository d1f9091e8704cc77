"""Runs that are to end before their time, on PostgreSQL: displaced by later ones, given up, cancelled, or come too late."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import asyncpg

from dueline.domain.ids import BootId, RunId
from dueline.store.postgres.following import follow_and_leave, lock_awaiting
from dueline.store.postgres.part import Part, queries
from dueline.store.postgres.progress import SWEPT_NOTHING, sweep_progress
from dueline.store.postgres.reaching import Connection
from dueline.store.requests import NothingDone, only
from dueline.store.shapes import Blocked, CancelAnswer, CancelAsked

_SQL = queries("cancels")
_RUNS = queries("runs")
_PLANS = queries("plans")
_ANSWERS = {True: CancelAnswer.ASKED, False: CancelAnswer.ENDED, None: CancelAnswer.OVER}
"""By whether a run is being executed, or has ended."""


class CancelPart(Part):
    _swept_to = SWEPT_NOTHING

    async def displace_blocked(self, blocked: Sequence[Blocked], *, reason: str) -> set[RunId]:
        tokens = {run.run_id: run.token for run in blocked}
        async with self._database.transaction() as connection:
            awaiting = await lock_awaiting(connection, list(tokens))
            rows = await _lock_blocked(connection, blocked)
            outdated = [row["id"] for row in rows if row["id"] < row["run_id"]]
            skipped = await connection.fetch(
                _RUNS["skip_blocked"], outdated, [tokens[run_id] for run_id in outdated], reason
            )
            found = [row for row in rows if row["id"] not in outdated]
            latest = {row["job_id"]: row for row in sorted(found, key=lambda row: bytes(row["id"]))}
            held: dict[RunId, bytes] = {row["id"]: job_id for job_id, row in latest.items()}
            await connection.execute(_RUNS["hold_blocked"], list(held), [tokens[run_id] for run_id in held])
            idle = [(row["run_id"], job_id) for job_id, row in latest.items() if not row["executing"]]
            older = [row["id"] for row in found if row["id"] not in held]
            ended = await connection.fetch(
                _SQL["displace_older"],
                list(held),
                list(held.values()),
                [*older, *(run_id for run_id, _ in idle)],
                reason,
            )
            asked = await connection.fetch(
                _SQL["displace_ask"], [row["run_id"] for row in latest.values() if row["executing"]], reason
            )
            topics = await follow_and_leave(connection, [*ended, *skipped], awaiting, idle=idle)
        if asked:
            topics.add("cancel")
        self._notices.announce(*topics)
        return set(held)

    async def cancels_of(self, worker: BootId) -> list[CancelAsked]:
        return [CancelAsked(*row) for row in await self._database.fetch(_SQL["cancels_of"], worker)]

    async def sweep_cancelled(self, *, limit: int) -> int:
        found = [row[0] for row in await self._database.fetch(_SQL["sweep_found"], limit)]
        return len(await self._end(_SQL["sweep_cancelled"], found)) if found else 0

    async def sweep_awaiting(self) -> int:
        rows = await self._database.fetch(_PLANS["follow_lost"])
        if rows:
            self._notices.announce("plans")
        return len(rows)

    async def cancel_waiting(self, ends: Sequence[tuple[RunId, str]]) -> set[RunId]:
        run_ids = [run_id for run_id, _ in ends]
        return await self._end(_SQL["cancel_waiting"], run_ids, [reason for _, reason in ends])

    async def cancel_runs(self, tenant: str, run_ids: Sequence[RunId], *, reason: str) -> dict[RunId, CancelAnswer]:
        try:
            async with self._effect(only(run_ids)) as connection:
                awaiting = await lock_awaiting(connection, run_ids)
                await connection.execute(_SQL["lock_runs"], tenant, run_ids)
                rows = await connection.fetch(_SQL["cancel_found"], tenant, run_ids)
                answers = {RunId(run_id): _ANSWERS[executing] for run_id, executing in rows}
                unstarted = [run_id for run_id, answer in answers.items() if answer is CancelAnswer.ENDED]
                under_way = [run_id for run_id, answer in answers.items() if answer is CancelAnswer.ASKED]
                if not unstarted and not under_way:
                    raise NothingDone(answers)
                ended = await connection.fetch(_SQL["cancel_runs"], unstarted, reason) if unstarted else []
                asked = await connection.fetch(_SQL["displace_ask"], under_way, reason) if under_way else []
                topics = await follow_and_leave(connection, ended, awaiting)
        except NothingDone as nothing:
            over: dict[RunId, CancelAnswer] = nothing.value
            return over
        if asked:
            topics.add("cancel")
        self._notices.announce(*topics)
        return answers

    async def expire(self, *, limit: int) -> int:
        """What ended runs told of themselves is swept in the same pass."""
        self._swept_to = await sweep_progress(self._database, self._swept_to, limit=limit)
        found = [row[0] for row in await self._database.fetch(_SQL["expire_found"], limit)]
        return len(await self._end(_SQL["expire"], found)) if found else 0

    async def _end(self, sql: str, run_ids: list[RunId], *args: Any) -> set[RunId]:
        async with self._database.transaction() as connection:
            awaiting = await lock_awaiting(connection, run_ids)
            ended = await connection.fetch(sql, run_ids, *args)
            topics = await follow_and_leave(connection, ended, awaiting)
        self._notices.announce(*topics)
        return {RunId(row[0]) for row in ended}


async def _lock_blocked(connection: Connection, blocked: Sequence[Blocked]) -> list[asyncpg.Record]:
    """Lock all that displacing touches: jobs, runs, then places. Answers the blocked runs, each with the run in its way."""
    run_ids, job_ids = [run.run_id for run in blocked], [run.job_id for run in blocked]
    await connection.execute(_SQL["displace_jobs"], job_ids)
    locked = await connection.fetch(_SQL["displace_runs"], run_ids, job_ids)
    return await connection.fetch(
        _SQL["displace_found"], run_ids, [run.token for run in blocked], [row[0] for row in locked]
    )
