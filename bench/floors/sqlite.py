"""python -m bench.floors.sqlite PATH [URL]: claim and finish in one SQLite file until nothing is ready, by its only writer.

With a URL there is a POST for each run in between, and two batches are under way at once.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import apsw
import uvloop

from bench.floors.calls import Caller
from bench.floors.tables import QUEUE, make_rows
from bench.programs import say_done_and_wait, say_ready_and_wait

_BATCH = 500
_AT_ONCE = 2
_SCHEMA = """
CREATE TABLE runs (
    id blob PRIMARY KEY, queue text NOT NULL, state integer NOT NULL, rank integer NOT NULL, token integer NOT NULL, payload text NOT NULL
);
CREATE INDEX runs_ready ON runs (queue, rank) WHERE state = 0;
CREATE TABLE history (
    id blob PRIMARY KEY, queue text NOT NULL, rank integer NOT NULL, token integer NOT NULL, finished_ms integer NOT NULL,
    payload text NOT NULL
);
"""
_CLAIM = """
UPDATE runs SET state = 1, token = token + 1
WHERE id IN (SELECT id FROM runs WHERE queue = ? AND state = 0 ORDER BY rank LIMIT ?)
RETURNING id, token, payload
"""
_KEEP = """
INSERT INTO history (id, queue, rank, token, finished_ms, payload)
SELECT id, queue, rank, token, ?, payload FROM runs WHERE id = ? AND token = ?
"""
_DELETE = "DELETE FROM runs WHERE id = ? AND token = ?"

Claimed = list[tuple[bytes, int, str]]


def connect(path: str) -> apsw.Connection:
    connection = apsw.Connection(path)
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def make_file(path: str, total: int, says: Callable[[int], str]) -> None:
    connection = connect(path)
    connection.execute(_SCHEMA)
    with connection:
        rows = ((row[0].bytes, *row[1:]) for row in make_rows(total, says))
        connection.executemany(
            "INSERT INTO runs (id, queue, state, rank, token, payload) VALUES (?, ?, ?, ?, ?, ?)", rows
        )
    connection.execute("ANALYZE")
    connection.close()


def finished_in_file(path: str) -> int:
    """How many have ended, each by its token."""
    connection = connect(path)
    ((finished,),) = connection.execute("SELECT count(*) FROM history WHERE id NOT IN (SELECT id FROM runs)").fetchall()
    connection.close()
    return cast(int, finished)


def claim(connection: apsw.Connection) -> Claimed:
    with connection:
        claimed = connection.execute(_CLAIM, (QUEUE, _BATCH)).fetchall()
    return cast(Claimed, claimed)


def finish(connection: apsw.Connection, claimed: Claimed) -> None:
    now_ms = time.time_ns() // 1_000_000
    with connection:
        connection.executemany(_KEEP, [(now_ms, id_, token) for id_, token, _ in claimed])
        connection.executemany(_DELETE, [(id_, token) for id_, token, _ in claimed])


def drain(path: str) -> int:
    connection, finished = connect(path), 0
    say_ready_and_wait()
    while claimed := claim(connection):
        finish(connection, claimed)
        finished += len(claimed)
    return finished


async def drain_with_calls(path: str, url: str) -> int:
    """The writer has a thread, so that calls go on while it waits for the disk."""
    loop, finished = asyncio.get_running_loop(), 0
    connection, caller = connect(path), Caller(url, loop)

    async def work() -> None:
        nonlocal finished
        while claimed := await loop.run_in_executor(writer, claim, connection):
            await caller.call([payload for _, _, payload in claimed])
            await loop.run_in_executor(writer, finish, connection, claimed)
            finished += len(claimed)

    say_ready_and_wait()
    with ThreadPoolExecutor(max_workers=1) as writer:
        await asyncio.gather(*(work() for _ in range(_AT_ONCE)))
    caller.close()
    return finished


def main(path: str, url: str | None = None) -> None:
    finished = drain(path) if url is None else uvloop.run(drain_with_calls(path, url))
    say_done_and_wait({"finished": finished})


if __name__ == "__main__":
    main(*sys.argv[1:])
