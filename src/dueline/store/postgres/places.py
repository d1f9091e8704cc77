"""What follows on PostgreSQL when runs of exclusive jobs end."""

from __future__ import annotations

from collections.abc import Sequence

from dueline.store.postgres.database import Connection
from dueline.store.postgres.part import queries

_SQL = queries("runs")


async def leave_places(connection: Connection, ended: Sequence[tuple[bytes, bytes]]) -> set[str]:
    """Runs that ended, each with its job, leave the jobs' places; the first held run of each job becomes ready. Answers its queues.

    Two statements, because each has a snapshot of its own: whoever holds a run locks the place, so once the places are left, the
    second statement sees every run that was held for them.
    """
    if not ended:
        return set()
    left = await connection.fetch(_SQL["vacate"], [run_id for run_id, _ in ended], [job_id for _, job_id in ended])
    freed = await connection.fetch(_SQL["leave_places"], [row[0] for row in left])
    return {row[0] for row in freed}
