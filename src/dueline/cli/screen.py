"""A terminal that is drawn anew again and again, and that is left as it was found, however the command ends."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
"""Another page, no cursor, and no line that goes on in the next."""
_LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l"
_HOME, _LINE_END, _REST = "\x1b[H", "\x1b[K", "\x1b[J"
_ENDING = (signal.SIGTERM, signal.SIGHUP)
_KEYS_BYTES_MAX = 64


class Screen:
    """From entry to exit the terminal of stdout is a page of this command's own, and keys are read as they are pressed. A signal that ends
    the command leaves the page first; one that stops it leaves it too, and comes back to it."""

    def __init__(self) -> None:
        self._out = sys.stdout.fileno()
        self._keys = sys.stdin.fileno() if sys.stdin.isatty() else None
        self._mode: list[Any] | None = None
        self._handlers: dict[int, Any] = {}
        self._wake_read, self._wake_write, self._woken_before = -1, -1, -1

    def __enter__(self) -> Self:
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        # Written to at once, unlike what a handler does, which may come too late for whoever is just about to wait.
        self._woken_before = signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        for number in _ENDING:
            self._handle(number, _end)
        self._handle(signal.SIGWINCH, _wake)
        self._handle(signal.SIGTSTP, self._stop)
        self._take()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._give_back()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._woken_before)
        os.close(self._wake_read)
        os.close(self._wake_write)

    @property
    def size(self) -> os.terminal_size:
        """As it is at this moment: somebody may have a hand on the window."""
        try:
            return os.get_terminal_size(self._out)
        except OSError:
            return os.terminal_size((80, 24))

    def draw(self, lines: Sequence[str]) -> None:
        """Show lines in place of those before; what does not fit below is left out. In one write, so that nothing flickers."""
        shown = lines[: self.size.lines]
        self._write(_HOME + f"{_LINE_END}\r\n".join(shown) + _LINE_END + _REST)

    def wait(self, for_s: float) -> str:
        """Let time pass. Ends early with the keys that were pressed, or with nothing when the size has changed."""
        sources = [self._wake_read] if self._keys is None else [self._wake_read, self._keys]
        ready, _, _ = select.select(sources, [], [], max(for_s, 0))
        if self._wake_read in ready:
            os.read(self._wake_read, _KEYS_BYTES_MAX)
        if self._keys is not None and self._keys in ready:
            pressed = os.read(self._keys, _KEYS_BYTES_MAX)
            if not pressed:
                # The terminal is gone: nobody sees this any more.
                raise KeyboardInterrupt
            return pressed.decode("ascii", "ignore")
        return ""

    def _take(self) -> None:
        if self._keys is not None:
            self._mode = termios.tcgetattr(self._keys)
            tty.setcbreak(self._keys, termios.TCSANOW)
        self._write(_ENTER)

    def _give_back(self) -> None:
        # A terminal that is gone takes nothing back.
        with suppress(OSError):
            self._write(_LEAVE)
        if self._keys is not None and self._mode is not None:
            with suppress(termios.error, OSError):
                termios.tcsetattr(self._keys, termios.TCSANOW, self._mode)

    def _write(self, text: str) -> None:
        waiting = memoryview(text.encode("utf-8", "replace"))
        while waiting:
            waiting = waiting[os.write(self._out, waiting) :]

    def _handle(self, number: signal.Signals, handler: Callable[[int, FrameType | None], None]) -> None:
        self._handlers[number] = signal.signal(number, handler)

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        self._give_back()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        # Here it goes on, when somebody brings it back.
        signal.signal(number, self._stop)
        self._take()


def _wake(_number: int, _frame: FrameType | None) -> None:
    """That it came is all that matters."""


def _end(number: int, _frame: FrameType | None) -> None:
    """As the shell tells of a command that a signal ended."""
    sys.exit(128 + number)
