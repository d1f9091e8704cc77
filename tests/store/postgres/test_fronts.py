"""From where a line is read: from its front as long as that costs no more, and seldom when it does."""

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise

import asyncpg
import pytest

from dueline.domain.fairness import HEAD_START
from dueline.domain.ids import BootId
from dueline.domain.lanes import PLAIN
from dueline.store.postgres.fronts import FRONT, Front, Fronts
from dueline.store.postgres.store import PostgresStore
from tests.conformance.overlapping import one_under_way
from tests.support.stores import QUEUE, StoreUnderTest, a_run, enqueue, postgres_under_test, register

USUAL_S = 0.01
ASKED = 500
MARGIN = 9 * HEAD_START


class Reader:
    """Somebody who looks again and again, a while after each look."""

    def __init__(self) -> None:
        self.front = Front()
        self.now_s = 100.0
        self.rank = 1_000 * HEAD_START

    def look(self, *, front_s: float, after_s: float = 0.02, found: int = ASKED) -> int:
        """One that finds as many as it asks for, as a rule; one at the front takes so long."""
        since = self.front.begin(self.now_s)
        took_s = front_s if since == FRONT else USUAL_S
        self.now_s += took_s
        self.rank += HEAD_START
        last_rank = self.rank if found else None
        self.front.looked(since, last_rank, found=found, asked=ASKED, took_s=took_s, now_s=self.now_s)
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


def test_another_look_begins_where_the_last_one_ended_and_now_and_then_where_one_did_a_moment_ago() -> None:
    """By then whatever was ranked before it is there: what somebody has written within three tenths of a second is found a tenth later."""
    reader = Reader()
    ends: list[tuple[float, int]] = []
    began: list[tuple[float, str]] = []
    for _ in range(200):
        began_s = reader.now_s
        since = reader.look(front_s=1.0)
        if since != FRONT:
            further_back = [rank for at_s, rank in ends if at_s <= began_s - 0.3][-1]
            assert since in (ends[-1][1] - MARGIN, further_back - MARGIN)
            began.append((began_s, "back" if since == further_back - MARGIN else "last"))
        ends.append((reader.now_s - 0.02, reader.rank))
    back_s = [at_s for at_s, where in began if where == "back"]
    assert len(back_s) < len(began) / 2
    assert max(after - before for before, after in pairwise(back_s)) < 1.3, "but for a look at the front, every 0.1 s"
    assert sum(after - before < 0.2 for before, after in pairwise(back_s)) > len(back_s) * 0.8


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
    assert reader.now_s - after_s < 0.2
    assert {reader.look(front_s=USUAL_S) for _ in range(100)} == {FRONT}


def test_the_front_of_a_line_that_runs_out_is_looked_at_more_often_but_not_each_time() -> None:
    """A line that is worked off as it comes runs out with every look."""
    reader = Reader()
    while reader.now_s < 150:
        reader.look(front_s=1.0, found=3)
    began_s, at_the_front = reader.now_s, 0
    while reader.now_s < began_s + 300:
        since = reader.look(front_s=1.0, found=3)
        at_the_front += since == FRONT
        assert since < reader.rank - HEAD_START - MARGIN, "and whoever came late meanwhile is found by all the others"
    assert 55 <= at_the_front <= 65


def test_a_line_that_runs_out_is_read_from_a_tenth_of_a_second_ago_and_seldom_from_further_back() -> None:
    """Each look passes over all that was claimed since."""
    reader = Reader()
    ends: list[tuple[float, int]] = []
    far = near = 0
    while reader.now_s < 150:
        began_s = reader.now_s
        since = reader.look(front_s=1.0, after_s=0.0, found=3)
        if since != FRONT:
            tenth, three = ([rank for at_s, rank in ends if at_s <= began_s - back_s][-1] for back_s in (0.1, 0.3))
            assert since in (tenth - MARGIN, three - MARGIN)
            far += since == three - MARGIN
            near += since == tenth - MARGIN
        ends = [*ends[-200:], (reader.now_s, reader.rank)]
    assert 0 < far < near / 5


def test_a_look_that_finds_little_at_the_front_is_not_dear() -> None:
    reader = Reader()
    for _ in range(100):
        reader.look(front_s=1.0)
    while reader.look(front_s=0.003, found=1) != FRONT:
        pass
    assert {reader.look(front_s=0.003, found=1) for _ in range(100)} == {FRONT}


def test_lines_are_told_apart() -> None:
    fronts = Fronts()
    assert fronts.of("q", "a") is fronts.of("q", "a")
    assert fronts.of("q", "a") is not fronts.of("q", "b")


@pytest.fixture
async def under_test(postgres_dsn: str) -> AsyncIterator[StoreUnderTest]:
    async with postgres_under_test(postgres_dsn) as under_test:
        yield under_test


@pytest.mark.parametrize("ago_s", [10.0, 1.0])
async def test_who_stands_before_the_last_look_is_found_when_the_line_runs_out_unless_that_was_just_done(
    under_test: StoreUnderTest, postgres_dsn: str, ago_s: float
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
    now_s = asyncio.get_running_loop().time()
    for _ in range(8):
        front.looked(FRONT, 300 * HEAD_START, found=2, asked=2, took_s=1.0, now_s=now_s - ago_s)
    two = await store.claim(worker, QUEUE, PLAIN, ahead_ms=0, limit=2)
    rest = await store.claim(worker, QUEUE, PLAIN, ahead_ms=0, limit=10)
    if ago_s > 4:
        assert [one.run_id for one in two.claims] == run_ids[3:5]
        assert [one.run_id for one in rest.claims] == [*run_ids[:3], run_ids[5]]
    else:
        assert [one.run_id for one in two.claims + rest.claims] == run_ids[3:]


async def test_a_blocked_run_that_is_met_by_both_looks_of_a_claim_is_told_once(under_test: StoreUnderTest) -> None:
    store = under_test.store
    assert isinstance(store, PostgresStore)
    _, _, second = await one_under_way(store)
    front = store._fronts.of(QUEUE, PLAIN)
    now_s = asyncio.get_running_loop().time()
    for _ in range(8):
        front.looked(FRONT, HEAD_START, found=2, asked=2, took_s=1.0, now_s=now_s - 10.0)
    claimed = await store.claim(BootId("w1"), QUEUE, PLAIN, ahead_ms=0, limit=10)
    assert [one.run_id for one in claimed.blocked] == [second]
