"""The programs of the guide to Python, run as they stand there against a real Dueline, and its tables held to the code."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dueline import Client
from dueline.domain.limits import JOBS_PER_CALL_MAX, RUNS_PER_CALL_MAX
from dueline.sdk import client as clients
from dueline.sdk import errors, pool
from dueline.sdk.endpoints import Composed, Endpoint, ListEndpoint, Resource
from dueline.sdk.resources import runs
from dueline.sdk.retries import RetryPolicy
from tests.support.dueline import DuelineProcess, processes
from tests.support.target import Answer, Target

TEXT = (Path(__file__).parents[2] / "docs" / "guides" / "python.md").read_text()
PROSE = " ".join(TEXT.split())
EXAMPLES: dict[str, str] = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", TEXT, re.DOTALL))
WAIT_S_MAX = 60.0

pytest_plugins = ["pytester"]


class World:
    """A Dueline, and somebody who answers its calls."""

    def __init__(self, folder: Path, url: str, target: Target) -> None:
        self.url = url
        self._folder = folder
        self._target = target

    async def said_by(self, name: str) -> list[str]:
        """The lines that a program of the guide prints."""
        program = EXAMPLES[name].replace("https://example.com", self._target.url)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-W", "error", "-c", program),
            env=os.environ | {"DUELINE_URL": self.url},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        async with asyncio.timeout(WAIT_S_MAX):
            said, _ = await process.communicate()
        assert process.returncode == 0, said.decode()
        return said.decode().splitlines()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with Target() as target:
        for path in ("hello", "mail", "sync", "a"):
            target.on(f"/{path}", lambda _: Answer(body=b"welcome"))
        with processes() as started:
            started.append(DuelineProcess(tmp_path, "serve", "serve", "--port", "0", db=str(tmp_path / "dueline.db")))
            url = started[0].wait_until_running()
            assert url is not None
            yield World(tmp_path, url, target)


async def test_the_programs_do_what_the_guide_says(world: World) -> None:
    (first,) = await world.said_by("first")
    assert first.startswith("sync is called next at 20")
    assert [line[10:] for line in await world.said_by("saying")] == ["T06:00:00.000Z"] * 3
    assert await world.said_by("waiting") == ["succeeded 200 welcome"]
    assert await world.said_by("following") == [
        "run.succeeded True True",
        "['run.created', 'attempt.started', 'attempt.ended', 'run.succeeded']",
    ]
    many = await world.said_by("many")
    assert (many[0], many[-1]) == ("2500 asked for, 0 refused", "100 on a page; go on with True")
    assert "{'succeeded'}" in (told := await world.said_by("coroutines"))
    assert "sync" in told
    careful = await world.said_by("careful")
    assert [line.partition(":")[0] for line in careful[:2]] == ["schedule", "target.url"]
    assert "taken" in careful[2]


def test_the_test_of_the_guide_passes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_orders=EXAMPLES["test_orders"])
    result = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=EXAMPLES["test_orders"].count("def test_"))


def test_every_program_is_run() -> None:
    assert set(EXAMPLES) == {"first", "saying", "waiting", "following", "many", "coroutines", "careful", "test_orders"}
    assert TEXT.count("```python") == len(EXAMPLES)


def test_every_method_is_listed_and_no_other() -> None:
    listed = {
        name: re.findall(r"`(\w+)`(\*?)", methods)
        for name, methods in re.findall(r"^\| `client\.(\w+)` \| ([^:|]*)", TEXT, re.MULTILINE)
    }
    client = Client("http://127.0.0.1:9", api_key="")
    there = {}
    for name, resource in vars(client).items():
        if isinstance(resource, Resource):
            kinds = {key: value for key, value in vars(type(resource)).items() if not key.startswith("_")}
            there[name] = {
                (key, "*" if isinstance(value, Composed) else "")
                for key, value in kinds.items()
                if isinstance(value, Endpoint | ListEndpoint | Composed)
            }
    assert {name: set(methods) for name, methods in listed.items()} == there


def test_every_error_is_explained() -> None:
    explained = set(re.findall(r"^\| `(\w+)` \| ", TEXT, re.MULTILINE))
    assert explained == set(errors.__all__) - {"DuelineError"}


def test_the_numbers_are_those_of_the_code() -> None:
    assert RetryPolicy().attempts_max == 7
    assert "tried up to seven times" in PROSE
    assert f"`timeout_s` ({clients.TIMEOUT_S_DEFAULT:g})" in PROSE
    assert f"up to {pool.CONNECTIONS_MAX} connections" in PROSE
    assert f"sends {runs.CHUNK:,} in a call" in PROSE
    assert JOBS_PER_CALL_MAX == RUNS_PER_CALL_MAX
    assert f"one call of up to {RUNS_PER_CALL_MAX:,}" in PROSE
