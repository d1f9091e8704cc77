"""What processes have used of the processors, and the memory that they had at most."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from tests.support.processes import children_of, resident_bytes

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_s(pids: Iterable[int]) -> float:
    """Processor time of these processes, of their children, and of those of their children that have ended."""
    return sum(_own_cpu_s(pid) + sum(_own_cpu_s(child) for child in children_of(pid)) for pid in pids)


def peak_bytes(pids: Iterable[int]) -> int:
    """The most memory that each of these processes and their children ever had, added up."""
    return sum(resident_bytes(process, peak=True) for pid in pids for process in (pid, *children_of(pid)))


def _own_cpu_s(pid: int) -> float:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    # Fields 14 to 17: its own, in the program and in the kernel, and those of children that were waited for.
    return sum(map(int, text.rpartition(")")[2].split()[11:15])) / _TICKS_A_SECOND
