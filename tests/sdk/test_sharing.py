"""One client for many: threads, coroutines, loops and forks."""

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from dueline import AsyncClient, Client
from dueline.sdk import errors
from dueline.sdk.retries import NEVER, RetryPolicy
from tests.support.target import Answer, Silence, Target, closed_port

LIVE = "/livez"
OK = Answer(body=b'{"status": "ok"}')
MANY = 24


@pytest.fixture
async def target() -> AsyncIterator[Target]:
    async with Target() as target:
        target.on(LIVE, lambda _: OK._replace(delay_s=0.02))
        yield target


async def test_threads_share_a_bounded_number_of_connections(target: Target) -> None:
    with Client(target.url, api_key="", connections_max=4) as client, ThreadPoolExecutor(MANY) as threads:
        loop = asyncio.get_running_loop()
        asked = [loop.run_in_executor(threads, client.health.live) for _ in range(MANY)]
        assert [health.status for health in await asyncio.gather(*asked)] == ["ok"] * MANY
    assert target.connections_total <= 4


async def test_coroutines_share_a_bounded_number_of_connections(target: Target) -> None:
    async with AsyncClient(target.url, api_key="", connections_max=4) as client:
        answers = await asyncio.gather(*(client.health.live() for _ in range(MANY)))
    assert [health.status for health in answers] == ["ok"] * MANY
    assert target.connections_total <= 4


async def test_whoever_gets_no_connection_in_time_has_sent_nothing(target: Target) -> None:
    target.on(LIVE, lambda _: Silence.HANG)
    async with AsyncClient(target.url, api_key="", connections_max=1, retry=NEVER) as client:
        first = asyncio.create_task(client.health.live())
        await target.wait_for_hits(1)
        with pytest.raises(errors.Unreachable) as raised:
            await client.with_timeout(0.05).health.live()
        first.cancel()
    assert not raised.value.sent
    with Client(target.url, api_key="", connections_max=1, retry=NEVER, timeout_s=30) as waiting:
        asking = asyncio.create_task(asyncio.to_thread(waiting.health.live))
        await target.wait_for_hits(2)
        with pytest.raises(errors.Unreachable, match=r"all 1 connections .* were in use") as refused:
            await asyncio.to_thread(waiting.with_timeout(0.05).health.live)
        waiting.interrupt()
        with pytest.raises(errors.Unreachable):
            await asking
    assert not refused.value.sent


async def test_who_is_cancelled_leaves_a_clean_pool_behind(target: Target) -> None:
    async with AsyncClient(target.url, api_key="", connections_max=1) as client:
        target.on("/readyz", lambda _: Silence.HANG)
        hanging = asyncio.create_task(client.health.ready())
        await target.wait_for_hits(1)
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
        assert (await client.health.live()).status == "ok"


async def test_a_call_that_waits_for_another_try_can_be_broken_off() -> None:
    with closed_port() as port:
        patient = RetryPolicy(attempts_max=100, base_s=1_000.0, cap_s=1_000.0)
        client = Client(f"http://127.0.0.1:{port}", api_key="", retry=patient, timeout_s=100_000)
        asking = asyncio.create_task(asyncio.to_thread(client.health.live))
        while not asking.done():
            client.interrupt()
            await asyncio.sleep(0.01)
        with pytest.raises(errors.Unreachable, match=r"interrupted|no answer"):
            await asking


def test_one_client_on_one_loop_after_the_other() -> None:
    client: AsyncClient | None = None

    async def ask() -> int:
        nonlocal client
        async with Target() as target:
            target.on(LIVE, lambda _: OK)
            client = client or AsyncClient(target.url, api_key="", retry=NEVER)
            client.driver.pool.address = client.driver.pool.address._replace(port=target.port)
            await client.health.live()
            await client.close()
            return target.connections_total

    assert [asyncio.run(ask()), asyncio.run(ask())] == [1, 1]


async def test_a_fork_leaves_the_connections_of_its_parent_alone(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client(target.url, api_key="") as client:
        await asyncio.to_thread(client.health.live)
        (parents,) = client.driver.pool._idle
        monkeypatch.setattr(os, "getpid", lambda: -1)
        await asyncio.to_thread(client.health.live)
        assert parents not in client.driver.pool._idle
        parents.close()
    assert target.connections_total == 2


async def test_a_timeout_of_ones_own_shares_the_connections(target: Target) -> None:
    with Client(target.url, api_key="", timeout_s=30) as client:
        await asyncio.to_thread(client.health.live)
        hurried = client.with_timeout(5)
        await asyncio.to_thread(hurried.health.live)
        assert (client.driver.terms.timeout_s, hurried.driver.terms.timeout_s) == (30, 5)
    assert target.connections_total == 1


async def test_a_closed_client_opens_another_connection(target: Target) -> None:
    client = Client(target.url, api_key="")
    for _ in range(2):
        await asyncio.to_thread(client.health.live)
        client.close()
    assert target.connections_total == 2


async def test_an_interrupt_ends_every_call_under_way(target: Target) -> None:
    target.on(LIVE, lambda _: Silence.HANG)
    with Client(target.url, api_key="", retry=NEVER) as client:
        asking = [asyncio.create_task(asyncio.to_thread(client.health.live)) for _ in range(3)]
        await target.wait_for_hits(3)
        began_s = time.monotonic()
        client.interrupt()
        for call in asking:
            with pytest.raises(errors.Unreachable):
                await call
        assert time.monotonic() - began_s < 10
        assert threading.active_count() < MANY
