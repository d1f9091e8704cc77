"""The peers' side of a measurement: jobs count themselves, and the process says when it is ready and ends when it is told to.

It runs in the environment of a peer, so it needs nothing but Python.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
import threading
import time
from typing import Any

_INPUT = 0
_COUNT, _FIRST_NS = range(2)


class Tally:
    """How many jobs have started, and when the first did, in a file that is read from outside.

    Each process has a file of its own, which it makes with its first job: a process that only starts others has none.
    """

    def __init__(self, folder: str, *, keep: bool = False) -> None:
        """With `keep` it remembers when each job started, by the clock on the wall."""
        self.folder = folder
        self.starts_s: list[float] | None = [] if keep else None
        self._words: memoryview | None = None

    def started(self) -> None:
        words = self._words
        if words is None:
            words = self._words = self._made()
            words[_FIRST_NS] = time.monotonic_ns()
        words[_COUNT] += 1
        if self.starts_s is not None:
            self.starts_s.append(time.time())

    def _made(self) -> memoryview:
        path = os.path.join(self.folder, str(os.getpid()))
        with open(path, "w+b") as file:
            file.truncate(2 * 8)
            return memoryview(mmap.mmap(file.fileno(), 2 * 8)).cast("q")


def asked() -> dict[str, Any]:
    """What this program is to do: the one argument that it gets."""
    asked: dict[str, Any] = json.loads(sys.argv[1])
    return asked


def wait_for_go(tally: Tally) -> None:
    """Say that work could begin, and wait until it may. From then on the process ends when nothing more can be read."""
    print("ready", flush=True)
    os.read(_INPUT, 1024)
    threading.Thread(target=_end_with_input, args=(tally,), daemon=True).start()


def _end_with_input(tally: Tally) -> None:
    # Not through `sys.stdin`: a process that is forked meanwhile would wait for its lock for ever.
    while os.read(_INPUT, 1024):
        pass
    print(json.dumps(tally.starts_s or []), flush=True)
    os._exit(0)
