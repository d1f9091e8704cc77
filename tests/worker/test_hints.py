"""Where a worker looks for runs: where it heard of some, and now and then everywhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dueline.domain import limits
from dueline.domain.lanes import PLAIN, TASK
from dueline.runtime.clock import ManualClock
from dueline.store.protocol import Store
from dueline.worker.hints import Hints
from dueline.worker.options import WorkerOptions
from tests.support.stores import a_run, enqueue, sqlite_under_test


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with sqlite_under_test(tmp_path / "dueline.db") as under_test:
        yield under_test.store


async def test_a_run_whose_wake_up_was_lost_is_found_by_the_next_look(store: Store) -> None:
    clock = ManualClock()
    hints = Hints(store, clock, WorkerOptions())
    assert await hints.take() == []
    await enqueue(store, a_run(queue="other"))
    assert await hints.take() == [], "not before it is time"
    clock.advance(limits.POLL_S)
    assert await hints.take() == [("other", PLAIN)]


async def test_a_queue_that_a_worker_heard_of_is_looked_into_at_once(store: Store) -> None:
    hints = Hints(store, ManualClock(), WorkerOptions(queues=("other",)))
    assert await hints.take() == []
    assert hints.add("other")
    assert not hints.add("default")
    assert await hints.take() == [("other", PLAIN)]
    assert await hints.take() == []


async def test_a_lane_that_had_more_is_looked_into_again_without_the_others(store: Store) -> None:
    hints = Hints(store, ManualClock(), WorkerOptions(labels=(TASK,)))
    assert await hints.take() == []
    hints.add("other", TASK)
    assert await hints.take() == [("other", TASK)]
    hints.add("other", TASK)
    hints.add("other")
    assert await hints.take() == [("other", PLAIN), ("other", TASK)], (
        "each once, where somebody said that there is something"
    )


async def test_one_look_that_had_to_wait_for_the_store_does_not_put_the_next_one_off(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that was away for ten seconds left a queue whose hint was lost unseen for eight minutes."""
    clock = ManualClock()
    hints = Hints(store, clock, WorkerOptions())
    assert await hints.take() == []
    queues = store.queues

    async def waits() -> object:
        clock.advance(10.0)
        return await queues()

    clock.advance(limits.POLL_S)
    with monkeypatch.context() as slow:
        slow.setattr(store, "queues", waits)
        assert await hints.take() == []
    await enqueue(store, a_run(queue="other"))
    clock.advance(limits.POLL_S)
    assert await hints.take() == [("other", PLAIN)]
