"""Types of jobs: known from when a worker says that it has them, until none has said so for long enough."""

import asyncio
from typing import Any

import msgspec
import pytest

from dueline.store.fleet import JobType
from dueline.store.protocol import Store
from tests.support.stores import START_MS, StoreClock

KEEP_MS = 60_000
ROUNDS = 10


def a_type(name: str = "mail.send", **fields: Any) -> JobType:
    return JobType(name=name, **({"queue": "default", "parameters": '{"type": "object"}'} | fields))


def seen(job_type: JobType, at_ms: int = START_MS) -> JobType:
    return msgspec.structs.replace(job_type, seen_ms=at_ms)


async def publish(store: Store, *types: JobType) -> None:
    await store.publish_job_types(types, keep_ms=KEEP_MS)


async def names(store: Store) -> list[str]:
    return [found.name for found in await store.job_types()]


async def test_nothing_is_known_before_somebody_says_so(store: Store) -> None:
    assert await store.job_types() == []
    await publish(store)
    assert await store.job_types() == []


async def test_what_is_published_is_told_as_it_was_and_seen_now_by_the_stores_clock(store: Store) -> None:
    plain = a_type(seen_ms=7)
    full = a_type(
        "mail.sort", queue="slow", description="Sort mail.\nIt's done by hand.", parameters='{"a": ["ü", null]}'
    )
    await publish(store, plain, full)
    assert await store.job_types() == [seen(plain), seen(full)]


@pytest.mark.parametrize("name", ["a b", "Ümlaut.größe", "it's, {odd}", 'say "x"\\', "%", "a" * 200, "null", "7"])
async def test_a_name_may_be_odd(store: Store, name: str) -> None:
    odd = a_type(name, queue=name, description=name, parameters=name)
    await publish(store, odd)
    await publish(store, odd)
    assert await store.job_types() == [seen(odd)]


async def test_types_are_told_by_name_whatever_the_order_in_which_they_came(store: Store) -> None:
    await publish(store, *map(a_type, ["b", "a.b", "Z", "ä"]))
    await publish(store, *map(a_type, ["z", "a-b", "B", "aa"]))
    assert await names(store) == sorted(["b", "a.b", "Z", "ä", "z", "a-b", "B", "aa"])


async def test_publishing_again_says_that_it_was_seen_again(store: Store, clock: StoreClock) -> None:
    await publish(store, a_type("a"), a_type("b"))
    await clock.advance(5)
    await publish(store, a_type("b"))
    assert await store.job_types() == [seen(a_type("a")), seen(a_type("b"), START_MS + 5_000)]


async def test_who_publishes_last_says_what_a_type_is(store: Store, clock: StoreClock) -> None:
    await publish(store, a_type(description="Send mail."), a_type("other"))
    await clock.advance(5)
    changed = a_type(queue="slow", description="Send it.", parameters="{}")
    await publish(store, changed)
    assert await store.job_types() == [seen(changed, START_MS + 5_000), seen(a_type("other"))]
    await publish(store, a_type(description=None))
    assert (await store.job_types())[0] == seen(a_type(), START_MS + 5_000)


async def test_a_type_is_kept_for_as_long_as_was_said_to_the_millisecond(store: Store, clock: StoreClock) -> None:
    await publish(store, a_type("old"))
    await clock.set_ms(START_MS + KEEP_MS)
    await publish(store, a_type("new"))
    assert await names(store) == ["new", "old"]


async def test_a_type_is_forgotten_a_millisecond_later(store: Store, clock: StoreClock) -> None:
    await publish(store, a_type("old"))
    await clock.set_ms(START_MS + KEEP_MS + 1)
    assert await names(store) == ["old"], "until somebody publishes"
    await publish(store, a_type("new"))
    assert await names(store) == ["new"]


async def test_one_that_was_seen_since_is_kept(store: Store, clock: StoreClock) -> None:
    await publish(store, a_type("gone"), a_type("stays"))
    await clock.advance(1)
    await publish(store, a_type("stays"))
    await clock.set_ms(START_MS + KEEP_MS + 1)
    await publish(store)
    assert await names(store) == ["stays"]


async def test_a_type_comes_back_however_long_it_was_away(store: Store, clock: StoreClock) -> None:
    await publish(store, a_type("a", queue="before"))
    await clock.set_ms(START_MS + 10 * KEEP_MS)
    await publish(store, a_type("a"))
    assert await store.job_types() == [seen(a_type("a"), START_MS + 10 * KEEP_MS)]


async def test_many_publish_the_same_types_at_once(store: Store) -> None:
    types = [a_type(f"task-{number:02}") for number in range(40)]
    for _ in range(ROUNDS):
        async with asyncio.timeout(20):
            await asyncio.gather(*(publish(store, *types[::step]) for step in (1, -1, 1, -1, 1, -1)))
        assert await store.job_types() == [seen(one) for one in types]


async def test_what_one_forgets_while_another_publishes_it_is_there_in_the_end(store: Store, clock: StoreClock) -> None:
    types = [a_type(f"task-{number:02}") for number in range(40)]
    for _ in range(ROUNDS):
        await clock.set_ms(clock.now_ms + KEEP_MS + 1)
        async with asyncio.timeout(20):
            await asyncio.gather(*(publish(store, *types[start::4]) for start in range(4)))
        assert await store.job_types() == [seen(one, clock.now_ms) for one in types]
