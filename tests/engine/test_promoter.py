"""What the promoter does, and how long it sleeps: until shortly before the next waiting run is due."""

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
    def __init__(self, upcoming: Upcoming, count: int) -> None:
        self._upcoming = upcoming
        self._count = count
        self.promoted = self.refilled = 0

    async def upcoming(self) -> Upcoming:
        return self._upcoming

    async def lapsed_runs(self, *, limit: int) -> list[LapsedRun]:
        del limit
        return []

    async def promote(self, *, ahead_ms: int, limit: int) -> Promoted:
        assert (ahead_ms, limit) == (limits.AHEAD_MS, limits.PROMOTE_BATCH)
        self.promoted += 1
        return Promoted(self._count, frozenset())

    async def refill(self, *, ahead_ms: int, limit: int) -> None:
        assert (ahead_ms, limit) == (limits.AHEAD_MS, limits.PROMOTE_BATCH)
        self.refilled += 1


async def step(due_ms: int | None, refill_ms: int | None = None, *, count: int = 0) -> tuple[float, int, int]:
    """How long it sleeps, and how often it promoted and refilled."""
    clock = ManualClock(START_MS)
    node = NewNode(boot_id=BootId("b1"), role=Role.ALL, host="here", pid=1, version="1")
    store = FakeStore(Upcoming(due_ms, refill_ms), count)
    membership = Membership(cast(MemberStore, store), clock, node)
    membership.time.measured(START_MS, sent_s=clock.monotonic_s())
    definitions = Definitions(cast(JobStore, store))
    promoter = Promoter(cast(PromoterStore, store), membership, definitions, missed_due_ms=lambda now_ms: now_ms)
    return await promoter.step(), store.promoted, store.refilled


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
