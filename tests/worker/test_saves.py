"""What tasks tell of themselves on its way to the store: few writes, nothing lost, and before the end of the attempt."""

import asyncio
from collections.abc import Sequence

import pytest

from dueline.domain import limits
from dueline.domain.errors import StoreUnavailable
from dueline.domain.ids import RunId
from dueline.runtime.clock import ManualClock
from dueline.store.shapes import Saved
from dueline.tasks.context import Checkpoint, Heartbeat, Progress
from dueline.worker.saves import Saves

ONE, OTHER = RunId(b"%16d" % 1), RunId(b"%16d" % 2)


class SlowStore:
    """Takes what is saved when it is let; away, it raises."""

    def __init__(self) -> None:
        self.saved: list[list[Saved]] = []
        self.away = False
        self.broken = False
        self.let = asyncio.Event()
        self.let.set()
        self.asked = asyncio.Event()

    async def save(self, saved: Sequence[Saved]) -> set[RunId]:
        self.asked.set()
        await self.let.wait()
        if self.broken:
            raise ValueError("no store takes this")
        if self.away:
            raise StoreUnavailable("away")
        self.saved.append(list(saved))
        return {one.run_id for one in saved}


class Desk:
    def __init__(self) -> None:
        self.store = SlowStore()
        self.clock = ManualClock()
        self.saves = Saves(self.store.save, monotonic=self.clock.monotonic_s)


@pytest.fixture
async def desk() -> Desk:
    return Desk()


async def test_with_nothing_told_nothing_is_written(desk: Desk) -> None:
    assert await desk.saves.step() == 60.0
    await desk.saves.flush([ONE])
    assert desk.store.saved == []


async def test_the_last_of_each_kind_is_written_with_the_first_of_a_moment(desk: Desk) -> None:
    for number in range(1_000):
        desk.saves.add(ONE, 1, Progress(number / 1_000, str(number)))
        desk.saves.add(ONE, 1, Checkpoint(b"%d" % number))
    desk.saves.add(OTHER, 1, Heartbeat())
    assert await desk.saves.step() == 60.0
    assert desk.store.saved == [[Saved(ONE, 1, "999", 0.999, "999"), Saved(OTHER, 1)]]


async def test_a_chatty_task_is_written_a_few_times_a_second(desk: Desk) -> None:
    waits = []
    for number in range(1_000):
        desk.saves.add(ONE, 1, Checkpoint(b"%d" % number))
        waits.append(await desk.saves.step())
        desk.clock.advance(0.01)
    assert len(desk.store.saved) == pytest.approx(10 / limits.SAVE_GROUP_S, abs=1)
    assert all(0 < wait_s <= limits.SAVE_GROUP_S or wait_s == 60.0 for wait_s in waits)
    await desk.saves.flush([ONE])
    assert desk.store.saved[-1] == [Saved(ONE, 1, "999")]


async def test_another_token_is_another_attempt(desk: Desk) -> None:
    desk.saves.add(ONE, 1, Checkpoint(b"1"))
    desk.saves.add(ONE, 2, Progress(0.5))
    await desk.saves.step()
    assert desk.store.saved == [[Saved(ONE, 2, None, 0.5, "")]]


async def test_what_is_told_while_the_store_is_away_is_kept_with_what_was_told_before(desk: Desk) -> None:
    desk.saves.add(ONE, 1, Checkpoint(b"1"))
    desk.saves.add(OTHER, 1, Checkpoint(b"2"))
    desk.store.away = True
    desk.store.let.clear()
    writing = asyncio.create_task(desk.saves.step())
    await desk.store.asked.wait()
    desk.saves.add(ONE, 1, Progress(0.5, "half"))
    desk.saves.add(OTHER, 2, Progress(0.1))
    desk.store.let.set()
    with pytest.raises(StoreUnavailable):
        await writing
    desk.store.away = False
    await desk.saves.step()
    assert desk.store.saved == [[Saved(ONE, 1, "1", 0.5, "half"), Saved(OTHER, 2, None, 0.1, "")]]


@pytest.mark.parametrize("away", [False, True])
async def test_a_flush_waits_for_a_write_that_is_under_way(desk: Desk, away: bool) -> None:
    """Otherwise the end of an attempt might overtake its checkpoint, which would then be refused."""
    desk.saves.add(ONE, 1, Checkpoint(b"1"))
    desk.store.away = away
    desk.store.let.clear()
    writing = asyncio.create_task(desk.saves.step())
    await desk.store.asked.wait()
    flushing = asyncio.create_task(desk.saves.flush([ONE]))
    await asyncio.sleep(0)
    assert not flushing.done()
    desk.store.let.set()
    ended = await asyncio.gather(writing, flushing, return_exceptions=True)
    assert [isinstance(one, StoreUnavailable) for one in ended] == [away, away]
    desk.store.away = False
    await desk.saves.flush([ONE])
    assert desk.store.saved == [[Saved(ONE, 1, "1")]]


async def test_what_no_store_takes_holds_up_nothing(desk: Desk) -> None:
    desk.store.broken = True
    desk.saves.add(ONE, 1, Checkpoint(b"1"))
    with pytest.raises(ValueError, match="no store takes this"):
        await desk.saves.flush([ONE])
    desk.store.broken = False
    await desk.saves.flush([ONE])
    assert desk.store.saved == []


async def test_a_flush_writes_what_was_asked_for_alone(desk: Desk) -> None:
    desk.saves.add(ONE, 1, Checkpoint(b"1"))
    desk.saves.add(OTHER, 1, Checkpoint(b"2"))
    await desk.saves.flush([OTHER])
    assert desk.store.saved == [[Saved(OTHER, 1, "2")]]
    await desk.saves.step()
    assert desk.store.saved[1:] == [[Saved(ONE, 1, "1")]]
