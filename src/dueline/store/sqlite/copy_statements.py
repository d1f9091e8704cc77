"""Statements of a copy on SQLite. They are the same for every table but for its names, so they are made from those.

All names of a copy's own begin with `copy_`, and those of the triggers that guard a file that was moved with `moved_`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dueline.store.copying.tables import Table

STATE = "CREATE TABLE copy_state (copy_id TEXT NOT NULL, other TEXT NOT NULL, triggers INTEGER NOT NULL) STRICT"
"""On the source: whose log this is."""
LOADED = "CREATE TABLE copy_loaded (name TEXT PRIMARY KEY, after TEXT NOT NULL, rows INTEGER NOT NULL, done INTEGER NOT NULL) STRICT"
"""On the target: how far each table is."""
TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"
OWN = "SELECT type, name FROM sqlite_schema WHERE type IN ('table', 'trigger') AND name LIKE 'copy~_%' ESCAPE '~' ORDER BY type DESC"
TRACKING = "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'copy~_changed~_%' ESCAPE '~'"
LET_START = "DROP TRIGGER IF EXISTS copy_starts"


class Statements:
    """What is asked of one table."""

    def __init__(self, table: Table, columns: Sequence[str]) -> None:
        listed, key = ", ".join(columns), ", ".join(table.key)
        log, marks = f"copy_changed_{table.name}", ", ".join("?" * len(table.key))
        same = " AND ".join(f"t.{name} = k.{name}" for name in table.key)
        some = f"SELECT DISTINCT {key} FROM {log} WHERE seq <= ?"
        self.count = f"SELECT count(*) FROM {table.name}"
        self.is_empty = f"SELECT NOT EXISTS (SELECT 1 FROM {table.name})"
        self.first = f"SELECT {listed} FROM {table.name} ORDER BY {key} LIMIT ?"
        self.following = f"SELECT {listed} FROM {table.name} WHERE ({key}) > ({marks}) ORDER BY {key} LIMIT ?"
        self.all = f"SELECT {listed} FROM {table.name}"
        self.behind = f"SELECT {listed} FROM {table.name} WHERE ({key}) > ({marks})"
        self.up_to = f"SELECT {listed} FROM {table.name} WHERE ({key}) <= ({marks})"
        self.between = f"SELECT {listed} FROM {table.name} WHERE ({key}) > ({marks}) AND ({key}) <= ({marks})"
        self.at = f"SELECT {listed} FROM {table.name} WHERE ({key}) = ({marks})"
        self.log_end = f"SELECT max(seq), count(*) FROM (SELECT seq FROM {log} ORDER BY seq LIMIT ?)"
        self.changed = some
        self.changed_rows = f"SELECT {', '.join(f't.{name}' for name in columns)} FROM ({some}) AS k CROSS JOIN {table.name} AS t ON {same}"
        self.pending = f"SELECT DISTINCT {key} FROM {log}"
        self.forget_changes = f"DELETE FROM {log} WHERE seq <= ?"
        self.insert = f"INSERT INTO {table.name} ({listed}) VALUES ({', '.join('?' * len(columns))})"
        self.delete = f"DELETE FROM {table.name} WHERE ({key}) = ({marks})"
        self.empty = f"DELETE FROM {table.name}"


def columns_of(table: str) -> str:
    return f"SELECT name FROM pragma_table_info('{table}') ORDER BY cid"


def dropping(kind: str, name: str) -> str:
    return f"DROP {kind} {name}"


def tracking(table: Table) -> Iterator[str]:
    """The log of a table's changes, and the triggers that keep it. No statement of ours changes a key; others may."""
    log, key = f"copy_changed_{table.name}", ", ".join(table.key)
    old, new = (", ".join(f"{side}.{name}" for name in table.key) for side in ("old", "new"))
    yield f"CREATE TABLE {log} (seq INTEGER PRIMARY KEY, {key})"
    for name, event, logged in (
        ("insert", f"AFTER INSERT ON {table.name}", new),
        ("update", f"AFTER UPDATE ON {table.name}", old),
        ("rekey", f"AFTER UPDATE OF {key} ON {table.name} WHEN ({new}) IS NOT ({old})", new),
        ("delete", f"AFTER DELETE ON {table.name}", old),
    ):
        yield f"CREATE TRIGGER {log}_{name} {event} BEGIN INSERT INTO {log} ({key}) VALUES ({logged}); END"


def holding_starts(until_ms: int, reason: str) -> str:
    """The trigger knows its end by itself, so that a copier that dies does not keep runs from starting."""
    return (
        "CREATE TRIGGER copy_starts BEFORE UPDATE OF state ON runs"
        f" WHEN new.state = 'running' AND CAST(unixepoch('subsec') * 1000 AS INTEGER) < {until_ms}"
        f" BEGIN SELECT RAISE(ABORT, {_quoted(reason)}); END"
    )


def guarding(table: str, reason: str) -> Iterator[str]:
    """Triggers that refuse every write to a table: they bind processes of every release, and those that have the file open."""
    for event in ("INSERT", "UPDATE", "DELETE"):
        yield (
            f"CREATE TRIGGER moved_{table}_{event.lower()} BEFORE {event} ON {table}"
            f" BEGIN SELECT RAISE(ABORT, {_quoted(reason)}); END"
        )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
