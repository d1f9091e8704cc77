"""Who hurts: every fault is written down with its beginning, its end and what shows that it was one."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import msgspec

from proof.records import Fault
from tests.support.dueline import DuelineProcess
from tests.support.postgres import PostgresServer
from tests.support.processes import is_alive

FAILOVER_S = 10.0
"""Within this time after a node's death others have all of its work, is the promise."""
RECOVERY_S = 5.0
"""Within this time after the store is back all is as before."""
SEEN_S_MAX = 15.0
POLL_S = 0.02


class Nemesis:
    def __init__(self, log: Path) -> None:
        self._log = log.open("ab")

    @contextmanager
    def fault(
        self, kind: str, victim: str, *, failover_s: float = 0.0, recovery_s: float = 0.0, planned: bool = False
    ) -> Iterator[dict[str, Any]]:
        """A fault from entry to exit. What is put into the answer is its evidence, each member a fact that must be true.

        All must be as before once `failover_s` has passed since its beginning, and `recovery_s` since its end.
        """
        evidence: dict[str, Any] = {}
        begin_s = time.time()
        try:
            yield evidence
        finally:
            end_s = time.time()
            settled_s = max(begin_s + failover_s, end_s + recovery_s)
            fault = Fault(
                kind=kind,
                victim=victim,
                begin_s=begin_s,
                end_s=end_s,
                settled_s=settled_s,
                planned=planned,
                evidence=evidence,
            )
            self._log.write(msgspec.json.encode(fault) + b"\n")
            self._log.flush()

    def close(self) -> None:
        self._log.close()


def kill(process: DuelineProcess) -> dict[str, bool]:
    process.kill()
    return {"gone": not is_alive(process.pid)}


def freeze(process: DuelineProcess) -> dict[str, bool]:
    """Stop it where it stands. `thaw` lets it go on."""
    process.pause()
    return {"stopped": seen(lambda: _state(process.pid) == "T")}


def thaw(process: DuelineProcess) -> dict[str, bool]:
    """Let it go on, and wait until it has noticed that others took it for dead. A worker has offered its results before, in vain."""
    process.resume()
    noticed = {"declared dead": seen(lambda: process.counted("declared dead by others; starting again") > 0)}
    if process.name.startswith("worker"):
        noticed["results refused"] = seen(lambda: process.counted("results refused") > 0)
    return noticed


def crash(server: PostgresServer) -> dict[str, bool]:
    pid = server.pid
    server.crash()
    return {"gone": not is_alive(pid), "refuses": not _accepts(server.port)}


def end_backends(server: PostgresServer, database: str, number: int) -> dict[str, bool]:
    """End so many connections of the processes, from inside of the server."""
    return asyncio.run(_end_backends(server, database, number))


async def _end_backends(server: PostgresServer, database: str, number: int) -> dict[str, bool]:
    connection = await asyncpg.connect(server.dsn())
    try:
        pids = await connection.fetch(
            "SELECT pid FROM pg_stat_activity WHERE datname = $1 ORDER BY random() LIMIT $2", database, number
        )
        ended = [
            await connection.fetchval("SELECT pg_terminate_backend($1::integer, 5000)", row["pid"]) for row in pids
        ]
    finally:
        await connection.close()
    return {"ended": len(ended) == number and all(ended), "gone": not any(is_alive(row["pid"]) for row in pids)}


def seen(condition: Callable[[], bool]) -> bool:
    """Whether it comes true within a time that is long for anything here."""
    deadline = time.monotonic() + SEEN_S_MAX
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
