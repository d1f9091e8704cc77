"""What changed, page by page, on both stores: everyone at a pace of its own, and nothing is kept for anybody."""

import asyncio

import pytest

from dueline.domain import limits
from dueline.domain.events import Event, EventFilter, EventMark
from dueline.engine.events import Events
from dueline.runtime.clock import StoreTime, SystemClock
from dueline.store.protocol import Store
from tests.support.stores import TENANT, StoreClock, a_finish, a_job, a_run, create, run_and_claim

ALL = EventFilter(tenant=TENANT)


@pytest.fixture
async def events(store: Store) -> Events:
    clock = SystemClock()
    time = StoreTime(clock)
    time.measured(await store.now_ms(), sent_s=clock.monotonic_s())
    return Events(store, lambda: time, clock)


async def end(store: Store, count: int, *, tenant: str = TENANT) -> list[bytes]:
    """So many runs that end together."""
    claims = await run_and_claim(store, *(a_run(tenant=tenant) for _ in range(count)))
    await store.finish([a_finish(claimed) for claimed in claims])
    return [claimed.run_id for claimed in claims]


async def read(events: Events, mark: EventMark, match: EventFilter = ALL, *, limit: int = 7) -> list[Event]:
    """All that there is behind a mark."""
    mark = await events.known(mark)
    told: list[Event] = []
    while await events.news(mark, wait_s=0):
        page = await events.page(match, mark, limit=limit)
        assert len(page.events) <= limit
        assert page.mark > mark
        told += page.events
        mark = page.mark
    return told


async def test_pages_tell_everything_once_wherever_they_are_cut(store: Store, events: Events) -> None:
    mark = await events.now()
    runs = set(await end(store, 20)) | set(await end(store, 1))
    job = await create(store)
    for limit in (1, 7, 20, 22, 500):
        told = await read(events, mark, limit=limit)
        assert {event.run.id for event in told if event.run is not None} == runs
        assert [event.job.id for event in told if event.job is not None] == [job.id]
        assert len(told) == 22
        ids = [event.id for event in told]
        assert len(set(ids)) == 22


async def test_whoever_begins_now_hears_nothing_of_before(store: Store, events: Events) -> None:
    await end(store, 3)
    mark = await events.now()
    assert await read(events, mark) == []
    assert await events.now() == mark


async def test_more_than_is_looked_at_in_one_go(store: Store, events: Events, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "EVENTS_LOOKED_MAX", 8)
    monkeypatch.setattr(limits, "EVENTS_PAGE", 3)
    monkeypatch.setattr(limits, "EVENT_ROWS_MAX", 2)
    mark = await events.now()
    for _ in range(5):
        await end(store, 5)
    job = await create(store)
    assert len(await read(events, mark)) == 26
    of_job = EventFilter(tenant=TENANT, job_id=job.id)
    assert [event.type.value for event in await read(events, mark, of_job)] == ["job.created"]


async def test_others_hear_nothing_of_a_tenant(store: Store, events: Events) -> None:
    mark = await events.now()
    await end(store, 2)
    await create(store)
    theirs = await create(store, a_job(tenant="other"))
    ended = await end(store, 1, tenant="other")
    told = await read(events, mark, EventFilter(tenant="other"))
    assert [event.job.id for event in told if event.job] == [theirs.id]
    assert [event.run.id for event in told if event.run] == ended


async def test_a_reader_that_is_too_slow_is_told_what_it_missed(
    store: Store, events: Events, clock: StoreClock
) -> None:
    mark = await events.now()
    await end(store, 2)
    await clock.advance(3_601)
    late = await end(store, 1)
    assert await store.forget_changes(kept_ms=limits.EVENTS_KEPT_MS, limit=100) == 1
    reset, after = await read(events, mark)
    assert reset.type == "reset"
    assert after.run is not None
    assert [after.run.id] == late


async def test_news_are_waited_for(store: Store, events: Events) -> None:
    mark = await events.now()
    assert not await events.news(mark, wait_s=0.01)
    waiting = asyncio.create_task(events.news(mark, wait_s=20))
    await create(store)
    assert await waiting


async def test_nobody_waits_once_it_is_closed(events: Events) -> None:
    mark = await events.now()
    waiting = asyncio.create_task(events.news(mark, wait_s=20))
    await asyncio.sleep(0)
    events.close()
    assert not await waiting
    assert events.closed


async def test_a_second_process_goes_on_where_the_first_was(store: Store, events: Events) -> None:
    mark = await events.now()
    await end(store, 5)
    mark = await events.known(mark)
    page = await events.page(ALL, mark, limit=3)
    clock = SystemClock()
    other = Events(store, events._time, clock)
    rest = await read(other, page.mark)
    assert len(page.events) == 3
    assert len(rest) == 2
    assert not {event.id for event in page.events} & {event.id for event in rest}
