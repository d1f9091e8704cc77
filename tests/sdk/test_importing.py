"""What a program gets that imports the client, and what its type checker knows."""

import subprocess
import sys
from importlib.resources import files

import pytest

DRIVERS_AND_SERVERS = {
    "apsw",
    "asyncpg",
    "sqlite3",
    "pycurl",
    "starlette",
    "uvicorn",
    "uvloop",
    "typer",
    "rich",
    "structlog",
}
PROGRAM = """
from datetime import timedelta
from typing import assert_type

from dueline import AsyncClient, Client
from dueline.sdk.errors import Invalid
from dueline.sdk.models import JobView, Page, RunItem, RunView


def threads() -> None:
    with Client("http://127.0.0.1:8700", timeout_s=5) as client:
        job = client.jobs.create(url="http://x", schedule=timedelta(minutes=5), body={"a": 1})
        assert_type(job, JobView)
        assert_type(client.runs.wait(client.jobs.run(job.id).id, timeout_s=5), RunView)
        assert_type(client.runs.enqueue_many([{"task": "t", "args": {}}]), list[RunItem])
        assert_type(client.runs.list(state="failed").page(), Page[RunView])
        assert_type([run.id for run in client.runs.list()], list[str])
        assert_type(client.jobs.delete(job.id), None)


async def coroutines() -> None:
    async with AsyncClient() as client:
        job = await client.jobs.create(task="t", args={"a": 1}, priority=9)
        assert_type(job, JobView)
        assert_type([run async for run in client.runs.list(job_id=job.id)], list[RunView])
        assert_type(await client.runs.wait("run_x"), RunView)


def told(error: Invalid) -> str:
    return error.errors[0].field
"""
MISTAKES = """
from dueline import Client

client = Client()
client.jobs.create(url="http://x", prority=9)
client.jobs.create(url=5)
client.jobs.get()
client.runs.wait("run_x", timeout_s="5")
client.jobs.get("x").nmae
client.runs.list(limit=5)
"""


def imported_with(program: str) -> set[str]:
    probe = f"import sys; {program}; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, text=True).stdout.split())


def test_it_brings_no_server_and_no_driver() -> None:
    modules = imported_with("from dueline import Client; Client('http://127.0.0.1:9')")
    assert DRIVERS_AND_SERVERS.isdisjoint(modules)
    assert "asyncio" not in modules
    modules = imported_with("from dueline import AsyncClient; AsyncClient('http://127.0.0.1:9')")
    assert DRIVERS_AND_SERVERS.isdisjoint(modules)
    assert not {name for name in modules if name.startswith(("dueline.store", "dueline.engine", "dueline.api"))}


def test_a_client_brings_no_shapes_before_it_reads_an_answer() -> None:
    modules = imported_with("from dueline import Client; Client('http://127.0.0.1:9', api_key='key').jobs.list")
    ours = {name for name in modules if name.startswith(("dueline.domain.", "dueline.wire."))}
    light = ("addresses", "durations", "errors", "ids", "instants", "lanes", "limits", "urls")
    assert ours <= {
        *(f"dueline.domain.{name}" for name in light),
        *(f"dueline.wire.{name}" for name in ("pages", "problems", "reading", "when")),
    }
    assert {"rich", "yaml", "zoneinfo", "tzdata"}.isdisjoint(modules)


def test_dueline_itself_brings_nothing() -> None:
    assert not {name for name in imported_with("import dueline") if name.startswith("dueline.")}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a strict type checker says of both programs, which know Dueline as an installed package."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "program.py").write_text(PROGRAM)
    (folder / "mistakes.py").write_text(MISTAKES)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(folder / "cache")]
    return subprocess.run([*command, "program.py", "mistakes.py"], cwd=folder, capture_output=True, text=True).stdout


def test_a_program_is_checked_strictly(told: str) -> None:
    assert files("dueline").joinpath("py.typed").is_file()
    assert [line for line in told.splitlines() if line.startswith("program.py")] == []


def test_mistakes_are_found_before_a_program_runs(told: str) -> None:
    lines = {int(line.split(":")[1]) for line in told.splitlines() if line.startswith("mistakes.py")}
    assert lines == set(range(5, 11)), told
