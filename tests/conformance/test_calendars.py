"""Calendars: kept by name, followed by the plans of the jobs that name them, and not deleted under their feet."""

from typing import Any

import pytest

from dueline.domain.calendars import Calendar
from dueline.domain.changes import JobChange, JobInHand
from dueline.domain.errors import Conflict
from dueline.domain.ids import JobId
from dueline.domain.job import Definition, Job
from dueline.domain.schedule import Every
from dueline.domain.sharding import shard_of
from dueline.domain.states import JobState
from dueline.store.calendars import NamedCalendar
from dueline.store.protocol import Store
from tests.conformance.ear import listening
from tests.support.stores import (
    ALL_SHARDS,
    START_MS,
    TENANT,
    StoreClock,
    a_definition,
    a_job,
    changing,
    create,
)

WEEKENDS = Calendar(weekdays=(5, 6))
EASTER = Calendar(yearly=((12, 25),), ranges=((739_000, 739_003), (739_100, 739_100)))


def kept_off(*names: str) -> Every:
    return Every(60_000, START_MS, calendars=names)


def a_shaped(name: str, *calendars: str) -> Definition:
    return a_definition(name, schedule=kept_off(*calendars))


async def keeping_off(store: Store, *calendars: str, **fields: Any) -> Job:
    return await create(store, a_job(schedule=kept_off(*calendars), **fields))


async def stale(store: Store) -> set[JobId]:
    return {job_id for _, job_id in await store.stale_plans(ALL_SHARDS, limit=100)}


async def looked_at(store: Store, *jobs: Job) -> None:
    """The plans of these jobs, looked at again."""
    for job in jobs:
        await store.change_job(job.tenant, job.id, changing())
    assert await stale(store) & {job.id for job in jobs} == set()


async def test_a_calendar_is_read_as_it_was_written(store: Store, clock: StoreClock) -> None:
    await clock.advance(3)
    written = await store.put_calendar(TENANT, "ostern ✓", EASTER)
    assert written == NamedCalendar(
        tenant=TENANT, name="ostern ✓", calendar=EASTER, version=1, updated_ms=START_MS + 3_000
    )
    assert await store.calendar(TENANT, "ostern ✓") == written
    assert await store.calendar(TENANT, "weihnachten") is None
    assert await store.calendar("other", "ostern ✓") is None


async def test_a_changed_calendar_has_a_higher_version(store: Store, clock: StoreClock) -> None:
    await store.put_calendar(TENANT, "off", EASTER)
    await clock.advance(3)
    changed = await store.put_calendar(TENANT, "off", WEEKENDS)
    assert (changed.version, changed.calendar, changed.updated_ms) == (2, WEEKENDS, START_MS + 3_000)
    assert await store.calendar(TENANT, "off") == changed


async def test_calendars_are_read_many_at_once(store: Store) -> None:
    first = await store.put_calendar(TENANT, "a", WEEKENDS)
    await store.put_calendar(TENANT, "b", WEEKENDS)
    foreign = await store.put_calendar("other", "a", EASTER)
    found = await store.calendars([(TENANT, "a"), ("other", "a"), ("other", "b"), (TENANT, "c")])
    assert sorted(found, key=lambda calendar: calendar.tenant) == [first, foreign]
    assert await store.calendars([]) == []


async def test_pages_of_calendars_go_by_name(store: Store) -> None:
    names = ["B", "a", "b", "ä", "c"]
    for name in names:
        await store.put_calendar(TENANT, name, WEEKENDS)
    await store.put_calendar("other", "bb", WEEKENDS)

    async def page(after: str | None, limit: int = 100) -> list[str]:
        return [found.name for found in await store.calendars_page(TENANT, after=after, limit=limit)]

    assert await page(None) == ["B", "a", "b", "c", "ä"]
    assert await page(None, 2) == ["B", "a"]
    assert await page("a", 2) == ["b", "c"]
    assert await page("ä") == []


async def test_deleting_answers_whether_it_was_there(store: Store) -> None:
    await store.put_calendar(TENANT, "off", WEEKENDS)
    assert not await store.delete_calendar("other", "off")
    assert await store.delete_calendar(TENANT, "off")
    assert not await store.delete_calendar(TENANT, "off")
    assert await store.calendar(TENANT, "off") is None
    assert (await store.put_calendar(TENANT, "off", EASTER)).calendar == EASTER


async def test_a_calendar_that_a_living_job_names_is_not_deleted(store: Store) -> None:
    await store.put_calendar(TENANT, "off", WEEKENDS)
    job = await keeping_off(store, "other", "off")
    with pytest.raises(Conflict):
        await store.delete_calendar(TENANT, "off")
    assert await store.calendar(TENANT, "off") is not None
    await store.change_job(TENANT, job.id, changing(deleted=True))
    assert await store.delete_calendar(TENANT, "off")


async def test_a_calendar_that_another_tenant_names_can_be_deleted(store: Store) -> None:
    await store.put_calendar(TENANT, "off", WEEKENDS)
    await keeping_off(store, "off", tenant="other")
    assert await store.delete_calendar(TENANT, "off")


async def test_an_edit_names_and_no_longer_names_calendars(store: Store) -> None:
    await store.put_calendar(TENANT, "old", WEEKENDS)
    await store.put_calendar(TENANT, "new", WEEKENDS)
    job = await keeping_off(store, "old")
    await store.change_job(TENANT, job.id, changing(definition=a_shaped("edited", "new")))
    assert await store.delete_calendar(TENANT, "old")
    with pytest.raises(Conflict):
        await store.delete_calendar(TENANT, "new")
    await store.change_job(TENANT, job.id, changing(definition=a_definition("edited")))
    assert await store.delete_calendar(TENANT, "new")
    plain = await create(store, a_job())
    await store.put_calendar(TENANT, "late", WEEKENDS)
    await store.change_job(TENANT, plain.id, changing(definition=a_shaped("late", "late")))
    with pytest.raises(Conflict):
        await store.delete_calendar(TENANT, "late")


async def test_another_change_of_a_job_leaves_what_it_names(store: Store) -> None:
    await store.put_calendar(TENANT, "off", WEEKENDS)
    job = await keeping_off(store, "off")
    await store.change_job(TENANT, job.id, changing(state=JobState.PAUSED))
    with pytest.raises(Conflict):
        await store.delete_calendar(TENANT, "off")


async def test_a_name_that_is_taken_leaves_no_use(store: Store) -> None:
    await store.put_calendar(TENANT, "off", WEEKENDS)
    await create(store, a_job("taken"))
    assert await store.create_jobs([a_job("taken", schedule=kept_off("off"))]) == [None]
    assert await store.delete_calendar(TENANT, "off")


async def test_a_new_job_that_names_calendars_is_to_be_looked_at_again(store: Store) -> None:
    job, _ = await keeping_off(store, "off"), await create(store, a_job())
    assert await store.stale_plans(ALL_SHARDS, limit=10) == [(TENANT, job.id)]


async def test_a_changed_calendar_makes_the_plans_that_follow_it_stale(store: Store) -> None:
    follows, also = await keeping_off(store, "off"), await keeping_off(store, "other", "off")
    others = [await keeping_off(store, "other"), await keeping_off(store, "off", tenant="other"), await create(store)]
    await looked_at(store, follows, also, *others)
    await store.put_calendar(TENANT, "off", WEEKENDS)
    assert await stale(store) == {follows.id, also.id}


async def test_a_change_says_whether_the_plan_is_to_be_looked_at_again(store: Store) -> None:
    job = await create(store)
    await store.change_job(TENANT, job.id, changing(stale=True))
    assert await stale(store) == {job.id}
    await store.change_job(TENANT, job.id, changing())
    assert await stale(store) == set()


async def test_stale_plans_are_those_of_the_shards_asked_for_and_no_more_than_asked_for(store: Store) -> None:
    jobs = [await keeping_off(store, "off", shard=3 + number % 2) for number in range(6)]
    third = [(TENANT, job.id) for job in jobs if shard_of(job.id) == 3]
    assert sorted(await store.stale_plans([3, 9], limit=100)) == sorted(third)
    assert len(await store.stale_plans([3, 4], limit=4)) == 4
    assert await store.stale_plans([], limit=4) == []


async def test_a_change_is_shown_the_calendars_that_the_job_names(store: Store) -> None:
    await store.put_calendar(TENANT, "off", WEEKENDS)
    await store.put_calendar(TENANT, "unnamed", EASTER)
    await store.put_calendar("other", "missing", EASTER)
    job = await keeping_off(store, "off", "missing")
    seen: list[JobInHand] = []

    def look(hand: JobInHand) -> JobChange:
        seen.append(hand)
        return changing()(hand)

    await store.change_job(TENANT, job.id, look)
    await store.change_job(TENANT, (await create(store)).id, look)
    assert [dict(hand.calendars) for hand in seen] == [{"off": WEEKENDS}, {}]


async def test_a_changed_calendar_wakes_whoever_looks_again(store: Store) -> None:
    await keeping_off(store, "off")
    ear = await listening(store)
    await store.put_calendar(TENANT, "off", WEEKENDS)
    await ear.hears("stale")
