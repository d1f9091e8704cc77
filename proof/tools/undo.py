"""What is done to the machine is undone, however this process ends: by a child that waits for the end of its standard input.

Run as a program, this file is that child. It imports nothing but the standard library, to start quickly.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

COMMAND_S_MAX = 20.0


class UndoFailed(RuntimeError):
    """Something was left behind; the message says what."""


class Undo:
    """Leaving runs the commands that were given to `later`, the last one first.

    A command is told before what it undoes is done; so one that fails counts only when nothing else has failed before.
    """

    def __enter__(self) -> Self:
        self._child = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C at the terminal is for us, not for whoever cleans up.
        )
        return self

    def later(self, *command: str | Path) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps([str(part) for part in command]).encode() + b"\n")
        self._child.stdin.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _, complaints = self._child.communicate()
        if complaints and error is None:
            raise UndoFailed(complaints.decode(errors="replace"))


def main() -> None:
    commands: list[list[str]] = [json.loads(line) for line in sys.stdin]
    complaints = [complaint for command in reversed(commands) if (complaint := run(command))]
    # Only now: whoever would have read it may be dead.
    sys.stderr.write("\n".join(complaints))


def run(command: list[str]) -> str | None:
    try:
        subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_S_MAX, check=True)
    except subprocess.CalledProcessError as error:
        return f"{' '.join(command)}: status {error.returncode}: {error.stderr}"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{' '.join(command)}: {error}"
    return None


if __name__ == "__main__":
    main()
