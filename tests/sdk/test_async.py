"""The client for coroutines against a real server on both stores."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest

from dueline import AsyncClient
from dueline.sdk import errors
from tests.api.serving import TARGET, ServedApi
from tests.support.keys import ADMIN_KEY

URL = TARGET["url"]


@pytest.fixture
async def client(own_api: ServedApi) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(own_api.url, api_key=ADMIN_KEY) as client:
        yield client


async def test_the_life_of_a_job(client: AsyncClient) -> None:
    job = await client.jobs.create(url=URL, schedule=timedelta(hours=1), name="a")
    assert await client.jobs.get(job.id) == job
    assert (await client.jobs.patch(job.id, priority=9, if_version=1)).version == 2
    run = await client.jobs.run(job.id)
    assert [found.id async for found in client.runs.list(job_id=job.id)] == [run.id]
    assert [found.id async for found in client.runs.list(q="a")] == [run.id]
    assert (await client.runs.cancel(run.id)).state == "cancelled"
    assert (await client.runs.wait(run.id, timeout_s=30)).finished_at is not None
    assert len(await client.jobs.upcoming(job.id, count=3)) == 3
    await client.jobs.delete(job.id)
    assert await client.request("GET", "/v1/jobs") == {"items": [], "next_cursor": None}


async def test_many_at_the_same_time(client: AsyncClient) -> None:
    made = await asyncio.gather(*(client.runs.enqueue(url=URL) for _ in range(20)))
    items = await client.runs.enqueue_many(({"url": URL} for _ in range(5)), chunk=2)
    ids = {run.id for run in made} | {item.run.id for item in items if item.run is not None}
    assert len(ids) == 25
    assert {run.id async for run in client.runs.list(page_size=7)} == ids
    page = await client.runs.list(page_size=20).page()
    assert len((await client.runs.list(page_size=20).page(page.next_cursor)).items) == 5


async def test_refusals_are_the_same(client: AsyncClient) -> None:
    with pytest.raises(errors.Invalid, match=r"target\.url: must begin with"):
        await client.jobs.create(url="ftp://x")
    with pytest.raises(errors.NotFound):
        await client.runs.wait("run_nobody")
    run = await client.runs.enqueue(url=URL)
    with pytest.raises(errors.StillRunning):
        await client.runs.wait(run.id, timeout_s=0)


async def test_what_can_never_work_is_refused_before_it_is_awaited(client: AsyncClient) -> None:
    with pytest.raises(errors.Invalid, match="due_at"):
        _ = client.runs.enqueue(url=URL, due_at=datetime(2026, 1, 1))
    with pytest.raises(errors.Invalid, match="due_at"):
        await client.runs.enqueue_many([{"url": URL, "due_at": datetime(2026, 1, 1)}])
