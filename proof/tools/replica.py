"""A primary with a synchronous standby, and the failover from one to the other."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psycopg

from proof.tools.evidence import Evidence
from tests.support.postgres import PostgresFailed, PostgresServer
from tests.support.postgres_binaries import find_binaries

SYNCHRONOUS_S_MAX = 30.0
PROMOTED_S_MAX = 30
POLL_S = 0.02


def why_not() -> str | None:
    try:
        binaries = find_binaries()
    except LookupError as error:
        return str(error)
    return None if (binaries / "pg_basebackup").is_file() else f"there is no pg_basebackup in {binaries}"


class StandbyServer(PostgresServer):
    """Begins as a copy of a running primary, and follows it until it is promoted."""

    def __init__(
        self, primary: PostgresServer, *, durable: bool, max_connections: int, settings: Mapping[str, str]
    ) -> None:
        follows = f"host=127.0.0.1 port={primary.port} user=postgres application_name=standby"
        settings = {"primary_conninfo": follows, **settings}
        super().__init__(durable=durable, max_connections=max_connections, settings=settings)
        self._primary = primary

    def _initialise(self) -> None:
        command: list[str | Path] = [self._bin_dir / "pg_basebackup", "--pgdata", self.data_dir, "--no-sync"]
        command += ["--checkpoint=fast", "--host=127.0.0.1", f"--port={self._primary.port}", "--username=postgres"]
        with self.log_path.open("ab") as log:
            status = self._spawn(command, log.fileno()).wait()
        if status != 0:
            raise PostgresFailed(f"pg_basebackup ended with status {status}\n{self._log_tail()}")
        (self.data_dir / "standby.signal").touch()


@dataclass(frozen=True)
class Pair:
    """What the primary acknowledged, the standby has. After a failover the primary stays down: it knows nothing of what came later."""

    primary: PostgresServer
    standby: PostgresServer

    def dsn(self, database: str = "postgres") -> str:
        """For whichever of the two can be written to."""
        hosts = f"127.0.0.1:{self.primary.port},127.0.0.1:{self.standby.port}"
        return f"postgresql://postgres@{hosts}/{database}?target_session_attrs=read-write"

    def fail_over(self) -> Evidence:
        """Kill every process of the primary at once, and promote the standby; returns when that can be written to."""
        killed = self.primary.pid
        begun = time.monotonic()
        self.primary.crash()
        with psycopg.connect(self.standby.dsn(), autocommit=True) as connection:
            connection.execute("SELECT pg_promote(true, %s)", [PROMOTED_S_MAX])
            follows = connection.execute("SELECT pg_is_in_recovery()").fetchone()
        if follows != (False,):
            raise PostgresFailed(f"the standby was not promoted within {PROMOTED_S_MAX} s")
        return {"killed": killed, "promoted": self.standby.pid, "took_s": round(time.monotonic() - begun, 3)}


@contextmanager
def replicated(
    *,
    commit: Literal["on", "remote_apply"] = "on",
    durable: bool = False,
    max_connections: int = 200,
    settings: Mapping[str, str] | None = None,
) -> Iterator[Pair]:
    """With `on`, a commit waits until the standby has written it down; with `remote_apply`, until it can be read there."""
    both = {"synchronous_commit": commit, **(settings or {})}
    with (
        PostgresServer(durable=durable, max_connections=max_connections, settings=both) as primary,
        StandbyServer(primary, durable=durable, max_connections=max_connections, settings=both) as standby,
        psycopg.connect(primary.dsn(), autocommit=True) as connection,
    ):
        connection.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        connection.execute("SELECT pg_reload_conf()")
        _wait_until_synchronous(connection)
        connection.close()
        yield Pair(primary, standby)


def _wait_until_synchronous(connection: psycopg.Connection) -> None:
    deadline = time.monotonic() + SYNCHRONOUS_S_MAX
    while connection.execute("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'").fetchone() is None:
        if time.monotonic() > deadline:
            raise PostgresFailed(f"the standby does not follow within {SYNCHRONOUS_S_MAX} s")
        time.sleep(POLL_S)
