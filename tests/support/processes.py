"""Questions about processes, answered by /proc."""

import os
import signal
import time
from pathlib import Path

POLL_S = 0.005
_TICKS_S = os.sysconf("SC_CLK_TCK")


def children_of(pid: int) -> list[int]:
    """The living children of a process."""
    stats = (_stat(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [stat[0] for stat in stats if stat is not None and stat[2] == pid]


def is_alive(pid: int) -> bool:
    """Whether the process exists and still runs; one that nobody has waited for yet is dead."""
    return _stat(pid) is not None


def owner_of(pid: int) -> int:
    """The user id that the process runs as."""
    return Path(f"/proc/{pid}").stat().st_uid


def resident_bytes(pid: int, *, peak: bool = False) -> int:
    """The memory that a process has now, or the most that it ever had."""
    name = "VmHWM:" if peak else "VmRSS:"
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def cpu_s(pid: int) -> float:
    """The processor time of a process, with all its threads. One that has just ended used none: its parent has it from then on."""
    return _spent_s(pid)[0]


def cpu_with_children_s(pid: int) -> float:
    """The same with its children, those that have ended included."""
    return sum(_spent_s(pid)) + sum(map(cpu_s, children_of(pid)))


def kill_all(pids: list[int], *, within_s: float) -> None:
    """Kill, and return when none of them lives."""
    for pid in pids:
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)
    wait_until_dead(pids, within_s=within_s)


def wait_until_dead(pids: list[int], *, within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while living := [pid for pid in pids if is_alive(pid)]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"processes {living} still live after {within_s} s")
        time.sleep(POLL_S)


def _stat(pid: int) -> tuple[int, str, int] | None:
    """The id, state and parent of a living process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field is the program's name in parentheses, which may itself hold spaces and parentheses.
    state, parent = text.rpartition(")")[2].split()[:2]
    return None if state in "ZX" else (pid, state, int(parent))


def _spent_s(pid: int) -> tuple[float, float]:
    """By the process itself, and by children of it that have ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0, 0.0
    user, system, children_user, children_system = map(int, text.rpartition(")")[2].split()[11:15])
    return (user + system) / _TICKS_S, (children_user + children_system) / _TICKS_S
