"""Connections that are shared: nobody gets one that somebody else has, or that is broken, and none is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import asyncpg
import pytest

from dueline.domain.errors import StoreUnavailable
from dueline.store.postgres.pool import Pool
from dueline.store.postgres.reaching import Connection, reach

LONG_S = 60.0
MakePool = Callable[..., Pool]


@pytest.fixture
async def make_pool(postgres_dsn: str) -> AsyncIterator[MakePool]:
    made: list[Pool] = []

    def make(
        size: int = 1,
        *,
        patience_s: float = LONG_S,
        idle_s: float = LONG_S,
        connect: Callable[[], Awaitable[Connection]] = lambda: reach(postgres_dsn),
    ) -> Pool:
        made.append(Pool(connect, size=size, patience_s=patience_s, idle_s=idle_s))
        return made[-1]

    yield make
    for pool in made:
        await pool.close(0.2)


async def settle() -> None:
    """Let others go on until they wait."""
    for _ in range(5):
        await asyncio.sleep(0)


async def pid(connection: Connection) -> int:
    found: int = await connection.fetchval("SELECT pg_backend_pid()")
    return found


async def test_a_connection_is_used_again_and_again(make_pool: MakePool) -> None:
    pool = make_pool(size=3)
    pids = set()
    for _ in range(5):
        async with pool.lend() as connection:
            pids.add(await pid(connection))
    assert len(pids) == 1


async def test_there_are_so_many_and_no_more_and_who_waits_longest_is_next(make_pool: MakePool) -> None:
    pool = make_pool(size=2)
    first, second = await pool.acquire(), await pool.acquire()
    assert first is not second
    order: list[int] = []

    async def take(number: int) -> Connection:
        connection = await pool.acquire()
        order.append(number)
        return connection

    waiting = [asyncio.create_task(take(number)) for number in range(2)]
    await settle()
    assert order == []
    pool.release(first)
    assert await waiting[0] is first
    await settle()
    assert order == [0]
    pool.release(second)
    assert await waiting[1] is second


async def test_patience_ends_and_costs_no_connection(make_pool: MakePool) -> None:
    pool = make_pool(patience_s=0.01)
    only = await pool.acquire()
    with pytest.raises(TimeoutError):
        await pool.acquire()
    pool.release(only)
    assert await pool.acquire() is only


async def test_who_is_cancelled_in_the_moment_that_it_is_served_gives_it_back(make_pool: MakePool) -> None:
    pool = make_pool()
    only = await pool.acquire()
    unlucky = asyncio.create_task(pool.acquire())
    await settle()
    pool.release(only)
    unlucky.cancel()
    with pytest.raises(asyncio.CancelledError):
        await unlucky
    assert await asyncio.wait_for(pool.acquire(), 5) is only


async def test_who_is_cancelled_while_it_waits_is_passed_over(make_pool: MakePool) -> None:
    pool = make_pool()
    only = await pool.acquire()
    gone, next_one = (asyncio.create_task(pool.acquire()) for _ in range(2))
    await settle()
    gone.cancel()
    await settle()
    pool.release(only)
    assert await next_one is only


async def test_one_that_the_server_closed_is_made_anew(make_pool: MakePool, postgres_dsn: str) -> None:
    pool = make_pool()
    async with pool.lend() as connection:
        killed = await pid(connection)
    other = await reach(postgres_dsn)
    await other.execute("SELECT pg_terminate_backend($1)", killed)
    await other.close()
    # Whether it is known to be closed by now is a matter of moments: at most one statement finds out.
    with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError):
        async with pool.lend() as connection:
            await connection.fetchval("SELECT 1")
    async with pool.lend() as connection:
        assert await pid(connection) != killed


async def test_a_statement_that_nobody_waits_for_any_more_costs_its_connection(make_pool: MakePool) -> None:
    pool = make_pool()

    seen: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def sleep() -> None:
        async with pool.lend() as connection:
            seen.set_result(await pid(connection))
            await connection.execute("SELECT pg_sleep(60)")

    asking = asyncio.create_task(sleep())
    await seen
    await settle()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    async with pool.lend() as connection:
        assert await pid(connection) != seen.result()


async def test_a_refusal_of_the_server_costs_nothing(make_pool: MakePool) -> None:
    pool = make_pool()
    async with pool.lend() as connection:
        before = await pid(connection)
    with pytest.raises(asyncpg.PostgresError):
        async with pool.lend() as connection:
            await connection.execute("SELECT 1 / 0")
    async with pool.lend() as connection:
        assert await pid(connection) == before


async def test_one_that_is_left_in_the_middle_of_a_transaction_is_not_lent_again(make_pool: MakePool) -> None:
    pool = make_pool()
    async with pool.lend() as connection:
        left = await pid(connection)
        await connection.execute("BEGIN")
    async with pool.lend() as connection:
        assert await pid(connection) != left


async def test_a_failure_to_connect_leaves_its_place_to_the_next(make_pool: MakePool, postgres_dsn: str) -> None:
    tries: list[asyncio.Future[None]] = []

    async def connect() -> Connection:
        tries.append(asyncio.get_running_loop().create_future())
        await tries[-1]
        return await reach(postgres_dsn)

    pool = make_pool(connect=connect)
    first, second = (asyncio.create_task(pool.acquire()) for _ in range(2))
    await settle()
    assert len(tries) == 1
    tries[0].set_exception(ConnectionRefusedError())
    with pytest.raises(ConnectionRefusedError):
        await first
    await settle()
    assert len(tries) == 2
    tries[1].set_result(None)
    assert not (await second).is_closed()


async def test_what_lies_idle_is_closed_and_what_is_used_is_not(make_pool: MakePool) -> None:
    pool = make_pool(size=2, idle_s=0.05)
    used, idle = await pool.acquire(), await pool.acquire()
    pool.release(idle)
    closed = asyncio.Event()
    idle.add_termination_listener(lambda _: closed.set())
    await asyncio.wait_for(closed.wait(), 20)
    assert await used.fetchval("SELECT 1") == 1
    pool.release(used)


async def test_closing_waits_for_what_is_lent_and_then_cuts_it_off(make_pool: MakePool) -> None:
    pool = make_pool(size=3)
    returned, kept, idle = [await pool.acquire() for _ in range(3)]
    pool.release(idle)
    closing = asyncio.create_task(pool.close(0.2))
    await settle()
    pool.release(returned)
    assert not kept.is_closed()
    await closing
    assert all(connection.is_closed() for connection in (returned, kept, idle))
    pool.release(kept)
    with pytest.raises(StoreUnavailable):
        await pool.acquire()


async def test_who_waits_when_it_is_closed_is_told(make_pool: MakePool) -> None:
    pool = make_pool()
    await pool.acquire()
    waiting = asyncio.create_task(pool.acquire())
    await settle()
    await pool.close(0.01)
    with pytest.raises(StoreUnavailable):
        await waiting
