"""Who hurts: every fault is written down with its beginning, its end and what shows that it was one."""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import psycopg

from proof.records import Fault
from tests.support.dueline import DuelineProcess
from tests.support.postgres import PostgresServer
from tests.support.processes import is_alive

FAILOVER_S = 10.0
"""Within this time after a node's death others have all of its work, is the promise."""
RECOVERY_S = 5.0
"""Within this time after the store is back all is as before."""
PAST_THE_LEASE_S = 12.0
SEEN_S_MAX = 15.0
POLL_S = 0.02
CATCH_POLL_S = 0.0005
"""What is to be caught lasts for some milliseconds."""
STATEMENT_S = 0.1
"""Long for any statement of a process that has just been stopped: it is done, and nobody sends the next."""
_IN_TRANSACTION = """
SELECT pid FROM pg_stat_activity WHERE usename = %s AND state = 'idle in transaction' AND backend_xid IS NOT NULL
"""


class Nemesis:
    def __init__(self, log: Path) -> None:
        self._log = log.open("ab")

    @contextmanager
    def fault(
        self,
        kind: str,
        victim: str,
        *,
        failover_s: float = 0.0,
        recovery_s: float = 0.0,
        planned: bool = False,
        store_clock_s: float = 0.0,
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
                store_clock_s=store_clock_s,
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
    noticed = {"declared dead": is_told_dead(process)}
    if process.name.startswith("worker"):
        noticed["results refused"] = seen(lambda: process.counted("results refused") > 0)
    return noticed


def is_told_dead(process: DuelineProcess) -> bool:
    """Whether it notices that others took it for dead."""
    return seen(lambda: process.counted("declared dead by others; starting again") > 0)


def freeze_in_transaction(process: DuelineProcess, server: PostgresServer, account: str) -> list[int]:
    """Stop it between two statements of a transaction that has locked something; answers the backends that wait for the next one.

    It is known by the account that it alone uses. If it cannot be caught like that, it is stopped anyway, and nobody waits.
    """
    deadline = time.monotonic() + SEEN_S_MAX
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        while time.monotonic() < deadline:
            if connection.execute(_IN_TRANSACTION, [account]).fetchone() is not None:
                process.pause()
                time.sleep(STATEMENT_S)
                if waiting := [pid for (pid,) in connection.execute(_IN_TRANSACTION, [account])]:
                    return waiting
                process.resume()
            time.sleep(CATCH_POLL_S)
    process.pause()
    return []


def end_by_the_server(server: PostgresServer, backends: list[int]) -> dict[str, bool]:
    """Wait until the server has ended transactions in which nobody said anything for too long."""
    ended = seen(lambda: not any(is_alive(pid) for pid in backends))
    told = "due to idle-in-transaction timeout" in server.log_path.read_text(errors="replace")
    return {"in a transaction": bool(backends), "ended by the server": ended and told}


def crash(server: PostgresServer) -> dict[str, bool]:
    pid = server.pid
    server.crash()
    return {"gone": not is_alive(pid), "refuses": not _accepts(server.port)}


def end_backends(server: PostgresServer, database: str, number: int) -> dict[str, bool]:
    """End so many connections of the processes, from inside of the server."""
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        pids = random.sample(backends(server, database), number)
        ended = [connection.execute("SELECT pg_terminate_backend(%s, 5000)", [pid]).fetchone() for pid in pids]
    return {"ended": all(row == (True,) for row in ended), "gone": not any(is_alive(pid) for pid in pids)}


def backends(server: PostgresServer, database: str) -> list[int]:
    """Those of the connections to a database."""
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        rows = connection.execute("SELECT pid FROM pg_stat_activity WHERE datname = %s ORDER BY pid", [database])
        return [pid for (pid,) in rows]


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
