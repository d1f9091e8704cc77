"""What processes have used so far."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from tests.support.postgres import PostgresServer
from tests.support.processes import children_of

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def cpu_s(pids: Iterable[int]) -> float:
    """Processor time of processes, with all their threads; of one that has ended, none."""
    return sum(_cpu_s(pid) for pid in pids)


def server_pids(server: PostgresServer) -> tuple[list[int], list[int]]:
    """The processes of a server that serve somebody's connection, and its own."""
    pids = children_of(server.pid)
    serving = [pid for pid in pids if "127.0.0.1(" in _title(pid)]
    return serving, [server.pid, *(pid for pid in pids if pid not in serving)]


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
