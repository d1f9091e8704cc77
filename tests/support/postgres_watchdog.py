"""Waits until its standard input closes, which it does however the tests end; then removes what they left.

Run as a program with the directory of one server and that of its data. It imports nothing but the standard library, to start quickly.
"""

import os
import shutil
import signal
import sys
import time
from pathlib import Path

STOP_S_MAX = 10.0
POLL_S = 0.05


def main(root: Path, data_dir: Path) -> None:
    sys.stdin.buffer.read()
    stop_postmaster(data_dir)
    shutil.rmtree(root, ignore_errors=True)


def stop_postmaster(data_dir: Path) -> None:
    """Stop the server at once, and with force if it does not obey."""
    for sign in (signal.SIGQUIT, signal.SIGKILL):
        deadline = time.monotonic() + STOP_S_MAX
        while (pid := postmaster_of(data_dir)) is not None and time.monotonic() < deadline:
            os.kill(pid, sign)
            time.sleep(POLL_S)


def postmaster_of(data_dir: Path) -> int | None:
    """The living postmaster. It works in its data directory, which tells it from a stranger with a reused id."""
    try:
        pid = int((data_dir / "postmaster.pid").read_text().split()[0])
        working_dir = Path(f"/proc/{pid}/cwd").readlink()
    except (OSError, ValueError, IndexError):
        return None
    return pid if working_dir == data_dir else None


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
