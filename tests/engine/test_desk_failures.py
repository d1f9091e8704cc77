"""The store is away, or the worker is gone, in the middle of handing runs out or of taking results in."""

from __future__ import annotations

import pytest

from dueline.domain.errors import StoreUnavailable
from dueline.domain.job import DEFAULT_TENANT, HttpTarget, TaskTarget
from dueline.domain.overlap import Overlap
from dueline.domain.retry import RetryPolicy
from dueline.domain.run import OutcomeKind
from dueline.domain.states import JobState, RunState
from dueline.store.fleet import Role
from tests.engine.desks import DeskWorld, ended
from tests.support.failing import FailingStore, Fault
from tests.support.stores import StoreUnderTest


@pytest.fixture
async def world(under_test: StoreUnderTest) -> DeskWorld:
    return DeskWorld(under_test)


def failing(world: DeskWorld, method: str, nth: int, fault: Fault) -> FailingStore:
    return FailingStore(world.store, method, nth, fault, kill=False)


class Leaving:
    """A client that is there for so many looks, and gone then."""

    def __init__(self, looks: int) -> None:
        self._looks = looks

    async def __call__(self) -> bool:
        self._looks -= 1
        return self._looks < 0


async def some_of_everything(world: DeskWorld) -> None:
    """Runs in two queues: of a job, of a task that somebody else has, one that was tried before, and one that is in another's way."""
    await world.register(tasks=["other"])
    job = await world.job(TaskTarget(task="t"), overlap=Overlap.SKIP)
    tried = await world.enqueue(retry=RetryPolicy(base_ms=0))
    first = await world.register()
    leased = await first.lease_one()
    assert leased.claim.run_id == tried
    await first.save(leased, checkpoint="7")
    await first.report(leased, OutcomeKind.ERRORED)
    await world.store.promote(ahead_ms=0, limit=10)
    await world.run_job(job)
    await world.run_job(job)
    await world.enqueue("other", queue="b")
    await world.enqueue(queue="b")


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize(
    ("method", "nth"),
    [
        ("claim", 2),
        ("job_versions", 1),
        ("skip_blocked", 1),
        ("nodes", 2),
        ("postpone", 1),
        ("progress_of", 1),
        ("signing_secrets", 1),
    ],
)
async def test_what_was_claimed_is_not_lost_when_the_rest_fails(
    world: DeskWorld, method: str, nth: int, fault: Fault
) -> None:
    await some_of_everything(world)
    store = failing(world, method, nth, fault)
    worker = await world.register(desk=world.open_desk(store.as_store()), tasks=["t"])
    with pytest.raises(StoreUnavailable):
        await worker.lease()
    assert store.struck
    got = {leased.claim.run_id: leased for leased in await worker.lease(holding=[])}
    held = {claim.run_id for claim in await world.store.claims_of(worker.boot_id)}
    assert got.keys() == held
    assert len(held) == 3
    assert sorted(leased.claim.attempt for leased in got.values()) == [1, 1, 2], "what went back cost no attempt"
    assert [leased.checkpoint for leased in got.values() if leased.claim.attempt == 2] == ["7"]


async def test_what_was_claimed_goes_back_with_the_next_beat_of_anybody(world: DeskWorld) -> None:
    store = failing(world, "signing_secrets", 1, Fault.BEFORE)
    desk = world.open_desk(store.as_store())
    worker, other = await world.register(desk=desk), await world.register(desk=desk)
    run_id = await world.enqueue()
    with pytest.raises(StoreUnavailable):
        await worker.lease()
    assert (await world.the_run(run_id)).state is RunState.RUNNING
    await other.beat()
    run = await world.the_run(run_id)
    assert (run.state, run.attempt) == (RunState.READY, 0)


async def test_what_cannot_be_given_back_is_kept_until_it_can(world: DeskWorld) -> None:
    inner = failing(world, "signing_secrets", 1, Fault.BEFORE)
    store = FailingStore(inner.as_store(), "release", 1, Fault.BEFORE, kill=False)
    worker = await world.register(desk=world.open_desk(store.as_store()))
    run_id = await world.enqueue()
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await worker.lease()
    assert await worker.got() == {run_id}


@pytest.mark.parametrize("looks", [0, 1])
async def test_nothing_is_kept_for_a_client_that_has_gone(world: DeskWorld, looks: int) -> None:
    worker, other = await world.register(), await world.register()
    run_id = await world.enqueue()
    assert await worker.lease(left=Leaving(looks)) == []
    assert await world.store.claims_of(worker.boot_id) == []
    assert (await world.the_run(run_id)).attempt == 0
    assert await other.got() == {run_id}


async def test_a_client_that_goes_while_it_waits_gets_nothing(world: DeskWorld) -> None:
    worker, other = await world.register(), await world.register()
    waiting = await worker.waiting(left=Leaving(1))
    run_id = await world.enqueue()
    assert await ended(waiting) == set()
    assert await other.got() == {run_id}


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("method", ["claims_of", "cancels_of", "job_versions", "change_job", "finish"])
async def test_a_report_that_failed_can_be_repeated(world: DeskWorld, method: str, fault: Fault) -> None:
    await world.add("scheduler", role=Role.SCHEDULER)
    worker = await world.register(takes=["http"])
    job = await world.job(HttpTarget(url="http://target/"))
    run_id = await world.run_job(job)
    leased = await worker.lease_one()
    there = worker.at(world.open_desk(failing(world, method, 1, fault).as_store()))
    with pytest.raises(StoreUnavailable):
        await there.report(leased, None, status=410)
    written = method == "finish" and fault is Fault.AFTER
    assert await there.report(leased, None, status=410) == (set() if written else {run_id})
    assert (await world.the_run(run_id)).state is RunState.FAILED
    found = await world.store.job(DEFAULT_TENANT, job.id)
    assert found is not None
    assert found.state is JobState.PAUSED
