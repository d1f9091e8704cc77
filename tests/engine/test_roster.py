"""Who else is there: only who is expired by the store's clock and silent before our eyes is buried."""

from typing import cast

import pytest
from structlog.testing import capture_logs

from dueline.domain import limits
from dueline.domain.ids import BootId
from dueline.engine.roster import Roster
from dueline.runtime.clock import ManualClock
from dueline.store.fleet import MemberStore, Pulse, Role

A, B, C = BootId("a"), BootId("b"), BootId("c")


class FakeStore:
    """Some nodes. It buries whom it is told to, unless they have come back meanwhile."""

    def __init__(self) -> None:
        self.registered: dict[BootId, Pulse] = {}
        self.buried: list[BootId] = []
        self.revived: set[BootId] = set()

    def put(
        self, boot_id: BootId, *, beat: int = 1, role: Role = Role.ALL, expired: bool = False, draining: bool = False
    ) -> None:
        self.registered[boot_id] = Pulse(boot_id, role, "here", 1, beat, expired, draining)

    async def pulses(self) -> list[Pulse]:
        return list(self.registered.values())

    async def bury(self, boot_id: BootId) -> bool:
        self.buried.append(boot_id)
        return boot_id not in self.revived and self.registered.pop(boot_id, None) is not None


class Watch:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = FakeStore()
        self.changes: list[frozenset[BootId]] = []
        self.roster = Roster(cast(MemberStore, self.store), self.clock, changed=self._changed)

    def _changed(self) -> None:
        self.changes.append(self.roster.registered)

    async def look(self, *, after_s: float = 0.0) -> float:
        """Look every quarter of a lease, and once more when the time is up."""
        with capture_logs():
            for _ in range(int(after_s // (limits.LEASE_S / 4))):
                self.clock.advance(limits.LEASE_S / 4)
                await self.roster.step()
            self.clock.advance(after_s % (limits.LEASE_S / 4))
            return await self.roster.step()


@pytest.fixture
def watch() -> Watch:
    return Watch()


async def test_it_looks_as_often_as_the_limits_say(watch: Watch) -> None:
    assert await watch.look() == limits.ROSTER_S


async def test_expired_alone_is_not_enough(watch: Watch) -> None:
    # The store's clock may have jumped.
    watch.store.put(A, expired=True)
    await watch.look()
    await watch.look(after_s=limits.LEASE_S - 0.001)
    assert watch.store.buried == []


async def test_a_store_that_was_away_leaves_everybody_a_lease_to_beat_again(watch: Watch) -> None:
    watch.store.put(A, expired=True)
    await watch.look()
    watch.clock.advance(3 * limits.LEASE_S)
    await watch.look(after_s=limits.LEASE_S - 0.001)
    assert watch.store.buried == []


async def test_silent_alone_is_not_enough(watch: Watch) -> None:
    watch.store.put(A)
    await watch.look()
    await watch.look(after_s=10 * limits.LEASE_S)
    assert watch.store.buried == []


async def test_expired_and_silent_for_a_whole_lease_it_is_buried(watch: Watch) -> None:
    watch.store.put(A, expired=True)
    watch.store.put(B)
    await watch.look()
    await watch.look(after_s=limits.LEASE_S)
    assert watch.store.buried == [A]
    assert watch.roster.registered == watch.roster.schedulers == {B}


async def test_a_beat_before_our_eyes_begins_the_wait_anew(watch: Watch) -> None:
    watch.store.put(A, expired=True, beat=1)
    await watch.look()
    watch.store.put(A, expired=True, beat=2)
    await watch.look(after_s=limits.LEASE_S)
    assert watch.store.buried == []
    await watch.look(after_s=limits.LEASE_S)
    assert watch.store.buried == [A]


async def test_one_that_the_store_does_not_bury_lives_on(watch: Watch) -> None:
    watch.store.put(A, expired=True)
    watch.store.revived = {A}
    await watch.look()
    await watch.look(after_s=limits.LEASE_S)
    assert set(watch.store.buried) == {A}
    assert watch.roster.registered == {A}


async def test_a_new_boot_id_is_another_process(watch: Watch) -> None:
    watch.store.put(A, expired=True)
    await watch.look()
    watch.store.put(B, expired=True)
    await watch.look(after_s=limits.LEASE_S)
    assert watch.store.buried == [A]


async def test_schedulers_are_those_that_schedule_and_stay(watch: Watch) -> None:
    watch.store.put(A, role=Role.SCHEDULER)
    watch.store.put(B, role=Role.WORKER)
    watch.store.put(C, role=Role.ALL, draining=True)
    await watch.look()
    assert watch.roster.registered == {A, B, C}
    assert watch.roster.schedulers == {A}


async def test_everybody_agrees_on_one_who_goes_first(watch: Watch) -> None:
    """Of those that schedule and stay; and on another as soon as it is gone."""
    assert not watch.roster.is_first(A)
    watch.store.put(A, role=Role.WORKER)
    watch.store.put(B, role=Role.SCHEDULER, expired=True)
    watch.store.put(C)
    await watch.look()
    assert [watch.roster.is_first(one) for one in (A, B, C)] == [False, True, False]
    await watch.look(after_s=limits.LEASE_S)
    assert [watch.roster.is_first(one) for one in (A, B, C)] == [False, False, True]
    watch.store.put(C, draining=True)
    await watch.look()
    assert [watch.roster.is_first(one) for one in (A, B, C)] == [False, False, False]


async def test_changes_are_told_and_nothing_else(watch: Watch) -> None:
    await watch.look()
    assert watch.changes == []
    watch.store.put(A)
    await watch.look(after_s=1.0)
    watch.store.put(A, beat=2)
    await watch.look(after_s=1.0)
    assert watch.changes == [{A}]
    watch.store.put(A, beat=3, draining=True)
    await watch.look(after_s=1.0)
    assert watch.changes == [{A}, {A}]
    watch.store.registered.clear()
    await watch.look(after_s=1.0)
    assert watch.changes == [{A}, {A}, frozenset()]


async def test_the_burial_of_a_worker_is_a_change_too(watch: Watch) -> None:
    # Its runs are to be taken back.
    watch.store.put(A)
    watch.store.put(B, role=Role.WORKER, expired=True)
    await watch.look()
    await watch.look(after_s=limits.LEASE_S)
    assert watch.changes == [{A, B}, {A}]
