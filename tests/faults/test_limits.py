"""Limits by the account of who is called: a real server, a target that counts for itself, and never more or sooner than was allowed."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import msgspec
import pytest

from dueline.sdk.client import PlainClient
from tests.support.dueline import DuelineProcess, processes
from tests.support.fixtures import TEMPLATE
from tests.support.target import Answer, Hit, Target

WAIT_S_MAX = 30.0
POLL_S = 0.02
CALL_S = 0.1
KNOWN_S = 5.0
"""Within so long every worker keeps to a limit that was set."""
IDLE_S = 0.5
"""So long that a bucket would have filled several times."""


class Counting:
    """A slow path of a target that knows how many calls are under way at a time, of each customer. Closed, it answers nobody."""

    def __init__(self, target: Target, name: str, *, closed: bool = False) -> None:
        self.name = name
        self.url = f"{target.url}/{name}"
        self.most: Counter[str] = Counter()
        self.arrived_s: list[float] = []
        self._under_way: Counter[str] = Counter()
        self._closed = closed
        self._kept: list[Callable[[], None]] = []
        target.on(f"/{name}", self._receive)

    def open(self) -> None:
        self._closed = False
        for answer in self._kept:
            answer()

    def runs(self, count: int, customer: str = "ada", **fields: Any) -> list[dict[str, Any]]:
        """That many runs that call here."""
        return [{"target": {"url": self.url, "body": {"customer": customer}}, "tags": [self.name], **fields}] * count

    def _receive(self, hit: Hit) -> asyncio.Future[Answer]:
        customer = msgspec.json.decode(hit.body)["customer"]
        self.arrived_s.append(hit.unix_s)
        self._under_way[customer] += 1
        self.most[customer] = max(self.most[customer], self._under_way[customer])
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Answer] = loop.create_future()

        def answer() -> None:
            # It is over before it is answered: whoever starts because of the answer finds room here.
            self._under_way[customer] -= 1
            answered.set_result(Answer())

        if self._closed:
            self._kept.append(answer)
        else:
            loop.call_later(CALL_S, answer)
        return answered


class Server:
    """A client of a real server, that lets the target go on while it waits."""

    def __init__(self, client: PlainClient) -> None:
        self._client = client

    async def job(self, job: dict[str, Any], *, runs: int) -> str:
        """Create a job and run it so many times."""
        job_id: str = (await asyncio.to_thread(self._client.jobs.create, job))["id"]
        for _ in range(runs):
            await asyncio.to_thread(self._client.jobs.run, job_id)
        return job_id

    async def force(self, job_id: str) -> str:
        run_id: str = (await asyncio.to_thread(self._client.jobs.run, job_id, force=True))["id"]
        return run_id

    async def enqueue(self, runs: list[dict[str, Any]]) -> None:
        await asyncio.to_thread(self._client.runs.enqueue_at_once, runs)

    async def limit(self, scope: str, name: str, **limit: Any) -> None:
        """Set it, and wait until every worker must know it."""
        await asyncio.to_thread(self._client.limits.put, scope, name, **limit)
        await asyncio.sleep(KNOWN_S)

    async def running(self, scope: str, name: str) -> int:
        running: int = (await asyncio.to_thread(self._client.limits.get, scope, name))["running"]
        return running

    async def wait_for(self, tag: str, **counts: int) -> list[str]:
        """Until so many runs with a tag are in each of these states, or wait for these reasons; answers the ids of all of them."""
        async with asyncio.timeout(WAIT_S_MAX):
            while True:
                runs = await asyncio.to_thread(lambda: list(self._client.runs.list(tag=tag, page_size=500)))
                found = Counter(run["reason"] if run["state"] == "held" else run["state"] for run in runs)
                if all(found[name] == count for name, count in counts.items()):
                    return [run["id"] for run in runs if (run["reason"] or run["state"]) in counts]
                await asyncio.sleep(POLL_S)


@pytest.fixture
async def target() -> AsyncIterator[Target]:
    async with Target() as target:
        yield target


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One on each kind of store."""
    folder = tmp_path_factory.mktemp("server")
    db = str(folder / "dueline.db")
    if request.param == "postgres":
        postgres = request.getfixturevalue("postgres_server")
        postgres.create_database("limits", template=TEMPLATE)
        db = postgres.dsn("limits")
    with processes() as started:
        started.append(DuelineProcess(folder, "serve", "serve", "--port", "0", db=db))
        url = started[0].wait_until_running()
        assert url is not None
        with PlainClient(url) as client:
            yield Server(client)


def now_ms() -> int:
    return int(time.time() * 1000)


def assert_spaced(arrived_s: list[float], begun_ms: int, *, interval_ms: int, burst: int = 1) -> None:
    """Late is nobody's fault, and early is: the n-th cannot have come before the bucket, full at first, had given n tokens."""
    for number, at_s in enumerate(sorted(arrived_s)):
        assert at_s * 1000 >= begun_ms + (number - burst + 1) * interval_ms, (number, at_s * 1000 - begun_ms)


async def test_a_job_has_no_more_under_way_than_it_says(server: Server, target: Target) -> None:
    slow = Counting(target, "job", closed=True)
    (job,) = slow.runs(1, overlap="allow", concurrency=2)
    await server.job(job, runs=8)
    await server.wait_for(slow.name, running=2, concurrency=6)
    slow.open()
    await server.wait_for(slow.name, succeeded=8)
    assert slow.most == {"ada": 2}
    assert len(slow.arrived_s) == 8


async def test_a_forced_run_passes_by_the_limits_of_its_job(server: Server, target: Target) -> None:
    slow = Counting(target, "forced")
    (job,) = slow.runs(1, overlap="allow", rate={"limit": 1, "per": "1d"})
    job_id = await server.job(job, runs=2)
    await server.wait_for(slow.name, succeeded=1, rate=1)
    forced = await server.force(job_id)
    await server.wait_for(slow.name, succeeded=2, rate=1)
    assert forced in await server.wait_for(slow.name, succeeded=2)


async def test_runs_without_a_job_share_the_limit_of_their_key(server: Server, target: Target) -> None:
    slow = Counting(target, "customers", closed=True)
    limited = {"limit": 2, "key": "mail/{{body.customer}}"}
    await server.enqueue([run for name in ("ada", "bob", "eve") for run in slow.runs(5, name, concurrency=limited)])
    await server.wait_for(slow.name, running=6, concurrency=9)
    slow.open()
    await server.wait_for(slow.name, succeeded=15)
    assert slow.most == {"ada": 2, "bob": 2, "eve": 2}


async def test_starts_come_one_by_one_and_an_idle_time_is_not_saved_up(server: Server, target: Target) -> None:
    slow = Counting(target, "rate")
    for wave in (1, 2):
        begun_ms = now_ms()
        await server.enqueue(slow.runs(15, rate={"limit": 10, "burst": 1, "key": "rate"}))
        await server.wait_for(slow.name, succeeded=15 * wave)
        assert_spaced(slow.arrived_s[-15:], begun_ms, interval_ms=100)
        await asyncio.sleep(IDLE_S)


async def test_a_burst_may_start_at_once_and_the_rest_one_by_one(server: Server, target: Target) -> None:
    slow = Counting(target, "burst")
    begun_ms = now_ms()
    await server.enqueue(slow.runs(15, rate={"limit": 10, "burst": 5, "key": "burst"}))
    await server.wait_for(slow.name, succeeded=15)
    assert_spaced(slow.arrived_s, begun_ms, interval_ms=100, burst=5)


async def test_a_queue_starts_no_more_in_a_time_than_it_may(server: Server, target: Target) -> None:
    slow = Counting(target, "queue")
    await server.limit("queue", "mail", rate={"limit": 20, "burst": 1})
    begun_ms = now_ms()
    await server.enqueue(slow.runs(30, queue="mail"))
    await server.wait_for(slow.name, succeeded=30)
    assert_spaced(slow.arrived_s, begun_ms, interval_ms=50)


async def test_a_host_has_no_more_under_way_than_it_may(server: Server, target: Target) -> None:
    slow = Counting(target, "host", closed=True)
    host = slow.url.split("/")[2]
    await server.limit("host", host, concurrency=3)
    await server.enqueue([*slow.runs(8, queue="a"), *slow.runs(8, queue="b")])
    await server.wait_for(slow.name, running=3, concurrency=13)
    assert await server.running("host", host) == 3
    slow.open()
    await server.wait_for(slow.name, succeeded=16)
    assert slow.most == {"ada": 3}
    assert await server.running("host", host) == 0
