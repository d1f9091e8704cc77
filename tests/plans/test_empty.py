"""Every statement on PostgreSQL, planned while all tables are empty and known to be: none goes through more than was asked for.

To a planner that expects a table to have no rows all ways through it cost the same, and its plan outlives that. What is planned here is
not run: the guards do that, among a million rows, for the statements that matter most.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from dueline.store.postgres.database import SETTINGS
from dueline.store.queries import load_queries
from tests.plans.explained import is_large, nodes_of, prepare
from tests.support.fixtures import TEMPLATE
from tests.support.postgres import PostgresServer
from tests.tidy.tree import PACKAGE, ROOT

EMPTY = Path(__file__).with_name("empty.sql")
DATABASE = "empty"
# They may be large too; but among the million rows of the guards they are not.
MORE_TABLES = {"gates", "gate_places", "places", "job_versions", "job_words"}
NOUNS = sorted(file.stem for file in (ROOT / PACKAGE / "store" / "postgres" / "queries").glob("*.sql"))
COLUMNS = """
SELECT c.relname, array_agg(a.attname::text ORDER BY array_position(i.indkey::int2[], a.attnum)) AS columns
FROM pg_index AS i
JOIN pg_class AS c ON c.oid = i.indexrelid
JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
GROUP BY c.relname
"""
MEANT = {
    # The first entry of an index, some of the few that it was made for, or all of them.
    "cancels.sweep_found walks runs_cancel",
    "history.scattered_words walks job_words_blocks",
    "runs.chores walks flows_finish",
    "runs.chores walks gate_places_run",
    "runs.chores walks gates_pkey",
    "runs.chores walks places_pkey",
    "runs.chores walks plans_awaiting",
    "runs.chores walks run_progress_pkey",
    "runs.chores walks runs_cancel",
    "runs.chores walks runs_held",
    "runs.chores walks runs_waits_for",
    "flows.clocks walks flows_finish",
    "gates.count_in walks runs_running",
    "runs.upcoming walks gates_refill",
    "gates.sweep_found walks runs_waits_for",
    "plans.next_due walks gates_refill",
    "plans.next_due walks runs_waiting",
    "recovery.missed walks runs_missed",
    "runs.free_held walks runs_held",
    "reads.runs_page_running walks runs_running",
    "reads.runs_page_running_searched walks runs_running",
    "runs.upcoming walks runs_waiting",
    "runs.queues walks runs_ready",
    "runs.strays walks runs_running",
    "tenants.uses walks runs_running",
    # As many as are counted.
    "deadletters.count walks a tenant's part of dead_letters_page",
    "tenants.count_jobs walks a tenant's part of jobs_name",
    "tenants.uses walks a tenant's part of jobs_name",
    # All that there is.
    "gates.forget reads gates",
    "gates.sweep_places reads gate_places",
    "history.swept reads history_sweeps",
    "queues.reasons reads runs",
    "queues.states reads runs",
    "runs.sweep_places reads places",
    # One with one, or some with a few: calendars, shards, tenants; and a gate with what was counted of it.
    "calendars.many compares each with each",
    "calendars.share compares each with each",
    "gates.sweep_found compares each with each",
    "jobs.get compares each with each",
    "leases.drop compares each with each",
    "reads.waiting_in compares each with each",
}


@pytest.fixture
def dsn(postgres_server: PostgresServer) -> Iterator[str]:
    postgres_server.create_database(DATABASE, template=TEMPLATE)
    yield postgres_server.dsn(DATABASE)
    postgres_server.drop_database(DATABASE)


async def test_no_statement_is_spoilt_by_empty_tables(dsn: str) -> None:
    connection = await asyncpg.connect(dsn, server_settings=SETTINGS)
    try:
        await connection.execute(EMPTY.read_text())
        await connection.execute("VACUUM ANALYZE")
        columns = {row["relname"]: row["columns"] for row in await connection.fetch(COLUMNS)}
        found = {
            f"{noun}.{name} {does}"
            for noun in NOUNS
            for name in load_queries("postgres", noun)
            for node in nodes_of(await _plan(connection, f"{noun}.{name}"))
            if (does := _too_much(node, columns))
        }
    finally:
        await connection.close()
    assert found == MEANT


async def _plan(connection: "asyncpg.Connection[asyncpg.Record]", statement: str) -> dict[str, Any]:
    await prepare(connection, statement)
    plan: dict[str, Any] = json.loads(await connection.fetchval("SELECT public.plan_of($1)", statement))[0]["Plan"]
    return plan


def _too_much(node: dict[str, Any], columns: dict[str, list[str]]) -> str:
    """What a node does that takes longer the more there is; an index is walked unless its first column is asked for. That it is of one
    tenant says little: most have one."""
    if "Join Filter" in node and node["Node Type"] == "Nested Loop":
        return "compares each with each"
    if not is_large(node) and node.get("Relation Name") not in MORE_TABLES:
        return ""
    if node["Node Type"] == "Seq Scan":
        return f"reads {node['Relation Name']}"
    index = node.get("Index Name")
    if not index:
        return ""
    asked = [column for column in columns[index] if column in node.get("Index Cond", "")]
    if columns[index][0] not in asked:
        return f"walks {index}"
    return f"walks a tenant's part of {index}" if asked == ["tenant"] and len(columns[index]) > 1 else ""
