"""The commands that need no server: version, config, db."""

from pathlib import Path

import pytest

from dueline import __version__
from dueline.store.sqlite.filelock import FileLock
from tests.cli.conftest import Command


def test_the_version(dueline: Command) -> None:
    assert dueline("version").out == dueline("--version").out == f"{__version__}\n"


def test_without_a_command_there_is_help(dueline: Command) -> None:
    assert "dueline serve" in dueline("--help").out
    assert dueline().code == 2


def test_settings_are_shown_with_their_origin(dueline: Command, alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUELINE_PORT", "8999")
    monkeypatch.setenv("DUELINE_API_KEY", "canary")
    shown = dueline("config", "show", "--output", "json")
    assert shown.json["port"] == {"value": "8999", "origin": "environment"}
    assert shown.json["db"] == {"value": f"{alone}/dueline/dueline.db", "origin": "default"}
    table = dueline("config", "show").out
    assert ["port", "8999", "environment"] in [line.split() for line in table.splitlines()]
    assert "canary" not in shown.out + table


def test_an_unknown_variable_is_told(dueline: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUELINE_PROT", "1")
    ended = dueline("config", "show")
    assert ended.code == 2
    assert ended.err == "Error: DUELINE_PROT: there is no such setting: did you mean DUELINE_PORT?\n"


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_a_database_is_brought_up_to_date(
    request: pytest.FixtureRequest, dueline: Command, tmp_path: Path, dialect: str
) -> None:
    db = request.getfixturevalue("postgres_dsn") if dialect == "postgres" else str(tmp_path / "new.db")
    migrated = dueline("db", "migrate", "--db", db, "-o", "json").json["migrations"]
    assert migrated
    assert all(migration["applied"] for migration in migrated)
    assert dueline("db", "status", "--db", db, "-o", "json").json["migrations"] == migrated
    assert "yes" in dueline("db", "status", "--db", db).out


def test_a_file_that_is_served_was_in_use_for_whoever_only_looked(dueline: Command, tmp_path: Path) -> None:
    db = str(tmp_path / "served.db")
    migrated = dueline("db", "migrate", "--db", db, "-o", "json").json
    lock = FileLock(db)
    lock.take()
    try:
        looked = dueline("db", "status", "--db", db, "-o", "json")
        assert (looked.code, looked.json) == (0, migrated)
        assert dueline("db", "migrate", "--db", db).code == 5
    finally:
        lock.release()


def test_a_database_that_is_away_is_unreachable(dueline: Command) -> None:
    ended = dueline("db", "status", "--db", "postgresql://nobody@127.0.0.1:9/none")
    assert (ended.code, ended.out) == (5, "")


def test_a_database_of_no_known_kind_is_bad_input(dueline: Command) -> None:
    assert dueline("db", "status", "--db", "mysql://x").code == 2
