"""Who gets which run at the desk, and when."""

from __future__ import annotations

import pytest

from dueline.domain import limits
from dueline.domain.errors import LeaseLost
from dueline.domain.ids import run_text
from dueline.domain.job import DEFAULT_TENANT, HttpTarget, TaskTarget
from dueline.domain.overlap import Overlap
from dueline.domain.retry import RetryPolicy
from dueline.domain.run import OutcomeKind
from dueline.domain.states import RunState
from dueline.engine.signing import SigningDesk
from dueline.store.fleet import Role
from tests.engine.desks import DeskWorld, ended, until
from tests.support.failing import FailingStore, Fault
from tests.support.stores import StoreUnderTest, register


@pytest.fixture
async def world(under_test: StoreUnderTest) -> DeskWorld:
    return DeskWorld(under_test)


def watching(world: DeskWorld) -> FailingStore:
    """The store, with its calls counted."""
    return FailingStore(world.store, "nothing", 0, Fault.BEFORE, kill=False)


@pytest.fixture
def no_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a hint wakes whoever waits."""
    monkeypatch.setattr(limits, "POLL_S", 3_600.0)


@pytest.mark.usefixtures("no_polling")
async def test_a_question_waits_and_is_answered_by_a_new_run(world: DeskWorld) -> None:
    worker = await world.register()
    waiting = await worker.waiting()
    run_id = await world.enqueue()
    assert await ended(waiting) == {run_id}


@pytest.mark.usefixtures("no_polling")
async def test_all_who_wait_are_served_by_one_hint(world: DeskWorld) -> None:
    waiting = [await (await world.register()).waiting(limit=1) for _ in range(5)]
    bulk = await world.enqueue_many(5)
    assert {run_id for one in waiting for run_id in await ended(one)} == bulk


@pytest.mark.usefixtures("no_polling")
async def test_a_run_is_given_when_it_is_due_and_never_before(world: DeskWorld) -> None:
    store = watching(world)
    worker = await world.register(desk=world.open_desk(store.as_store()))
    run_id = await world.enqueue(later_ms=500)
    waiting = await worker.waiting()
    await world.store_clock.advance(0.499)
    asked = store.calls["claim"]
    await until(lambda: store.calls["claim"] > asked + 1)
    assert not waiting.done()
    await world.store_clock.advance(0.001)
    asked = store.calls["claim"]
    assert await ended(waiting) == {run_id}
    assert store.calls["claim"] <= asked + 2, "it is looked for many times a second when it is near"


async def test_a_question_ends_when_its_time_is_over(world: DeskWorld) -> None:
    worker = await world.register()
    waiting = await worker.waiting(wait_s=5)
    await world.store_clock.advance(5)
    assert await ended(waiting) == set()


async def test_no_more_runs_than_asked_for_and_lanes_take_turns(world: DeskWorld) -> None:
    worker = await world.register()
    for queue in ("a", "b"):
        for _ in range(4):
            await world.enqueue(queue=queue)
    assert [len(await worker.lease(limit=limit)) for limit in (0, 1, 1)] == [0, 1, 1]
    held = [(await world.the_run(claim.run_id)).queue for claim in await world.store.claims_of(worker.boot_id)]
    assert sorted(held) == ["a", "b"]
    assert len(await worker.lease(limit=5)) == 5, "over both queues"


async def test_a_worker_gets_what_it_serves(world: DeskWorld) -> None:
    plain = await world.register(queues=["mail"])
    strong = await world.register(labels=["gpu", "eu"])
    other = await world.enqueue(queue="other")
    required = await world.enqueue(queue="mail", requires=("gpu",))
    mail = await world.enqueue(queue="mail")
    assert await plain.got() == {mail}
    assert await strong.got() == {other, required}


async def test_a_worker_gets_what_it_takes(world: DeskWorld) -> None:
    tasks = await world.register(takes=["task"])
    calls = await world.register(takes=["http"])
    both = await world.register(takes=["task", "http"])
    runs = {await world.enqueue(), await world.enqueue_call(HttpTarget(url="http://target/"))}
    task, call = await tasks.got(), await calls.got()
    assert task | call == runs
    assert len(task) == len(call) == 1
    runs = {await world.enqueue(), await world.enqueue_call(HttpTarget(url="http://target/"))}
    assert await both.got() == runs


async def test_a_paused_queue_gives_none_until_it_is_resumed(world: DeskWorld) -> None:
    worker = await world.register()
    await world.store.pause_queue("default", note=None)
    run_id = await world.enqueue()
    assert await worker.got() == set()
    waiting = await worker.waiting()
    await world.store.resume_queue("default")
    assert await ended(waiting) == {run_id}


async def test_an_http_run_comes_as_the_request_to_send(world: DeskWorld) -> None:
    worker = await world.register(takes=["http"])
    await SigningDesk(world.store, world.chance).rotate(DEFAULT_TENANT)
    target = HttpTarget(
        url="http://target/{{run.attempt}}", headers={"X-Run": "{{run.id}}"}, body={"kind": "{{run.kind}}"}
    )
    run_id = run_text(await world.enqueue_call(target))
    call = (await worker.lease_one()).call
    assert call is not None
    headers = dict(line.split(": ", 1) for line in call.header_lines())
    assert (call.url, call.body) == ("http://target/1", b'{"kind":"adhoc"}')
    assert (headers["X-Run"], headers["Idempotency-Key"], headers["webhook-id"]) == (run_id, run_id, run_id)
    assert headers["webhook-signature"].startswith("v1,")


async def test_an_http_run_that_cannot_be_sent_ends_without_a_worker(world: DeskWorld) -> None:
    worker = await world.register(takes=["http"])
    job = await world.job(HttpTarget(url="http://target/{{secrets.x}}"))
    run_id = await world.run_job(job)
    assert await worker.got() == set()
    run = await world.the_run(run_id)
    assert (run.state, run.attempts[0].outcome.kind) == (RunState.FAILED, OutcomeKind.IMPOSSIBLE)


@pytest.mark.parametrize(
    ("overlap", "second", "third"),
    [
        (Overlap.SKIP, RunState.CANCELLED, RunState.CANCELLED),
        (Overlap.QUEUE_ONE, RunState.HELD, RunState.CANCELLED),
        (Overlap.QUEUE_ALL, RunState.HELD, RunState.HELD),
        (Overlap.ALLOW, RunState.RUNNING, RunState.RUNNING),
        (Overlap.CANCEL_PREVIOUS, RunState.CANCELLED, RunState.HELD),
    ],
)
async def test_overlaps_are_settled(world: DeskWorld, overlap: Overlap, second: RunState, third: RunState) -> None:
    worker = await world.register()
    job = await world.job(TaskTarget(task="t"), overlap=overlap)
    first = await world.run_job(job)
    leased = await worker.lease_one()
    others = []
    for _ in range(2):
        await world.store_clock.advance(0.01)
        others.append(await world.run_job(job))
        await worker.lease()
    assert [(await world.the_run(run_id)).state for run_id in others] == [second, third]
    cancels = {asked.run_id for asked in (await worker.beat()).cancels}
    assert cancels == ({first} if overlap is Overlap.CANCEL_PREVIOUS else set())
    assert await worker.report(leased, OutcomeKind.CANCELLED if cancels else OutcomeKind.SUCCEEDED) == {first}
    held = {run_id for run_id, state in zip(others, (second, third), strict=True) if state is RunState.HELD}
    assert await worker.got() == set(sorted(held)[:1]), "the first that waited has its turn"


async def test_a_worker_that_is_asked_to_drain_gets_no_more(world: DeskWorld) -> None:
    worker, other = await world.register(), await world.register()
    assert (await worker.beat()).drain_asked is False
    waiting = await worker.waiting()
    assert await world.store.ask_drain(worker.boot_id)
    await world.store_clock.advance(limits.BEAT_S)
    assert await ended(waiting) == set()
    run_id = await world.enqueue()
    assert await worker.got() == set()
    assert (await worker.beat()).drain_asked is True
    assert await other.got() == {run_id}


async def test_a_worker_that_drains_and_asks_on_is_slowed_down(world: DeskWorld) -> None:
    worker = await world.register()
    assert await world.store.ask_drain(worker.boot_id)
    waiting = await worker.waiting()
    await world.store_clock.advance(limits.BEAT_S - 0.001)
    assert not waiting.done()
    await world.store_clock.advance(0.001)
    assert await ended(waiting) == set()


async def test_a_worker_that_does_not_beat_gets_none_until_it_does(world: DeskWorld) -> None:
    worker = await world.register()
    run_id = await world.enqueue()
    await world.store_clock.advance(limits.LEASE_S + 0.001)
    assert await worker.got() == set()
    await worker.beat()
    assert await worker.got() == {run_id}


async def test_a_worker_that_is_not_registered_is_told_so(world: DeskWorld) -> None:
    worker = await world.register()
    await worker.desk.leave(worker.boot_id)
    for call in (worker.lease(), worker.beat(), worker.desk.leave(worker.boot_id)):
        with pytest.raises(LeaseLost, match=r"register again|declared dead"):
            await call


async def test_a_worker_that_dies_while_it_waits_is_told_so(world: DeskWorld) -> None:
    worker = await world.register()
    waiting = await worker.waiting()
    await world.store.leave(worker.boot_id)
    await world.store_clock.advance(1)
    with pytest.raises(LeaseLost):
        await ended(waiting)


@pytest.mark.usefixtures("no_polling")
async def test_nobody_waits_at_a_desk_that_closes(world: DeskWorld) -> None:
    worker = await world.register()
    waiting = await worker.waiting()
    world.desk.close()
    assert await ended(waiting) == set()
    await world.enqueue()
    assert await worker.got() == set(), "nor is anything given out any more"


async def test_tasks_of_others_are_left_to_them(world: DeskWorld) -> None:
    await world.add("scheduler", role=Role.SCHEDULER)
    adds, sends = await world.register(tasks=["add"]), await world.register(tasks=["send"])
    run_id = await world.enqueue("send")
    assert await adds.got() == set()
    run = await world.the_run(run_id)
    assert (run.state, run.reason, run.attempt) == (RunState.SCHEDULED, "elsewhere", 0)
    await world.advance(3)
    assert await sends.got() == {run_id}


async def test_a_worker_that_names_no_tasks_has_all(world: DeskWorld) -> None:
    await world.add("scheduler", role=Role.SCHEDULER)
    adds, anything = await world.register(tasks=["add"]), await world.register()
    run_id = await world.enqueue("send")
    assert await adds.got() == set()
    assert (await world.the_run(run_id)).reason == "elsewhere"
    await world.advance(3)
    assert await anything.got() == {run_id}


async def test_a_task_that_nobody_has_ends_as_a_dead_letter_that_says_what_to_do(world: DeskWorld) -> None:
    worker = await world.register(tasks=["send"])
    run_id, other = await world.enqueue("sned"), await world.enqueue("send")
    assert await worker.got() == {other}
    letter = await world.store.dead_letter(DEFAULT_TENANT, run_id)
    assert letter is not None
    assert letter.run.attempts[0].outcome.error == (
        "no worker that is alive has a task sned (did you mean send?); start one that has it or correct the name, "
        "then redrive the run"
    )


async def test_the_checkpoint_goes_to_the_next_attempt(world: DeskWorld) -> None:
    await world.add("scheduler", role=Role.SCHEDULER)
    worker = await world.register()
    run_id = await world.enqueue(retry=RetryPolicy(base_ms=0))
    leased = await worker.lease_one()
    assert leased.checkpoint is None
    assert await worker.save(leased, checkpoint='{"page":7}', progress=0.5, note="half") == {run_id}
    told = (await world.store.progress_of([run_id]))[run_id]
    assert (told.progress, told.note) == (0.5, "half")
    assert await worker.report(leased, OutcomeKind.ERRORED) == {run_id}
    await world.advance(1)
    again = await worker.lease_one()
    assert (again.claim.attempt, again.checkpoint) == (2, '{"page":7}')
    assert await worker.save(leased, note="late") == set(), "the first attempt has nothing more to say"


async def test_another_worker_cannot_speak_for_a_run(world: DeskWorld) -> None:
    worker, other = await world.register(), await world.register()
    run_id = await world.enqueue()
    leased = await worker.lease_one()
    for answer in (other.report(leased), other.release(leased), other.save(leased, note="x")):
        assert await answer == set()
    assert world.desk.fenced_total == 1
    assert await worker.report(leased) == {run_id}


async def test_a_worker_beside_the_store_and_one_at_the_desk_share_a_queue(world: DeskWorld) -> None:
    beside = await register(world.store, "beside", labels=("task",))
    worker = await world.register()
    runs = {await world.enqueue(), await world.enqueue()}
    claimed = await world.store.claim(beside, "default", "task", ahead_ms=0, limit=1)
    assert {claim.run_id for claim in claimed.claims} | await worker.got() == runs
