"""Peers that keep their jobs in PostgreSQL."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count as counter
from typing import Any

import asyncpg

from bench.measured import Absent, Measured
from bench.peers.driving import ACT_S_MAX, Workers, act, drained, workers
from bench.peers.environments import Environment
from bench.peers.peer import Peer
from tests.support.postgres import PostgresServer

_POLL_S = 0.002
# From the instant in which the burst is decided to the one in which it is due: enough to write and to analyse it.
_LEAD_S = 4.0
_FILLED_A_SECOND = 2_500
# Whoever needs longer to start all of them is not in the race.
_BURST_S_MAX = 60.0
# What must be left of that when all is written.
_SPARE_S = 0.5
# Before that, workers have seen that there is nothing to do.
_IDLE_S = 1.0
_BEGIN_S_MAX = 30.0
# How many wait for a lock. Two connections of one process may: then the other process has a moment less.
_WAITING = "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted"
# What every job of a task gets; the handler decodes it.
_ARGUMENTS = {"customer": "c-123", "cents": 500}
_numbers = counter(1)


class PostgresPeer(Peer):
    def __init__(
        self,
        name: str,
        environment: Environment,
        *,
        program: str,
        processes: int,
        lock: str,
        unfinished: str,
        far: str,
        in_bursts: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        """`lock` keeps everybody from taking jobs; `unfinished` asks whether one is not finished yet; `far` writes some that are due in a
        year. Bursts may need other options."""
        super().__init__(name, environment, program=program, processes=processes, **options)
        self._lock = lock
        self._unfinished = unfinished
        self._far = far
        self._in_bursts = in_bursts or {}

    async def drain_noop(self, server: PostgresServer, count: int) -> Measured:
        """Jobs without arguments that do nothing, all of them there before the clock runs."""
        with self._taking_part("drain_noop") as command:
            return await self._drain(command, server, self._bounded(count), arguments=None)

    async def drain_task(self, server: PostgresServer, count: int) -> Measured:
        """The same with arguments, which are decoded."""
        with self._taking_part("drain_task") as command:
            return await self._drain(command, server, self._bounded(count), arguments=_ARGUMENTS)

    async def burst(self, server: PostgresServer, count: int, other_jobs: int = 0) -> list[float]:
        """Jobs that are all due at one instant, beside others that are due much later: how late each started, in milliseconds."""
        with self._taking_part("burst") as command:
            return await self._burst(command, server, count, other_jobs)

    async def _drain(
        self, command: list[str], server: PostgresServer, count: int, *, arguments: dict[str, Any] | None
    ) -> Measured:
        async with self._database(server) as (dsn, connection):
            asked = self.options | {"dsn": dsn, "keep": False, "arguments": arguments}
            await act(command, "install", asked)
            await act(command, "fill", asked | {"count": count, "due_s": None})
            await _settle(connection)

            async def until_durable() -> None:
                deadline_s = time.monotonic() + ACT_S_MAX
                while await connection.fetchval(self._unfinished):
                    if time.monotonic() > deadline_s:
                        raise Absent("it does not finish its jobs")
                    await asyncio.sleep(_POLL_S)

            async with workers(command, asked, processes=self.processes) as some:
                let_go = await self._held_back(connection, some)
                return await drained(some, count, let_go=let_go, until_durable=until_durable, server_pid=server.pid)

    async def _held_back(
        self, connection: asyncpg.Connection[asyncpg.Record], some: Workers
    ) -> Callable[[], Awaitable[None]]:
        """Let all processes run into a lock on the jobs, with which one can look but not take. Answers what takes the lock away: whatever
        they do at their start is over then, whether their API lets them wait or not."""
        holding = connection.transaction()
        await holding.start()
        await connection.execute(self._lock)
        some.go()
        deadline_s = time.monotonic() + _BEGIN_S_MAX
        while await connection.fetchval(_WAITING) < self.processes:
            if time.monotonic() > deadline_s:
                raise Absent("its workers do not ask for jobs")
            await asyncio.sleep(_POLL_S)
        return holding.rollback

    async def _burst(self, command: list[str], server: PostgresServer, count: int, other_jobs: int) -> list[float]:
        async with self._database(server) as (dsn, connection):
            asked = self.options | self._in_bursts | {"dsn": dsn, "keep": True, "arguments": None}
            await act(command, "install", asked)
            if other_jobs:
                # As its own API writes them, which would take too long for so many.
                await connection.execute(self._far, other_jobs, timeout=ACT_S_MAX)
            await _settle(connection)
            async with workers(command, asked, processes=self.processes) as some:
                some.go()
                await asyncio.sleep(_IDLE_S)
                due_s = time.time() + _LEAD_S + count / _FILLED_A_SECOND
                await act(command, "fill", asked | {"count": count, "due_s": due_s})
                if not other_jobs:
                    # The table was empty when it was analysed, and some plan as badly as that deserves.
                    await connection.execute("ANALYZE", timeout=ACT_S_MAX)
                if time.time() > due_s - _SPARE_S:
                    raise Absent(f"to write {count} jobs takes it too long for a burst")
                await some.wait_for(count, within_s=due_s - time.time() + _BURST_S_MAX)
                return [(start_s - due_s) * 1000 for start_s in await some.starts_s()]

    @asynccontextmanager
    async def _database(self, server: PostgresServer) -> AsyncIterator[tuple[str, asyncpg.Connection[asyncpg.Record]]]:
        """A fresh one, and a connection to look into it."""
        name = f"peer{next(_numbers)}"
        server.create_database(name)
        try:
            connection = await asyncpg.connect(server.dsn(name))
            try:
                self.versions["postgresql"] = connection.get_settings().server_version
                yield server.dsn(name), connection
            finally:
                await connection.close()
        finally:
            server.drop_database(name)


async def _settle(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    await connection.execute("VACUUM ANALYZE", timeout=ACT_S_MAX)
    await connection.execute("CHECKPOINT", timeout=ACT_S_MAX)
