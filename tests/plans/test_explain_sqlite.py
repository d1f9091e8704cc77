"""Statements on SQLite stay on their indexes. It plans by rules alone here, so an empty file tells all."""

import re
from collections.abc import Iterator
from typing import Any

import apsw
import apsw.ext
import pytest

from dueline.store.migrations import load_migrations
from dueline.store.queries import load_queries

NOUNS = (
    "calendars",
    "cancels",
    "deadletters",
    "events",
    "flows",
    "gates",
    "jobs",
    "ledger",
    "limits",
    "notices",
    "plans",
    "progress",
    "queues",
    "reads",
    "recovery",
    "retentions",
    "runs",
    "secrets",
    "tenants",
    "uniques",
)
# They count every live run: for people, and not for a loop.
COUNTING = {"queues.states", "queues.reasons"}
STATEMENTS = sorted({f"{noun}.{name}" for noun in NOUNS for name in load_queries("sqlite", noun)} - COUNTING)
HOT = {
    "plans.due": "SEARCH plans USING INDEX plans_due (due_ms>? AND due_ms<?)",
    "plans.crowds": "SEARCH plans USING COVERING INDEX plans_due (due_ms>? AND due_ms<?)",
    "recovery.lapsed": "SEARCH runs USING INDEX runs_waiting (due_ms<?)",
    "runs.pick": "SEARCH runs USING INDEX runs_ready (queue=? AND lane=?)",
    "runs.claim": "SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)",
    "runs.claim_place": "SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)",
    "runs.claim_blocked": "SEARCH p USING INDEX sqlite_autoindex_runs_1 (id=?)",
    "runs.postpone": "SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)",
    "runs.count_waiting": "SEARCH runs USING INDEX runs_waiting (due_ms<?)",
    "runs.near": "SEARCH runs USING INDEX runs_waiting (due_ms<?)",
    "runs.promote": "SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)",
    "runs.set_apart": "SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)",
    "runs.upcoming": "SCAN runs USING INDEX runs_waiting",
    "runs.queues": "SEARCH r USING COVERING INDEX runs_ready (queue>?)",
    "runs.strays": "SEARCH r USING INDEX runs_running (worker>?)",
    "runs.free_held": "SCAN h USING INDEX runs_held",
    "jobs.page": "SEARCH j USING INDEX jobs_page (tenant=? AND id<?)",
    "jobs.search": "SEARCH w USING PRIMARY KEY (tenant=? AND id<?)",
    "jobs.page_of_names": "SEARCH j USING INDEX jobs_name (tenant=? AND name>? AND name<?)",
    "jobs.finished": "SEARCH jobs USING INDEX jobs_finished ((updated_ms,id)>(?,?) AND updated_ms<?)",
    "jobs.lock_runs": "SEARCH runs USING INDEX runs_job (job_id=?)",
    "notices.any": "SCAN runs USING INDEX runs_notifies",
    "notices.keep": "SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)",
    "plans.next_due": "SEARCH plans USING COVERING INDEX plans_due (due_ms>?)",
    "plans.stale": "SCAN p USING INDEX plans_stale",
    "plans.spoil_zoned": "SEARCH plans USING INDEX plans_zoned (shard=?)",
    "plans.follow": "SEARCH plans USING PRIMARY KEY (job_id=?)",
    "cancels.cancels_of": "SCAN runs USING INDEX runs_cancel",
    "cancels.sweep_cancelled": "SCAN r USING INDEX runs_cancel",
    "cancels.displace_older": "SEARCH r USING INDEX runs_held (job_id=? AND id<?)",
    "cancels.expire": "SEARCH r USING INDEX runs_expiring (expires_ms>? AND expires_ms<?)",
    "cancels.cancel_found": "SEARCH h USING PRIMARY KEY (id=?)",
    "deadletters.page": "SEARCH d USING PRIMARY KEY (tenant=? AND run_id<?)",
    "deadletters.count": "SEARCH d USING PRIMARY KEY (tenant=?)",
    "deadletters.purge": "SEARCH dead_letters USING PRIMARY KEY (tenant=? AND run_id=?)",
    "deadletters.redriven": "SEARCH h USING PRIMARY KEY (id=?)",
    "events.rows": "SEARCH changes USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
    "events.ended": "SEARCH h USING PRIMARY KEY (id=?)",
    "events.names": "SEARCH j USING INDEX sqlite_autoindex_jobs_1 (id=?)",
    "flows.look": "SEARCH runs USING INDEX runs_ready (queue=? AND lane=? AND rank>?)",
    "flows.rebuild": "SEARCH runs USING INDEX runs_ready (queue=? AND lane=?)",
    "flows.clocks": "SEARCH r USING INDEX runs_ready (queue=? AND lane=? AND rank>?)",
    "flows.forget": "SEARCH f USING COVERING INDEX flows_finish (queue=? AND lane=? AND finish<?)",
    "gates.wishes": "SEARCH r USING INDEX sqlite_autoindex_runs_1 (id=?)",
    "gates.count_places": "SEARCH p USING PRIMARY KEY (gate=?)",
    "gates.hold_refused": "SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)",
    "gates.leave": "SEARCH gate_places USING COVERING INDEX gate_places_run (run_id=?)",
    "gates.free_next": "SEARCH h USING COVERING INDEX runs_waits_for (waits_for=?)",
    "gates.refill": "SEARCH h USING COVERING INDEX runs_waits_for (waits_for=?)",
    "gates.sweep_found": "SEARCH h USING COVERING INDEX runs_waits_for (waits_for>?)",
    "gates.count_in": "SEARCH r USING INDEX runs_running (worker>?)",
    "jobs.held_runs": "SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)",
    "progress.save": "SEARCH r USING INDEX sqlite_autoindex_runs_1 (id=?)",
    "progress.of": "SEARCH p USING PRIMARY KEY (run_id=?)",
    "recovery.missed": "SCAN runs USING INDEX runs_missed",
    "recovery.missed_of_job": "SEARCH runs USING INDEX runs_job (job_id=?)",
    "recovery.overdue": "SEARCH p USING INDEX plans_due (due_ms<?)",
    "recovery.overdue_count": "SEARCH p USING COVERING INDEX plans_due (due_ms<?)",
    "ledger.unfired": "SEARCH ledger USING PRIMARY KEY (job_id=? AND from_ms>? AND from_ms<?)",
    "ledger.occurrence_runs": "SEARCH history USING INDEX history_job (job_id=? AND id>? AND id<?)",
    "history.ended": "SEARCH history USING COVERING INDEX history_finished (finished_ms>? AND finished_ms<?)",
    "history.forget": "SEARCH history USING INDEX history_finished (finished_ms>? AND finished_ms<?)",
    "history.forget_letters": "SEARCH dead_letters USING PRIMARY KEY (tenant=? AND run_id=?)",
    "history.forget_told": "SEARCH ledger USING COVERING INDEX ledger_told (to_ms<?)",
    "history.deleted": "SEARCH j USING COVERING INDEX jobs_deleted (deleted_ms<?)",
    "tenants.count_jobs": "SEARCH jobs USING INDEX jobs_page (tenant=?)",
    "calendars.spoil": "SEARCH calendar_uses USING PRIMARY KEY (tenant=? AND name=?)",
    "reads.runs_page": "SEARCH history USING PRIMARY KEY (id>? AND id<?)",
    "reads.runs_page_unsuccessful": "SEARCH history USING INDEX history_unsuccessful (tenant=? AND state=? AND id>? AND id<?)",
    "reads.runs_page_succeeded": "SEARCH history USING PRIMARY KEY (id>? AND id<?)",
    "reads.runs_page_waiting": "SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id>? AND id<?)",
    "reads.runs_page_running": "SEARCH runs USING INDEX runs_running (worker>?)",
    "reads.runs_page_of_job": "SEARCH history USING INDEX history_job (job_id=? AND id>? AND id<?)",
    "reads.runs_page_searched": "SEARCH history USING PRIMARY KEY (id>? AND id<?)",
    "reads.runs_page_of_job_searched": "SEARCH history USING INDEX history_job (job_id=? AND id>? AND id<?)",
    "reads.edge": "SEARCH history USING PRIMARY KEY (id>? AND id<?)",
    "reads.edge_of_job": "SEARCH history USING COVERING INDEX history_job (job_id=? AND id>? AND id<?)",
    "reads.edge_unsuccessful": "SEARCH history USING COVERING INDEX history_unsuccessful (tenant=? AND state=? AND id>? AND id<?)",
    "retentions.due": "SEARCH r USING INDEX retentions_look (look_ms<?)",
    "retentions.looked": "SEARCH history USING INDEX history_job (job_id=? AND id>? AND id<?)",
    "retentions.forget": "SEARCH history USING PRIMARY KEY (id=?)",
    "uniques.found": "SEARCH u USING PRIMARY KEY (tenant=? AND key=?)",
    "uniques.reschedule": "SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id=?)",
    "uniques.aged": "SEARCH u USING INDEX uniques_sweep (sweep_ms<?)",
    "uniques.forget": "SEARCH uniques USING PRIMARY KEY (tenant=? AND key=?)",
}
# Ordered by their index: a sort would have to see everything first.
UNSORTED = (
    "plans.due",
    "runs.pick",
    "runs.near",
    "runs.upcoming",
    "jobs.page",
    "jobs.page_of_names",
    "jobs.search",
    "cancels.expire",
    "deadletters.page",
    "recovery.missed",
    "recovery.overdue",
    "ledger.unfired",
    "history.ended",
    "history.deleted",
    "calendars.page",
    "uniques.aged",
    "jobs.finished",
    "retentions.due",
    "retentions.looked",
    "gates.free_next",
)

LARGE_TABLE = re.compile(
    r"\b(?:FROM|JOIN|UPDATE|INTO)\s+(?:jobs|job_versions|plans|runs|history|ledger|calendar_uses|dead_letters|flows|uniques)\b(?:\s+AS\s+(\w+))?"
)
LARGE_TABLE_NAMES = frozenset(
    {"jobs", "job_versions", "plans", "runs", "history", "ledger", "calendar_uses", "dead_letters", "flows", "uniques"}
)
PARAMETER = re.compile(r"\?(\d+)")


@pytest.fixture(scope="module")
def connection() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    connection.create_scalar_function("now_ms", _now_ms, 0, deterministic=True)
    connection.execute("CREATE TABLE migrations (version INTEGER PRIMARY KEY, applied_ms INTEGER NOT NULL)")
    for migration in load_migrations("sqlite"):
        connection.execute(migration.sql)
    yield connection
    connection.close()


def _now_ms(*_arguments: Any) -> int:
    return 0


def steps(connection: apsw.Connection, sql: str) -> list[str]:
    """What SQLite would do, step by step."""
    parameters = max(map(int, PARAMETER.findall(sql)), default=0)
    info = apsw.ext.query_info(connection, sql, (None,) * parameters, explain_query_plan=True)
    assert info.query_plan is not None
    return list(_details(info.query_plan))


def _details(plan: apsw.ext.QueryPlan) -> Iterator[str]:
    yield plan.detail
    for part in plan.sub or ():
        yield from _details(part)


def scans(connection: apsw.Connection, sql: str) -> list[str]:
    """Large tables that are read from end to end, under whatever name the statement gives them."""
    names = LARGE_TABLE_NAMES | set(LARGE_TABLE.findall(sql))
    whole = {f"SCAN {name}" for name in names}
    # An index that is made for one statement costs a scan as well.
    return [step for step in steps(connection, sql) if step in whole or "USING AUTOMATIC" in step]


def statement(name: str) -> str:
    noun, _, own_name = name.partition(".")
    return load_queries("sqlite", noun)[own_name]


@pytest.mark.parametrize("name", STATEMENTS)
def test_no_statement_scans_a_large_table(connection: apsw.Connection, name: str) -> None:
    assert scans(connection, statement(name)) == []


@pytest.mark.parametrize("name", HOT)
def test_a_hot_statement_uses_its_index(connection: apsw.Connection, name: str) -> None:
    assert HOT[name] in steps(connection, statement(name))


def test_lanes_are_found_by_a_walk_of_their_own(connection: apsw.Connection) -> None:
    walk = "SEARCH r USING COVERING INDEX runs_ready (queue=? AND lane>?)"
    assert walk in steps(connection, statement("runs.queues"))


@pytest.mark.parametrize("name", UNSORTED)
def test_what_is_ordered_by_its_index_is_not_sorted(connection: apsw.Connection, name: str) -> None:
    assert not any("TEMP B-TREE" in step for step in steps(connection, statement(name)))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM runs WHERE tenant = ?1",
        "SELECT r.id FROM runs AS r WHERE r.tenant = ?1",
        "UPDATE runs SET state = 'ready' WHERE tenant = ?1",
        "DELETE FROM history WHERE tenant = ?1",
        "SELECT 1 FROM places AS p JOIN jobs AS j ON j.name = p.run_id",
    ],
)
def test_a_scan_is_found(connection: apsw.Connection, sql: str) -> None:
    assert scans(connection, sql)


def test_a_search_is_not_found(connection: apsw.Connection) -> None:
    assert scans(connection, "SELECT tenant FROM runs WHERE id = ?1") == []
