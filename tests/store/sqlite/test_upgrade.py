"""From the schema of an earlier release to this one, with runs under way."""

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from dueline.runtime.clock import ManualClock
from dueline.store.copying.tables import Table
from dueline.store.migrations import load_migrations
from dueline.store.sqlite.copy_statements import Statements
from dueline.store.sqlite.store import SqliteStore

_BEFORE_COLUMNS = 23
"""The last schema in which live runs had no rowids, and their columns in the order in which they had been thought of."""
_COLUMNS = "SELECT name, type, \"notnull\" OR pk, dflt_value, pk FROM pragma_table_info('runs') ORDER BY name"
_INDEXES = "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'runs' AND sql IS NOT NULL ORDER BY name"
_VALUES: dict[str, Callable[[int], object]] = {
    "BLOB": lambda number: number.to_bytes(16, "big"),
    "TEXT": lambda number: f"text {number}",
    "INTEGER": int,
}


async def test_live_runs_keep_all_they_have_in_their_new_columns(
    path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        earlier = load_migrations("sqlite")[:_BEFORE_COLUMNS]
        patched.setattr("dueline.store.sqlite.schema.load_migrations", lambda _dialect: earlier)
        await _migrate(path, clock)
    look = apsw.Connection(str(path))
    columns = look.execute(_COLUMNS).fetchall()
    run = {str(name): _VALUES[str(kind)](number) for number, (name, kind, *_) in enumerate(columns, start=1)}
    statements = Statements(Table("runs", ("id",)), list(run))
    look.execute(statements.insert, tuple(run.values()))
    shape = [look.execute(question).fetchall() for question in (_COLUMNS, _INDEXES)]
    look.close()

    await _migrate(path, clock)
    look = apsw.Connection(str(path))
    assert look.execute(statements.all).fetchall() == [tuple(run.values())]
    assert [look.execute(question).fetchall() for question in (_COLUMNS, _INDEXES)] == shape
    look.close()


async def _migrate(path: Path, clock: ManualClock) -> None:
    store = SqliteStore(path, clock)
    await store.open()
    await store.migrate()
    await store.close()
