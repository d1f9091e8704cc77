"""Following what happens from programs, on both stores: in threads, in coroutines, and as plain JSON."""

from datetime import timedelta
from itertools import islice

import pytest

from dueline import AsyncClient, Client
from dueline.domain.states import RunState
from dueline.sdk.client import PlainClient
from dueline.sdk.errors import Invalid
from dueline.sdk.models import EventType
from tests.api.serving import TARGET, ServedApi
from tests.api.test_events import run
from tests.api.working import claim, end
from tests.support.keys import ADMIN_KEY

URL = TARGET["url"]


def now(client: Client) -> str:
    cursor = client.events.follow().page().next_cursor
    assert cursor is not None
    return cursor


def test_a_thread_follows_what_happens(client: Client, own_api: ServedApi) -> None:
    cursor = now(client)
    job = client.jobs.create(url=URL, name="a")
    run_id = run(own_api)
    created, ended = islice(client.events.follow(cursor=cursor), 2)
    assert (created.type, created.job and created.job.id) == (EventType.JOB_CREATED, job.id)
    assert (ended.type, ended.run and ended.run.id) == ("run.succeeded", run_id)
    (again,) = islice(client.events.follow(cursor=created.id), 1)
    assert again == ended


def test_one_follows_some_of_it(client: Client, own_api: ServedApi) -> None:
    cursor = now(client)
    run(own_api)
    failed = run(own_api, RunState.FAILED)
    (event,) = islice(client.events.follow(type="run.failed", cursor=cursor, wait=timedelta(seconds=5), page_size=1), 1)
    assert event.run is not None
    assert event.run.id == failed


async def test_a_coroutine_follows_what_happens(own_api: ServedApi) -> None:
    async with AsyncClient(own_api.url, api_key=ADMIN_KEY) as client:
        cursor = (await client.events.follow().page()).next_cursor
        job = await client.jobs.create(url=URL)
        async for event in client.events.follow(cursor=cursor):
            assert (event.type, event.job and event.job.id) == ("job.created", job.id)
            break
        ended = run(own_api)
        assert [event.type async for event in client.runs.events(ended)][-1] == "run.succeeded"


def test_plain_json(own_api: ServedApi) -> None:
    with PlainClient(own_api.url, api_key=ADMIN_KEY) as client:
        cursor = client.events.follow().page()["next_cursor"]
        run_id = run(own_api)
        (event,) = islice(client.events.follow(cursor=cursor), 1)
    assert (event["type"], event["run"]["id"]) == ("run.succeeded", run_id)


def test_the_events_of_a_run_end_with_it(client: Client, own_api: ServedApi) -> None:
    asked = client.runs.enqueue(url=URL, queue="q")
    events = iter(client.runs.events(asked.id))
    first = next(events)
    assert first.type == "run.created"
    end(own_api, claim(own_api, queue="q"), RunState.SUCCEEDED)
    assert [event.type for event in events] == ["attempt.started", "attempt.ended", "run.succeeded"]
    rest = [event.type for event in client.runs.events(asked.id, cursor=first.id)]
    assert rest == ["attempt.started", "attempt.ended", "run.succeeded"]


def test_what_is_no_cursor_is_refused(client: Client) -> None:
    with pytest.raises(Invalid):
        client.events.follow(cursor="nonsense").page()
