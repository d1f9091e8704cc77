"""Processes of Dueline for tests: started, killed, stopped and read from outside."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec

from tests.support.keys import ADMIN_KEY
from tests.support.processes import is_alive

START_S_MAX = 20.0
STOP_S_MAX = 40.0
POLL_S = 0.01
_URL = re.compile(r"http://127\.0\.0\.1:(\d+)")


class DuelineProcess:
    """One `dueline ROLE` process, with its log as JSON lines in a file. The targets of tests have private addresses."""

    def __init__(
        self,
        folder: Path,
        name: str,
        *arguments: str,
        db: str,
        private_targets: Literal["allow", "deny", "auto"] = "allow",
        host_share: float = 1.0,
        module: str = "dueline",
        environment: Mapping[str, str] | None = None,
        within: Sequence[str] = (),
    ) -> None:
        """The usual test has one target, and it may have every slot. `within` goes before the command, as that of a namespace does."""
        self.name = name
        self._log = folder / f"{name}.log"
        variables = {name: value for name, value in os.environ.items() if not name.startswith("DUELINE_")}
        variables |= {"DUELINE_DB": db, "DUELINE_LOG_FORM": "json", "HOME": str(folder)}
        variables |= {"DUELINE_ADMIN_KEY": ADMIN_KEY, "DUELINE_API_KEY": ADMIN_KEY}
        variables["DUELINE_PRIVATE_TARGETS"] = private_targets
        variables["DUELINE_HOST_SHARE"] = str(host_share)
        variables |= environment or {}
        with self._log.open("ab") as log, (folder / f"{name}.out").open("ab") as out:
            self._process = subprocess.Popen(
                [*within, sys.executable, "-m", module, *arguments], stdout=out, stderr=log, env=variables
            )
        self._out = folder / f"{name}.out"

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """None while it lives."""
        return self._process.poll()

    def wait_until_running(self, *, within_s: float = START_S_MAX) -> str | None:
        """Until it says so; answers the address of its API, if it has one."""
        found = _URL.search(self.wait_until_said("is running", within_s=within_s))
        return found.group() if found else None

    def wait_until_said(self, text: str, *, within_s: float = START_S_MAX) -> str:
        """Until it has printed something; answers all that it has printed."""
        deadline = time.monotonic() + within_s
        while text not in (said := self._out.read_text()):
            assert self._process.poll() is None, f"{self.name} ended: {said}{self._log.read_text()}"
            assert time.monotonic() < deadline, f"{self.name} does not say {text!r}: {said}{self._log.read_text()}"
            time.sleep(POLL_S)
        return said

    @property
    def said(self) -> str:
        """What it has printed for people."""
        return self._out.read_text()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def ask_to_stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def stop(self) -> int:
        """Ask it to end in order; answers its exit code."""
        if self._process.poll() is None:
            self.ask_to_stop()
        return self.exit_code()

    def exit_code(self) -> int:
        """Wait until it has ended by itself."""
        return self._process.wait(STOP_S_MAX)

    def events(self) -> list[dict[str, Any]]:
        lines = self._log.read_bytes().splitlines()
        return [msgspec.json.decode(line) for line in lines if line.startswith(b"{")]

    def counted(self, event: str) -> int:
        """The sum of `count` over all events of a name."""
        return sum(entry.get("count", 1) for entry in self.events() if entry["event"] == event)

    def discard(self) -> None:
        if is_alive(self.pid):
            self.resume()
            self.kill()


@contextmanager
def processes() -> Iterator[list[DuelineProcess]]:
    """A list to put processes in; whatever happens, none of them outlives the test."""
    started: list[DuelineProcess] = []
    try:
        yield started
    finally:
        for process in started:
            process.discard()


class Witness:
    """The target as a process of its own, with its own log."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "target.log"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.target", "--port", "0", "--log", str(self._log)],
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}"

    def hits(self) -> list[dict[str, Any]]:
        lines = self._log.read_bytes().splitlines() if self._log.exists() else []
        return [msgspec.json.decode(line) for line in lines]

    def hits_per_run(self) -> Counter[str]:
        return Counter(hit["dueline-run"] for hit in self.hits())

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


@contextmanager
def witness(folder: Path) -> Iterator[Witness]:
    target = Witness(folder)
    try:
        yield target
    finally:
        target.close()
