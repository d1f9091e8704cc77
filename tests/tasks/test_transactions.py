"""Runs that are asked for in a transaction of the caller's own, on every driver: they are there if and only if it commits."""

import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import asyncpg
import psycopg
import pytest

from dueline import App
from dueline.domain.errors import Invalid, Misused
from dueline.domain.ids import parse_run_id
from dueline.domain.instants import format_instant
from dueline.domain.job import DEFAULT_TENANT
from dueline.domain.run import Run
from dueline.inbox import Inbox
from dueline.store.postgres.store import PostgresStore
from dueline.store.protocol import Store
from dueline.store.shapes import RunFilter
from dueline.tasks.task import Task
from tests.inbox.parties import PARTIES, Party, Sqlite
from tests.support.stores import register

DRIVERS = [kind for kind in PARTIES if kind is not Sqlite]


@pytest.fixture
def charge() -> Task[..., Any]:
    app = App("shop", url="http://127.0.0.1:9", api_key="")

    @app.task(name="charge", queue="mail", timeout="5m", retry={"max_attempts": 3, "never_on": ["timeout"]})
    def charge(customer: str, cents: int = 1) -> None: ...

    return charge


@pytest.fixture
async def store(postgres_dsn: str) -> AsyncIterator[Store]:
    store = PostgresStore(postgres_dsn)
    await store.open()
    yield store
    await store.close()


@pytest.fixture(params=DRIVERS, ids=lambda kind: kind.__name__)
async def party(request: pytest.FixtureRequest, postgres_dsn: str) -> AsyncIterator[Party]:
    """A shop with a table of its own beside Dueline's."""
    kind: type[Party] = request.param
    party = kind(Inbox())
    await party.open(postgres_dsn)
    await party.begin()
    await party.execute("CREATE TABLE orders (customer text)")
    await party.commit()
    yield party
    await party.close()


async def runs(store: Store) -> list[Run]:
    return await store.runs_page(RunFilter(tenant=DEFAULT_TENANT), before=None, limit=100)


async def buy(party: Party, task: Task[..., Any], customer: str) -> str:
    await party.execute("INSERT INTO orders VALUES ('somebody')")
    return await party.ask(lambda: task.within(party.connection).enqueue(customer, cents=5))


async def test_what_is_committed_is_there(party: Party, store: Store, charge: Task[..., Any]) -> None:
    await party.begin()
    run_id = await buy(party, charge, "ada")
    assert await runs(store) == [], "nobody else sees it yet"
    await party.commit()
    (run,) = await runs(store)
    assert (run.id, run.queue, run.due_ms) == (parse_run_id(run_id), "mail", run.created_ms)
    await store.promote(ahead_ms=1_000, limit=10)
    worker = await register(store, "w")
    (claim,) = (await store.claim(worker, "mail", "task", ahead_ms=1_000, limit=10)).claims
    assert '"args":{"customer":"ada","cents":5}' in (claim.spec or "")


async def test_an_app_enqueues_its_tasks_by_name_on_a_connection(party: Party, store: Store) -> None:
    app = App("shop", url="http://127.0.0.1:9", api_key="")

    @app.task(name="charge")
    def charge(customer: str) -> None: ...

    await party.begin()
    await party.ask(lambda: app.enqueue(charge, {"customer": "ada"}, connection=party.connection))
    await party.rollback()
    assert await runs(store) == []
    await party.begin()
    run_id = await party.ask(
        lambda: app.enqueue("charge", {"customer": "ada"}, connection=party.connection, priority=8)
    )
    await party.commit()
    (run,) = await runs(store)
    assert (run.id, run.priority) == (parse_run_id(run_id), 8)
    with pytest.raises(Invalid, match="shop has no task charges"):
        app.enqueue("charges", connection=party.connection)


async def test_what_is_rolled_back_was_never_there(party: Party, store: Store, charge: Task[..., Any]) -> None:
    await party.begin()
    await buy(party, charge, "ada")
    await party.rollback()
    await party.begin()
    assert await party.fetch("SELECT * FROM orders") == []
    await party.commit()
    assert await runs(store) == []


async def test_what_is_rolled_back_to_a_savepoint_was_never_there(
    party: Party, store: Store, charge: Task[..., Any]
) -> None:
    await party.begin()
    first = await buy(party, charge, "ada")
    await party.execute("SAVEPOINT second")
    await buy(party, charge, "bob")
    await party.execute("ROLLBACK TO second")
    third = await buy(party, charge, "eve")
    await party.commit()
    assert {run.id for run in await runs(store)} == {parse_run_id(first), parse_run_id(third)}


async def test_many_in_one_statement(party: Party, store: Store, charge: Task[..., Any]) -> None:
    moment = datetime(2099, 12, 24, 18, tzinfo=UTC)
    order = charge.at(moment).using(priority=9, tags=["xmas"], requires=["gpu"], expires_after="1h", fairness_key="k")
    many = [{"customer": f"{n}", "cents": n} for n in range(100)]
    await party.begin()
    ids = await party.ask(lambda: order.within(party.connection).enqueue_many(many))
    assert await party.ask(lambda: order.within(party.connection).enqueue_many([])) == []
    specs = dict(await party.fetch("SELECT dueline.run_text(id) AS id, spec FROM dueline.runs"))
    await party.commit()
    assert [f'"cents":{n}}}' in specs[run_id] for n, run_id in enumerate(ids)] == [True] * 100
    found = await runs(store)
    assert {(run.priority, run.tags, format_instant(run.due_ms)) for run in found} == {
        (9, ("xmas",), "2099-12-24T18:00:00.000Z")
    }


async def test_wrong_arguments_do_not_harm_the_transaction(party: Party, store: Store, charge: Task[..., Any]) -> None:
    """They are refused here, as over HTTP: a statement that fails would end it."""
    wrong: list[tuple[Any, str]] = [
        (lambda: charge.within(party.connection).enqueue(), "customer: is required"),
        (lambda: charge.within(party.connection).enqueue(5), "customer: "),
        (lambda: charge.within(party.connection).enqueue("x" * 65_536), "target.args: "),
        (lambda: charge.using(queue="a b").within(party.connection).enqueue("a"), "queue: "),
        (lambda: charge.using(priority=10).within(party.connection).enqueue("a"), "priority: "),
        (lambda: charge.using(tags=["a", "a"]).within(party.connection).enqueue("a"), r"tags\[1\]: "),
        (lambda: charge.using(quue="a").within(party.connection).enqueue("a"), "did you mean queue"),
        (
            lambda: charge.using(rate={"limit": 1, "per": "1s", "key": "k"}).within(party.connection).enqueue("a"),
            "rate: ",
        ),
        (lambda: charge.using(dedupe_key="k").within(party.connection).enqueue("a"), "dedupe_key: "),
        (lambda: charge.at("2020-01-01T00:00:00Z").within(party.connection).enqueue("a"), "due_at: .* past"),
        (lambda: charge.at("12020-01-01T00:00:00Z").within(party.connection).enqueue("a"), "due_at: "),
        (
            lambda: charge.using(queue="a b").within(party.connection).enqueue_many([{"customer": "a"}]),
            r"runs\[0\]\.queue",
        ),
        (lambda: charge.within(party.connection).enqueue_many([{"customer": "a"}] * 10_001), "are 10001"),
    ]
    await party.begin()
    for ask, reason in wrong:
        with pytest.raises(Invalid, match=reason):
            await party.ask(ask)
    await buy(party, charge, "ada")
    await party.commit()
    assert len(await runs(store)) == 1


async def test_a_connection_that_commits_by_itself_commits_these_too(
    postgres_dsn: str, store: Store, charge: Task[..., Any]
) -> None:
    with psycopg.connect(postgres_dsn, autocommit=True) as blocking:
        charge.within(blocking).enqueue("a")
        assert len(await runs(store)) == 1
    connection = await asyncpg.connect(postgres_dsn)
    assert (await charge.within(connection).enqueue("b")).startswith("run_")
    await connection.close()
    assert len(await runs(store)) == 2


async def test_what_is_no_connection_to_postgresql_is_refused(postgres_dsn: str, charge: Task[..., Any]) -> None:
    nothing: Any
    async with asyncpg.create_pool(postgres_dsn, min_size=0) as pool:
        for nothing in (pool, object(), None):
            with pytest.raises(Misused, match="is no connection that can be used"):
                charge.within(nothing)
    database = sqlite3.connect(":memory:")
    with pytest.raises(Misused, match="On SQLite it has its file for itself"):
        charge.within(database)
    database.close()


async def test_a_database_without_dueline_says_so(postgres_dsn: str, charge: Task[..., Any]) -> None:
    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("DROP SCHEMA dueline CASCADE")
        with pytest.raises(psycopg.errors.InvalidSchemaName, match='schema "dueline" does not exist'):
            charge.within(connection).enqueue("a")
        connection.rollback()


async def test_codecs_and_rows_of_the_callers_own_do_not_matter(
    postgres_dsn: str, store: Store, charge: Task[..., Any]
) -> None:
    connection = await asyncpg.connect(postgres_dsn)
    for name in ("json", "jsonb"):
        await connection.set_type_codec(name, schema="pg_catalog", encoder=_never, decoder=_never)
    await connection.execute(
        "SET datestyle = 'SQL, DMY'; SET intervalstyle = 'sql_standard'; SET timezone = 'Asia/Tokyo'"
    )
    await charge.at("2099-01-02T00:00:00Z").using(run_timeout="1h30m").within(connection).enqueue("a")
    await connection.close()
    (run,) = await runs(store)
    assert format_instant(run.due_ms) == "2099-01-02T00:00:00.000Z"


def _never(_value: Any) -> str:
    raise AssertionError("nothing goes this way")


IMPORTED = """
import sys
from dueline import App
app = App()
@app.task
def charge(): ...
charge.within
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_a_program_with_tasks_gets_no_driver() -> None:
    ended = subprocess.run([sys.executable, "-c", IMPORTED], check=True, capture_output=True, text=True)
    assert set(ended.stdout.split()).isdisjoint({"asyncpg", "psycopg", "sqlite3", "apsw"})
