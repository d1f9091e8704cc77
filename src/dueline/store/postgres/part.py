"""What the parts of the PostgreSQL store share."""

from __future__ import annotations

from dueline.store.postgres.database import Database
from dueline.store.postgres.notices import Notices
from dueline.store.queries import load_queries


class Part:
    """One noun's moves. Statements come from `queries/NOUN.sql`."""

    def __init__(self, database: Database, notices: Notices) -> None:
        self._database = database
        self._notices = notices


def queries(noun: str) -> dict[str, str]:
    return load_queries("postgres", noun)
