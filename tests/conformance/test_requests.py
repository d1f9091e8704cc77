"""Requests with a key: what people ask for is done once, with the request written down in the same transaction."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dueline.domain import changes, limits
from dueline.domain.errors import AskedBefore, NotFound
from dueline.domain.ids import JobId
from dueline.domain.requests import AskedRequest, KeptAnswer, RequestKey
from dueline.domain.states import EndReason
from dueline.domain.uniqueness import OnConflict, UniqueRun, make_dedupe
from dueline.store.protocol import Store
from dueline.store.requests import IN_HAND, InHand
from tests.conformance.deadletters import again, fail, letters
from tests.support.stores import TENANT, StoreClock, a_job, a_run, create, enqueue, the_run

KEY = RequestKey(TENANT, "/v1/jobs", "k1", b"digest")
OTHERS = [
    RequestKey("another", "/v1/jobs", "k1", b"digest"),
    RequestKey(TENANT, "/v1/runs", "k1", b"digest"),
    RequestKey(TENANT, "/v1/jobs", "k2", b"digest"),
]
ANSWER = KeptAnswer(201, {"etag": '"v1"'}, b'{"id": 1}' * 100_000)
LIMIT = 100

Move = Callable[[], Awaitable[Any]]


@contextmanager
def in_hand(key: RequestKey = KEY) -> Iterator[None]:
    token = IN_HAND.set(InHand(key))
    try:
        yield
    finally:
        IN_HAND.reset(token)


async def creating(store: Store) -> tuple[Move, bytes]:
    job = a_job("new")
    return lambda: store.create_jobs([job]), job.id


async def creating_all_or_none(store: Store) -> tuple[Move, bytes]:
    job = a_job("new")
    return lambda: store.create_jobs([job], atomic=True, jobs_max=10), job.id


async def creating_two(store: Store) -> tuple[Move, bytes]:
    jobs = [a_job("new"), a_job("newer")]
    return lambda: store.create_jobs(jobs), b""


async def changing(store: Store) -> tuple[Move, bytes]:
    job = await create(store, a_job("old"))
    return lambda: store.change_job(TENANT, job.id, lambda hand: changes.pause(hand, note=None)), job.id


async def enqueuing(store: Store) -> tuple[Move, bytes]:
    run = a_run()
    return lambda: store.enqueue([run]), run.id


async def enqueuing_again(store: Store) -> tuple[Move, bytes]:
    """One of two is there already, and so PostgreSQL tries twice."""
    old, new = a_run(), a_run()
    await enqueue(store, old)
    return lambda: store.enqueue([old, new]), b""


async def enqueuing_unique(store: Store) -> tuple[Move, bytes]:
    run = a_run()
    dedupe = make_dedupe("k", on_conflict=OnConflict.REJECT, window_ms=None, states=None)
    return lambda: store.enqueue_unique([UniqueRun(run, dedupe)], atomic=True), run.id


async def cancelling(store: Store) -> tuple[Move, bytes]:
    run = a_run()
    await enqueue(store, run)
    return lambda: store.cancel_runs(TENANT, [run.id], reason=EndReason.REQUESTED), run.id


async def redriving(store: Store) -> tuple[Move, bytes]:
    wish = again(await fail(store))
    return lambda: store.redrive(TENANT, [wish]), wish.run.id


async def rotating(store: Store) -> tuple[Move, bytes]:
    return lambda: store.rotate_signing_secret(TENANT, "s1"), b""


MOVES = [
    creating,
    creating_all_or_none,
    creating_two,
    changing,
    enqueuing,
    enqueuing_again,
    enqueuing_unique,
    cancelling,
    redriving,
    rotating,
]


@pytest.mark.parametrize("make", MOVES, ids=lambda make: make.__name__)
async def test_a_move_that_people_ask_for_writes_the_request_down(
    store: Store, make: Callable[[Store], Awaitable[tuple[Move, bytes]]]
) -> None:
    move, about = await make(store)
    with in_hand():
        await move()
    assert await store.asked_before(KEY) == AskedRequest(KEY.digest, about, 0, None)
    with in_hand(), pytest.raises(AskedBefore):
        await move()
    for other in OTHERS:
        assert await store.asked_before(other) is None


async def test_what_was_asked_before_does_nothing(store: Store) -> None:
    with in_hand():
        await store.rotate_signing_secret(TENANT, "s1")
    run_id, waiting = await fail(store), a_run()
    await enqueue(store, waiting)
    job = await create(store, a_job("old"))
    moves: list[Move] = [
        lambda: store.create_jobs([a_job("new")]),
        lambda: store.change_job(TENANT, job.id, lambda hand: changes.pause(hand, note=None)),
        lambda: store.cancel_runs(TENANT, [waiting.id], reason=EndReason.REQUESTED),
        lambda: store.redrive(TENANT, [again(run_id)]),
        lambda: store.rotate_signing_secret(TENANT, "s2"),
    ]
    for move in moves:
        with in_hand(), pytest.raises(AskedBefore):
            await move()
    assert await store.job(TENANT, job.id) == job
    assert (await the_run(store, waiting.id)).reason is None
    assert len(await letters(store)) == 1
    assert (await store.signing_secrets([TENANT]))[TENANT].current == "s1"


async def test_without_a_request_in_hand_nothing_is_written_down(store: Store) -> None:
    await store.enqueue([a_run()])
    await store.create_jobs([a_job("new")])
    assert await store.forget_requests(limit=LIMIT) == 0
    assert await store.asked_before(KEY) is None


async def test_a_move_that_fails_leaves_no_request(store: Store) -> None:
    with in_hand(), pytest.raises(NotFound):
        await store.change_job(TENANT, JobId(bytes(16)), lambda hand: changes.pause(hand, note=None))
    assert await store.asked_before(KEY) is None


async def test_a_request_of_several_moves_is_written_down_by_the_first(store: Store) -> None:
    first, second = a_run(), a_run()
    with in_hand():
        await store.enqueue([first])
        await store.enqueue([second])
    found = await store.asked_before(KEY)
    assert found is not None
    assert found.about == first.id
    assert {(await the_run(store, run.id)).id for run in (first, second)} == {first.id, second.id}


async def test_of_many_at_once_one_is_carried_out(store: Store) -> None:
    jobs = [a_job(f"new-{number}") for number in range(20)]

    async def ask(number: int) -> bool:
        with in_hand():
            try:
                await store.create_jobs([jobs[number]])
            except AskedBefore:
                return False
            return True

    done = await asyncio.gather(*(ask(number) for number in range(20)))
    assert done.count(True) == 1
    created = [job for job in jobs if await store.job(TENANT, job.id) is not None]
    assert [job.id for job in created] == [jobs[done.index(True)].id]


@pytest.mark.parametrize("noted", [True, False])
async def test_the_first_answer_stays(store: Store, noted: bool) -> None:
    if noted:
        with in_hand():
            await store.enqueue([a_run()])
    await store.keep_answer(KEY, ANSWER)
    await store.keep_answer(KEY, KeptAnswer(200, {}, b"another"))
    found = await store.asked_before(KEY)
    assert found is not None
    assert (found.answer, found.digest) == (ANSWER, KEY.digest)


async def test_the_answer_to_another_request_with_the_key_is_not_kept(store: Store) -> None:
    with in_hand():
        await store.enqueue([a_run()])
    other = RequestKey(KEY.tenant, KEY.endpoint, KEY.key, b"other")
    await store.keep_answer(other, ANSWER)
    found = await store.asked_before(other)
    assert found is not None
    assert (found.answer, found.digest) == (None, KEY.digest)


async def test_a_request_is_forgotten_after_its_time(store: Store, clock: StoreClock) -> None:
    with in_hand():
        await store.enqueue([a_run()])
    await store.keep_answer(KEY, ANSWER)
    await clock.advance((limits.REQUEST_KEPT_MS - 1) / 1000)
    found = await store.asked_before(KEY)
    assert found is not None
    assert found.age_ms == limits.REQUEST_KEPT_MS - 1
    with in_hand(), pytest.raises(AskedBefore):
        await store.enqueue([a_run()])
    await clock.advance(0.001)
    assert await store.asked_before(KEY) is None


async def test_a_key_that_was_forgotten_is_like_a_new_one(store: Store, clock: StoreClock) -> None:
    with in_hand():
        await store.enqueue([a_run()])
    await store.keep_answer(KEY, ANSWER)
    await clock.advance(limits.REQUEST_KEPT_MS / 1000)
    run, other = a_run(), RequestKey(KEY.tenant, KEY.endpoint, KEY.key, b"other")
    with in_hand(other):
        await store.enqueue([run])
    assert await store.asked_before(other) == AskedRequest(b"other", run.id, 0, None)


async def test_what_is_too_old_is_swept_some_at_a_time(store: Store, clock: StoreClock) -> None:
    for number in range(5):
        await store.keep_answer(RequestKey(TENANT, "/v1/jobs", f"k{number}", b"d"), ANSWER)
        await clock.advance(1)
    assert await store.forget_requests(limit=LIMIT) == 0
    await clock.advance(limits.REQUEST_KEPT_MS / 1000 - 2)
    assert [await store.forget_requests(limit=3) for _ in range(3)] == [3, 1, 0]
    assert await store.asked_before(RequestKey(TENANT, "/v1/jobs", "k4", b"d")) is not None
