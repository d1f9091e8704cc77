"""What the promoter does, and how long it sleeps: until shortly before the next waiting run is due."""

from collections.abc import Iterable
from typing import cast

import pytest

from dueline.domain import limits
from dueline.domain.ids import BootId
from dueline.engine.definitions import Definitions
from dueline.engine.membership import Membership
from dueline.engine.promoter import Promoter, PromoterStore
from dueline.runtime.clock import ManualClock
from dueline.store.fleet import MemberStore, NewNode, Role
from dueline.store.protocol import JobStore
from dueline.store.shapes import LapsedRun, Promoted, Upcoming

START_MS = 1_767_225_600_000
NEAR_MS = START_MS + limits.AHEAD_MS


class FakeStore:
    def __init__(self, upcoming: Upcoming, count: int, waiting: int) -> None:
        self._upcoming = upcoming
        self._count = count
        self._waiting = waiting
        self.promoted = self.refilled = self.counted = 0
        self.later: dict[str, int] = {}
        self.told: list[set[str]] = []
        self.ahead_ms = limits.AHEAD_MS

    async def upcoming(self) -> Upcoming:
        return self._upcoming

    async def lapsed_runs(self, *, limit: int) -> list[LapsedRun]:
        del limit
        return []

    async def count_waiting(self, *, until_ms: int, limit: int) -> int:
        assert self._upcoming.due_ms is not None
        assert until_ms == self._upcoming.due_ms + 1_000
        self.counted += 1
        return min(self._waiting, limit)

    async def promote(self, *, ahead_ms: int, limit: int) -> Promoted:
        assert limit == limits.PROMOTE_BATCH
        self.promoted += 1
        self.ahead_ms = ahead_ms
        return Promoted(self._count, later=self.later)

    async def tell_ready(self, queues: Iterable[str]) -> None:
        self.told.append(set(queues))

    async def refill(self, *, ahead_ms: int, limit: int) -> None:
        assert (ahead_ms, limit) == (limits.AHEAD_MS, limits.PROMOTE_BATCH)
        self.refilled += 1


class Stage:
    """A promoter before a store, with a clock that moves when told to."""

    def __init__(self, upcoming: Upcoming, *, count: int = 0, waiting: int = 1, first: bool = True) -> None:
        self.clock = ManualClock(START_MS)
        self.store = FakeStore(upcoming, count, waiting)
        node = NewNode(boot_id=BootId("b1"), role=Role.ALL, host="here", pid=1, version="1")
        membership = Membership(cast(MemberStore, self.store), self.clock, node)
        membership.time.measured(START_MS, sent_s=self.clock.monotonic_s())
        self.promoter = Promoter(
            cast(PromoterStore, self.store),
            membership,
            Definitions(cast(JobStore, self.store)),
            missed_due_ms=lambda now_ms: now_ms,
            first=lambda: first,
        )


async def step(due_ms: int | None, refill_ms: int | None = None, *, count: int = 0) -> tuple[float, int, int]:
    """How long it sleeps, and how often it promoted and refilled."""
    stage = Stage(Upcoming(due_ms, refill_ms), count=count)
    slept_s = await stage.promoter.step()
    assert stage.store.ahead_ms == limits.AHEAD_MS
    return slept_s, stage.store.promoted, stage.store.refilled


@pytest.mark.parametrize(
    ("near_in_ms", "expected_s"), [(1, 0.001), (250, 0.25), (1_000, 1.0), (1_001, 1.0), (3_600_000, 1.0)]
)
async def test_it_sleeps_until_the_next_run_is_near_and_never_for_long(near_in_ms: int, expected_s: float) -> None:
    assert await step(NEAR_MS + near_in_ms) == (expected_s, 0, 0)


@pytest.mark.parametrize("near_in_ms", [0, -1, -5_000])
async def test_what_is_near_becomes_ready_and_the_next_gather(near_in_ms: int) -> None:
    assert await step(NEAR_MS + near_in_ms) == (limits.GATHER_S, 1, 0)
    assert await step(NEAR_MS + near_in_ms, count=limits.PROMOTE_BATCH - 1) == (limits.GATHER_S, 1, 0)


async def test_with_nothing_waiting_it_looks_again_in_a_second() -> None:
    assert await step(None) == (1.0, 0, 0)


async def test_a_full_page_is_followed_by_the_next_at_once() -> None:
    assert await step(START_MS, count=limits.PROMOTE_BATCH) == (0.0, 1, 0)


async def test_it_wakes_when_a_token_comes_and_asks_what_follows() -> None:
    assert await step(None, START_MS + 300) == (0.3, 0, 0)
    assert await step(NEAR_MS + 100, START_MS + 300) == (0.1, 0, 0)
    assert await step(None, START_MS) == (0.0, 0, 1)
    assert await step(NEAR_MS, START_MS - 5) == (0.0, 1, 1)


async def test_the_others_do_in_a_moment_what_the_first_left_undone() -> None:
    """And not long before it is time, but before it."""
    at_once = Stage(Upcoming(NEAR_MS, START_MS), first=False)
    assert await at_once.promoter.step() == limits.YIELD_MS / 1000
    assert (at_once.store.promoted, at_once.store.refilled) == (0, 0)
    at_once.clock.advance(limits.YIELD_MS / 1000)
    assert await at_once.promoter.step() == 0.0
    assert (at_once.store.promoted, at_once.store.refilled) == (1, 1)


@pytest.mark.parametrize(
    ("waiting", "before_ms"),
    [
        (limits.MADE_READY_PER_S // 2, 500),
        (limits.MADE_READY_PER_S, 1_000),
        (100 * limits.MADE_READY_PER_S, limits.READY_AHEAD_MS_MAX - limits.AHEAD_MS),
    ],
)
async def test_the_more_wait_for_one_time_the_earlier_they_are_made_ready(waiting: int, before_ms: int) -> None:
    """To the millisecond, and never earlier than the longest time."""
    due_ms = NEAR_MS + before_ms
    on_time = Stage(Upcoming(due_ms, None), waiting=waiting)
    assert await on_time.promoter.step() == limits.GATHER_S
    assert (on_time.store.promoted, on_time.store.ahead_ms) == (1, limits.AHEAD_MS + before_ms)
    early = Stage(Upcoming(due_ms + 1, None), waiting=waiting)
    assert await early.promoter.step() in (0.001, 1.0)
    assert early.store.promoted == 0


async def test_workers_are_told_when_what_was_made_ready_early_may_be_claimed() -> None:
    """Once, and to the millisecond: of two who hear it at the same time each gets a part."""
    stage = Stage(Upcoming(NEAR_MS + 500, None), waiting=limits.MADE_READY_PER_S)
    stage.store.later = {"a": NEAR_MS + 500, "b": NEAR_MS + 50, "c": NEAR_MS + 50}
    assert await stage.promoter.step() == 0.05
    stage.store.later = {}
    stage.clock.advance(0.049)
    assert await stage.promoter.step() == 0.001
    assert stage.store.told == []
    stage.clock.advance(0.001)
    await stage.promoter.step()
    stage.clock.advance(0.45)
    await stage.promoter.step()
    await stage.promoter.step()
    assert stage.store.told == [{"b", "c"}, {"a"}]


async def test_they_are_counted_once_a_second_and_only_where_it_may_matter() -> None:
    stage = Stage(Upcoming(START_MS + limits.READY_AHEAD_MS_MAX, None), waiting=10 * limits.MADE_READY_PER_S)
    for _ in range(3):
        await stage.promoter.step()
        stage.clock.advance(0.333)
    assert (stage.store.counted, stage.store.promoted) == (1, 3)
    stage.clock.advance(0.001)
    await stage.promoter.step()
    assert stage.store.counted == 2
    for due_ms in (NEAR_MS, START_MS + limits.READY_AHEAD_MS_MAX + 1):
        elsewhere = Stage(Upcoming(due_ms, None))
        await elsewhere.promoter.step()
        assert elsewhere.store.counted == 0
