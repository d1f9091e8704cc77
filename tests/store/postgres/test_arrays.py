"""Arrays arrive as they were sent, and as asyncpg itself would have sent them."""

import os
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from dueline.store.postgres.arrays import set_array_codecs
from dueline.store.postgres.reaching import Connection

UUIDS = [os.urandom(16) for _ in range(3)]
SAMPLES: dict[str, list[list[Any]]] = {
    "SELECT $1::uuid[], $1::uuid[]::text": [UUIDS, [UUIDS[0], None]],
    "SELECT $1::bigint[], $1::bigint[]::text": [[0, 1, -1, 2**63 - 1, -(2**63)], [None, 7]],
    "SELECT $1::integer[], $1::integer[]::text": [[0, -1, 2**31 - 1, -(2**31)], [7, None]],
    "SELECT $1::smallint[], $1::smallint[]::text": [[0, 9, -(2**15)], [None, 2**15 - 1]],
    "SELECT $1::boolean[], $1::boolean[]::text": [[True, False], [None, True]],
    "SELECT $1::text[], $1::text[]::text": [["", "a", "ä€😀", "x" * 70_000, "{,}\"'"], [None, "", None]],
}
CASES = [
    (there_and_back, values)
    for there_and_back, some in SAMPLES.items()
    for values in ([], [None], *some, some[0] * 700)
]


@pytest.fixture
async def connections(postgres_dsn: str) -> AsyncIterator[tuple[Connection, Connection]]:
    """One with our codecs, one as asyncpg has it."""
    ours, theirs = await asyncpg.connect(postgres_dsn), await asyncpg.connect(postgres_dsn)
    for connection in (ours, theirs):
        await connection.set_type_codec("uuid", schema="pg_catalog", encoder=bytes, decoder=bytes, format="binary")
    set_array_codecs(ours)
    yield ours, theirs
    await ours.close()
    await theirs.close()


@pytest.mark.parametrize(("there_and_back", "values"), CASES, ids=map(str, range(len(CASES))))
async def test_they_are_read_as_they_were_sent(
    connections: tuple[Connection, Connection], there_and_back: str, values: list[Any]
) -> None:
    ours, theirs = [await connection.fetchrow(there_and_back, values) for connection in connections]
    assert ours is not None
    assert ours[0] == values
    assert ours == theirs


async def test_a_number_that_does_not_fit_is_refused(connections: tuple[Connection, Connection]) -> None:
    ours, _ = connections
    with pytest.raises(asyncpg.DataError):
        await ours.fetchval("SELECT $1::integer[]", [2**31])
    assert await ours.fetchval("SELECT $1::integer[]", [1]) == [1]
