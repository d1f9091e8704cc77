"""What the tables themselves say, past the API, which could hide that a run is in two of them."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing

import asyncpg

from proof.records import Books

_OF_POSTGRES = """
SELECT
    (SELECT count(*) FROM dueline.runs), (SELECT count(*) FROM dueline.history),
    (SELECT count(*) FROM dueline.runs AS r JOIN dueline.history AS h ON h.id = r.id)
"""
_OF_SQLITE = """
SELECT
    (SELECT count(*) FROM runs), (SELECT count(*) FROM history),
    (SELECT count(*) FROM runs AS r JOIN history AS h ON h.id = r.id)
"""


def books_of(db: str) -> Books:
    """Of either store, by what a process is told as its database."""
    if db.startswith("postgresql://"):
        return asyncio.run(_of_postgres(db))
    with closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as connection:
        return Books(*connection.execute(_OF_SQLITE).fetchone())


async def _of_postgres(dsn: str) -> Books:
    connection = await asyncpg.connect(dsn)
    try:
        (row,) = await connection.fetch(_OF_POSTGRES)
        return Books(*row)
    finally:
        await connection.close()
