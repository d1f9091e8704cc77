"""A command loads what it needs, and is listed as it tells of itself."""

import subprocess
import sys

import pytest

from dueline.cli.nouns import ALONE, NOUNS, Unloaded

NOT_FOR_CLIENTS = {
    *("apsw", "asyncpg", "pycurl", "httptools", "uvloop", "uvicorn", "starlette", "prometheus_client", "structlog"),
    *("asyncio", "sqlite3", "yaml", "dateutil", "cryptography"),
    *("dueline.api", "dueline.engine", "dueline.store", "dueline.worker", "dueline.tasks", "dueline.declared"),
}
"""What only servers, workers and files of jobs need."""
CALLING_AND_DRAWING = {"msgspec", "rich", "http", "ssl", "dueline.sdk", "dueline.config", "dueline.wire"}
SHARED = {"run": {"runs", "events", "jobtypes"}, "job": {"jobs", "jobtypes", "upcoming"}}
"""The modules of nouns from which others take something."""


def loaded_by(program: str) -> set[str]:
    """Every module that a program has loaded when it ends, and every package that one of them is in."""
    ending = "finally:\n    print('\\n' + ' '.join(sys.modules))"
    told = f"import sys\ntry:\n    {program}\nexcept SystemExit:\n    pass\n{ending}"
    environment = {"DUELINE_URL": "http://127.0.0.1:9", "HOME": "/nowhere"}
    ended = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, env=environment, timeout=60)
    modules = ended.stdout.splitlines()[-1].split()
    return {
        ".".join(parts[:depth]) for parts in (name.split(".") for name in modules) for depth in range(1, len(parts) + 1)
    }


def loaded_for(*args: str) -> set[str]:
    return loaded_by(f"from dueline.cli.main import main; main({list(args)!r})")


@pytest.mark.parametrize("name", ALONE | NOUNS)
def test_a_command_is_listed_as_it_tells_of_itself(name: str) -> None:
    listed = Unloaded(name, help=(ALONE | NOUNS)[name].line)
    whole = listed.load()
    assert [listed.get_short_help_str(letters) for letters in (45, 1_000)] == [
        whole.get_short_help_str(letters) for letters in (45, 1_000)
    ]


@pytest.mark.parametrize("args", [("--version",), ("--help",), ("jbo",), ("--nope",)])
def test_what_lists_commands_loads_none_of_them(args: tuple[str, ...]) -> None:
    loaded = loaded_for(*args)
    assert not loaded & CALLING_AND_DRAWING
    assert not loaded & {f"dueline.cli.{home.module}" for home in (ALONE | NOUNS).values()}


@pytest.mark.parametrize(
    "args",
    [("run", "list"), ("job", "create", "--url", "http://127.0.0.1:9/"), ("job", "create", "--help")],
)
def test_a_command_loads_no_other_noun_and_nothing_of_a_server(args: tuple[str, ...]) -> None:
    loaded = loaded_for(*args)
    others = {home.module for home in (ALONE | NOUNS).values()} - SHARED[args[0]]
    assert not loaded & {f"dueline.cli.{module}" for module in others}
    assert not loaded & NOT_FOR_CLIENTS
    assert not loaded & {"dueline.domain.job", "dueline.wire.jobs", "dueline.wire.runs"}, (
        "answers are passed on as they are"
    )
    assert ("dueline.sdk.client" in loaded) == ("--help" not in args)
    assert "rich" not in loaded, "nothing was drawn"
