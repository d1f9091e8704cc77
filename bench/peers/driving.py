"""Drives a peer's programs from outside: fills, starts workers, lets them go at one instant, and sees when jobs have started."""

from __future__ import annotations

import asyncio
import struct
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from bench.machine import Meter
from bench.measured import Absent, Measured
from tests.support.processes import children_of, kill_all

ACT_S_MAX = 300.0
_READY_S_MAX = 30.0
_POLL_S = 0.002
# Of `programs/tally`: how many have started, and when the first did, in nanoseconds.
_TALLY = struct.Struct("=2q")


class Started(msgspec.Struct, frozen=True):
    """Jobs that have started in all processes of a peer, by the clock that no one sets."""

    count: int
    first_s: float


class Workers:
    """Processes of one peer that work on the same jobs."""

    def __init__(self, command: Sequence[str], asked: Mapping[str, Any], *, processes: int, folder: Path) -> None:
        self._tallies = folder / "tallies"
        self._tallies.mkdir()
        self._errors = (folder / "errors").open("w+b")
        argument = msgspec.json.encode({"do": "work", "tally": str(self._tallies), **asked}).decode()
        self._processes = [
            subprocess.Popen(
                [*command, argument], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, cwd=folder
            )
            for _ in range(processes)
        ]

    @property
    def pids(self) -> list[int]:
        """With those that they started."""
        return [pid for process in self._processes for pid in (process.pid, *children_of(process.pid))]

    async def wait_until_ready(self) -> None:
        """All are imported and connected, and none has begun."""
        for process in self._processes:
            assert process.stdout is not None
            # Some have a banner.
            lines = iter(process.stdout.readline, b"")
            try:
                async with asyncio.timeout(_READY_S_MAX):
                    is_ready = await asyncio.to_thread(lambda lines: b"ready\n" in lines, lines)
            except TimeoutError:
                is_ready = False
            if not is_ready:
                self.kill()
                raise Absent(f"its worker does not start: {self._complaint()}")

    def go(self) -> None:
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(b"go\n")
            process.stdin.flush()

    def started(self) -> Started:
        words = [
            _TALLY.unpack(data) for path in self._tallies.iterdir() if len(data := path.read_bytes()) == _TALLY.size
        ]
        words = [some for some in words if some[0]]
        return Started(
            sum(some[0] for some in words),
            min((some[1] for some in words), default=0) / 1e9,
        )

    async def wait_for(self, count: int, *, within_s: float = ACT_S_MAX) -> Started:
        """Until so many jobs have started."""
        deadline_s = time.monotonic() + within_s
        while (started := self.started()).count < count:
            if time.monotonic() > deadline_s or any(process.poll() is not None for process in self._processes):
                raise Absent(f"it started {started.count} of {count} jobs: {self._complaint()}")
            await asyncio.sleep(_POLL_S)
        return started

    async def starts_s(self) -> list[float]:
        """End, and tell when each job started, if that was kept."""
        starts: list[float] = []
        for process in self._processes:
            told, _ = await asyncio.wait_for(asyncio.to_thread(process.communicate), _READY_S_MAX)
            starts += msgspec.json.decode(told.splitlines()[-1])
        return starts

    def kill(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                children = children_of(process.pid)
                process.kill()
                kill_all(children, within_s=_READY_S_MAX)
            process.wait()

    def close(self) -> None:
        self.kill()
        for process in self._processes:
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                pipe.close()
        self._errors.close()

    def _complaint(self) -> str:
        self._errors.seek(0)
        return _last_words(self._errors.read()) or "it says nothing"


@asynccontextmanager
async def workers(command: Sequence[str], asked: Mapping[str, Any], *, processes: int) -> AsyncIterator[Workers]:
    """Ready to go; whatever happens, none of them outlives this."""
    with tempfile.TemporaryDirectory() as folder:
        some = Workers(command, asked, processes=processes, folder=Path(folder))
        try:
            await some.wait_until_ready()
            yield some
        finally:
            some.close()


async def act(command: Sequence[str], what: str, asked: Mapping[str, Any]) -> None:
    """One thing that a program does by itself, such as to fill."""
    argument = msgspec.json.encode({"do": what, **asked}).decode()
    process = await asyncio.create_subprocess_exec(
        *command, argument, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), ACT_S_MAX)
    except TimeoutError as error:
        process.kill()
        await process.wait()
        raise Absent(f"to {what} takes it more than {ACT_S_MAX:.0f} s") from error
    if process.returncode != 0:
        raise Absent(f"it cannot {what}: {_last_words(said)}")


async def drained(
    some: Workers,
    count: int,
    *,
    let_go: Callable[[], Awaitable[None]] | None = None,
    until_durable: Callable[[], Awaitable[None]] | None = None,
    server_pid: int | None = None,
) -> Measured:
    """Measure from the moment in which workers may take jobs to the one in which the last job is durably finished.

    `let_go` lets those take jobs that run already and wait for it; the others are told to run. Without `until_durable` what is durable is
    so when the last job starts.
    """
    meter = Meter(some.pids, server=server_pid)
    if let_go is None:
        some.go()
    else:
        await let_go()
    started = await some.wait_for(count)
    if until_durable is not None:
        await until_durable()
    return meter.stop(count, notes={"s until the first start": started.first_s - meter.began_s})


def _last_words(said: bytes) -> str:
    """What a program said in the end, as one line."""
    return " ".join(said.decode(errors="replace").split())[-300:]
