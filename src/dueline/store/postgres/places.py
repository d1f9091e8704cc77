"""What follows on PostgreSQL when runs of exclusive jobs end."""

from __future__ import annotations

from collections.abc import Sequence

from dueline.store.postgres.database import Connection
from dueline.store.postgres.part import queries

_SQL = queries("runs")


async def leave_places(connection: Connection, ended: Sequence[tuple[bytes, bytes]]) -> set[str]:
    """Runs that ended, each with its job, leave the jobs' places; the first held run of each job becomes ready. Answers its queues.

    Each statement has a snapshot of its own: whoever holds a run locks the place, so once the places are locked here, the second
    statement sees every run that was held for them. The places go last, because a claim waits for a place that is going while it
    has runs locked.
    """
    if not ended:
        return set()
    places = await connection.fetch(
        _SQL["lock_places"], [run_id for run_id, _ in ended], [job_id for _, job_id in ended]
    )
    left = [row[0] for row in places]
    if not left:
        return set()
    freed = await connection.fetch(_SQL["leave_places"], left)
    await connection.execute(_SQL["vacate"], left)
    return {row[0] for row in freed}
