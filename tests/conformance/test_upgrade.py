"""A store of the first release is brought up to date with everything in it, and goes on from where it was."""

from collections.abc import AsyncIterator

import pytest

from dueline.domain.ids import BootId, JobId, RunId
from dueline.domain.lanes import PLAIN
from dueline.domain.planning import Position
from dueline.domain.schedule import At, Cron, Every
from dueline.domain.sharding import shard_of
from dueline.domain.states import JobState, RunState
from dueline.store.migrations import load_migrations
from dueline.store.protocol import Store
from dueline.store.shapes import DuePlan, JobFilter
from tests.conformance.upgrading import left_behind
from tests.support.stores import (
    ALL_SHARDS,
    START_MS,
    TENANT,
    StoreUnderTest,
    a_firing,
    a_job,
    a_reclaim,
    an_occurrence,
    at,
    changing,
    create,
    epochs_of,
    register,
    the_job,
    the_run,
)

ACTIVE, PAUSED, FINISHED, DELETED = (
    JobId(bytes.fromhex(text))
    for text in (
        "019b76da986074048404040404040404",
        "019b76da9c4873038303030303030303",
        "019b76daa03072028202020202020202",
        "019b76daa41871018101010101010101",
    )
)
READY, RUNNING, ENDED, HELD = (
    RunId(bytes.fromhex(text))
    for text in (
        "019b76d9bda0718f823826558304a1f6",
        "019b76d8d3407073a5aa37009c1a6336",
        "019b76d7e8e0706b82fcfc70d6428bad",
        "019b76a3b980764bbd2e9a0492ae1781",
    )
)
MINUTE_MS, HOUR_MS = 60_000, 3_600_000
EVERY_MINUTE = Every(MINUTE_MS, START_MS - HOUR_MS)


@pytest.fixture(params=["sqlite", "postgres"])
async def old(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[StoreUnderTest]:
    """A store at the first migration, with rows in it."""
    async with left_behind(request.param, 1, request, monkeypatch) as under_test:
        yield under_test


@pytest.fixture
async def upgraded(old: StoreUnderTest) -> Store:
    await old.store.migrate()
    return old.store


async def test_every_migration_is_applied(old: StoreUnderTest) -> None:
    states = await old.store.migrate()
    assert len(states) == len(load_migrations(old.dialect))
    assert all(state.applied for state in states)


async def test_living_jobs_are_found_by_their_words(upgraded: Store) -> None:
    for words, found in [(("target",), [FINISHED, PAUSED, ACTIVE]), (("activ", "http"), [ACTIVE]), (("deleted",), [])]:
        page = await upgraded.jobs_with(JobFilter(tenant=TENANT), words, before=None, limit=10)
        assert [job.id for job in page.jobs] == found


async def test_jobs_are_where_they_were(upgraded: Store) -> None:
    active, paused, finished = [await the_job(upgraded, job_id) for job_id in (ACTIVE, PAUSED, FINISHED)]
    assert (active.state, active.version, active.position) == (JobState.ACTIVE, 2, at(START_MS))
    assert (paused.state, paused.pause_note) == (JobState.PAUSED, "why")
    assert paused.position == Position(next_ms=START_MS - HOUR_MS // 2)
    assert (finished.state, finished.position) == (JobState.FINISHED, Position())
    assert active.definition.schedule == EVERY_MINUTE
    assert paused.definition.schedule == Cron("0 9 * * *", timezone="Europe/Berlin")
    assert finished.definition.schedule == At(START_MS - MINUTE_MS)
    assert await upgraded.job(TENANT, DELETED) is None


async def test_versions_are_in_force_since_the_last_change_as_far_as_is_known(upgraded: Store) -> None:
    active = await the_job(upgraded, ACTIVE)
    assert active.since_ms == active.updated_ms == START_MS - HOUR_MS
    versions = await upgraded.versions_of(ACTIVE)
    assert [(version.version, version.since_ms) for version in versions] == [(1, 0), (2, START_MS - HOUR_MS)]
    assert versions[0].definition.schedule == Every(HOUR_MS, START_MS - HOUR_MS)


async def test_what_was_due_is_due_and_is_fired_from_there(upgraded: Store) -> None:
    due = await upgraded.due_plans(ALL_SHARDS, since_ms=0, until_ms=START_MS, limit=10)
    assert due == [DuePlan(ACTIVE, shard_of(ACTIVE), 2, 3, START_MS, None)]
    job = await the_job(upgraded, ACTIVE)
    firing = a_firing(job, following_ms=START_MS + MINUTE_MS, generation=3)
    assert await upgraded.fire([firing], await epochs_of(upgraded)) == {ACTIVE}
    assert (await the_job(upgraded, ACTIVE)).next_ms == START_MS + MINUTE_MS
    run = await the_run(upgraded, an_occurrence(job, START_MS).id)
    assert run.version == 2


async def test_shards_keep_their_epochs(upgraded: Store) -> None:
    epochs = await epochs_of(upgraded)
    assert (epochs[shard_of(ACTIVE)], sum(epochs.values())) == (7, 7)


async def test_plans_of_zoned_schedules_are_known_as_such(upgraded: Store) -> None:
    assert await upgraded.stale_plans(ALL_SHARDS, limit=10) == []
    assert await upgraded.adopt_zones(await epochs_of(upgraded), "2026a") == len(ALL_SHARDS)
    assert await upgraded.stale_plans(ALL_SHARDS, limit=10) == [(TENANT, PAUSED)]


async def test_a_paused_job_goes_on_when_it_is_resumed(upgraded: Store) -> None:
    await upgraded.change_job(TENANT, PAUSED, changing(state=JobState.ACTIVE, free=(HELD,)))
    assert (await the_job(upgraded, PAUSED)).position == at(START_MS - HOUR_MS // 2)
    assert (await the_run(upgraded, HELD)).state is RunState.READY


async def test_runs_are_what_they_were_and_go_on(upgraded: Store) -> None:
    states = [(await the_run(upgraded, run_id)).state for run_id in (READY, RUNNING, ENDED, HELD)]
    assert states == [RunState.READY, RunState.RUNNING, RunState.SUCCEEDED, RunState.HELD]
    worker = await register(upgraded)
    claimed = await upgraded.claim(worker, "default", PLAIN, ahead_ms=0, limit=10)
    assert [(run.run_id, run.overlap) for run in claimed.blocked] == [(READY, None)]
    (stray,) = await upgraded.strays(grace_ms=0, limit=10)
    assert (stray.run_id, stray.worker, stray.cancel) == (RUNNING, BootId("w0"), None)
    await upgraded.reclaim([a_reclaim(stray, RunState.FAILED, reason="poison")])
    claimed = await upgraded.claim(worker, "default", PLAIN, ahead_ms=0, limit=10)
    assert [claim.run_id for claim in claimed.claims] == [READY]


async def test_runs_of_the_past_are_in_the_ledger(upgraded: Store) -> None:
    runs = await upgraded.occurrence_runs(ACTIVE, from_ms=START_MS - HOUR_MS, to_ms=START_MS, limit=10)
    assert [run.id for run in runs] == [ENDED, RUNNING, READY]
    assert await upgraded.unfired(ACTIVE, from_ms=0, to_ms=START_MS, limit=10) == []


async def test_names_are_still_taken_and_new_jobs_are_made(upgraded: Store) -> None:
    assert await upgraded.create_jobs([a_job("active")]) == [None]
    await create(upgraded, a_job("deleted"))
