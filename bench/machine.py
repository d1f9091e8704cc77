"""What processes cost: processor time and memory. Nobody else in the bench reads /proc."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from bench.measured import Measured
from tests.support.postgres import PostgresServer
from tests.support.processes import children_of, cpu_s, cpu_with_children_s, resident_bytes


class Meter:
    """Measures from its making to `stop`. The processes are those of one contender, and must live until then.

    `server` is the process that forks whatever serves the database: what its children use counts, also of those that have ended.
    """

    def __init__(self, pids: Sequence[int], *, server: int | None = None) -> None:
        self._pids = pids
        self._server = server
        self._cpu_s = self._used()
        self._server_cpu_s = self._server_used()
        self.began_s = time.monotonic()

    def stop(self, count: int, *, notes: Mapping[str, float] | None = None) -> Measured:
        seconds = time.monotonic() - self.began_s
        return Measured(
            count=count,
            seconds=seconds,
            cpu_s=self._used() - self._cpu_s,
            server_cpu_s=self._server_used() - self._server_cpu_s,
            peak_bytes=sum(resident_bytes(pid, peak=True) for pid in self._pids),
            notes=dict(notes or {}),
        )

    def _used(self) -> float:
        return sum(map(cpu_s, self._pids))

    def _server_used(self) -> float:
        if self._server is None:
            return 0.0
        return cpu_with_children_s(self._server)


class Used(NamedTuple):
    """Processor time that processes had used at a moment, with all their threads."""

    by_pid: dict[int, float]

    def since(self, earlier: Used) -> float:
        """What they used since then, those that began meanwhile included; what has ended is not known any more."""
        return sum(used_s - earlier.by_pid.get(pid, 0.0) for pid, used_s in self.by_pid.items())


def used_by(pids: Iterable[int]) -> Used:
    return Used({pid: cpu_s(pid) for pid in pids})


def used_exactly(pids: Iterable[int]) -> Used:
    """The same of processes that have one thread each, to the nanosecond: a batch costs as much as one tick of the other clock."""
    found = {}
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            found[pid] = int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    return Used(found)


def used_by_server(server: PostgresServer) -> tuple[Used, Used]:
    """What a server used for somebody's connections, and for itself."""
    pids = children_of(server.pid)
    serving = {pid for pid in pids if "127.0.0.1(" in _title(pid)}
    return used_by(serving), used_by({server.pid, *pids} - serving)


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
