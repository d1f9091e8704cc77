"""What a shell proposes after a Tab."""

import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dueline.cli.naming import COMPLETION_S_MAX
from tests.api.serving import ServedApi
from tests.cli.conftest import COMMAND, Command
from tests.support.keys import ADMIN_KEY

URL = "http://127.0.0.1:9/"
Propose = Callable[..., list[str]]


@pytest.fixture
def propose(alone: Path) -> Propose:
    """What bash is told to propose for the last word, as its script asks."""

    def ask(line: str, **variables: str) -> list[str]:
        words = line.split(" ")
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(alone),
            "_DUELINE_COMPLETE": "complete_bash",
            "COMP_WORDS": "\n".join(words),
            "COMP_CWORD": str(len(words) - 1),
            "DUELINE_API_KEY": ADMIN_KEY,
            **variables,
        }
        asked = subprocess.run([COMMAND], env=environment, capture_output=True, text=True, timeout=60)
        assert asked.stderr == ""
        return asked.stdout.split()

    return ask


@pytest.mark.parametrize(
    ("shell", "told"),
    [("bash", "complete -o default -F"), ("zsh", "#compdef dueline"), ("fish", "complete --command dueline")],
)
def test_every_shell_gets_its_script(dueline: Command, shell: str, told: str) -> None:
    ended = dueline("completion", shell)
    assert (ended.code, told in ended.out, "_DUELINE_COMPLETE" in ended.out) == (0, True, True)


def test_another_shell_is_bad_input(dueline: Command) -> None:
    assert dueline("completion", "tcsh").code == 2


def test_bash_takes_the_script(process: Command) -> None:
    script = process("completion", "bash").out
    checked = subprocess.run(["bash", "--norc", "-c", f"{script}\ncomplete -p dueline"], capture_output=True, text=True)
    assert (checked.returncode, "_dueline_completion" in checked.stdout) == (0, True)


def test_nouns_verbs_and_options_are_proposed(propose: Propose) -> None:
    assert {"job", "jobtype"} <= set(propose("dueline jo"))
    assert {"delete"} <= set(propose("dueline job d"))
    assert "--output" in propose("dueline job list --ou")
    assert {"table", "json", "yaml"} <= set(propose("dueline job list --output "))


def test_names_of_jobs_are_asked_of_the_server(cli: Command, propose: Propose, api: ServedApi) -> None:
    for name in ("tab-a", "tab-b", "tab with spaces", "other"):
        cli("job", "create", "--url", URL, "--name", name)
    server = {"DUELINE_URL": api.url}
    assert propose("dueline job get tab", **server) == ["tab-a", "tab-b"]
    assert propose("dueline run list --job tab-b", **server) == ["tab-b"]
    assert propose(f"dueline --server {api.url} job pause tab-a") == ["tab-a"], "the server that the line names"
    assert propose("dueline job get none", **server) == []


def test_profiles_are_proposed(process: Command, propose: Propose) -> None:
    process("profile", "add", "near", "http://near.test")
    process("profile", "add", "far", "http://far.test")
    assert propose("dueline --profile n") == ["near"]
    assert propose("dueline profile use ") == ["far", "near"]


def test_a_server_that_is_away_or_silent_proposes_nothing_and_soon(propose: Propose) -> None:
    assert propose("dueline job get a", DUELINE_URL=URL) == []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began_s = time.monotonic()
        assert propose("dueline job get a", DUELINE_URL=f"http://127.0.0.1:{silent.getsockname()[1]}") == []
        assert time.monotonic() - began_s < COMPLETION_S_MAX + 20, "it waits for so long at most, and starts"
    assert propose("dueline job get a", DUELINE_PROFILE="none") == []
    assert propose("dueline job get a", DUELINE_URL="not a url") == []
