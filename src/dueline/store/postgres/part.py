"""What the parts of the PostgreSQL store share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dueline.domain.run import NewRun
from dueline.store.postgres.database import Database
from dueline.store.postgres.notices import Notices
from dueline.store.queries import load_queries
from dueline.store.records import join_tags


class Part:
    """One noun's moves. Statements come from `queries/NOUN.sql`."""

    def __init__(self, database: Database, notices: Notices) -> None:
        self._database = database
        self._notices = notices


def run_columns(runs: Sequence[NewRun]) -> list[list[Any]]:
    """New runs as the arrays that `fire` and `enqueue` unnest."""
    return [
        [run.id for run in runs],
        [run.job_id for run in runs],
        [run.version for run in runs],
        [run.tenant for run in runs],
        [run.kind for run in runs],
        [run.queue for run in runs],
        [run.priority for run in runs],
        [run.rank for run in runs],
        [run.region for run in runs],
        [run.exclusive for run in runs],
        [run.timeout_ms for run in runs],
        [run.scheduled_ms for run in runs],
        [run.due_ms for run in runs],
        [join_tags(run.tags) for run in runs],
        [run.token for run in runs],
    ]


def queries(noun: str) -> dict[str, str]:
    return load_queries("postgres", noun)
