"""Hot statements on PostgreSQL stay on their indexes among a million rows, and touch what they need and no more.

Each is asked twice: with a plan for its arguments, and with the generic plan that a prepared statement ends up with.
"""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from dueline.domain import limits
from dueline.store.postgres.runs import enqueue_arguments
from tests.plans.explained import Explained, explain
from tests.support.fixtures import TEMPLATE
from tests.support.postgres import PostgresServer
from tests.support.stores import a_run

SEED = Path(__file__).with_name("seed.sql")
DATABASE = "plans"
FIRST_ID, LAST_ID = bytes(16), b"\xff" * 16
# As `public.id_at` of the seed makes them.
A_JOB_ID = bytes(6) + bytes.fromhex("77777777777777777101")
ALL_SHARDS = range(limits.SHARDS)
DAY_MS = 86_400_000
PAGE = limits.PAGE_ROWS_DEFAULT
FIRE, CLAIM, PROMOTE = limits.FIRE_BATCH, limits.CLAIM_BATCH, limits.PROMOTE_BATCH
QUEUES, RUNNING, HELD = 20, 2_000, 1_000
ASKED = 100


@dataclass(frozen=True)
class Filled:
    """A database with a million of everything that matters, filled at a moment of its clock."""

    dsn: str
    at_ms: int


@dataclass(frozen=True)
class Guard:
    """A statement, its arguments, the indexes that must serve it, and how much it may touch.

    An instant among the arguments is given relative to the moment of the seed.
    """

    name: str
    statement: str
    arguments: tuple[Any, ...]
    indexes: frozenset[str]
    rows_max: int
    buffers_max: int


@dataclass(frozen=True)
class At:
    """An instant, relative to the seed."""

    after_ms: int


def guard(name: str, statement: str, arguments: list[Any], *, by: str, rows_max: int, buffers_max: int) -> Guard:
    return Guard(name, statement, tuple(arguments), frozenset(by.split()), rows_max, buffers_max)


GUARDS = [
    # 694 of a million are due.
    guard(
        "due plans",
        "plans.due",
        [ALL_SHARDS, At(-60_000), At(limits.AHEAD_MS), FIRE],
        by="plans_due",
        rows_max=2 * FIRE,
        buffers_max=4 * FIRE,
    ),
    # A million are due, as after an outage.
    guard(
        "due plans of a backlog",
        "plans.due",
        [ALL_SHARDS, At(-DAY_MS), At(DAY_MS), FIRE],
        by="plans_due",
        rows_max=2 * FIRE,
        buffers_max=4 * FIRE,
    ),
    guard(
        "due plans of a few shards",
        "plans.due",
        [range(16), At(-DAY_MS), At(DAY_MS), FIRE],
        by="plans_due",
        rows_max=2 * FIRE,
        buffers_max=4 * FIRE,
    ),
    guard(
        "claim",
        "runs.claim",
        ["w1", "queue-7", limits.AHEAD_MS, CLAIM],
        by="runs_ready runs_pkey",
        rows_max=3 * CLAIM,
        buffers_max=40 * CLAIM,
    ),
    guard(
        "promote",
        "runs.promote",
        [limits.AHEAD_MS, PROMOTE],
        by="runs_waiting runs_pkey",
        rows_max=3 * PROMOTE,
        buffers_max=40 * PROMOTE,
    ),
    guard("next waiting run", "runs.next_waiting", [], by="runs_waiting", rows_max=1, buffers_max=100),
    guard("queues", "runs.queues", [], by="runs_ready", rows_max=2 * QUEUES, buffers_max=10 * QUEUES),
    guard(
        "strays",
        "runs.strays",
        [limits.TIMEOUT_GRACE_MS, limits.RECLAIM_BATCH],
        by="runs_running",
        rows_max=2 * RUNNING,
        buffers_max=2 * RUNNING,
    ),
    guard(
        "held runs to free",
        "runs.free_held",
        [limits.RECLAIM_BATCH],
        by="runs_held runs_job",
        rows_max=4 * HELD,
        buffers_max=20 * HELD,
    ),
    guard(
        "page of jobs",
        "jobs.page",
        ["tenant-7", LAST_ID, None, None, None, None, None, PAGE],
        by="jobs_page plans_pkey",
        rows_max=3 * PAGE,
        buffers_max=10 * PAGE,
    ),
    guard(
        "page of jobs with a tag",
        "jobs.page",
        ["tenant-7", LAST_ID, "active", None, "blue", None, None, PAGE],
        by="jobs_page plans_pkey",
        rows_max=3 * PAGE,
        buffers_max=10 * PAGE,
    ),
    guard(
        "page of runs",
        "reads.runs_page",
        ["default", FIRST_ID, LAST_ID, None, None, None, PAGE],
        by="runs_pkey",
        rows_max=4 * PAGE,
        buffers_max=10 * PAGE,
    ),
    guard(
        "page of a job's runs",
        "reads.runs_page_of_job",
        ["default", FIRST_ID, LAST_ID, None, None, None, PAGE, A_JOB_ID],
        by="runs_job",
        rows_max=4 * PAGE,
        buffers_max=10 * PAGE,
    ),
    guard(
        "a job's unstarted runs",
        "jobs.lock_runs",
        [A_JOB_ID],
        by="runs_job",
        rows_max=2 * PAGE,
        buffers_max=10 * PAGE,
    ),
    guard(
        "enqueue",
        "runs.enqueue",
        enqueue_arguments([a_run() for _ in range(ASKED)]),
        by="",
        rows_max=ASKED,
        buffers_max=50 * ASKED,
    ),
]


@pytest.fixture(scope="module")
def filled(postgres_server: PostgresServer) -> Iterator[Filled]:
    postgres_server.create_database(DATABASE, template=TEMPLATE)
    dsn = postgres_server.dsn(DATABASE)
    with ThreadPoolExecutor(max_workers=1) as executor:
        at_ms = executor.submit(asyncio.run, _fill(dsn)).result()
    yield Filled(dsn, at_ms)
    postgres_server.drop_database(DATABASE)


async def _fill(dsn: str) -> int:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(SEED.read_text())
        await connection.execute("VACUUM ANALYZE")
        at_ms: int = await connection.fetchval("SELECT at_ms FROM public.seeded")
        return at_ms
    finally:
        await connection.close()


async def _explained(filled: Filled, guard: Guard, mode: str) -> Explained:
    arguments = [
        filled.at_ms + argument.after_ms if isinstance(argument, At) else argument for argument in guard.arguments
    ]
    connection = await asyncpg.connect(filled.dsn)
    try:
        return await explain(connection, guard.statement, arguments, mode=mode)
    finally:
        await connection.close()


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.name)
async def test_a_hot_statement_touches_no_more_than_it_must(filled: Filled, guard: Guard, mode: str) -> None:
    explained = await _explained(filled, guard, mode)
    assert explained.scanned == set(), explained.text
    assert guard.indexes <= explained.indexes | {""}, explained.text
    assert explained.rows <= guard.rows_max, explained.text
    assert explained.buffers <= guard.buffers_max, explained.text


async def test_a_scan_is_found(filled: Filled) -> None:
    """The guards can fail: a page of a tenant without runs has to look at all of them, and is seen to."""
    arguments = ["nobody", FIRST_ID, LAST_ID, None, None, None, PAGE]
    page = guard("page of nobody's runs", "reads.runs_page", arguments, by="", rows_max=0, buffers_max=0)
    explained = await _explained(filled, page, "force_custom_plan")
    assert "runs" in explained.scanned
    assert explained.rows >= 1_000_000
    assert explained.buffers >= 10_000
