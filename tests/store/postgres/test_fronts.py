"""From where a line is read: from its front as long as that costs no more, and seldom when it does."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from dueline.domain.fairness import HEAD_START
from dueline.domain.lanes import PLAIN
from dueline.store.postgres.fronts import FRONT, Front, Fronts
from dueline.store.postgres.store import PostgresStore
from tests.support.stores import QUEUE, StoreUnderTest, a_run, enqueue, postgres_under_test, register

USUAL_S = 0.01
MARGIN = 9 * HEAD_START


class Reader:
    """Somebody who looks again and again, a while after each look."""

    def __init__(self) -> None:
        self.front = Front()
        self.now_s = 100.0
        self.rank = 1_000 * HEAD_START

    def look(self, *, front_s: float, after_s: float = 0.02) -> int:
        """One that finds as many as it asks for; one at the front takes so long."""
        since = self.front.begin(self.now_s)
        took_s = front_s if since == FRONT else USUAL_S
        self.now_s += took_s
        self.rank += HEAD_START
        self.front.looked(since, self.rank, took_s=took_s, now_s=self.now_s)
        self.now_s += after_s
        return since


def test_every_look_is_at_the_front_where_that_costs_no_more() -> None:
    reader = Reader()
    assert {reader.look(front_s=USUAL_S) for _ in range(1_000)} == {FRONT}


def test_looks_at_the_front_take_a_small_part_of_the_time_however_long_they_take() -> None:
    reader = Reader()
    while reader.now_s < 200:
        reader.look(front_s=1.0)
    began_s, at_the_front = reader.now_s, 0
    while reader.now_s < began_s + 300:
        at_the_front += reader.look(front_s=1.0) == FRONT
    assert 5 <= at_the_front <= 7


def test_another_look_begins_where_one_ended_a_moment_ago() -> None:
    """By then whatever was ranked before it is there."""
    reader = Reader()
    ends: list[tuple[float, int]] = []
    seen = 0
    for _ in range(200):
        began_s = reader.now_s
        since = reader.look(front_s=1.0)
        if since != FRONT:
            seen += 1
            assert since == [rank for at_s, rank in ends if at_s <= began_s - 0.1][-1] - MARGIN
        ends.append((reader.now_s - 0.02, reader.rank))
    assert seen > 100


def test_it_is_read_from_the_front_again_once_that_costs_no_more() -> None:
    reader = Reader()
    for _ in range(100):
        reader.look(front_s=0.5)
    for _ in range(2_000):
        reader.look(front_s=USUAL_S)
    assert {reader.look(front_s=USUAL_S) for _ in range(100)} == {FRONT}


def test_one_look_that_took_long_by_accident_does_not_keep_others_from_the_front() -> None:
    """The server was away for five seconds: whoever comes with little to do would wait for minutes behind whoever has much."""
    reader = Reader()
    for _ in range(10):
        reader.look(front_s=USUAL_S)
    reader.look(front_s=5.0)
    after_s = reader.now_s
    while reader.look(front_s=USUAL_S) != FRONT:
        pass
    assert reader.now_s - after_s < 0.5
    assert {reader.look(front_s=USUAL_S) for _ in range(100)} == {FRONT}


def test_a_line_that_ran_out_is_read_from_the_front() -> None:
    reader = Reader()
    for _ in range(50):
        reader.look(front_s=1.0)
    reader.front.ran_out()
    assert reader.front.begin(reader.now_s) == FRONT


def test_lines_are_told_apart() -> None:
    fronts = Fronts()
    assert fronts.of("q", "a") is fronts.of("q", "a")
    assert fronts.of("q", "a") is not fronts.of("q", "b")


@pytest.fixture
async def under_test(postgres_dsn: str) -> AsyncIterator[StoreUnderTest]:
    async with postgres_under_test(postgres_dsn) as under_test:
        yield under_test


async def test_who_stands_before_the_last_look_is_found_when_the_line_runs_out(
    under_test: StoreUnderTest, postgres_dsn: str
) -> None:
    """They came back with ranks of long ago, while looks at the front are too dear."""
    store = under_test.store
    assert isinstance(store, PostgresStore)
    worker = await register(store, "w1")
    run_ids = await enqueue(store, *(a_run() for _ in range(6)))
    hand = await asyncpg.connect(postgres_dsn)
    try:
        for place, run_id in enumerate(run_ids):
            await hand.execute(
                "UPDATE dueline.runs SET rank = $2 WHERE id = encode($1, 'hex')::uuid", run_id, place * 100 * HEAD_START
            )
    finally:
        await hand.close()
    front = store._fronts.of(QUEUE, PLAIN)
    for _ in range(50):
        front.looked(FRONT, 300 * HEAD_START, took_s=1e9, now_s=0.0)
    two = await store.claim(worker, QUEUE, PLAIN, ahead_ms=0, limit=2)
    assert [one.run_id for one in two.claims] == run_ids[3:5]
    rest = await store.claim(worker, QUEUE, PLAIN, ahead_ms=0, limit=10)
    assert [one.run_id for one in rest.claims] == [*run_ids[:3], run_ids[5]]
