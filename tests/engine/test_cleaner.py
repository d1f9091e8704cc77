"""How often tables are cleared of what their rows leave behind: where that takes long, rarely."""

import pytest

from dueline.domain import limits
from dueline.engine.cleaner import Cleaner
from dueline.runtime.clock import ManualClock


class LitteredStore:
    """Tables that are as full again at once; to clear one takes as long as it is told."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.takes_s: dict[str, float] = {}
        self.least = 0
        self.cleared: list[str] = []

    async def littered(self, *, least: int) -> list[str]:
        self.least = least
        return list(self.takes_s)

    async def clear(self, table: str) -> None:
        self.cleared.append(table)
        self._clock.advance(self.takes_s[table])


class Scene:
    def __init__(self) -> None:
        self.clock = ManualClock(1_767_225_600_000)
        self.store = LitteredStore(self.clock)
        self.first = True
        self.cleaner = Cleaner(self.store, self.clock, first=lambda: self.first)

    async def cleared_in(self, rounds: int) -> list[str]:
        self.store.cleared.clear()
        for _ in range(rounds):
            self.clock.advance(await self.cleaner.step())
        return self.store.cleared


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_what_is_littered_is_cleared_in_every_round(scene: Scene) -> None:
    scene.store.takes_s = {"runs": limits.SWEEP_S / 20, "plans": 0.0}
    assert await scene.cleared_in(3) == ["runs", "plans"] * 3
    assert scene.store.least == limits.LITTER_MIN


async def test_where_nothing_is_littered_nothing_is_cleared(scene: Scene) -> None:
    assert await scene.cleaner.step() == limits.SWEEP_S
    assert scene.store.cleared == []


async def test_one_does_it_for_all(scene: Scene) -> None:
    scene.store.takes_s = {"runs": 0.0}
    scene.first = False
    assert await scene.cleaner.step() == limits.SWEEP_OTHERS_S
    assert scene.store.cleared == []


async def test_what_takes_long_is_cleared_rarely_and_keeps_nothing_else_from_it(scene: Scene) -> None:
    scene.store.takes_s = {"runs": 1.0, "plans": 0.0}
    assert await scene.cleared_in(2) == ["runs", "plans"] * 2, "one alone may have had to wait for something else"
    assert await scene.cleared_in(9) == ["plans"] * 9
    assert await scene.cleared_in(1) == ["runs", "plans"], "twenty times as long"
