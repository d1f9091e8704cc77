"""What follows on PostgreSQL when runs of exclusive jobs end."""

from __future__ import annotations

from collections.abc import Sequence

from dueline.store.postgres.part import queries
from dueline.store.postgres.reaching import Connection

_SQL = queries("runs")


async def leave_places(connection: Connection, ended: Sequence[tuple[bytes, bytes]]) -> set[str]:
    """Runs that ended, each with its job, leave the jobs' places, as the last thing in a transaction: whoever wants one waits for its end.

    Answers the queues of runs that waited for them.
    """
    if not ended:
        return set()
    freed = await connection.fetch(
        _SQL["leave_places"], [run_id for run_id, _ in ended], [job_id for _, job_id in ended]
    )
    return {row[0] for row in freed}
