"""A start that is refused says why in one line, before anybody has seen the process; any other says what to try next, and it works."""

import re
import shlex
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dueline.sdk.client import PlainClient
from tests.cli.conftest import COMMAND, Command
from tests.support.dueline import DuelineProcess, processes

NONE_GIVEN = {"DUELINE_ADMIN_KEY": "", "DUELINE_API_KEY": ""}


@contextmanager
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


@pytest.mark.parametrize(
    ("arguments", "variables", "said"),
    [
        ((), {"DUELINE_ADMIN_KEY": "short"}, "admin_key: must have 8 to 200 printable ASCII letters, without spaces"),
        (("--host", "0.0.0.0"), {}, "host: 0.0.0.0 can be reached from the network, and there are no API keys yet"),
    ],
)
def test_a_refused_start_printed_the_life_of_a_node(
    tmp_path: Path, process: Command, arguments: tuple[str, ...], variables: dict[str, str], said: str
) -> None:
    refused = process("serve", "--port", "0", "--db", str(tmp_path / "db"), *arguments, **variables)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith(f"Error: {said}")
    assert len(refused.err.splitlines()) == 1


def test_a_port_in_use_is_one_error_and_costs_no_key(tmp_path: Path, process: Command) -> None:
    """The first key is shown once. A start that shows nothing must not have made it."""
    db, keys = str(tmp_path / "db"), str(tmp_path / "keys")
    with taken_port() as port:
        refused = process("serve", "--port", str(port), "--db", db, DUELINE_KEY_DIR=keys)
        assert (refused.code, refused.out) == (1, "")
        assert refused.err == f"Error: cannot listen on 127.0.0.1:{port}: Address already in use\n"
    with processes() as started:
        started.append(DuelineProcess(tmp_path, "next", "serve", "--port", "0", db=db, environment=NONE_GIVEN))
        started[0].wait_until_said("admin key, shown only now:")
        assert started[0].stop() == 0


def test_a_health_port_in_use_is_one_error(postgres_dsn: str, process: Command) -> None:
    with taken_port() as port:
        refused = process("scheduler", "--health-port", str(port), "--db", postgres_dsn)
        assert (refused.code, refused.out) == (1, "")
        assert refused.err == f"Error: cannot listen on 127.0.0.1:{port}: Address already in use\n"


def test_what_a_server_says_to_try_asked_another_server(tmp_path: Path) -> None:
    with processes() as started:
        started.append(
            DuelineProcess(tmp_path, "server", "serve", "--port", "0", db=str(tmp_path / "db"), environment=NONE_GIVEN)
        )
        url = started[0].wait_until_running()
        assert url is not None
        said = started[0].wait_until_said("   or: ")
        found = re.search(r"^Try: (dueline .*?)   or: ", said, re.MULTILINE)
        assert found is not None, said
        name, *arguments = shlex.split(found[1])
        assert name == "dueline"
        done = subprocess.run(
            [str(COMMAND), *arguments, "--output", "json"],
            capture_output=True,
            text=True,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        )
        assert (done.returncode, done.stderr) == (0, "")
        (key_file,) = (tmp_path / ".local/share/dueline/keys").iterdir()
        with PlainClient(url, api_key=key_file.read_text().strip()) as client:
            assert client.keys.caller()["role"] == "admin"
        assert started[0].stop() == 0
