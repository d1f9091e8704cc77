"""Programs that write to a store and print each commit as soon as it is acknowledged, until they are ended; and who listens to them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import apsw
import psycopg

from dueline.domain.errors import StoreUnavailable
from dueline.domain.ids import new_run_id
from dueline.runtime.clock import SystemClock
from dueline.store.opening import make_store
from tests.support.stores import START_MS, a_run, enqueue

ROOT = Path(__file__).parents[3]
WRITES_S_MAX = 120.0
TRIES_AGAIN_S = 0.05


class Writer:
    """One such program in a process of its own, and what it has been promised."""

    def __init__(self, *arguments: str | Path, within: Sequence[str] = ()) -> None:
        """`within` goes before the command, as that of a namespace does."""
        self.process = subprocess.Popen(
            [*within, sys.executable, "-m", "tests.proof.tools.writers", *map(str, arguments)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.acknowledged: list[str] = []
        self._ending = threading.Timer(WRITES_S_MAX, self.process.kill)
        self._ending.start()

    def wait_for(self, commits: int) -> None:
        assert self.process.stdout is not None
        while len(self.acknowledged) < commits:
            line = self.process.stdout.readline()
            assert line, "the writer has ended"
            self.acknowledged.append(line.strip())

    def hear_to_the_end(self) -> set[str]:
        """Everything that was acknowledged before it was ended, which it is now at the latest."""
        assert self.process.stdout is not None
        self._ending.cancel()
        self.process.kill()
        if not self.process.stdout.closed:
            self.acknowledged += self.process.communicate()[0].split()
        return set(self.acknowledged)


@contextmanager
def writing(*arguments: str | Path, within: Sequence[str] = ()) -> Iterator[Writer]:
    writer = Writer(*arguments, within=within)
    try:
        yield writer
    finally:
        writer.hear_to_the_end()


def sqlite(path: str, synchronous: str) -> None:
    connection = apsw.Connection(path)
    connection.pragma("synchronous", synchronous)
    for number in count(1):
        connection.execute("INSERT INTO mark VALUES (?)", [number])
        acknowledge(number)


def postgres(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for number in count(1):
            connection.execute("INSERT INTO mark VALUES (%s)", [number])
            acknowledge(number)


async def dueline(address: str) -> None:
    """A store of the product, with its own settings; what it refuses for now is tried anew."""
    store = make_store(address, SystemClock())
    await store.open()
    await store.migrate()
    while True:
        try:
            (run_id,) = await enqueue(store, a_run(id=new_run_id(START_MS, os.urandom(10))))
        except StoreUnavailable:
            await asyncio.sleep(TRIES_AGAIN_S)
        else:
            acknowledge(run_id.hex())


def acknowledge(what: int | str) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def main(kind: str, *arguments: str) -> None:
    if kind == "sqlite":
        sqlite(*arguments)
    elif kind == "postgres":
        postgres(*arguments)
    else:
        asyncio.run(dueline(*arguments))


if __name__ == "__main__":
    main(*sys.argv[1:])
