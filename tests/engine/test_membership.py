"""This process among the others: its lease, and the store's time."""

from collections.abc import Callable
from typing import cast

import pytest

from dueline.domain import limits
from dueline.domain.errors import LeaseLost, StoreUnavailable
from dueline.domain.ids import BootId
from dueline.engine.membership import Membership
from dueline.runtime.clock import ManualClock
from dueline.store.fleet import Beat, MemberStore, NewNode, Role

STORE_AHEAD_MS = 5_000
TRUSTED_S = limits.LEASE_S - limits.LEASE_MARGIN_S


class FakeStore:
    """A store whose clock is five seconds ahead of ours; `beating` happens while a beat is on its way."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.calls: list[tuple[str, object]] = []
        self.beating: Callable[[], None] = lambda: None
        self.busy = 0
        self.rates: object = None
        self.drain_asked = False

    async def register(self, node: NewNode, *, lease_s: float) -> None:
        self.calls.append(("register", (node.boot_id, lease_s)))

    async def beat(self, boot_id: BootId, *, lease_s: float, busy: int, rates: object) -> Beat:
        self.calls.append(("beat", (boot_id, lease_s)))
        self.busy, self.rates = busy, rates
        store_ms = self._clock.wall_ms() + STORE_AHEAD_MS
        self.beating()
        return Beat(store_ms, self.drain_asked)

    async def drain(self, boot_id: BootId) -> None:
        self.calls.append(("drain", boot_id))

    async def leave(self, boot_id: BootId) -> None:
        self.calls.append(("leave", boot_id))
        self.beating()


class Member:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = FakeStore(self.clock)
        node = NewNode(boot_id=BootId("b1"), role=Role.ALL, host="here", pid=1, version="1")
        self.membership = Membership(cast(MemberStore, self.store), self.clock, node)

    def slow_beat(self, seconds: float) -> None:
        self.store.beating = lambda: self.clock.advance(seconds)


@pytest.fixture
def member() -> Member:
    return Member()


async def test_it_registers_before_it_beats(member: Member) -> None:
    assert not member.membership.trusted
    assert not member.membership.time.known
    await member.membership.join()
    lease = (BootId("b1"), limits.LEASE_S)
    assert member.store.calls == [("register", lease), ("beat", lease)]
    assert member.membership.trusted


async def test_a_beat_is_sent_as_often_as_the_limits_say(member: Member) -> None:
    assert await member.membership.step() == limits.BEAT_S


async def test_trust_ends_a_margin_before_the_lease(member: Member) -> None:
    await member.membership.join()
    member.clock.advance(TRUSTED_S - 0.001)
    assert member.membership.trusted
    member.clock.advance(0.001)
    assert not member.membership.trusted


async def test_trust_counts_from_when_the_beat_was_sent(member: Member) -> None:
    member.slow_beat(3.0)
    await member.membership.step()
    member.clock.advance(TRUSTED_S - 3.0 - 0.001)
    assert member.membership.trusted
    member.clock.advance(0.001)
    assert not member.membership.trusted


async def test_an_answer_that_took_longer_than_the_trust_gives_none(member: Member) -> None:
    member.slow_beat(TRUSTED_S)
    await member.membership.step()
    assert not member.membership.trusted


async def test_every_beat_tells_the_stores_time(member: Member) -> None:
    await member.membership.join()
    assert member.membership.time.now_ms() == member.clock.wall_ms() + STORE_AHEAD_MS
    member.clock.advance(1.0)
    assert member.membership.time.now_ms() == member.clock.wall_ms() + STORE_AHEAD_MS


async def test_a_beat_that_failed_renews_nothing(member: Member) -> None:
    await member.membership.join()
    member.clock.advance(TRUSTED_S - 1.0)

    def fail() -> None:
        raise StoreUnavailable("away")

    member.store.beating = fail
    with pytest.raises(StoreUnavailable):
        await member.membership.step()
    assert member.membership.trusted
    member.clock.advance(1.0)
    assert not member.membership.trusted


async def test_a_lost_lease_reaches_the_caller(member: Member) -> None:
    await member.membership.join()

    def bury() -> None:
        raise LeaseLost("declared dead")

    member.store.beating = bury
    with pytest.raises(LeaseLost):
        await member.membership.step()


async def test_it_trusts_itself_no_more_before_the_others_hear_that_it_leaves(member: Member) -> None:
    await member.membership.join()
    seen: list[bool] = []
    member.store.beating = lambda: seen.append(member.membership.trusted)
    await member.membership.leave()
    assert seen == [False]
    assert member.store.calls[-1] == ("leave", BootId("b1"))
    assert not member.membership.trusted


async def test_draining_keeps_the_lease(member: Member) -> None:
    await member.membership.join()
    await member.membership.drain()
    assert member.store.calls[-1] == ("drain", BootId("b1"))
    assert member.membership.trusted


async def test_a_beat_tells_how_busy_it_is_and_hears_when_it_is_to_drain(member: Member) -> None:
    member.membership.busy = lambda: 7
    member.membership.rates = lambda: {"mail": 0.5}
    await member.membership.join()
    assert (member.store.busy, member.store.rates) == (7, {"mail": 0.5})
    assert not member.membership.drain_asked.is_set()
    member.store.drain_asked = True
    await member.membership.step()
    assert member.membership.drain_asked.is_set()
