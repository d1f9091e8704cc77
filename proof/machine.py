"""A watch on the machine itself, as a process of its own: what stands still because the machine does is nobody's fault.

`python -m proof.machine LOG` sleeps for a moment and syncs a few bytes, again and again, until its standard input closes. Where one of the
two took far longer than it should it writes down which and when: a disk that did not answer, or processors that were somebody else's.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from proof.records import Stall

STALL_S = 0.25
"""As long as a start may be late: what is shorter explains nothing."""
_STEP_S = 0.1


class Watch:
    """The watch, seen from the scenario."""

    def __init__(self, log: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "proof.machine", str(log)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        self._process.communicate()


def _watch(log: str) -> None:
    stalls = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    probe = os.open(f"{log}.probe", os.O_WRONLY | os.O_CREAT, 0o600)
    began_s, asked_to_end = time.time(), False
    print("watching", flush=True)
    while not asked_to_end:
        asked_to_end = bool(select.select([sys.stdin], [], [], _STEP_S)[0])
        woke_s = time.time()
        os.pwrite(probe, b"a few bytes", 0)
        os.fdatasync(probe)
        synced_s = time.time()
        for what, since_s, until_s in (("processors", began_s + _STEP_S, woke_s), ("disk", woke_s, synced_s)):
            if until_s - since_s >= STALL_S:
                os.write(stalls, msgspec.json.encode(Stall(what=what, begin_s=since_s, end_s=until_s)) + b"\n")
        # One look begins where the last one ended: no moment is between them.
        began_s = synced_s
    os.unlink(f"{log}.probe")


if __name__ == "__main__":
    _watch(sys.argv[1])
