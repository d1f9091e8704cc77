"""A server is moved to PostgreSQL in the middle of its work; the copier is killed at whatever it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from proof.moving import play
from tests.store.copying.filling import a_file, contents, contents_of_postgres

MOMENTS = ("jobs: 7 rows copied", "Everything is loaded", "history: 7 rows compared", "No run starts", "Write stop")


def copying(source: Path, dsn: str) -> subprocess.Popen[str]:
    options = ["--from", str(source), "--to", dsn, "--yes", "--settle", "100ms"]
    command = [sys.executable, "-m", "dueline", "db", "copy", *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def test_a_server_under_load_is_moved_and_nothing_is_lost_or_done_twice(postgres_dsn: str, tmp_path: Path) -> None:
    verdict = play(tmp_path, postgres_dsn, jobs=300, rate=100)
    assert verdict.is_green, verdict
    assert verdict.expected > 1_000


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_copier_that_is_killed_is_started_again(postgres_dsn: str, tmp_path: Path, moment: str) -> None:
    """It may be done by the time the kill arrives: then the second says so."""
    source = await a_file(tmp_path / "a.db")
    before = contents(source)
    copier = copying(source, postgres_dsn)
    assert copier.stderr is not None
    assert any(moment in line for line in copier.stderr)
    copier.kill()
    copier.communicate()
    again = copying(source, postgres_dsn)
    _, told = again.communicate(timeout=60)
    assert again.returncode == 0 or (again.returncode == 4 and "was moved to" in told), told
    assert await contents_of_postgres(postgres_dsn) == before
