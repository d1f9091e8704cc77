"""Which tables a copy takes along, and what tells their rows apart.

Rows travel as SQLite keeps them: ids and digests are bytes, truth is 0 or 1, tags are one text. Columns are not listed: both stores name
them alike, and a copy takes those that it finds.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

Row: TypeAlias = tuple[Any, ...]
Key: TypeAlias = tuple[Any, ...]


class Table(msgspec.Struct, frozen=True):
    name: str
    key: tuple[str, ...]
    postgres_only: dict[str, Any] = {}
    """Columns that SQLite does not have, and what they say of a row that comes from there."""


COPIED = (
    Table("tenants", ("tenant",)),
    Table("signing_secrets", ("tenant",)),
    Table("api_keys", ("id",)),
    Table("limits", ("scope", "name")),
    Table("queue_pauses", ("queue",)),
    Table("job_types", ("name",)),
    Table("calendars", ("tenant", "name")),
    Table("calendar_uses", ("tenant", "name", "job_id")),
    Table("jobs", ("id",)),
    Table("job_versions", ("job_id", "version")),
    Table("plans", ("job_id",)),
    Table("ledger", ("job_id", "from_ms")),
    Table("runs", ("id",)),
    Table("notices", ("run_id",)),
    Table("places", ("job_id",)),
    Table("run_progress", ("run_id",)),
    Table("gates", ("gate",)),
    Table("gate_places", ("gate", "run_id")),
    # Whatever was reserved is written by now, or never will be.
    Table("flows", ("queue", "lane", "tenant", "level", "key"), {"reserved_ms": 0}),
    Table("uniques", ("tenant", "key")),
    Table("requests", ("tenant", "endpoint", "key")),
    Table("dead_letters", ("tenant", "run_id")),
    Table("history", ("id",)),
    Table("history_sweeps", ("tenant",)),
    Table("retentions", ("job_id",)),
)
"""What an installation is: definitions, what is under way, and what was."""

LEFT = frozenset({"nodes", "shards", "migrations", "changes", "change_sweeps"})
"""What belongs to processes and to the database itself, and what listeners are told. Processes register anew; of the shards only the
rules of time zones go along."""

DERIVED = frozenset({"job_tags", "job_words"})
"""What triggers of the target keep. SQLite has no tags apart from their jobs."""


def key_of(row: Row, places: tuple[int, ...]) -> Key:
    return tuple([row[place] for place in places])


def encode_key(key: Key | None) -> str:
    """How far a table was copied, as one text."""
    if key is None:
        return ""
    return msgspec.json.encode([[part.hex()] if isinstance(part, bytes) else part for part in key]).decode()


def decode_key(text: str) -> Key | None:
    if not text:
        return None
    return tuple([bytes.fromhex(part[0]) if isinstance(part, list) else part for part in msgspec.json.decode(text)])
