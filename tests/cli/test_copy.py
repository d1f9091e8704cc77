"""`dueline db copy` as people use it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dueline.store.copying.tables import COPIED
from tests.cli.conftest import Command
from tests.store.copying.filling import FEW, a_file, contents


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return asyncio.run(a_file(tmp_path / "a.db"))


def test_it_says_what_it_does_and_answers_what_it_compared(dueline: Command, file: Path, tmp_path: Path) -> None:
    before = contents(file)
    ended = dueline("db", "copy", "--from", str(file), "--to", str(tmp_path / "b.db"), "--yes", "--output", "json")
    assert ended.code == 0, ended.err
    assert ended.json["rows"] == {table.name: FEW for table in COPIED}
    assert 0 < ended.json["write_stop_s"] < 5
    assert "jobs: 7 rows copied" in ended.err
    assert "jobs: 7 rows compared" in ended.err
    assert f"Write stop: {file} takes no writes now." in ended.err
    assert f"{tmp_path / 'b.db'} can be served" in ended.err
    assert contents(tmp_path / "b.db") == before


def test_the_source_says_where_it_went_and_a_second_copy_does_too(dueline: Command, file: Path, tmp_path: Path) -> None:
    command = ("db", "copy", "--from", str(file), "--to", str(tmp_path / "b.db"), "--yes")
    assert dueline(*command).code == 0
    again = dueline(*command)
    assert (again.code, again.out) == (4, "")
    assert "was moved to" in again.err
    status = dueline("db", "status", "--db", str(file))
    assert status.code == 4
    assert f"moved to {tmp_path / 'b.db'}: start with --db {tmp_path / 'b.db'}" in status.err
    assert dueline("db", "status", "--db", str(tmp_path / "b.db")).code == 0


def test_a_dry_run_counts_and_touches_nothing(dueline: Command, file: Path, tmp_path: Path) -> None:
    ended = dueline(
        "db", "copy", "--from", f"sqlite:///{file}", "--to", str(tmp_path / "b.db"), "--dry-run", "-o", "json"
    )
    assert ended.json == {"rows": {table.name: FEW for table in COPIED}}
    assert not (tmp_path / "b.db").exists()
    assert dueline("db", "status", "--db", str(file)).code == 0


def test_nothing_is_done_unless_somebody_says_yes(process: Command, file: Path, tmp_path: Path) -> None:
    ended = process("db", "copy", "--from", str(file), "--to", str(tmp_path / "b.db"), typed="no\n")
    assert ended.code == 1
    assert f"Move {FEW * len(COPIED)} rows from {file} to {tmp_path / 'b.db'}?" in ended.err
    assert not (tmp_path / "b.db").exists()


def test_a_copy_is_given_up(dueline: Command, file: Path) -> None:
    ended = dueline("db", "copy", "--from", str(file), "--abandon")
    assert ended.code == 0
    assert "rid of the copy" in ended.err


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (("--from", "{file}"), "to: where to?"),
        (("--from", "{file}", "--to", "{file}"), "to: is the source itself"),
        (("--from", "{file}", "--to", "mysql://x"), "to: 'mysql://x' is neither"),
        (("--from", "nowhere.db", "--to", "b.db"), "from: there is no file"),
        (("--from", "{file}", "--to", "b.db", "--settle", "soon"), "settle"),
    ],
)
def test_what_cannot_work_is_told(dueline: Command, file: Path, args: tuple[str, ...], complaint: str) -> None:
    ended = dueline("db", "copy", *(arg.format(file=file) for arg in args), "--yes")
    assert ended.code == 2
    assert complaint in ended.err
