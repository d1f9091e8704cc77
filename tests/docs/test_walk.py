"""The walk of the README, taken by its own words: each block is run by a shell as it stands there, and what the text says must come true.

Only ports, the home of the user and the place of the command differ from a reader's, and `make run` is started as what it starts.
"""

import fcntl
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest

from dueline import Client
from dueline.sdk.models import RunKind, RunState
from tests.support.dueline import DuelineProcess, processes
from tests.support.ports import kept_port

ROOT = Path(__file__).parents[2]
SECTION = (ROOT / "README.md").read_text().partition("## A first job\n")[2].partition("\n## ")[0]
PROSE = " ".join(SECTION.split())
BLOCKS: list[str] = re.findall(r"```sh\n(.*?)```", SECTION, re.DOTALL)
WAIT_S_MAX = 60.0
POLL_S = 0.02

UNSET = ["DB", "HOST", "URL", "CONFIG", "LOG_FORM", "HOST_SHARE", "ADMIN_KEY", "API_KEY", "KEY_DIR"]
NEWCOMER = {f"DUELINE_{name}": "" for name in UNSET} | {"XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""}
"""What a newcomer has not set. An empty variable counts as unset."""


class Terminal:
    """A shell in which blocks are run one after the other. It ends at the first command that fails."""

    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        self._folder = folder
        self._variables = {**os.environ, **variables}
        self._count = 0
        self._shell = subprocess.Popen(
            ["bash", "-e"],
            cwd=folder,
            env=self._variables,
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def run(self, block: str) -> str:
        """What a block says."""
        self._count += 1
        script, said, done = (self._folder / f"block-{self._count}.{end}" for end in ("sh", "out", "done"))
        script.write_text(block)
        assert self._shell.stdin is not None
        self._shell.stdin.write(f". {script} > {said} 2>&1 < /dev/null\ntouch {done}\n".encode())
        self._shell.stdin.flush()
        wait_until(lambda: done.exists() or self._shell.poll() is not None, block)
        assert done.exists(), f"{block}{said.read_text()}"
        return said.read_text()

    def run_until(self, block: str, expected: str) -> str:
        """Look again and again, as a reader does, until a block shows what the text says."""
        deadline = time.monotonic() + WAIT_S_MAX
        while not re.search(expected, said := self.run(block)):
            assert time.monotonic() < deadline, said
        return said

    def seen(self, block: str, *, columns: int) -> str:
        """What a block shows at a terminal of so many columns: there a table is made to fit, and elsewhere it is not."""
        master, slave = os.openpty()
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        shown = b""
        try:
            variables = {**self._variables, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "NO_COLOR": "1"}
            command = ["bash", "-e", "-c", block]
            with subprocess.Popen(command, env=variables, stdin=slave, stdout=slave, stderr=slave) as process:
                while process.poll() is None or select.select([master], [], [], 0)[0]:
                    if select.select([master], [], [], POLL_S)[0]:
                        shown += os.read(master, 65_536)
            assert process.returncode == 0, shown
        finally:
            os.close(slave)
            os.close(master)
        return shown.decode()

    def close(self) -> None:
        """End the shell with all that it left running."""
        with suppress(ProcessLookupError):
            os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.wait()
        assert self._shell.stdin is not None
        self._shell.stdin.close()


def wait_until(holds: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + WAIT_S_MAX
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(POLL_S)


def started_by_make_run() -> list[str]:
    """The command that `make run` starts, once everything is set up."""
    recipe = (ROOT / "Makefile").read_text().partition("\nrun:")[2].partition("\n\n")[0]
    found = re.search(r"\.venv/bin/dueline (.*)$", recipe)
    assert found is not None
    return found[1].split()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    return home


@pytest.fixture
def server(home: Path) -> Iterator[DuelineProcess]:
    """What `make run` starts, at a free port, for somebody who has never started it."""
    assert BLOCKS[0] == "make run\n"
    with processes() as started:
        started.append(
            DuelineProcess(
                home,
                "serve",
                *started_by_make_run(),
                db="",
                private_targets="auto",
                environment=NEWCOMER | {"DUELINE_PORT": "0"},
            )
        )
        yield started[0]


@pytest.fixture
def target_port() -> Iterator[int]:
    with kept_port() as port:
        yield port


@pytest.fixture
def terminal(home: Path, server: DuelineProcess) -> Iterator[Terminal]:
    url = server.wait_until_running()
    assert url is not None
    # Commands are told where the server is, since it is not at the port that they expect. They find the key by themselves.
    variables = {"HOME": str(home), "TMPDIR": str(home), "no_proxy": "127.0.0.1"}
    terminal = Terminal(home, variables | NEWCOMER | {"DUELINE_URL": url})
    yield terminal
    terminal.close()


@pytest.fixture
def blocks(server: DuelineProcess, target_port: int) -> Iterator[str]:
    """What is typed into the second terminal, with the ports of this test and the command of this environment."""
    url = server.wait_until_running()
    assert url is not None
    own = {"8700": url.rpartition(":")[2], "8701": str(target_port), "$PWD/.venv/bin": str(Path(sys.executable).parent)}
    return (re.sub(r"8700|8701|\$PWD/\.venv/bin", lambda found: own[found[0]], block) for block in BLOCKS[1:])


@pytest.mark.skipif(shutil.which("curl") is None, reason="the last step of the walk takes curl")
def test_a_newcomer_gets_to_the_end(
    home: Path, server: DuelineProcess, terminal: Terminal, blocks: Iterator[str], target_port: int
) -> None:
    url = server.wait_until_running()
    (key_file,) = (home / ".local/share/dueline/keys").iterdir()
    with Client(url, api_key=key_file.read_text().strip()) as client:
        have_something_to_call(terminal, next(blocks), target_port)

        assert "greeting" in terminal.run(next(blocks))
        (job,) = client.jobs.list()
        assert (job.name, job.schedule and job.schedule.every) == ("greeting", "PT2S")

        terminal.run_until(next(blocks), "succeeded")
        (calls,) = home.glob("*/calls.log")
        assert '"GET /greeting.txt HTTP/1.1" 200' in calls.read_text()

        terminal.run(next(blocks))
        error = re.findall(r"`(the target answered \d+)`", PROSE)[0]
        see_why = next(blocks)
        terminal.run_until(see_why, error)
        assert error in " ".join(terminal.seen(see_why, columns=80).split())
        assert {letter.run.error for letter in client.dead_letters.list()} == {error}

        terminal.run(next(blocks))
        again = client.jobs.run(job.id, force=True)
        assert client.runs.wait(again.id, timeout_s=WAIT_S_MAX).state == RunState.SUCCEEDED

        failed = {letter.id for letter in client.dead_letters.list()}
        said = terminal.run(next(blocks))
        assert re.search(rf"Tried {len(failed)} again", said)
        redriven = [*client.runs.list(kind=RunKind.REDRIVE)]
        assert {run.parent_run_id for run in redriven} == failed
        assert all(run.id in said for run in redriven)
        for run in redriven:
            assert client.runs.wait(run.id, timeout_s=WAIT_S_MAX).state == RunState.SUCCEEDED

        assert '"every":"PT5S"' in terminal.run(next(blocks)).replace(" ", "")
        assert len([*client.jobs.list()]) == 2
    assert next(blocks, None) is None


def have_something_to_call(terminal: Terminal, block: str, port: int) -> None:
    """The server of files is there a moment after the block, and a reader takes that long to read on."""
    terminal.run(block)

    def answers() -> bool:
        with suppress(OSError), closing(HTTPConnection("127.0.0.1", port, timeout=WAIT_S_MAX)) as connection:
            connection.request("GET", "/greeting.txt")
            return connection.getresponse().read() == b"hello\n"
        return False

    wait_until(answers, "nobody answers at the port of the target")


@pytest.mark.parametrize(
    "command", re.findall(r"`(?:dueline )?(job [a-z]+|deadletter [a-z]+|run [a-z]+)[^`]*`", PROSE), ids=str
)
def test_every_command_in_the_text_exists(command: str) -> None:
    called = [sys.executable, "-m", "dueline", *command.split(), "--help"]
    assert subprocess.run(called, stdout=subprocess.DEVNULL).returncode == 0


def test_every_way_to_say_when_is_understood() -> None:
    shown = re.findall(r'`--(cron|schedule) "([^"]+)"`', PROSE)
    assert len(shown) == 2
    for _, text in shown:
        called = [sys.executable, "-m", "dueline", "schedule", "preview", text]
        assert subprocess.run(called, stdout=subprocess.DEVNULL).returncode == 0
