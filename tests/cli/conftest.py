"""Commands, in this process or in one of their own, against a real server."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dueline.cli.main import main
from dueline.runtime.clock import SystemClock
from dueline.store.sqlite.store import SqliteStore
from tests.api.serving import ServedApi
from tests.support.keys import ADMIN_KEY

COMMAND = Path(sys.executable).with_name("dueline")


class Ended(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Ended]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApi]:
    folder = tmp_path_factory.mktemp("store")
    with ServedApi(lambda: SqliteStore(folder / "dueline.db", SystemClock())) as api:
        yield api


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Nothing of the machine's own settings; answers the folder where data would go."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for variable in ("DUELINE_URL", "DUELINE_DB", "DUELINE_CONFIG", "DUELINE_API_KEY", "DUELINE_PROFILE"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path / "data"


@pytest.fixture
def dueline(alone: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """A command without a server, run in this process."""
    alone.mkdir()

    def run(*args: str) -> Ended:
        with pytest.raises(SystemExit) as ended:
            main(list(args))
        out, err = capsys.readouterr()
        return Ended(ended.value.code if isinstance(ended.value.code, int) else 0, out, err)

    return run


@pytest.fixture
def cli(dueline: Command, api: ServedApi, monkeypatch: pytest.MonkeyPatch) -> Command:
    """A command that talks to the server, run in this process."""
    monkeypatch.setenv("DUELINE_URL", api.url)
    monkeypatch.setenv("DUELINE_API_KEY", ADMIN_KEY)
    return dueline


@pytest.fixture
def process(alone: Path) -> Command:
    """The installed command, run as people run it; with `typed` somebody sits at a terminal and types that."""

    def run(*args: str, stdin: str = "", typed: str | None = None, **variables: str) -> Ended:
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(alone), "DUELINE_API_KEY": ADMIN_KEY, **variables}
        command = [str(COMMAND), *args]
        if typed is None:
            done = subprocess.run(command, input=stdin, capture_output=True, text=True, env=environment, timeout=60)
        else:
            with keyboard(typed) as keys:
                done = subprocess.run(command, stdin=keys, capture_output=True, text=True, env=environment, timeout=60)
        return Ended(done.returncode, done.stdout, done.stderr)

    return run


@contextmanager
def keyboard(typed: str) -> Iterator[int]:
    """The keyboard side of a terminal at which something was typed."""
    master, slave = os.openpty()
    try:
        os.write(master, typed.encode())
        yield slave
    finally:
        os.close(slave)
        os.close(master)
