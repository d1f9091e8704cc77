"""A terminal with somebody at it: commands that draw are run in one, typed at, resized, and read."""

import fcntl
import os
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cli.conftest import COMMAND
from tests.support.keys import ADMIN_KEY

WAIT_S_MAX = 30.0
ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
_LEFT_AS_FOUND = ("\x1b[?7h", "\x1b[?25h", LEAVE)


class Terminal:
    """A command in a session of its own, with this as its controlling terminal."""

    def __init__(self, *args: str, home: Path, columns: int, lines: int, variables: dict[str, str]) -> None:
        self._master, self._slave = os.openpty()
        self.resize(columns, lines)
        self._mode = self.mode
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "TERM": "xterm",
            "DUELINE_API_KEY": ADMIN_KEY,
            **variables,
        }
        self.process = subprocess.Popen(
            ["setsid", "--ctty", str(COMMAND), *args],
            env=environment,
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
        )
        self.seen = ""

    @property
    def mode(self) -> list[Any]:
        return termios.tcgetattr(self._slave)

    @property
    def is_as_found(self) -> bool:
        """Whether the mode is the one before, and the page, the cursor and the wrapping of lines were given back last."""
        given_back = all(
            self.seen.rfind(sequence) > self.seen.rfind(sequence[:-1] + other)
            for sequence, other in zip(_LEFT_AS_FOUND, ("l", "l", "h"), strict=True)
        )
        return self.mode == self._mode and given_back

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def wait_for(self, text: str, *, times: int = 1) -> None:
        """Until it was seen so often."""
        deadline = time.monotonic() + WAIT_S_MAX
        while self.seen.count(text) < times:
            assert time.monotonic() < deadline, f"{text!r} is not in {self.seen!r}"
            assert self.process.poll() is None or self._read(0.0), f"it ended: {self.seen!r}"
            self._read(0.1)

    def exit_code(self) -> int:
        """Wait until it has ended by itself, reading what it shows."""
        deadline = time.monotonic() + WAIT_S_MAX
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it does not end: {self.seen!r}"
            self._read(0.05)
        while self._read(0.0):
            pass
        return self.process.returncode

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        os.close(self._slave)
        os.close(self._master)

    def _read(self, wait_s: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], wait_s)
        if ready:
            self.seen += os.read(self._master, 65_536).decode("utf-8", "replace")
        return bool(ready)


@contextmanager
def terminal(*args: str, home: Path, columns: int = 120, lines: int = 40, **variables: str) -> Iterator[Terminal]:
    """A command at a terminal, which does not outlive the test."""
    one = Terminal(*args, home=home, columns=columns, lines=lines, variables=variables)
    try:
        yield one
    finally:
        one.close()
