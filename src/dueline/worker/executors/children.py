"""One process that carries out tasks: its start, what it says, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable

from dueline.tasks.frames import Begin, FromChild, Noise, ToChild, Unpacker, pack

_PIECE_BYTES = 256 * 1024


class Child:
    """`heard` is called for each of its messages, then `gone` once, both on the loop. It dies with everything that it started."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        app: str,
        *,
        heard: Callable[[Child, FromChild], None],
        gone: Callable[[Child, str], None],
    ) -> None:
        """Start it. Raises OSError when the machine has no room for it."""
        self._loop = loop
        self._heard = heard
        self._gone = gone
        self._unpacker: Unpacker[FromChild] = Unpacker(FromChild)
        self._unsent = bytearray()
        self._sock, theirs = socket.socketpair()
        self._sock.setblocking(False)
        with theirs:
            try:
                # A session of its own: what it starts can be killed with it, and a terminal's signals do not reach it. Its output
                # is ours.
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "dueline.tasks.child", str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError:
                self._sock.close()
                raise
        self.is_dead = False
        self._reaping = threading.Lock()
        self._reaped = False
        loop.add_reader(self._sock, self._read)
        self.send(Begin(app, sys.path))
        self._watcher = threading.Thread(target=self._watch, name=f"dueline-watch-{self.pid}", daemon=True)
        self._watcher.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, message: ToChild) -> None:
        """Never blocks; what a dead process would have heard is dropped."""
        if self._sock.fileno() >= 0:
            self._unsent += pack(message)
            self._write()

    def kill(self) -> None:
        """End it and all that it started; `gone` follows."""
        with self._reaping, contextlib.suppress(ProcessLookupError):
            if not self._reaped:
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self, *, wait_s: float) -> None:
        """End it, listen no more, and wait until it is gone."""
        self.kill()
        self._watcher.join(wait_s)
        self._hang_up()

    def _write(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: self._sock.send(self._unsent)]
        except BlockingIOError:
            self._loop.add_writer(self._sock, self._write)
            return
        except OSError:
            self._unsent.clear()  # It is dead, and its watcher says so.
        self._loop.remove_writer(self._sock)

    def _read(self) -> bool:
        """Take in what has come; answers whether more may come."""
        try:
            piece = self._sock.recv(_PIECE_BYTES)
            for message in self._unpacker.feed(piece):
                self._heard(self, message)
        except BlockingIOError:
            return False
        except (OSError, Noise):
            piece = b""
        if not piece:
            # Whoever cannot be heard is as good as dead, and must not work on.
            self._loop.remove_reader(self._sock)
            self.kill()
        return bool(piece)

    def _watch(self) -> None:
        """In a thread of its own: wait for the end, however it comes."""
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        with self._reaping:
            # Until it is reaped, its number belongs to no other group. What it started and left behind ends here.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            status = self._process.wait()
            self._reaped = True
        with contextlib.suppress(RuntimeError):  # The loop is closed: nobody is left to tell.
            self._loop.call_soon_threadsafe(self._end, status)

    def _end(self, status: int) -> None:
        """What it said before it died still counts."""
        self.is_dead = True
        while self._sock.fileno() >= 0 and self._read():
            pass
        self._hang_up()
        self._gone(self, _how(status))

    def _hang_up(self) -> None:
        if self._sock.fileno() >= 0:
            self._loop.remove_reader(self._sock)
            self._loop.remove_writer(self._sock)
            self._sock.close()


def _how(status: int) -> str:
    if status >= 0:
        return f"exited with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    hint = ", perhaps for want of memory" if -status == signal.SIGKILL else ""
    return f"was killed by {name}{hint}"
