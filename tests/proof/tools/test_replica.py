"""A failover to a synchronous standby loses nothing that was acknowledged, and Dueline's store goes on by itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from dueline.domain.errors import StoreUnavailable
from dueline.domain.ids import BootId
from dueline.store.postgres.store import PostgresStore
from proof.tools import replica
from proof.tools.replica import Pair, replicated
from tests.faults.scenes import call, wait_for
from tests.support.dueline import DuelineProcess, processes, witness
from tests.support.processes import is_alive
from tests.support.stores import a_run, enqueue, register, the_run

pytestmark = [pytest.mark.long, pytest.mark.skipif(replica.why_not() is not None, reason=str(replica.why_not()))]

GOES_ON_S_MAX = 10.0


@pytest.fixture
def pair() -> Iterator[Pair]:
    with replicated() as pair:
        pair.primary.create_database("dueline")
        yield pair


async def soon(ask: Callable[[], Awaitable[object]]) -> float:
    """Ask until the store answers; how long that took."""
    begun = time.monotonic()
    while True:
        try:
            await ask()
        except StoreUnavailable:
            assert time.monotonic() - begun < GOES_ON_S_MAX
            await asyncio.sleep(0.05)
        else:
            return time.monotonic() - begun


def test_the_standby_has_what_was_acknowledged_and_nobody_is_left() -> None:
    with replicated(commit="remote_apply") as pair:
        with psycopg.connect(pair.dsn(), autocommit=True) as connection:
            connection.execute("CREATE TABLE mark (n int)")
            connection.execute("INSERT INTO mark VALUES (1)")
        with psycopg.connect(pair.standby.dsn(), autocommit=True) as connection:
            assert connection.execute("SELECT n FROM mark").fetchall() == [(1,)]
        killed = pair.primary.pid
        evidence = pair.fail_over()
        assert evidence["killed"] == killed
        assert not is_alive(killed)
        with psycopg.connect(pair.dsn(), autocommit=True) as connection:
            connection.execute("INSERT INTO mark VALUES (2)")
            assert connection.execute("SELECT count(*) FROM mark").fetchone() == (2,)
        standby = pair.standby.pid
        folders = [server.data_dir for server in (pair.primary, pair.standby)]
    assert not is_alive(standby)
    assert not any(folder.exists() for folder in folders)


async def test_a_store_goes_on_with_the_standby(pair: Pair) -> None:
    """Its pool, the connection of its heartbeat, and the one that listens."""
    heard = asyncio.Event()
    store = PostgresStore(pair.dsn("dueline"))
    await store.open()
    try:
        await store.migrate()
        node = await register(store, "n1", lease_s=60)
        store.listen(lambda topic: heard.set() if topic == "anything" else None)
        await asyncio.gather(*(enqueue(store, a_run()) for _ in range(20)))
        acknowledged = await enqueue(store, *(a_run() for _ in range(5)))

        await asyncio.to_thread(pair.fail_over)

        await soon(lambda: the_run(store, acknowledged[-1]))
        for run_id in acknowledged:
            await the_run(store, run_id)
        await soon(lambda: store.beat(BootId(node), lease_s=60))
        await soon(lambda: enqueue(store, a_run()))
        await asyncio.wait_for(said_until(heard, pair.dsn("dueline")), GOES_ON_S_MAX)
    finally:
        await store.close()


async def said_until(heard: asyncio.Event, dsn: str) -> None:
    """Say something again and again: what is said before the listening connection is back is not heard."""
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        while not heard.is_set():
            await connection.execute("SELECT pg_notify('dueline', 'anything')")
            await asyncio.sleep(0.1)


async def test_the_order_of_hosts_does_not_matter(pair: Pair) -> None:
    primary, standby = f"127.0.0.1:{pair.primary.port}", f"127.0.0.1:{pair.standby.port}"
    store = PostgresStore(f"postgresql://postgres@{standby},{primary}/dueline")
    await store.open()
    try:
        assert await store.migrate()
    finally:
        await store.close()


def test_a_server_goes_on_with_the_standby(pair: Pair, tmp_path: Path) -> None:
    with witness(tmp_path) as target, processes() as fleet:
        serve = DuelineProcess(tmp_path, "serve", "serve", "--port", "0", db=pair.dsn("dueline"))
        fleet.append(serve)
        url = serve.wait_until_running()
        assert url is not None
        job = {"schedule": {"cron": "* * * * * *"}, "target": {"type": "http", "url": f"{target.url}/ok"}}
        assert call(url, "POST", "/v1/jobs", job)[0] == 201
        wait_for(lambda: len(target.hits()) >= 2, within_s=10)
        pair.fail_over()
        seen = len(target.hits())
        wait_for(lambda: len(target.hits()) > seen + 2, within_s=3 * GOES_ON_S_MAX)
        assert call(url, "POST", "/v1/jobs", job)[0] == 201
        deliveries = [(hit["dueline-run"], hit["dueline-token"]) for hit in target.hits()]
        assert len(deliveries) == len(set(deliveries))
        assert serve.stop() == 0
