"""The statements of an inbox. Both databases understand them as they are; only the name of the table is put in."""

from __future__ import annotations

import re
from typing import NamedTuple

from dueline.domain.errors import Invalid

# Lower case only, so that a name means the same with and without quotes, and short enough for that of its index.
_TABLE = re.compile(r"(?:([a-z_][a-z0-9_]{0,62})\.)?([a-z_][a-z0-9_]{0,53})", re.ASCII)

SCHEMA = """\
CREATE TABLE IF NOT EXISTS {table} (
    run_id text NOT NULL PRIMARY KEY,
    token bigint NOT NULL,
    deliveries bigint NOT NULL,
    received_ms bigint NOT NULL,
    answer text
);
CREATE INDEX IF NOT EXISTS {received_index} ON {table} (received_ms);
"""

# Of two deliveries at the same time the second waits here until the first is committed or rolled back.
TAKE = """\
INSERT INTO {table} AS receipt (run_id, token, deliveries, received_ms) VALUES (?, ?, 1, ?)
ON CONFLICT (run_id) DO UPDATE SET
    token = CASE WHEN excluded.token > receipt.token THEN excluded.token ELSE receipt.token END,
    deliveries = receipt.deliveries + 1,
    received_ms = excluded.received_ms
RETURNING deliveries"""

ANSWER = "UPDATE {table} SET answer = ? WHERE run_id = ? AND answer IS NULL RETURNING run_id"

ANSWERED = "SELECT answer FROM {table} WHERE run_id = ?"

# The time is compared twice, because a delivery may renew a receipt between the search and the deletion.
FORGET = """\
DELETE FROM {table}
WHERE run_id IN (SELECT run_id FROM {table} WHERE received_ms < ? ORDER BY received_ms LIMIT ?) AND received_ms < ?
RETURNING run_id"""


class Names(NamedTuple):
    """The names that stand in the statements, quoted: the one part of them that cannot be an argument."""

    table: str
    received_index: str

    def put_into(self, statement: str) -> str:
        return statement.replace("{table}", self.table).replace("{received_index}", self.received_index)


def read_table(name: str) -> Names:
    found = _TABLE.fullmatch(name)
    if found is None:
        raise Invalid(
            ("table", "must be lower-case letters, digits and _, 54 at most; a schema and a dot may stand before it")
        )
    schema, table = found.groups()
    return Names(f'"{table}"' if schema is None else f'"{schema}"."{table}"', f'"{table}_received"')
