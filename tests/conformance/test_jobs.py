"""Jobs: created, read, listed, found by version."""

import asyncio
from collections import Counter
from typing import Any

import msgspec
import pytest

from dueline.domain.errors import NamesTaken
from dueline.domain.ids import JobId
from dueline.domain.job import HttpTarget, Job, JobVersion, TaskTarget
from dueline.domain.overlap import Overlap
from dueline.domain.planning import Position
from dueline.domain.schedule import Cron
from dueline.domain.states import JobState
from dueline.store.names import Names
from dueline.store.postgres import jobs as on_postgres
from dueline.store.protocol import Store
from dueline.store.shapes import JobFilter, VersionInForce
from tests.support.stores import START_MS, TENANT, StoreClock, a_definition, a_job, at, changing, create


async def page(store: Store, *, before: JobId | None = None, limit: int = 100, **match: Any) -> list[Job]:
    return await store.jobs_page(JobFilter(tenant=TENANT, **match), before=before, limit=limit)


async def named(store: Store, prefix: str, *, after: str | None = None, limit: int = 100, **match: Any) -> list[str]:
    found = await store.jobs_named(JobFilter(tenant=TENANT, **match), Names(prefix, after), limit=limit)
    return [job.definition.name for job in found]


async def names(store: Store, **match: Any) -> set[str]:
    return {job.definition.name for job in await page(store, **match)}


async def test_a_created_job_reads_back_as_it_was_asked_for(store: Store) -> None:
    new = a_job(
        "nächtlich ✓",
        target=HttpTarget(url="http://target/", headers={"a": "b"}, body={"deep": [1, None, "x"]}),
        schedule=Cron("0 9 * * *", timezone="Europe/Berlin"),
        queue="slow",
        priority=2,
        region="eu",
        overlap=Overlap.QUEUE_ONE,
        tags=("blue", "größe"),
        next_ms=START_MS + 9,
    )
    job = await create(store, new)
    assert job == Job(
        id=new.id,
        tenant=TENANT,
        state=JobState.ACTIVE,
        version=1,
        definition=new.definition,
        position=at(START_MS + 9),
        pause_note=None,
        created_ms=START_MS,
        updated_ms=START_MS,
        since_ms=START_MS,
    )
    assert await store.job(TENANT, new.id) == job


async def test_a_job_without_a_schedule_has_no_plan(store: Store) -> None:
    job = await create(store, a_job(schedule=None, next_ms=None))
    assert job.next_ms is None
    assert await store.job(TENANT, job.id) == job


async def test_a_job_is_created_on_the_stores_clock(store: Store, clock: StoreClock) -> None:
    await clock.advance(90)
    assert (await create(store)).created_ms == START_MS + 90_000


async def test_nothing_asked_for_nothing_created(store: Store) -> None:
    assert await store.create_jobs([]) == []


async def test_a_taken_name_leaves_the_others_of_its_batch(store: Store) -> None:
    await create(store, a_job("taken"))
    first, second, third = a_job("one"), a_job("taken"), a_job("three")
    answers = await store.create_jobs([first, second, third])
    assert [answer and answer.id for answer in answers] == [first.id, None, third.id]
    assert await store.job(TENANT, second.id) is None
    assert await names(store) == {"taken", "one", "three"}


async def test_of_one_name_twice_in_a_batch_one_is_written(store: Store) -> None:
    answers = await store.create_jobs([a_job("twin"), a_job("twin")])
    assert [answer is None for answer in answers].count(True) == 1
    assert await names(store) == {"twin"}


async def test_a_refused_job_leaves_no_plan(store: Store) -> None:
    taken = await create(store, a_job("taken"))
    await store.create_jobs([a_job("taken")])
    due = await store.due_plans(range(256), since_ms=0, until_ms=START_MS, limit=10)
    assert [plan.job_id for plan in due] == [taken.id]


async def test_names_are_told_apart_by_case_and_tenant(store: Store) -> None:
    answers = await store.create_jobs([a_job("x"), a_job("X"), a_job("x", tenant="other")])
    assert None not in answers


async def test_creating_the_same_job_again_does_no_harm(store: Store) -> None:
    new = a_job("once")
    job = await create(store, new)
    assert await store.create_jobs([new]) == [None]
    await store.change_job(TENANT, job.id, changing(definition=a_definition("renamed")))
    assert await store.create_jobs([new]) == [None]
    await store.change_job(TENANT, job.id, changing(deleted=True))
    assert await store.create_jobs([new]) == [None]
    assert await page(store) == []


async def test_a_job_of_another_tenant_is_not_there(store: Store) -> None:
    job = await create(store, a_job(tenant="other"))
    assert await store.job(TENANT, job.id) is None
    assert await store.job("other", job.id) == job
    assert await page(store) == []


async def test_pages_go_from_the_newest_down(store: Store) -> None:
    jobs = [await create(store) for _ in range(5)]
    assert await page(store) == jobs[::-1]
    assert await page(store, limit=2) == [jobs[4], jobs[3]]
    assert await page(store, before=jobs[3].id, limit=2) == [jobs[2], jobs[1]]
    assert await page(store, before=jobs[0].id) == []


async def test_pages_together_hold_every_job_once(store: Store) -> None:
    created = await store.create_jobs([a_job() for _ in range(57)] + [a_job(tenant="other") for _ in range(20)])
    found: list[Job] = []
    while rows := await page(store, before=found[-1].id if found else None, limit=10):
        found += rows
        assert len(found) <= len(created)
    assert found == created[56::-1]


async def test_deleted_jobs_are_on_no_page(store: Store) -> None:
    kept, deleted = await create(store), await create(store)
    await store.change_job(TENANT, deleted.id, changing(deleted=True))
    assert await page(store) == [kept]
    assert await store.job(TENANT, deleted.id) is None


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        ({}, {"a_b", "axb", "paused"}),
        ({"state": JobState.PAUSED}, {"paused"}),
        ({"state": JobState.ACTIVE}, {"a_b", "axb"}),
        ({"queue": "slow"}, {"axb", "paused"}),
        ({"tag": "blue"}, {"a_b", "axb"}),
        ({"tag": "blu"}, set()),
        ({"target_type": "other"}, set()),
        ({"target_type": "http"}, {"a_b", "axb", "paused"}),
        ({"tag": "blue", "queue": "slow"}, {"axb"}),
        ({"tag": "blue", "queue": "slow", "state": JobState.PAUSED}, set()),
    ],
)
async def test_a_filter_keeps_what_matches_it(store: Store, match: dict[str, Any], expected: set[str]) -> None:
    await create(store, a_job("a_b", tags=("blue", "red")))
    await create(store, a_job("axb", tags=("blue",), queue="slow"))
    paused = await create(store, a_job("paused", queue="slow"))
    await store.change_job(TENANT, paused.id, changing(state=JobState.PAUSED))
    assert await names(store, **match) == expected


async def test_a_page_is_full_however_many_rows_the_filter_leaves_out(store: Store) -> None:
    jobs = [await create(store, a_job(queue="rare" if number % 7 == 0 else "default")) for number in range(40)]
    rare = [job for job in reversed(jobs) if job.definition.queue == "rare"]
    assert await page(store, queue="rare", limit=3) == rare[:3]
    assert await page(store, queue="rare", limit=3, before=rare[2].id) == rare[3:6]


@pytest.mark.parametrize(
    "match",
    [
        {"queue": "rare"},
        {"tag": "rare"},
        {"state": JobState.PAUSED},
        {"target_type": "task"},
        {"queue": "default", "tag": "rare"},
    ],
    ids=str,
)
@pytest.mark.parametrize("few", [10_000, 3])
async def test_pages_of_what_filters_keep_hold_each_once_newest_first(
    store: Store, match: dict[str, Any], few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_postgres, "_FEW", few)
    ids = []
    for number in range(30):
        rare = number % 4 == 0
        target = TaskTarget(task="t") if rare else None
        new = a_job(
            f"{'rare' if rare else 'common'}-{number}",
            target=target,
            tags=("rare", "x") if rare else (),
            queue="default" if match.get("queue") == "default" or not rare else "rare",
        )
        job = await create(store, new)
        if rare:
            await store.change_job(TENANT, job.id, changing(state=JobState.PAUSED))
            ids.append(job.id)
    await create(store, a_job("rare", tenant="other", queue="rare", tags=("rare",)))
    found: list[JobId] = []
    while rows := await page(store, before=found[-1] if found else None, limit=3, **match):
        found += [job.id for job in rows]
        assert len(found) <= len(ids)
    assert found == ids[::-1]


@pytest.mark.parametrize("few", [10_000, 3, 2])
async def test_pages_of_names_hold_each_once_in_the_order_of_names(
    store: Store, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else is asked of them, and whether much or little answers that."""
    monkeypatch.setattr(on_postgres, "_FEW", few)
    for name in ("b", "a-é", "a-Z", "a", "a-1", "A-1", "a-", "a%", "a-10", "a-a", "a-2"):
        await create(
            store, a_job(name, queue="slow" if "1" in name else "default", tags=("blue",) if "a-" in name else ())
        )
    await create(store, a_job("a-3", tenant="other"))
    await store.change_job(TENANT, (await create(store, a_job("a-4"))).id, changing(deleted=True))
    expected = ["a-", "a-1", "a-10", "a-2", "a-Z", "a-a", "a-é"]
    assert await named(store, "a-") == expected
    found: list[str] = []
    while rows := await named(store, "a-", after=found[-1] if found else None, limit=2):
        found += rows
        assert len(found) <= len(expected)
    assert found == expected
    assert await named(store, "a-", queue="slow") == ["a-1", "a-10"]
    assert await named(store, "a-", queue="slow", after="a-1") == ["a-10"]
    assert await named(store, "", queue="slow", limit=2) == ["A-1", "a-1"]
    assert await named(store, "a-", tag="blue", limit=3) == expected[:3]
    assert await named(store, "a-", tag="blue", queue="slow", state=JobState.ACTIVE, target_type="http") == [
        "a-1",
        "a-10",
    ]
    assert await named(store, "a-", state=JobState.PAUSED) == []
    assert await named(store, "%") == []


async def test_a_tag_finds_who_has_it_now(store: Store) -> None:
    job, other = await create(store, a_job("one", tags=("red", "blue"))), await create(store, a_job("two"))
    await store.change_job(TENANT, job.id, changing(definition=a_definition("one", tags=("blue", "green"))))
    await store.change_job(TENANT, other.id, changing(definition=a_definition("two", tags=("green",))))
    assert [await names(store, tag=tag) for tag in ("red", "blue", "green")] == [set(), {"one"}, {"one", "two"}]
    await store.change_job(TENANT, job.id, changing(state=JobState.PAUSED))
    assert await names(store, tag="green") == {"one", "two"}
    await store.change_job(TENANT, job.id, changing(deleted=True))
    assert [await names(store, tag=tag) for tag in ("red", "blue", "green")] == [set(), set(), {"two"}]


async def test_every_version_is_found_those_of_deleted_jobs_too(store: Store) -> None:
    job = await create(store, a_job("first"))
    await store.change_job(TENANT, job.id, changing(definition=a_definition("second")))
    await store.change_job(TENANT, job.id, changing(deleted=True))
    found = await store.job_versions([(job.id, 1), (job.id, 2)])
    assert sorted(found, key=lambda version: version.version) == [
        JobVersion(job.id, 1, TENANT, job.definition),
        JobVersion(job.id, 2, TENANT, a_definition("second")),
    ]


async def test_the_versions_of_a_job_are_told_with_the_time_from_which_they_held(
    store: Store, clock: StoreClock
) -> None:
    job = await create(store, a_job("first"))
    await clock.advance(5)
    await store.change_job(TENANT, job.id, changing(definition=a_definition("second")))
    await clock.advance(5)
    await store.change_job(TENANT, job.id, changing(state=JobState.PAUSED))
    await clock.advance(5)
    await store.change_job(TENANT, job.id, changing(definition=a_definition("third")))
    assert await store.versions_of(job.id) == [
        VersionInForce(1, START_MS, job.definition),
        VersionInForce(2, START_MS + 5_000, a_definition("second")),
        VersionInForce(3, START_MS + 15_000, a_definition("third")),
    ]
    assert await store.versions_of(a_job().id) == []


async def test_a_job_that_begins_paused_has_a_plan_to_go_on_from(store: Store) -> None:
    new = msgspec.structs.replace(a_job("paused"), position=Position(next_ms=START_MS + 9), paused=True)
    job = await create(store, new)
    assert (job.state, job.position) == (JobState.PAUSED, Position(next_ms=START_MS + 9))
    assert await store.job(TENANT, job.id) == job
    assert await page(store, state=JobState.PAUSED) == [job]
    assert await store.due_plans(range(256), since_ms=0, until_ms=START_MS + 10, limit=10) == []


async def test_versions_come_newest_first_in_pages(store: Store) -> None:
    job = await create(store, a_job("1"))
    for number in range(2, 6):
        await store.change_job(TENANT, job.id, changing(definition=a_definition(str(number))))
    found = await store.versions_page(job.id, before=None, limit=10)
    assert [(one.version, one.definition.name) for one in found] == [(n, str(n)) for n in (5, 4, 3, 2, 1)]
    assert found[::-1] == await store.versions_of(job.id)
    for before, limit, expected in [(None, 2, [5, 4]), (4, 2, [3, 2]), (6, 1, [5]), (2, 9, [1]), (1, 9, [])]:
        found = await store.versions_page(job.id, before=before, limit=limit)
        assert [one.version for one in found] == expected
    assert await store.versions_page(a_job().id, before=None, limit=10) == []


async def test_a_version_is_in_force_since_its_definition_came(store: Store, clock: StoreClock) -> None:
    job = await create(store)
    await clock.advance(5)
    paused = await store.change_job(TENANT, job.id, changing(state=JobState.PAUSED))
    assert (paused.since_ms, paused.updated_ms) == (START_MS, START_MS + 5_000)
    edited = await store.change_job(TENANT, job.id, changing(definition=a_definition("second")))
    assert edited.since_ms == START_MS + 5_000
    assert await store.job(TENANT, job.id) == edited
    assert await page(store) == [edited]


async def test_the_versions_of_a_deleted_job_are_kept(store: Store) -> None:
    job = await create(store, a_job("first"))
    await store.change_job(TENANT, job.id, changing(definition=a_definition("second")))
    await store.change_job(TENANT, job.id, changing(deleted=True))
    assert [version.version for version in await store.versions_of(job.id)] == [1, 2]


async def test_a_version_that_never_was_is_left_out(store: Store) -> None:
    job = await create(store)
    found = await store.job_versions([(job.id, 1), (job.id, 2), (a_job().id, 1)])
    assert [(version.job_id, version.version) for version in found] == [(job.id, 1)]
    assert await store.job_versions([]) == []


async def test_all_or_none_are_created(store: Store) -> None:
    there = await create(store, a_job("taken"))
    one, taken, twin, other = a_job("one"), a_job("taken"), a_job("twin"), a_job("twin")
    with pytest.raises(NamesTaken) as raised:
        await store.create_jobs([one, taken, twin, other], atomic=True)
    assert raised.value.job_ids == {taken.id, other.id}
    assert await names(store) == {"taken"}
    due = await store.due_plans(range(256), since_ms=0, until_ms=START_MS, limit=10)
    assert [plan.job_id for plan in due] == [there.id]
    answers = await store.create_jobs([one, twin], atomic=True)
    assert [answer and answer.id for answer in answers] == [one.id, twin.id]
    assert await names(store) == {"taken", "one", "twin"}


async def test_batches_with_the_same_names_in_any_order_do_not_block_each_other(store: Store) -> None:
    wanted = [f"name {n}" for n in range(200)]
    batches = [[a_job(name) for name in order] for order in (wanted, wanted[::-1]) for _ in range(4)]
    answers = await asyncio.gather(*(store.create_jobs(batch) for batch in batches))
    created = Counter(answer.definition.name for answered in answers for answer in answered if answer is not None)
    assert created == Counter(wanted)
