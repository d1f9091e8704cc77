"""One PostgreSQL server for all that is measured in a run, with fsync, and a fresh database for everyone who begins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from functools import cache
from itertools import count

from tests.support.postgres import PostgresServer

_numbers = count(1)
_kept = ExitStack()


@cache
def shared_server() -> PostgresServer:
    """Started for whoever asks first, and there until `close_shared`."""
    return _kept.enter_context(PostgresServer(durable=True))


def close_shared() -> None:
    _kept.close()
    shared_server.cache_clear()


@asynccontextmanager
async def fresh_database(server: PostgresServer) -> AsyncIterator[str]:
    """The address of a new database, which goes away afterwards."""
    name = f"bench{next(_numbers)}"
    await asyncio.to_thread(server.create_database, name)
    try:
        yield server.dsn(name)
    finally:
        await asyncio.to_thread(server.drop_database, name)
