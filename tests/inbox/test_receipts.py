"""Each run has its effect once: on every driver, however deliveries meet."""

import asyncio
import sqlite3
from datetime import timedelta

import asyncpg
import psycopg
import pytest

from dueline.domain import limits
from dueline.domain.errors import Invalid
from dueline.inbox import Delivery, Inbox, Misused
from dueline.runtime.clock import ManualClock
from tests.inbox.conftest import Join
from tests.inbox.deliveries import NOW_MS, a_delivery
from tests.inbox.parties import Party, Psycopg, Sqlite

DAY = timedelta(days=1)
WAIT_S_MAX = 20.0
POLL_S = 0.01
POLLS_MAX = 2_000


async def have_effect(party: Party, delivery: Delivery) -> bool:
    """What a receiver does with a delivery, up to the end of its transaction."""
    await party.begin()
    first = await party.first(delivery)
    if first:
        await party.execute("INSERT INTO effects VALUES ('done')")
    return first


async def receive(party: Party, delivery: Delivery) -> bool:
    first = await have_effect(party, delivery)
    await party.commit()
    return first


async def test_the_second_delivery_has_no_effect(join: Join) -> None:
    party = await join()
    assert await receive(party, a_delivery(token=1))
    assert not await receive(party, a_delivery(token=2, attempt=2))
    assert not await receive(party, a_delivery(token=2, attempt=2))
    assert await receive(party, a_delivery(2))
    assert await party.fetch("SELECT count(*) FROM effects") == [(2,)]
    found = await party.fetch("SELECT run_id, token, deliveries, received_ms FROM dueline_inbox ORDER BY run_id")
    assert found == [(a_delivery(1).run_id, 2, 3, NOW_MS), (a_delivery(2).run_id, 1, 1, NOW_MS)]


async def test_a_stale_delivery_has_no_effect_and_the_highest_token_stays(join: Join) -> None:
    party = await join()
    assert await receive(party, a_delivery(token=5))
    assert not await receive(party, a_delivery(token=4))
    assert await party.fetch("SELECT token FROM dueline_inbox") == [(5,)]


async def test_what_is_rolled_back_never_happened(join: Join) -> None:
    party = await join()
    assert await have_effect(party, a_delivery(token=1))
    await party.rollback()
    assert await party.fetch("SELECT * FROM dueline_inbox") == []
    assert await receive(party, a_delivery(token=2))
    assert await party.fetch("SELECT * FROM effects") == [("done",)]


async def test_within_one_transaction_only_the_first_is_first(join: Join) -> None:
    party = await join()
    await party.begin()
    assert [await party.first(a_delivery()) for _ in range(3)] == [True, False, False]
    await party.commit()


async def test_what_a_savepoint_takes_back_never_happened(join: Join) -> None:
    party = await join()
    await party.begin()
    assert await party.first(a_delivery(1))
    await party.execute("SAVEPOINT inner_work")
    assert await party.first(a_delivery(2))
    await party.execute("ROLLBACK TO SAVEPOINT inner_work")
    await party.commit()
    assert not await receive(party, a_delivery(1))
    assert await receive(party, a_delivery(2))


@pytest.mark.parametrize(("token", "other_token"), [(1, 2), (2, 1)])
@pytest.mark.parametrize("committed", [True, False])
async def test_two_deliveries_at_the_same_time_have_one_effect(
    join: Join, token: int, other_token: int, committed: bool
) -> None:
    party, other = await join(), await join()
    assert await have_effect(party, a_delivery(token=token))
    waiting = asyncio.create_task(receive(other, a_delivery(token=other_token)))
    await wait_until_blocked(party)
    assert not waiting.done()
    await (party.commit() if committed else party.rollback())
    async with asyncio.timeout(WAIT_S_MAX):
        assert await waiting is not committed
    assert await party.fetch("SELECT * FROM effects") == [("done",)]
    assert await party.fetch("SELECT token FROM dueline_inbox") == [(2,) if committed else (other_token,)]


async def wait_until_blocked(holder: Party) -> None:
    """Until somebody waits for the transaction of `holder`. SQLite does not tell who waits, only that nobody gets through."""
    if isinstance(holder, Sqlite):
        path = holder.connection.execute("PRAGMA database_list").fetchone()["file"]
        intruder = sqlite3.connect(path, timeout=0)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            intruder.execute("BEGIN IMMEDIATE")
        intruder.close()
        return
    for _ in range(POLLS_MAX):
        if await holder.fetch("SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"):
            return
        await asyncio.sleep(POLL_S)
    raise AssertionError("nobody waits")


async def test_many_deliveries_at_the_same_time_have_one_effect(join: Join) -> None:
    parties = [await join() for _ in range(6)]
    firsts = await asyncio.gather(*[receive(party, a_delivery(token=n)) for n, party in enumerate(parties)])
    assert sorted(firsts) == [False] * 5 + [True]
    assert await parties[0].fetch("SELECT * FROM effects") == [("done",)]


@pytest.mark.parametrize(
    "set_level", [f"SET TRANSACTION ISOLATION LEVEL {level}" for level in ("REPEATABLE READ", "SERIALIZABLE")]
)
async def test_a_stricter_isolation_fails_rather_than_having_the_effect_twice(
    postgres_dsn: str, set_level: str
) -> None:
    party, other = Psycopg(Inbox()), Psycopg(Inbox())
    for one in (party, other):
        await one.open(postgres_dsn)
        await one.execute(one.inbox.schema)
        await one.commit()
    for one in (party, other):
        await one.execute(set_level)
        await one.execute("SELECT 1")
    assert await party.first(a_delivery())
    await party.commit()
    with pytest.raises(psycopg.errors.SerializationFailure):
        await other.first(a_delivery())
    await other.rollback()
    assert not await other.first(a_delivery())
    for one in (party, other):
        await one.close()


async def test_later_deliveries_are_answered_as_the_first_was(join: Join) -> None:
    party = await join()
    await party.begin()
    assert await party.answered(a_delivery()) is None
    assert await party.first(a_delivery())
    await party.answer(a_delivery(), "käse: 3 left")
    await party.commit()
    await party.begin()
    assert not await party.first(a_delivery(token=2))
    assert await party.answered(a_delivery(token=2)) == "käse: 3 left"
    with pytest.raises(Misused, match="kept once"):
        await party.answer(a_delivery(token=2), "another")
    await party.rollback()


async def test_an_answer_without_a_receipt_is_a_mistake(join: Join) -> None:
    party = await join()
    await party.begin()
    with pytest.raises(Misused, match="after `first`"):
        await party.answer(a_delivery(), "too early")
    await party.rollback()


async def test_receipts_are_forgotten_by_the_age_of_their_last_delivery(join: Join, clock: ManualClock) -> None:
    party = await join()
    await receive(party, a_delivery(1))
    await receive(party, a_delivery(2))
    clock.advance(60)
    await receive(party, a_delivery(2, token=2))
    clock.advance(86_400 - 60)
    assert await forget(party, DAY) == 0
    clock.advance(0.001)
    assert await forget(party, DAY) == 1
    assert await party.fetch("SELECT run_id FROM dueline_inbox") == [(a_delivery(2).run_id,)]
    assert await receive(party, a_delivery(1))


async def forget(party: Party, older_than: timedelta) -> int:
    await party.begin()
    forgotten = await party.forget(older_than)
    await party.commit()
    return forgotten


async def test_many_receipts_are_forgotten_in_batches(join: Join, clock: ManualClock) -> None:
    party = await join()
    await party.begin()
    for number in range(limits.FORGET_BATCH + 1):
        await party.first(a_delivery(number))
    await party.commit()
    clock.advance(90_000)
    assert [await forget(party, DAY) for _ in range(3)] == [limits.FORGET_BATCH, 1, 0]


async def test_a_receipt_that_is_renewed_meanwhile_is_not_forgotten(join: Join, clock: ManualClock) -> None:
    party, other = await join(), await join()
    await receive(party, a_delivery())
    clock.advance(90_000)
    assert not await have_effect(party, a_delivery(token=2))
    forgetting = asyncio.create_task(forget(other, DAY))
    await wait_until_blocked(party)
    await party.commit()
    async with asyncio.timeout(WAIT_S_MAX):
        assert await forgetting == 0
    assert not await receive(party, a_delivery(token=3))


def test_receipts_outlive_what_could_be_played_again() -> None:
    inbox, connection = Inbox(), sqlite3.connect(":memory:")
    connection.executescript(inbox.schema)
    assert inbox.forget(connection, older_than=timedelta(minutes=10)) == 0
    with pytest.raises(Invalid, match="older_than"):
        inbox.forget(connection, older_than=timedelta(minutes=10, milliseconds=-1))
    connection.close()


@pytest.mark.parametrize("table", ["dueline_inbox", "order", "_1", "a" * 54])
def test_a_table_may_have_any_plain_name(table: str) -> None:
    inbox, connection = Inbox(table=table), sqlite3.connect(":memory:")
    for _ in range(2):
        connection.executescript(inbox.schema)
    assert [inbox.first(connection, a_delivery()) for _ in range(2)] == [True, False]
    assert inbox.forget(connection, older_than=DAY) == 0
    connection.close()


async def test_a_table_may_lie_in_a_schema_of_postgresql(postgres_dsn: str) -> None:
    inbox = Inbox(table="shop.order")
    connection = await asyncpg.connect(postgres_dsn)
    await connection.execute("CREATE SCHEMA shop")
    await connection.execute(inbox.schema)
    async with connection.transaction():
        assert await inbox.first(connection, a_delivery())
        assert not await inbox.first(connection, a_delivery())
    assert await inbox.forget(connection, older_than=DAY) == 0
    assert await connection.fetchval('SELECT count(*) FROM shop."order"') == 1
    await connection.close()


@pytest.mark.parametrize(
    "table", ["", "Inbox", "a.b.c", "a b", 'a"', "a;", "1a", "a.", ".a", "a\n", "ä", "a" * 55, "a?", "a%s"]
)
def test_a_name_that_is_none_is_refused(table: str) -> None:
    with pytest.raises(Invalid, match="table"):
        Inbox(table=table)
