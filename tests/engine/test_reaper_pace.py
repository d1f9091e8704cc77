"""How often the reaper looks at all that is under way: at every sweep, unless a look takes long."""

from typing import cast

import pytest

from dueline.domain import limits
from dueline.domain.ids import BootId
from dueline.engine.definitions import Definitions
from dueline.engine.membership import Membership
from dueline.engine.reaper import Reaper, ReaperStore
from dueline.runtime.chance import SystemChance
from dueline.runtime.clock import ManualClock
from dueline.store.fleet import MemberStore, NewNode, Role
from dueline.store.protocol import JobStore
from dueline.store.shapes import Chores, Stray


class SlowStore:
    """Nothing is to be swept; a look for strays takes as long as it is told."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.look_s = 0.0
        self.looks = 0

    async def strays(self, **_: int) -> list[Stray]:
        self.looks += 1
        self._clock.advance(self.look_s)
        return []

    async def chores(self) -> Chores:
        return Chores(*[False] * 7)


class Scene:
    def __init__(self) -> None:
        self.clock = ManualClock(1_767_225_600_000)
        self.store = SlowStore(self.clock)
        node = NewNode(boot_id=BootId("b1"), role=Role.ALL, host="here", pid=1, version="1")
        membership = Membership(cast(MemberStore, self.store), self.clock, node)
        definitions = Definitions(cast(JobStore, self.store))
        self.first = True
        self.reaper = Reaper(
            cast(ReaperStore, self.store),
            membership,
            definitions,
            self.clock,
            SystemChance(),
            first=lambda: self.first,
        )

    async def looks_in(self, sweeps: int) -> int:
        before = self.store.looks
        for _ in range(sweeps):
            self.clock.advance(await self.reaper.step())
        return self.store.looks - before


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_a_quick_look_is_made_at_every_sweep(scene: Scene) -> None:
    scene.store.look_s = limits.SWEEP_S / 50
    assert await scene.looks_in(10) == 10


async def test_only_the_first_of_several_sweeps_often(scene: Scene) -> None:
    assert await scene.reaper.step() == limits.SWEEP_S
    scene.first = False
    assert await scene.reaper.step() == limits.SWEEP_OTHERS_S


async def test_looks_that_take_long_are_made_rarely(scene: Scene) -> None:
    scene.store.look_s = 0.2
    assert await scene.looks_in(2) == 2, "one alone may have had to wait for something else"
    assert await scene.looks_in(4) == 0, "ten seconds are fifty times as long"
    assert await scene.looks_in(1) == 1


async def test_however_long_they_take_they_are_made(scene: Scene) -> None:
    scene.store.look_s = 5.0
    await scene.looks_in(2)
    assert await scene.looks_in(13) == 1, "after half a minute"


async def test_when_somebody_went_the_look_is_made_at_once(scene: Scene) -> None:
    scene.store.look_s = 5.0
    await scene.looks_in(2)
    scene.reaper.somebody_went()
    assert await scene.looks_in(1) == 1


async def test_looks_that_are_quick_again_are_made_at_every_sweep(scene: Scene) -> None:
    scene.store.look_s = 5.0
    await scene.looks_in(2)
    scene.store.look_s = 0.0
    scene.reaper.somebody_went()
    assert await scene.looks_in(5) == 5
