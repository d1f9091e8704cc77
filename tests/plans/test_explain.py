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

from tests.plans.dispatch_guards import DISPATCH_GUARDS
from tests.plans.execution_guards import EXECUTION_GUARDS
from tests.plans.explained import Explained, explain
from tests.plans.gate_guards import GATE_GUARDS
from tests.plans.guards import FIRST_ID, GUARDS, LAST_ID, PAGE, At, Guard, RunsAt, guard
from tests.plans.quota_guards import QUOTA_GUARDS
from tests.support.fixtures import TEMPLATE
from tests.support.postgres import PostgresServer

SEED = Path(__file__).with_name("seed.sql")
DATABASE = "plans"


@dataclass(frozen=True)
class Filled:
    """A database with a million of everything that matters, filled at a moment of its clock."""

    dsn: str
    at_ms: int


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
    arguments = [_resolved(filled, argument) for argument in guard.arguments]
    connection = await asyncpg.connect(filled.dsn)
    try:
        return await explain(connection, guard.statement, arguments, mode=mode)
    finally:
        await connection.close()


def _resolved(filled: Filled, argument: Any) -> Any:
    match argument:
        case At(after_ms):
            return filled.at_ms + after_ms
        case RunsAt(numbers):
            return [_run_id(filled.at_ms, number) for number in numbers]
        case list():
            return [_resolved(filled, element) for element in argument]
        case _:
            return argument


def _run_id(at_ms: int, number: int) -> bytes:
    """As `public.id_at` of the seed makes it."""
    return (at_ms - 1_100_000 + number).to_bytes(6, "big") + bytes.fromhex(f"{number:x}".rjust(20, "7"))


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize(
    "guard",
    GUARDS + EXECUTION_GUARDS + DISPATCH_GUARDS + GATE_GUARDS + QUOTA_GUARDS,
    ids=lambda guard: guard.name,
)
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
