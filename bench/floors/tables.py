"""The floors' own table on PostgreSQL: what a run needs at least, with a history of what has ended."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from itertools import count

import asyncpg

QUEUE = "bench"
QUEUES = {"bare": QUEUE, "full": "default"}
"""By whose tables they are."""
_SCHEMA = """
CREATE TABLE runs (
    id uuid PRIMARY KEY, queue text NOT NULL, state smallint NOT NULL, rank bigint NOT NULL, token bigint NOT NULL, worker integer,
    payload text NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX runs_ready ON runs (queue, rank) WHERE state = 0;
CREATE TABLE history (
    id uuid PRIMARY KEY, queue text NOT NULL, rank bigint NOT NULL, token bigint NOT NULL, worker integer, finished_ms bigint NOT NULL,
    payload text NOT NULL
);
"""
_COLUMNS = ("id", "queue", "state", "rank", "token", "payload")
_numbers = count(1)

Row = tuple[uuid.UUID, str, int, int, int, str]


def payload(number: int) -> str:
    """About 200 bytes of JSON, no two the same."""
    return f'{{"customer": "c-{number}", "cents": {number % 10_000}, "note": "{"n" * 150}"}}'


def noop(_number: int) -> str:
    """What a run says that does nothing."""
    return '{"target":{"type":"task","task":"bench.noop"}}'


def make_rows(total: int, says: Callable[[int], str] = payload) -> Iterator[Row]:
    """Ids grow, as those of a product would: it is what an index likes best."""
    for number in range(total):
        id_ = uuid.UUID(int=next(_numbers) << 64 | uuid.uuid4().int >> 64)
        yield id_, QUEUE, 0, number, 0, says(number)


async def make_table(dsn: str, total: int, says: Callable[[int], str] = payload) -> None:
    """The table with so many ready runs, as clean as it can be."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(_SCHEMA)
        if total:
            await copy(connection, list(make_rows(total, says)))
        await connection.execute("VACUUM ANALYZE")
        await connection.execute("CHECKPOINT")
    finally:
        await connection.close()


async def copy(connection: asyncpg.Connection[asyncpg.Record], rows: list[Row]) -> None:
    await connection.copy_records_to_table("runs", records=rows, columns=_COLUMNS)


async def finished_in(dsn: str) -> int:
    """How many have ended, each by its token."""
    connection = await asyncpg.connect(dsn)
    try:
        finished: int = await connection.fetchval("SELECT count(*) FROM history WHERE id NOT IN (SELECT id FROM runs)")
    finally:
        await connection.close()
    return finished
