"""Programs that write to a store and print the number of each commit as soon as it is acknowledged, until they are ended."""

from __future__ import annotations

import asyncio
import os
import sys
from itertools import count
from pathlib import Path

import apsw
import psycopg

from dueline.domain.ids import new_run_id
from dueline.runtime.clock import SystemClock
from dueline.store.sqlite.store import SqliteStore
from tests.support.stores import START_MS, a_run, enqueue


def acknowledged(what: int | str) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def sqlite(path: str, synchronous: str) -> None:
    connection = apsw.Connection(path)
    connection.pragma("synchronous", synchronous)
    for number in count(1):
        connection.execute("INSERT INTO mark VALUES (?)", [number])
        acknowledged(number)


def postgres(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for number in count(1):
            connection.execute("INSERT INTO mark VALUES (%s)", [number])
            acknowledged(number)


async def dueline(path: str) -> None:
    """The product's own embedded store, with its own settings."""
    store = SqliteStore(Path(path), SystemClock())
    await store.open()
    await store.migrate()
    while True:
        (run_id,) = await enqueue(store, a_run(id=new_run_id(START_MS, os.urandom(10))))
        acknowledged(run_id.hex())


def main(kind: str, *arguments: str) -> None:
    if kind == "sqlite":
        sqlite(*arguments)
    elif kind == "postgres":
        postgres(*arguments)
    else:
        asyncio.run(dueline(*arguments))


if __name__ == "__main__":
    main(*sys.argv[1:])
