"""Signals: the first asks a process to drain, the second forces it."""

from __future__ import annotations

import asyncio
import signal


class Stop:
    """What a process waits for while it drains, and what tells it to hurry."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.forced = asyncio.Event()

    def ask(self) -> None:
        if self.asked.is_set():
            self.forced.set()
        self.asked.set()

    def on_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.ask)
