"""The calls to a server's desk: what goes wrong is told in the words of a store, and no call waits for one of another kind."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import closing

import pytest

from dueline.domain.errors import LeaseLost, StoreUnavailable
from dueline.domain.ids import BootId, parse_run_id
from dueline.sdk.errors import Refused
from dueline.store.fleet import JobType
from dueline.worker.remote.client import DeskClient
from tests.api.serving import ServedApi
from tests.support.keys import ADMIN_KEY
from tests.support.target import Answer, Silence, Target, closed_port
from tests.worker.remote.hiring import NODE, Desk, enqueue, states

NOBODY = BootId("")
HEARTBEAT = "/v1/worker/w/heartbeat"


@pytest.fixture
async def desk(api: ServedApi) -> AsyncIterator[Desk]:
    with closing(Desk(api.url)) as desk:
        await desk.register(NODE, lease_s=8)
        yield desk


def at(url: str, *, wait_s: float = 0.0) -> DeskClient:
    client = DeskClient(url, api_key=ADMIN_KEY, types=[], wait_s=wait_s)
    client._id = "w"
    return client


async def beat(client: DeskClient) -> bool:
    return (await client.beat(NOBODY, lease_s=8, busy=0, rates={})).drain_asked


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (409, LeaseLost),
        (429, StoreUnavailable),
        (500, StoreUnavailable),
        (502, StoreUnavailable),
        (503, StoreUnavailable),
        (401, Refused),
        (422, Refused),
    ],
)
async def test_what_a_server_says_no_with(target: Target, status: int, error: type[Exception]) -> None:
    target.on(HEARTBEAT, lambda _: Answer(status, body=b"<html>"))
    with closing(at(target.url)) as client, pytest.raises(error):
        await beat(client)
    assert target.hits[0].headers["authorization"] == f"Bearer {ADMIN_KEY}"


async def test_a_server_that_is_not_there_or_hangs_up_is_away(target: Target) -> None:
    target.on(HEARTBEAT, lambda _: Silence.RESET)
    with closed_port() as port, closing(at(f"http://127.0.0.1:{port}")) as nobody, closing(at(target.url)) as rude:
        for client in (nobody, rude):
            with pytest.raises(StoreUnavailable):
                await beat(client)


async def test_a_worker_that_the_server_does_not_know_has_lost_its_lease(api: ServedApi) -> None:
    with closing(at(api.url)) as client:
        with pytest.raises(LeaseLost):
            await beat(client)
        with pytest.raises(LeaseLost):
            await client.lease(limit=1, holding=None)
        with pytest.raises(LeaseLost):
            await client.leave(NOBODY)


async def test_a_worker_is_known_by_what_it_said_until_it_leaves(api: ServedApi) -> None:
    types = [JobType(name="mail", queue="post", parameters='{"a": 1}', description="sends")]
    with closing(Desk(api.url, types=types)) as client:
        await client.register(NODE, lease_s=8)
        (worker,) = api.call("GET", "/v1/workers").json["items"]
        assert (worker["id"], worker["host"], worker["pid"], worker["slots"]) == (client.id, "here", 7, 10)
        assert await beat(client) is False
        await client.leave(NOBODY)
    assert api.call("GET", "/v1/workers").json["items"] == []


async def test_a_question_for_runs_holds_nothing_else_up_and_can_be_broken_off(api: ServedApi) -> None:
    with closing(Desk(api.url, wait_s=20)) as client:
        await client.register(NODE, lease_s=8)
        asking = asyncio.create_task(client.lease(limit=1, holding=None))
        started_s = time.monotonic()
        for _ in range(3):
            await beat(client)
        while not asking.done():
            client.interrupt()
            await asyncio.sleep(0.01)
        with pytest.raises(StoreUnavailable):
            await asking
    assert time.monotonic() - started_s < 10


async def test_what_is_not_said_to_be_held_goes_back(api: ServedApi, desk: Desk) -> None:
    held, *others = enqueue(api, {"url": "http://127.0.0.1:9/"}, 3)
    told = await desk.lease(limit=10, holding=None)
    assert {one["id"] for one in told} == {held, *others}
    assert await desk.lease(limit=0, holding=[parse_run_id(held)]) == []
    assert (states(api, [held]), states(api, others)) == ({"running"}, {"ready"})
