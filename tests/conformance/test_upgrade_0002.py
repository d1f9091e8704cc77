"""A store of the second release goes on with execution: its runs are claimed, retried, cancelled and ended as if they were new."""

from collections.abc import AsyncIterator

import pytest

from dueline.domain.ids import BootId, RunId
from dueline.domain.lanes import PLAIN
from dueline.domain.states import RunState
from dueline.store.migrations import load_migrations
from dueline.store.protocol import Store
from dueline.store.shapes import CancelAnswer, Saved
from tests.conformance.deadletters import again, letters
from tests.conformance.upgrading import left_behind
from tests.support.stores import (
    START_MS,
    TENANT,
    StoreUnderTest,
    a_finish,
    a_run,
    claim,
    confirm,
    enqueue,
    promote,
    register,
    states_of,
    the_run,
)

SECOND, FIRST, RETRYING, RUNNING, SCHEDULED, FAILED = (
    RunId(bytes.fromhex(f"019b76da9860750{number}850{number}" + f"0{number}" * 6)) for number in range(1, 7)
)
QUEUE = "second"
W9 = BootId("w9")


@pytest.fixture(params=["sqlite", "postgres"])
async def old(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[StoreUnderTest]:
    async with left_behind(request.param, 2, request, monkeypatch) as under_test:
        yield under_test


@pytest.fixture
async def upgraded(old: StoreUnderTest) -> Store:
    states = await old.store.migrate()
    assert len(states) == len(load_migrations(old.dialect))
    assert all(state.applied for state in states)
    if old.dialect == "postgres":
        # The clock of the server is years ahead of these rows, or behind.
        await old.tamper(
            "CREATE OR REPLACE FUNCTION dueline.now_ms() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE "
            f"AS 'SELECT {START_MS}::bigint'"
        )
    return old.store


async def test_ready_runs_stand_in_the_plain_lane_and_are_claimed_in_rank_order(upgraded: Store) -> None:
    assert sorted(await upgraded.queues()) == [("default", PLAIN), (QUEUE, PLAIN)]
    worker = await register(upgraded)
    first = await claim(upgraded, worker, queue=QUEUE, limit=1)
    second = await claim(upgraded, worker, queue=QUEUE, limit=1)
    assert [(found.run_id, found.begun_ms, found.expires_ms) for found in (*first, *second)] == [
        (FIRST, None, None),
        (SECOND, None, None),
    ]
    assert await claim(upgraded, worker, queue=QUEUE) == []


async def test_new_runs_stand_behind_those_that_waited(upgraded: Store) -> None:
    """Ranks were times once. Whoever waits has no second turn, and others need not wait for all of it."""
    await enqueue(upgraded, *(a_run(queue=QUEUE) for _ in range(20)))
    (other,) = await enqueue(upgraded, a_run(queue=QUEUE, tenant="other"))
    worker = await register(upgraded)
    first = {found.run_id for found in await claim(upgraded, worker, queue=QUEUE, limit=4)}
    assert {FIRST, SECOND, other} < first
    assert len(await claim(upgraded, worker, queue=QUEUE)) == 19


async def test_runs_are_what_they_were(upgraded: Store) -> None:
    live = [FIRST, SECOND, RETRYING, RUNNING, SCHEDULED, FAILED]
    assert await states_of(upgraded, live) == [
        RunState.READY,
        RunState.READY,
        RunState.RETRYING,
        RunState.RUNNING,
        RunState.SCHEDULED,
        RunState.FAILED,
    ]
    assert await upgraded.expire(limit=100) == 0
    (state,) = [state for state in await upgraded.queue_states() if state.queue == QUEUE]
    assert (state.ready, state.running, state.waiting, state.held, state.paused) == (2, 1, 2, 0, False)


async def test_a_worker_that_was_there_goes_on(upgraded: Store) -> None:
    (node,) = [node for node in await upgraded.nodes() if node.boot_id == W9]
    assert (node.queues, node.labels, node.slots, node.busy, node.expired) == ((), (), 0, 0, False)
    assert (node.tasks, node.rates) == ((), {})
    beat = await upgraded.beat(W9, lease_s=8, busy=1)
    assert (beat.now_ms, beat.drain_asked) == (START_MS, False)
    (claimed,) = await upgraded.claims_of(W9)
    assert (claimed.run_id, claimed.begun_ms, claimed.expires_ms) == (RUNNING, None, None)
    assert [asked.reason for asked in await upgraded.cancels_of(W9)] == ["requested"]
    assert await confirm(upgraded, claimed) == {RUNNING}
    assert await upgraded.save([Saved(RUNNING, claimed.token, "here")]) == {RUNNING}
    assert await upgraded.finish([a_finish(claimed, RunState.FAILED)]) == {RUNNING}
    assert await letters(upgraded) == [RUNNING]
    assert await upgraded.redrive(TENANT, [again(RUNNING)]) == {RUNNING}


async def test_a_run_that_was_tried_before_is_tried_again(upgraded: Store) -> None:
    assert (await promote(upgraded)).count == 1
    claims = await claim(upgraded, await register(upgraded), queue=QUEUE)
    (retried,) = [found for found in claims if found.run_id == RETRYING]
    assert (retried.attempt, len((await the_run(upgraded, RETRYING)).attempts)) == (2, 1)


async def test_waiting_runs_are_cancelled(upgraded: Store) -> None:
    answers = await upgraded.cancel_runs(TENANT, [SCHEDULED, RETRYING, RUNNING, FAILED], reason="requested")
    assert answers == {
        SCHEDULED: CancelAnswer.ENDED,
        RETRYING: CancelAnswer.ENDED,
        RUNNING: CancelAnswer.ASKED,
        FAILED: CancelAnswer.OVER,
    }
