"""What processes have used so far."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests.support.postgres import PostgresServer
from tests.support.processes import children_of

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Used(NamedTuple):
    """Processor time that processes had used at a moment, with all their threads."""

    by_pid: dict[int, float]

    def since(self, earlier: Used) -> float:
        """What they used since then, those that began meanwhile included; what has ended is not known any more."""
        return sum(used_s - earlier.by_pid.get(pid, 0.0) for pid, used_s in self.by_pid.items())


def used_by(pids: Iterable[int]) -> Used:
    return Used({pid: _cpu_s(pid) for pid in pids})


def used_by_server(server: PostgresServer) -> tuple[Used, Used]:
    """What a server used for somebody's connections, and for itself."""
    pids = children_of(server.pid)
    serving = {pid for pid in pids if "127.0.0.1(" in _title(pid)}
    return used_by(serving), used_by({server.pid, *pids} - serving)


def _cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) * _TICK_S


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
