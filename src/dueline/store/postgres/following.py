"""What follows on PostgreSQL when runs end: for schedules that await them, and for the places of exclusive jobs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from dueline.store.postgres.part import queries
from dueline.store.postgres.places import leave_places
from dueline.store.postgres.reaching import Connection

_SQL = queries("plans")

Ended = Any
"""A row of a run that ended: its id, its job's, and when."""


async def lock_awaiting(connection: Connection, run_ids: Sequence[bytes]) -> frozenset[bytes]:
    """The jobs of these runs whose schedules await a run. To be asked before the runs end: plans are locked before runs."""
    if not run_ids:
        return frozenset()
    return frozenset(row[0] for row in await connection.fetch(_SQL["lock_awaiting"], run_ids))


async def follow(connection: Connection, ended: Sequence[Ended], awaiting: Collection[bytes]) -> set[str]:
    """Schedules go on from the ends that they awaited. Answers whom to wake."""
    awaited = [row for row in ended if row[1] in awaiting]
    if not awaited:
        return set()
    rows = await connection.fetch(
        _SQL["follow"], [row[0] for row in awaited], [row[1] for row in awaited], [row[2] for row in awaited]
    )
    return {"plans"} if rows else set()


async def follow_and_leave(
    connection: Connection,
    ended: Sequence[Ended],
    awaiting: Collection[bytes],
    *,
    idle: Sequence[tuple[bytes, bytes]] = (),
) -> set[str]:
    """All that follows from the end of runs. Answers whom to wake.

    `idle` are further runs, each with its job, that leave their places: a run that has a place may be gone already.
    """
    topics = await follow(connection, ended, awaiting)
    leaving = {*idle, *((row[0], row[1]) for row in ended if row[1] is not None)}
    return topics | {f"ready/{queue}" for queue in await leave_places(connection, list(leaving))}
