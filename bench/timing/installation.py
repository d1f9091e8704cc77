"""An installation as somebody runs it on one machine: a durable server, and processes of Dueline that share its database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import asyncpg

from bench.databases import shared_server
from dueline.store.postgres.store import PostgresStore
from tests.support.dueline import DuelineProcess, processes
from tests.support.postgres import PostgresServer

APP = "bench.timing.app:app"
Start = Callable[..., DuelineProcess]
_SETTLE_S = 1_800.0


@contextmanager
def a_server() -> Iterator[tuple[Path, PostgresServer]]:
    """The durable server that all share, and a folder for what goes with it, which does not stay."""
    with TemporaryDirectory(prefix="dueline-bench-") as folder:
        yield Path(folder), shared_server()


class Installation(NamedTuple):
    dsn: str
    store: PostgresStore

    async def settle(self) -> None:
        """The same for all that is compared: no dead rows, statistics that are true, and nothing left to write."""
        connection = await asyncpg.connect(self.dsn)
        try:
            for statement in ("VACUUM ANALYZE", "CHECKPOINT"):
                await connection.execute(statement, timeout=_SETTLE_S)
        finally:
            await connection.close()


@asynccontextmanager
async def an_installation(
    server: PostgresServer, name: str, *, like: str | None = None, kept: bool = False
) -> AsyncIterator[Installation]:
    """A fresh database, migrated, or a copy of one that was kept; unless it is kept too, it is dropped afterwards."""
    server.create_database(name, like)
    installation = Installation(server.dsn(name), PostgresStore(server.dsn(name)))
    try:
        await installation.store.open()
        await installation.store.migrate()
        await installation.store.prepare_history(days_ahead=1)
        yield installation
    finally:
        await installation.store.close()
        if not kept:
            server.drop_database(name)


@contextmanager
def running(folder: Path, db: str) -> Iterator[Start]:
    """Starts processes by their role and options, each when the one before it runs; all of them end with this."""
    with processes() as started:

        def start(role: str, *options: str) -> DuelineProcess:
            process = DuelineProcess(folder, f"{role}-{len(started)}", role, *options, db=db)
            started.append(process)
            process.wait_until_running()
            return process

        yield start
