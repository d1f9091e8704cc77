"""Programs that measure from inside: started, told to go at one instant, and heard when they are done.

A program says `ready` when it could begin, begins at the first line that it reads, says what it did as one line of JSON when that is
durable, and ends when nothing more can be read. It is imported and connected before the clock runs, and lives until it was looked at.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

_START_S_MAX = 30.0
_DONE_S_MAX = 120.0


class Program:
    def __init__(self, process: Process) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ready(self) -> None:
        line = await asyncio.wait_for(self._line(), _START_S_MAX)
        assert line == b"ready\n", f"a program says {line!r}"

    def go(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(b"go\n")

    async def done(self) -> dict[str, Any]:
        line = await asyncio.wait_for(self._line(), _DONE_S_MAX)
        assert line, "a program ended before it was done"
        told: dict[str, Any] = msgspec.json.decode(line)
        return told

    async def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), _START_S_MAX)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    async def _line(self) -> bytes:
        assert self._process.stdout is not None
        return await self._process.stdout.readline()


@asynccontextmanager
async def programs(*commands: Sequence[str]) -> AsyncIterator[list[Program]]:
    """Python modules with their arguments, each a process; all of them are ready."""
    started: list[Program] = []
    try:
        for module, *arguments in commands:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", module, *arguments, stdin=PIPE, stdout=PIPE
            )
            started.append(Program(process))
        for program in started:
            await program.ready()
        yield started
    finally:
        for program in started:
            await program.end()


def say_ready_and_wait() -> None:
    """The program's side: until it is told to go."""
    print("ready", flush=True)
    sys.stdin.readline()


def say_done_and_wait(told: dict[str, Any]) -> None:
    """The program's side: what it did, then until nobody looks any more."""
    print(msgspec.json.encode(told).decode(), flush=True)
    sys.stdin.read()
