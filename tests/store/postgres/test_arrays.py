"""Arrays arrive as they were sent, and as asyncpg itself would have sent them."""

import os
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from dueline.store.postgres.arrays import set_array_codecs
from dueline.store.postgres.database import Connection

UUIDS = [os.urandom(16) for _ in range(3)]
SAMPLES: dict[str, list[list[Any]]] = {
    "uuid": [UUIDS, [UUIDS[0], None]],
    "bigint": [[0, 1, -1, 2**63 - 1, -(2**63)], [None, 7]],
    "integer": [[0, -1, 2**31 - 1, -(2**31)], [7, None]],
    "smallint": [[0, 9, -(2**15)], [None, 2**15 - 1]],
    "boolean": [[True, False], [None, True]],
    "text": [["", "a", "ä€😀", "x" * 70_000, "{,}\"'"], [None, "", None]],
}
CASES = [(kind, values) for kind, some in SAMPLES.items() for values in ([], [None], *some, some[0] * 700)]


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


@pytest.mark.parametrize(("kind", "values"), CASES, ids=[f"{kind}-{number}" for number, (kind, _) in enumerate(CASES)])
async def test_they_are_read_as_they_were_sent(
    connections: tuple[Connection, Connection], kind: str, values: list[Any]
) -> None:
    ours, theirs = connections
    there_and_back = f"SELECT $1::{kind}[]"
    assert await ours.fetchval(there_and_back, values) == values
    assert await theirs.fetchval(there_and_back, values) == values
    as_text = f"SELECT $1::{kind}[]::text"
    assert await ours.fetchval(as_text, values) == await theirs.fetchval(as_text, values)


async def test_a_number_that_does_not_fit_is_refused(connections: tuple[Connection, Connection]) -> None:
    ours, _ = connections
    with pytest.raises(asyncpg.DataError):
        await ours.fetchval("SELECT $1::integer[]", [2**31])
    assert await ours.fetchval("SELECT $1::integer[]", [1]) == [1]
