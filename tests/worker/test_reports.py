"""Outcomes on their way to the store: grouped, kept until they are written, counted when they come too late."""

import asyncio
from collections.abc import Collection, Sequence
from functools import partial
from typing import cast

import pytest
from structlog.testing import capture_logs

from dueline.domain import limits
from dueline.domain.errors import StoreUnavailable
from dueline.domain.ids import RunId
from dueline.domain.run import Attempt, Outcome, OutcomeKind
from dueline.domain.states import RunState
from dueline.engine.execution.outcomes import End
from dueline.engine.execution.writing import letters_of, write_ends
from dueline.store.protocol import RunStore
from dueline.store.shapes import Finish, Retry
from dueline.worker.reports import Reports

MIB = 1024 * 1024


class FakeStore:
    """Takes ends whose run is its caller's, once each; away, it raises before or after it has written them."""

    def __init__(self) -> None:
        self.owned: set[RunId] = set()
        self.finishes: list[list[RunId]] = []
        self.retries: list[list[RunId]] = []
        self.away: list[str] = []

    async def finish(self, finishes: Sequence[Finish]) -> set[RunId]:
        return self._take("finish", finishes, self.finishes)

    async def retry(self, retries: Sequence[Retry]) -> set[RunId]:
        return self._take("retry", retries, self.retries)

    def _take(self, method: str, ends: Sequence[Finish | Retry], calls: list[list[RunId]]) -> set[RunId]:
        trouble = self.away.pop(0) if self.away and self.away[0].startswith(method) else ""
        if trouble.endswith("before"):
            raise StoreUnavailable("away")
        calls.append([end.run_id for end in ends])
        taken = {end.run_id for end in ends} & self.owned
        self.owned -= taken
        if trouble.endswith("after"):
            raise StoreUnavailable("the answer was lost")
        return taken


class Desk:
    """Reports with their fake store, and what they said was written."""

    def __init__(self) -> None:
        self.store = FakeStore()
        self.written: list[int] = []
        self.before: list[set[RunId]] = []
        self.reports: Reports[End] = Reports(
            write=partial(write_ends, cast(RunStore, self.store)),
            letters=letters_of,
            written=self.written.append,
            before=self._before,
        )

    async def _before(self, run_ids: Collection[RunId]) -> None:
        self.before.append(set(run_ids))

    def add(self, *ends: Finish | Retry, owned: bool = True) -> None:
        if owned:
            self.store.owned |= {end.run_id for end in ends}
        self.reports.add(list(ends))


@pytest.fixture
async def desk() -> Desk:
    return Desk()


def _attempt(result: str | None) -> Attempt:
    outcome = Outcome(kind=OutcomeKind.SUCCEEDED, result=result)
    return Attempt(attempt=1, token=1, worker="w1", claimed_ms=0, finished_ms=1, outcome=outcome)


def a_finish(number: int, result: str | None = None) -> Finish:
    return Finish(RunId(b"%16d" % number), 1, RunState.SUCCEEDED, False, 0, 1, _attempt(result))


def a_retry(number: int) -> Retry:
    return Retry(RunId(b"%16d" % number), 1, 1_000, _attempt(None))


def ids(*numbers: int) -> list[RunId]:
    return [RunId(b"%16d" % number) for number in numbers]


async def test_with_nothing_to_write_it_asks_nothing_of_the_store(desk: Desk) -> None:
    assert await desk.reports.step() == 60.0
    assert (desk.store.finishes, desk.written) == ([], [])


async def test_ends_are_written_together_each_by_its_move(desk: Desk) -> None:
    desk.add(a_finish(1), a_retry(2))
    desk.add(a_finish(3))
    assert len(desk.reports) == 3
    assert desk.reports.run_ids() == set(ids(1, 2, 3))
    assert await desk.reports.step() == 60.0
    assert (desk.store.finishes, desk.store.retries) == ([ids(1, 3)], [ids(2)])
    assert (len(desk.reports), desk.written, desk.reports.fenced_total) == (0, [3], 0)


async def test_ends_wait_a_moment_for_company_and_then_ring_once(desk: Desk) -> None:
    ringing = asyncio.create_task(desk.reports.wakeup.sleep(60))
    await asyncio.sleep(0)
    desk.add(a_finish(1))
    desk.add(a_finish(2))
    await asyncio.sleep(0)
    assert not ringing.done()
    async with asyncio.timeout(1):
        await ringing
    await desk.reports.step()
    assert desk.store.finishes == [ids(1, 2)]
    # The next end starts a new moment.
    again = asyncio.create_task(desk.reports.wakeup.sleep(60))
    await asyncio.sleep(0)
    desk.add(a_finish(3))
    async with asyncio.timeout(1):
        await again


async def test_a_full_batch_waits_for_nobody(desk: Desk) -> None:
    most = limits.FINISH_BATCH
    ringing = asyncio.create_task(desk.reports.wakeup.sleep(60))
    await asyncio.sleep(0)
    desk.add(*(a_finish(number) for number in range(most - 1)))
    await asyncio.sleep(0)
    assert not ringing.done()
    desk.add(a_finish(most))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert ringing.done()


async def test_a_batch_is_bounded_in_rows(desk: Desk) -> None:
    most = limits.FINISH_BATCH
    desk.add(*(a_finish(number) for number in range(most + 1)))
    assert await desk.reports.step() == 0.0
    assert [len(call) for call in desk.store.finishes] == [most]
    assert await desk.reports.step() == 60.0
    assert [len(call) for call in desk.store.finishes] == [most, 1]
    assert desk.written == [most, 1]


async def test_a_batch_is_bounded_in_bytes_of_results(desk: Desk) -> None:
    desk.add(*(a_finish(number, "x" * MIB) for number in range(5)))
    assert await desk.reports.step() == 0.0
    assert desk.store.finishes == [ids(0, 1, 2, 3)]
    await desk.reports.step()
    assert desk.store.finishes[1:] == [ids(4)]


async def test_a_result_that_is_too_large_for_any_batch_goes_alone(desk: Desk) -> None:
    desk.add(a_finish(1, "x" * 5 * MIB), a_finish(2, "x"))
    await desk.reports.step()
    await desk.reports.step()
    assert desk.store.finishes == [ids(1), ids(2)]


async def test_results_are_kept_in_order_while_the_store_is_away(desk: Desk) -> None:
    desk.store.away = ["finish before", "finish before"]
    desk.add(a_finish(1))
    for number in (2, 3):
        with pytest.raises(StoreUnavailable):
            await desk.reports.step()
        desk.add(a_finish(number))
    assert desk.written == []
    await desk.reports.step()
    assert desk.store.finishes == [ids(1, 2, 3)]
    assert (desk.written, desk.reports.fenced_total) == ([3], 0)


async def test_a_stale_result_is_dropped_and_counted_once(desk: Desk) -> None:
    desk.add(a_finish(1))
    desk.add(a_finish(2), a_retry(3), owned=False)
    with capture_logs() as logs:
        await desk.reports.step()
        await desk.reports.step()
    assert (desk.reports.fenced_total, len(desk.reports), desk.written) == (2, 0, [3])
    assert [(log["event"], log["count"]) for log in logs] == [("results refused", 2)]


async def test_a_batch_whose_answer_was_lost_is_offered_again_and_not_called_fenced(desk: Desk) -> None:
    desk.store.away = ["finish after"]
    desk.add(a_finish(1), a_finish(2))
    with pytest.raises(StoreUnavailable):
        await desk.reports.step()
    assert len(desk.reports) == 2
    await desk.reports.step()
    assert desk.store.finishes == [ids(1, 2), ids(1, 2)]
    assert (desk.reports.fenced_total, len(desk.reports), desk.written) == (0, 0, [2])


async def test_finishes_that_were_written_before_the_retries_failed_are_not_called_fenced(desk: Desk) -> None:
    desk.store.away = ["retry before"]
    desk.add(a_finish(1), a_retry(2))
    with pytest.raises(StoreUnavailable):
        await desk.reports.step()
    await desk.reports.step()
    assert desk.store.retries == [ids(2)]
    assert (desk.reports.fenced_total, len(desk.reports)) == (0, 0)


async def test_after_an_unsure_batch_stale_results_count_again(desk: Desk) -> None:
    desk.store.away = ["finish after"]
    desk.add(a_finish(1))
    with pytest.raises(StoreUnavailable):
        await desk.reports.step()
    await desk.reports.step()
    desk.add(a_finish(2), owned=False)
    with capture_logs():
        await desk.reports.step()
    assert desk.reports.fenced_total == 1
