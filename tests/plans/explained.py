"""What PostgreSQL says it did, in the terms that the guards ask about."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg

from dueline.store.queries import load_queries

LARGE_TABLES = ("jobs", "plans", "runs", "history", "ledger", "calendar", "run", "dead", "flows", "uniques")
"""By the first word of their names."""
ROWS_SEEN = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")


@dataclass(frozen=True)
class Explained:
    """One execution: the indexes it used, the large tables it read from end to end, and how much it touched."""

    indexes: frozenset[str]
    scanned: frozenset[str]
    rows: float
    buffers: int
    text: str


async def prepare(connection: "asyncpg.Connection[asyncpg.Record]", statement: str) -> None:
    """Make `noun.name` known under this name. It is planned when it is first explained."""
    noun, _, name = statement.partition(".")
    await connection.execute("SELECT public.prepare($1, $2)", statement, load_queries("postgres", noun)[name])


async def explain(
    connection: "asyncpg.Connection[asyncpg.Record]", statement: str, arguments: Sequence[Any]
) -> Explained:
    """Run what was prepared, and take back what it wrote."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        answer = await connection.fetchval(
            "SELECT public.explain_prepared($1, $2)", statement, [_text(argument) for argument in arguments]
        )
    finally:
        await transaction.rollback()
    return _read(json.loads(answer)[0]["Plan"])


def _read(plan: dict[str, Any]) -> Explained:
    nodes = list(nodes_of(plan))
    reading = [node for node in nodes if is_large(node) and node["Node Type"] != "ModifyTable"]
    return Explained(
        indexes=frozenset(node["Index Name"] for node in nodes if "Index Name" in node and node["Actual Loops"]),
        scanned=frozenset(node["Relation Name"] for node in reading if node["Node Type"] == "Seq Scan"),
        rows=sum(node.get(key, 0) * node["Actual Loops"] for node in reading for key in ROWS_SEEN)
        + sum(node.get("Rows Removed by Join Filter", 0) * node["Actual Loops"] for node in nodes),
        buffers=plan["Shared Hit Blocks"] + plan["Shared Read Blocks"],
        text=json.dumps(plan, indent=1),
    )


def nodes_of(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes_of(part)


def is_large(node: dict[str, Any]) -> bool:
    """A day of history is a table of its own; the one for all other days is empty here."""
    name = node.get("Relation Name", "")
    return name != "history_other" and name.partition("_")[0] in LARGE_TABLES


def _text(value: Any) -> str | None:
    """An argument as PostgreSQL reads it."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | tuple | range):
        return "{" + ",".join("NULL" if element is None else f'"{_text(element)}"' for element in value) + "}"
    return str(value)
