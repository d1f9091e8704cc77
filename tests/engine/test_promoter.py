"""How long the promoter sleeps: until shortly before the next waiting run is due."""

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
from dueline.store.shapes import LapsedRun, Promoted

START_MS = 1_767_225_600_000


class FakeStore:
    def __init__(self, promoted: Promoted, refill_ms: int | None) -> None:
        self._promoted = promoted
        self._refill_ms = refill_ms
        self.asked: list[tuple[int, int]] = []

    async def lapsed_runs(self, *, limit: int) -> list[LapsedRun]:
        del limit
        return []

    async def promote(self, *, ahead_ms: int, limit: int) -> Promoted:
        self.asked.append((ahead_ms, limit))
        return self._promoted

    async def refill(self, *, ahead_ms: int, limit: int) -> int | None:
        assert (ahead_ms, limit) == (limits.AHEAD_MS, limits.PROMOTE_BATCH)
        return self._refill_ms


async def delay_s(count: int, next_due_ms: int | None, refill_ms: int | None = None) -> float:
    clock = ManualClock(START_MS)
    node = NewNode(boot_id=BootId("b1"), role=Role.ALL, host="here", pid=1, version="1")
    store = FakeStore(Promoted(count, frozenset(), next_due_ms), refill_ms)
    membership = Membership(cast(MemberStore, store), clock, node)
    membership.time.measured(START_MS, sent_s=clock.monotonic_s())
    definitions = Definitions(cast(JobStore, store))
    promoter = Promoter(cast(PromoterStore, store), membership, definitions, missed_due_ms=lambda now_ms: now_ms)
    delay = await promoter.step()
    assert store.asked == [(limits.AHEAD_MS, limits.PROMOTE_BATCH)]
    return delay


@pytest.mark.parametrize(
    ("due_in_ms", "expected_s"),
    [
        (limits.AHEAD_MS + 250, 0.25),
        (limits.AHEAD_MS + 1_000, 1.0),
        (limits.AHEAD_MS + 1_001, 1.0),
        (3_600_000, 1.0),
        (limits.AHEAD_MS, limits.GATHER_S),
        (limits.AHEAD_MS // 2 + 1, limits.GATHER_S),
        (limits.AHEAD_MS // 2, 0.0),
        (0, 0.0),
        (-5_000, 0.0),
    ],
)
async def test_it_sleeps_until_the_next_run_is_near_and_never_for_long(due_in_ms: int, expected_s: float) -> None:
    assert await delay_s(0, START_MS + due_in_ms) == pytest.approx(expected_s)
    assert await delay_s(limits.PROMOTE_BATCH - 1, START_MS + due_in_ms) == pytest.approx(expected_s)


async def test_with_nothing_waiting_it_looks_again_in_a_second() -> None:
    assert await delay_s(0, None) == 1.0


async def test_a_full_page_is_followed_by_the_next_at_once() -> None:
    assert await delay_s(limits.PROMOTE_BATCH, None) == 0.0
    assert await delay_s(limits.PROMOTE_BATCH, START_MS + 3_600_000) == 0.0


async def test_it_wakes_when_a_token_comes() -> None:
    assert await delay_s(0, None, START_MS + 300) == 0.3
    assert await delay_s(0, START_MS + limits.AHEAD_MS + 100, START_MS + 300) == 0.1
    assert await delay_s(0, None, START_MS - 5) == 0.0
