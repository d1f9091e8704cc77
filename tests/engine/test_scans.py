"""How far back the scheduler looks: a shard that it took may hold what has been overdue for any time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, cast

import pytest

from dueline.engine.definitions import Definitions
from dueline.engine.membership import Membership
from dueline.engine.scheduler import Scheduler, SchedulerOptions, SchedulerStore
from dueline.engine.shards import ShardKeeper
from tests.support.stores import START_MS


class Time:
    """The store's, as the process knows it; a lease that holds."""

    trusted = True

    def __init__(self) -> None:
        self.time = self
        self.at_ms = START_MS

    def now_ms(self) -> int:
        return self.at_ms


class Shards:
    def __init__(self) -> None:
        self.epochs = {1: 1}


class Scans:
    """A store in which nothing is due, and which notes since when it was asked."""

    def __init__(self) -> None:
        self.since_ms: list[int] = []
        self.meanwhile: Callable[[], None] = lambda: None

    async def due_plans(self, _epochs: Any, *, since_ms: int, until_ms: int, limit: int) -> list[Any]:  # noqa: ARG002
        self.since_ms.append(since_ms)
        self.meanwhile()
        return []

    async def crowds(self, *_: Any, **__: Any) -> dict[int, int]:
        return {}


@pytest.fixture
def scans() -> Scans:
    return Scans()


@pytest.fixture
def shards() -> Shards:
    return Shards()


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def scheduler(scans: Scans, shards: Shards, time: Time) -> Scheduler:
    return Scheduler(
        cast(SchedulerStore, scans),
        cast(Membership, time),
        cast(ShardKeeper, shards),
        cast(Definitions, None),
        SchedulerOptions(),
        fenced=lambda _count: None,
    )


async def test_the_first_scan_reaches_back_to_the_beginning_and_the_next_does_not(
    scheduler: Scheduler, scans: Scans
) -> None:
    for _ in range(3):
        await scheduler.step()
    assert scans.since_ms[0] == 0
    assert min(scans.since_ms[1:]) > 0


async def test_after_shards_were_taken_everything_is_looked_at(
    scheduler: Scheduler, scans: Scans, shards: Shards
) -> None:
    await scheduler.step()
    shards.epochs = {1: 1, 2: 1}
    scheduler.scan_everything()
    await scheduler.step()
    assert scans.since_ms == [0, 0]


async def test_a_scan_that_was_under_way_when_shards_were_taken_does_not_count_for_them(
    scheduler: Scheduler, scans: Scans, shards: Shards, time: Time
) -> None:
    """It takes two seconds of a slow store, and would have put the next one off for long."""

    def take() -> None:
        time.at_ms += 2_000
        shards.epochs = {1: 1, 2: 1}
        scheduler.scan_everything()
        scans.meanwhile = lambda: None

    scans.meanwhile = take
    for _ in range(3):
        await scheduler.step()
    assert scans.since_ms[:2] == [0, 0]
    assert scans.since_ms[2] > 0


async def test_one_scan_that_had_to_wait_for_the_store_does_not_put_off_those_that_reach_back(
    scheduler: Scheduler, scans: Scans, time: Time
) -> None:
    """A job whose creation took seconds on its way was found a minute and a half late."""

    def wait() -> None:
        time.at_ms += 4_000
        scans.meanwhile = lambda: None

    await scheduler.step()
    time.at_ms += 100
    scans.meanwhile = wait
    await scheduler.step()
    scanned_ms = START_MS + 100
    time.at_ms += 100
    await scheduler.step()
    assert scans.since_ms[-1] == scanned_ms - 60_000


async def test_scans_that_take_long_each_time_reach_back_rarely(scheduler: Scheduler, scans: Scans, time: Time) -> None:
    def walk() -> None:
        time.at_ms += 100

    scans.meanwhile = walk
    reaches_ms = []
    for _ in range(30):
        began_ms = time.at_ms
        await scheduler.step()
        reaches_ms.append(began_ms - scans.since_ms[-1])
    long = [number for number, reach_ms in enumerate(reaches_ms) if 50_000 < reach_ms < 100_000]
    assert len(long) <= 4
    assert max(later - earlier for earlier, later in pairwise(long)) == 20
