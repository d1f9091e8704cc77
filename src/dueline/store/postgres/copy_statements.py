"""Statements of a copy on PostgreSQL. They are the same for every table but for its names and types, so they are made from those."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dueline.store.copying.tables import Row, Table
from dueline.store.records import unwrap_tags, wrap_tags

LOADED = (
    "CREATE TABLE dueline.copy_loaded"
    " (name text PRIMARY KEY, after text NOT NULL, rows bigint NOT NULL, done boolean NOT NULL)"
)
COLUMNS = """
SELECT a.attname::text, format_type(a.atttypid, NULL)
FROM pg_attribute AS a
WHERE a.attrelid = to_regclass('dueline.' || $1) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
LEAVE_TAGS = """
DELETE FROM dueline.job_tags AS t
USING dueline.jobs AS j CROSS JOIN unnest(j.tags) AS one (tag)
WHERE j.id = ANY($1::uuid[]) AND t.tenant = j.tenant AND t.tag = one.tag AND t.id = j.id
"""
NAMED_ALIKE = """
SELECT j.id
FROM unnest($1::text[], $2::text[]) AS n (tenant, name)
JOIN dueline.jobs AS j ON j.tenant = n.tenant AND j.name COLLATE "C" = n.name COLLATE "C" AND j.deleted_ms IS NULL
"""

TABLES = """
SELECT c.relname::text FROM pg_class AS c
WHERE c.relnamespace = to_regnamespace('dueline') AND c.relkind IN ('r', 'p') AND NOT c.relispartition
"""
REFUSE = """
CREATE FUNCTION dueline.refuse_moved() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'DUMOV', MESSAGE = TG_ARGV[0];
END
$body$
"""

Convert = Callable[[Any], Any]


class Statements:
    """What is asked of one table, and how its rows are written here. `types` has every column of the table."""

    def __init__(self, table: Table, columns: Sequence[str], types: Mapping[str, str]) -> None:
        name, listed = f"dueline.{table.name}", ", ".join(columns)
        ordered = ", ".join(_ordered(column, types[column]) for column in table.key)
        after = ", ".join(f"${place}::{types[column]}" for place, column in enumerate(table.key, start=1))
        last = ", ".join(
            f"${place}::{types[column]}" for place, column in enumerate(table.key, start=1 + len(table.key))
        )
        given = ", ".join(f"${place}::{types[column]}[]" for place, column in enumerate(table.key, start=1))
        same = " AND ".join(f"t.{column} = k.{column}" for column in table.key)
        keys = f"unnest({given}) AS k ({', '.join(table.key)})"
        self.count = f"SELECT count(*) FROM {name}"
        self.first = f"SELECT {listed} FROM {name} ORDER BY {ordered} LIMIT $1"
        self.following = (
            f"SELECT {listed} FROM {name} WHERE ({ordered}) > ({after}) ORDER BY {ordered} LIMIT ${len(table.key) + 1}"
        )
        self.is_empty = f"SELECT NOT EXISTS (SELECT FROM {name})"
        self.analyze = f"ANALYZE {name}"
        self.all = f"SELECT {listed} FROM {name}"
        self.behind = f"SELECT {listed} FROM {name} WHERE ({ordered}) > ({after})"
        self.up_to = f"SELECT {listed} FROM {name} WHERE ({ordered}) <= ({after})"
        self.between = f"SELECT {listed} FROM {name} WHERE ({ordered}) > ({after}) AND ({ordered}) <= ({last})"
        self.at = f"SELECT {', '.join(f't.{column}' for column in columns)} FROM {keys} JOIN {name} AS t ON {same}"
        self.delete = f"DELETE FROM {name} AS t USING {keys} WHERE {same}"
        self.columns = (*columns, *table.postgres_only)
        self._constants = tuple(table.postgres_only.values())
        self._to = _conversions(columns, types, {"boolean": bool, "text[]": unwrap_tags})
        self._back = _conversions(columns, types, {"boolean": int, "text[]": wrap_tags})

    def to_rows(self, rows: Sequence[Row]) -> list[Row]:
        """Rows as PostgreSQL keeps them."""
        return [(*_converted(row, self._to), *self._constants) for row in rows]

    def from_rows(self, rows: Sequence[Any]) -> list[Row]:
        """Rows as they travel."""
        return [tuple(_converted(row, self._back)) for row in rows]


def emptying(tables: Sequence[str]) -> str:
    return f"TRUNCATE {', '.join(f'dueline.{name}' for name in tables)}"


def locking(tables: Sequence[str]) -> str:
    """Others may read."""
    return f"LOCK TABLE {', '.join(f'dueline.{name}' for name in tables)} IN EXCLUSIVE MODE"


def guarding(table: str, reason: str) -> str:
    """A trigger that refuses every write to a table: it binds processes of every release."""
    quoted = "'" + reason.replace("'", "''") + "'"
    return (
        f"CREATE TRIGGER moved BEFORE INSERT OR UPDATE OR DELETE ON dueline.{table}"
        f" FOR EACH STATEMENT EXECUTE FUNCTION dueline.refuse_moved({quoted})"
    )


def _ordered(column: str, kind: str) -> str:
    """Texts in the order of their bytes, as SQLite has them, whatever the locale of the database."""
    return f'{column} COLLATE "C"' if kind == "text" else column


def _conversions(
    columns: Sequence[str], types: Mapping[str, str], known: Mapping[str, Convert]
) -> list[tuple[int, Convert]]:
    return [(place, known[types[column]]) for place, column in enumerate(columns) if types[column] in known]


def _converted(row: Any, conversions: Sequence[tuple[int, Convert]]) -> list[Any]:
    values = list(row)
    for place, convert in conversions:
        if values[place] is not None:
            values[place] = convert(values[place])
    return values
