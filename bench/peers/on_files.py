"""Peers without PostgreSQL: Huey on SQLite and Celery on Redis.

Both take a job out of the store for good before they start it: what is durable is so when the last one starts.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bench.measured import Absent, Measured
from bench.peers.driving import act, drained, workers
from bench.peers.peer import Peer

_REDIS_START_S_MAX = 10.0
_POLL_S = 0.01


class HueyPeer(Peer):
    """It needs no server."""

    async def drain_noop(self, count: int) -> Measured:
        count = self._bounded(count)
        with self._taking_part("drain_noop") as command, tempfile.TemporaryDirectory() as folder:
            asked = self.options | {"file": f"{folder}/huey.db"}
            await act(command, "fill", asked | {"count": count})
            async with workers(command, asked, processes=self.processes) as some:
                return await drained(some, count)


class CeleryPeer(Peer):
    """It has a Redis of its own, which writes every command to a file that is synced every second."""

    async def drain_noop(self, count: int) -> Measured:
        count = self._bounded(count)
        with self._taking_part("drain_noop") as command:
            async with self._redis() as (broker, pid):
                asked = self.options | {"broker": broker}
                await act(command, "fill", asked | {"count": count})
                async with workers(command, asked, processes=self.processes) as some:
                    return await drained(some, count, server_pid=pid)

    @asynccontextmanager
    async def _redis(self) -> AsyncIterator[tuple[str, int]]:
        program = self._redis_program()
        told = await asyncio.to_thread(subprocess.check_output, [program, "--version"], text=True)
        self.versions["redis-server"] = told.partition("v=")[2].partition(" ")[0]
        with tempfile.TemporaryDirectory() as folder:
            port = _free_port()
            process = _start_redis(program, port, folder)
            try:
                await _answering(port)
                yield f"redis://127.0.0.1:{port}/0", process.pid
            finally:
                process.kill()
                process.wait()

    def _redis_program(self) -> str:
        """The machine's own, otherwise the one that a package brings along."""
        found = shutil.which("redis-server") or shutil.which("redis-server", path=self._environment.home / "bin")
        if found is None:
            raise Absent("there is no redis-server on this machine")
        return found


def _start_redis(program: str, port: int, folder: str) -> subprocess.Popen[bytes]:
    settings = ["--bind", "127.0.0.1", "--port", str(port), "--dir", folder, "--save", ""]
    durable = ["--appendonly", "yes", "--appendfsync", "everysec"]
    return subprocess.Popen([program, *settings, *durable], stdout=subprocess.DEVNULL)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def _answering(port: int) -> None:
    deadline_s = time.monotonic() + _REDIS_START_S_MAX
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError as error:
            if time.monotonic() > deadline_s:
                raise Absent("its redis-server does not start") from error
            await asyncio.sleep(_POLL_S)
        else:
            writer.close()
            return
