"""A real server for the examples, and the examples started as their readers start them."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from dueline import Client
from tests.support.dueline import DuelineProcess, processes

EXAMPLES = Path(__file__).parents[2] / "examples"
WAIT_S_MAX = 60.0
POLL_S = 0.05


class Stage:
    """A Dueline, and programs of a folder that know where it is."""

    def __init__(self, folder: Path, where: Path, client: Client, variables: Mapping[str, str]) -> None:
        self.client = client
        self._log = folder / "program.log"
        self._where = where
        self._variables = variables

    def run(self, *command: str, fails: bool = False) -> str:
        """Run a Python program to its end; answers what it said."""
        with self.start(*command) as program:
            code = program.wait(WAIT_S_MAX)
        assert (code != 0) == fails, self.said
        return self.said

    @contextmanager
    def start(self, *command: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
        """A Python program that runs beside the test, and not longer."""
        with self._log.open("wb") as log:
            program = subprocess.Popen(
                [sys.executable, "-B", "-W", "error", *command],
                cwd=self._where,
                env=os.environ | self._variables | variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            yield program
        finally:
            program.kill()
            program.wait()

    @property
    def said(self) -> str:
        """What the last program said."""
        return self._log.read_text()


@contextmanager
def stage(folder: Path, *arguments: str, where: Path = EXAMPLES, **variables: str) -> Iterator[Stage]:
    """A server whose tasks are found in the folder `where`, in which the programs are started, too. All of them have the variables."""
    found = {"PYTHONPATH": str(where), "PYTHONDONTWRITEBYTECODE": "1"}
    with processes() as started:
        server = DuelineProcess(
            folder,
            "serve",
            *("serve", "--port", "0", *arguments),
            db=str(folder / "dueline.db"),
            environment=found | variables,
        )
        started.append(server)
        url = server.wait_until_running()
        assert url is not None
        with Client(url) as client:
            yield Stage(folder, where, client, {"DUELINE_URL": url, **variables})
