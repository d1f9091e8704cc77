"""Hot statements on PostgreSQL stay on their indexes among a million rows, and touch what they need and no more.

Each is asked twice: planned when PostgreSQL had counted the rows, and planned while there were none and never again, as by a process that
was there first.
"""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from dueline.store.postgres.database import SETTINGS
from tests.plans.dispatch_guards import DISPATCH_GUARDS
from tests.plans.edge_guards import EDGE_GUARDS
from tests.plans.execution_guards import EXECUTION_GUARDS
from tests.plans.explained import Explained, explain, prepare
from tests.plans.gate_guards import GATE_GUARDS
from tests.plans.guards import FIRST_ID, GUARDS, LAST_ID, PAGE, At, Guard, JobAt, JobsAt, RunsAt, guard
from tests.plans.move_guards import MOVE_GUARDS
from tests.plans.quota_guards import QUOTA_GUARDS
from tests.support.fixtures import TEMPLATE
from tests.support.postgres import PostgresServer

EMPTY, SEED = (Path(__file__).with_name(name) for name in ("empty.sql", "seed.sql"))
DATABASE = "plans"
ALL_GUARDS = GUARDS + EXECUTION_GUARDS + DISPATCH_GUARDS + GATE_GUARDS + QUOTA_GUARDS + MOVE_GUARDS + EDGE_GUARDS
# What people ask, and the recovery from an outage: until the rows are counted, these may take their time.
PATIENT = {"overdue plans", "missed runs", "runs a worker is to end", "what is told of a job's occurrences"}


@dataclass(frozen=True)
class Filled:
    """A database with very many of everything that matters, filled at a moment of its clock.

    `early` is what statements did, by the names of their guards, that were planned while it was empty.
    """

    dsn: str
    at_ms: int
    early: dict[str, Explained]


@pytest.fixture(scope="module")
def filled(postgres_server: PostgresServer) -> Iterator[Filled]:
    postgres_server.create_database(DATABASE, template=TEMPLATE)
    dsn = postgres_server.dsn(DATABASE)
    with ThreadPoolExecutor(max_workers=1) as executor:
        filled = executor.submit(asyncio.run, _fill(dsn)).result()
    yield filled
    postgres_server.drop_database(DATABASE)


async def _fill(dsn: str) -> Filled:
    connection = await asyncpg.connect(dsn, server_settings=SETTINGS | {"statement_timeout": "0"})
    try:
        await connection.execute(EMPTY.read_text())
        # As a vacuum leaves what is empty for the moment: now PostgreSQL takes it for empty, and not for unknown.
        await connection.execute("VACUUM ANALYZE")
        at_ms: int = await connection.fetchval("SELECT at_ms FROM public.seeded")
        for statement in sorted({guard.statement for guard in ALL_GUARDS}):
            await prepare(connection, statement)
        for guard in ALL_GUARDS:
            await explain(connection, guard.statement, _arguments(at_ms, guard))
        await connection.execute(SEED.read_text())
        early = {
            guard.name: await explain(connection, guard.statement, _arguments(at_ms, guard))
            for guard in ALL_GUARDS
            if guard.name not in PATIENT
        }
        await connection.execute("VACUUM ANALYZE")
        return Filled(dsn, at_ms, early)
    finally:
        await connection.close()


async def _explained(filled: Filled, guard: Guard) -> Explained:
    connection = await asyncpg.connect(filled.dsn, server_settings=SETTINGS)
    try:
        await prepare(connection, guard.statement)
        return await explain(connection, guard.statement, _arguments(filled.at_ms, guard))
    finally:
        await connection.close()


def _arguments(at_ms: int, guard: Guard) -> list[Any]:
    return [_resolved(at_ms, argument) for argument in guard.arguments]


def _resolved(at_ms: int, argument: Any) -> Any:
    match argument:
        case At(after_ms):
            return at_ms + after_ms
        case RunsAt(numbers):
            return [_id_at(at_ms - 1_100_000 + number, number) for number in numbers]
        case JobsAt(numbers):
            return [_id_at(at_ms - 1_000_000 + number, number) for number in numbers]
        case JobAt(number):
            return _id_at(at_ms - 1_000_000 + number, number)
        case list():
            return [_resolved(at_ms, element) for element in argument]
        case _:
            return argument


def _id_at(at_ms: int, number: int) -> bytes:
    """As `public.id_at` of the seed makes it."""
    return at_ms.to_bytes(6, "big") + bytes.fromhex(f"{number:x}".rjust(20, "7"))


@pytest.mark.parametrize("guard", ALL_GUARDS, ids=lambda guard: guard.name)
async def test_a_hot_statement_touches_no_more_than_it_must(filled: Filled, guard: Guard) -> None:
    _hold(guard, await _explained(filled, guard))


@pytest.mark.parametrize(
    "guard", [guard for guard in ALL_GUARDS if guard.name not in PATIENT], ids=lambda guard: guard.name
)
async def test_a_hot_statement_that_was_planned_too_early_touches_no_more(filled: Filled, guard: Guard) -> None:
    _hold(guard, filled.early[guard.name])


def _hold(guard: Guard, explained: Explained) -> None:
    assert explained.scanned == set(), explained.text
    assert guard.indexes <= explained.indexes | {""}, explained.text
    assert explained.rows <= guard.rows_max, explained.text
    assert explained.buffers <= guard.buffers_max, explained.text


async def test_a_scan_is_found(filled: Filled) -> None:
    """The guards can fail: a page of a tenant without runs has to look at all of them, and is seen to."""
    arguments = ["nobody", FIRST_ID, LAST_ID, None, None, None, PAGE, None]
    page = guard("page of nobody's runs", "reads.runs_page", arguments, by="", rows_max=0, buffers_max=0)
    explained = await _explained(filled, page)
    assert explained.rows >= 1_000_000
    assert explained.buffers >= 10_000
