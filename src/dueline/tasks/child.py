"""A process that carries out tasks, one at a time, for the worker at the other end of a socket.

It is started as `python -P -m dueline.tasks.child FD`. The task has the main thread; another one listens, so that a task can be asked
to stop, and so that the process ends with its worker, whatever the task is doing.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from queue import SimpleQueue

from dueline.domain.errors import Invalid
from dueline.domain.run import no_such_task
from dueline.tasks.app import App
from dueline.tasks.attempts import attempt
from dueline.tasks.context import Context, Halt, Report
from dueline.tasks.frames import (
    Begin,
    Begun,
    Broken,
    Call,
    Ended,
    FromChild,
    Noise,
    Ready,
    ToChild,
    Told,
    Unpacker,
    pack,
)
from dueline.tasks.loading import load_app

_PIECE_BYTES = 64 * 1024
_WORKER_GONE = 70
"""The exit status of a process whose worker went away, or does not speak its language."""


class Child:
    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._sending = threading.Lock()
        self._begins: SimpleQueue[Begin] = SimpleQueue()
        self._calls: SimpleQueue[tuple[Call, Halt]] = SimpleQueue()

    def run(self) -> None:
        """Load the app, then carry out one call after the other. Never returns: the worker ends it, by a signal or by going away."""
        threading.Thread(target=self._listen, name="dueline-listener", daemon=True).start()
        begin = self._begins.get()
        sys.path[:] = begin.path
        try:
            app = load_app(begin.app)
        except Invalid as error:
            self._send(Broken(str(error)))
            sys.exit(1)
        self._send(Ready())
        while True:
            self._carry_out(app, *self._calls.get())

    def _carry_out(self, app: App, call: Call, halt: Halt) -> None:
        self._send(Begun())
        task = app.tasks.get(call.task)
        if task is None:
            outcome = no_such_task(call.task, app.tasks)
        else:
            outcome = attempt(task, call.arguments, Context(call.info, report=self._report, halt=halt))
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # What was printed is shown now; a task may have put anything there.
                stream.flush()
        self._send(Ended(outcome))

    def _report(self, report: Report) -> None:
        self._send(Told(report))

    def _send(self, message: FromChild) -> None:
        try:
            with self._sending:
                self._sock.sendall(pack(message))
        except OSError:
            os._exit(_WORKER_GONE)

    def _listen(self) -> None:
        unpacker: Unpacker[ToChild] = Unpacker(ToChild)
        halt = Halt()
        with contextlib.suppress(OSError, Noise):
            while piece := self._sock.recv(_PIECE_BYTES):
                for message in unpacker.feed(piece):
                    match message:
                        case Begin():
                            self._begins.put(message)
                        case Call():
                            halt = Halt()
                            self._calls.put((message, halt))
                        case _:
                            halt.reason = message.reason
        # Others will take over the run that is under way here: it must not go on beside theirs.
        os._exit(_WORKER_GONE)


def main() -> None:
    # The worker decides when its processes end, also when a terminal or a service manager signals all of them. A handler that does
    # nothing, rather than ignoring: programs that a task starts must not inherit it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    sock = socket.socket(fileno=int(sys.argv[1]))
    sock.set_inheritable(False)
    Child(sock).run()


if __name__ == "__main__":
    main()
