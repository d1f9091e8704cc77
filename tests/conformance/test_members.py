"""Processes: a lease ends by the store's clock, to the millisecond."""

import pytest

from dueline.domain.errors import LeaseLost
from dueline.domain.ids import BootId
from dueline.store.fleet import Beat, Node, Pulse, Role
from dueline.store.protocol import Store
from tests.support.stores import START_MS, StoreClock, register


async def test_a_registered_process_is_listed(store: Store) -> None:
    boot_id = await register(store, "s1", role=Role.SCHEDULER)
    assert await store.nodes() == [
        Node(
            boot_id=boot_id,
            role=Role.SCHEDULER,
            host="here",
            pid=1,
            version="1",
            beat=0,
            started_ms=START_MS,
            expired=False,
            draining=False,
            beat_ms=START_MS,
        )
    ]


async def test_of_each_process_is_told_whether_it_lives(store: Store, clock: StoreClock) -> None:
    first = await register(store, "s1", role=Role.SCHEDULER, lease_s=8)
    second = await register(store, "w1", role=Role.WORKER, lease_s=8)
    third = await register(store, "w2", role=Role.ALL, lease_s=8)
    await clock.advance(8.001)
    await store.beat(second, lease_s=8)
    await store.beat(third, lease_s=8)
    await store.drain(second)
    await store.ask_drain(third)
    assert await store.pulses() == [
        Pulse(first, Role.SCHEDULER, "here", 1, beat=0, expired=True, draining=False),
        Pulse(second, Role.WORKER, "here", 1, beat=1, expired=False, draining=True),
        Pulse(third, Role.ALL, "here", 1, beat=1, expired=False, draining=True),
    ]


async def test_registering_again_renews_and_does_no_harm(store: Store, clock: StoreClock) -> None:
    await register(store, "w1", lease_s=8)
    await clock.advance(5)
    await register(store, "w1", lease_s=8)
    await clock.advance(8)
    (node,) = await store.nodes()
    assert not node.expired


async def test_a_beat_answers_the_stores_clock_and_is_counted(store: Store, clock: StoreClock) -> None:
    boot_id = await register(store)
    await clock.advance(2)
    assert await store.beat(boot_id, lease_s=8) == Beat(START_MS + 2_000, drain_asked=False)
    assert await store.beat(boot_id, lease_s=8) == Beat(START_MS + 2_000, drain_asked=False)
    assert [node.beat for node in await store.nodes()] == [2]


async def test_a_lease_that_ends_this_very_millisecond_has_not_expired(store: Store, clock: StoreClock) -> None:
    boot_id = await register(store, lease_s=8)
    await clock.advance(8)
    assert [node.expired for node in await store.nodes()] == [False]
    assert not await store.bury(boot_id)
    assert await store.nodes() != []


async def test_a_lease_has_expired_a_millisecond_later(store: Store, clock: StoreClock) -> None:
    boot_id = await register(store, lease_s=8)
    await clock.advance(8.001)
    assert [node.expired for node in await store.nodes()] == [True]
    assert await store.bury(boot_id)
    assert await store.nodes() == []


async def test_a_beat_renews_a_lease_from_now_on(store: Store, clock: StoreClock) -> None:
    boot_id = await register(store, lease_s=8)
    await clock.advance(6)
    await store.beat(boot_id, lease_s=8)
    await clock.advance(8)
    assert not await store.bury(boot_id)
    await clock.advance(0.001)
    assert await store.bury(boot_id)


async def test_a_late_beat_renews_an_expired_lease_that_nobody_buried(store: Store, clock: StoreClock) -> None:
    boot_id = await register(store, lease_s=8)
    await clock.advance(60)
    await store.beat(boot_id, lease_s=8)
    assert not await store.bury(boot_id)


async def test_a_buried_process_learns_it_from_its_beat(store: Store, clock: StoreClock) -> None:
    boot_id = await register(store, lease_s=8)
    await clock.advance(9)
    await store.bury(boot_id)
    with pytest.raises(LeaseLost):
        await store.beat(boot_id, lease_s=8)
    assert await store.nodes() == []


async def test_a_process_is_buried_once(store: Store, clock: StoreClock) -> None:
    boot_id = await register(store, lease_s=8)
    await clock.advance(9)
    assert [await store.bury(boot_id), await store.bury(boot_id)] == [True, False]


async def test_one_that_was_never_registered_cannot_beat_or_be_buried(store: Store) -> None:
    with pytest.raises(LeaseLost):
        await store.beat(BootId("nobody"), lease_s=8)
    assert not await store.bury(BootId("nobody"))


async def test_a_process_that_leaves_is_gone_at_once(store: Store) -> None:
    first, second = await register(store, "w1"), await register(store, "w2")
    await store.leave(first)
    await store.leave(first)
    assert [node.boot_id for node in await store.nodes()] == [second]


async def test_a_draining_process_stays_listed_and_keeps_its_lease(store: Store) -> None:
    boot_id = await register(store)
    await store.drain(boot_id)
    assert [node.draining for node in await store.nodes()] == [True]
    await store.beat(boot_id, lease_s=8)
    assert [node.draining for node in await store.nodes()] == [True]


async def test_a_worker_says_what_it_serves_and_how_much_it_can_take(store: Store) -> None:
    await register(store, "w1", queues=("slow", "fast"), labels=("gpu", "eu", "ü"), slots=8)
    await register(store, "w2")
    first, second = sorted(await store.nodes(), key=lambda node: node.boot_id)
    assert (first.queues, first.labels, first.slots, first.busy) == (("slow", "fast"), ("gpu", "eu", "ü"), 8, 0)
    assert (second.queues, second.labels, second.slots, second.busy) == ((), (), 0, 0)


@pytest.mark.parametrize("names", [(), ("mail.send",), ("z", "a b", "Ümlaut", "it's, {odd}", 'say "x"\\', "a")])
async def test_a_worker_says_which_tasks_it_can_carry_out(store: Store, names: tuple[str, ...]) -> None:
    await register(store, tasks=names)
    assert [(node.tasks, node.queues, node.labels) for node in await store.nodes()] == [(names, (), ())]


async def test_registering_again_changes_nothing_that_was_said_before(store: Store) -> None:
    boot_id = await register(store, labels=("gpu",), tasks=("a", "b"), slots=8)
    await store.beat(boot_id, lease_s=8, busy=3, rates={"slow": 0.5})
    await store.ask_drain(boot_id)
    await register(store, labels=("gpu",), tasks=("a", "b"), slots=8)
    (node,) = await store.nodes()
    assert (node.labels, node.tasks, node.slots, node.busy) == (("gpu",), ("a", "b"), 8, 3)
    assert node.rates == {"slow": 0.5}
    assert (await store.beat(boot_id, lease_s=8, busy=3)).drain_asked


async def test_a_beat_says_how_busy_a_process_is_and_when(store: Store, clock: StoreClock) -> None:
    boot_id = await register(store, slots=8)
    await clock.advance(2)
    await store.beat(boot_id, lease_s=8, busy=5)
    assert [(node.busy, node.slots, node.beat_ms) for node in await store.nodes()] == [(5, 8, START_MS + 2_000)]
    await clock.advance(1)
    await store.beat(boot_id, lease_s=8)
    assert [(node.busy, node.beat_ms) for node in await store.nodes()] == [(0, START_MS + 3_000)]


@pytest.mark.parametrize(
    "rates",
    [
        {"default": 12.5},
        {"default": 0.0, "slow": 1 / 3, "fast": 98_765.4321, "rare": 1e-9},
        {"Ümlaut": 1.0, "a b": 2.0, 'say "x"\\': 3.0, "it's, {odd}": 4.0, "": 5.0},
        {f"queue-{number}": float(number) for number in range(500)},
    ],
)
async def test_a_beat_says_what_a_worker_takes_from_queues(store: Store, rates: dict[str, float]) -> None:
    first, second = await register(store, "w1"), await register(store, "w2")
    await store.beat(first, lease_s=8, rates=rates)
    await store.beat(second, lease_s=8)
    assert {node.boot_id: node.rates for node in await store.nodes()} == {first: rates, second: {}}


async def test_a_beat_replaces_the_rates_of_the_one_before(store: Store) -> None:
    boot_id = await register(store)
    assert [node.rates for node in await store.nodes()] == [{}]
    for rates in ({"a": 1.0, "b": 2.0}, {"b": 3.0}, {}):
        await store.beat(boot_id, lease_s=8, rates=rates)
        assert [node.rates for node in await store.nodes()] == [rates]


async def test_a_process_that_is_asked_to_drain_hears_so_with_every_beat(store: Store) -> None:
    first, second = await register(store, "w1"), await register(store, "w2")
    assert await store.ask_drain(first)
    assert (await store.beat(first, lease_s=8)).drain_asked
    assert (await store.beat(first, lease_s=8)).drain_asked
    assert not (await store.beat(second, lease_s=8)).drain_asked
    assert await store.ask_drain(first), "who asks again does no harm"


async def test_a_process_counts_as_draining_from_when_it_is_asked(store: Store) -> None:
    asked, other = await register(store, "w1"), await register(store, "w2")
    await store.ask_drain(asked)
    assert {node.boot_id: node.draining for node in await store.nodes()} == {asked: True, other: False}
    await store.beat(asked, lease_s=8)
    await store.drain(asked)
    assert {node.boot_id: node.draining for node in await store.nodes()} == {asked: True, other: False}


async def test_one_that_is_not_there_cannot_be_asked(store: Store, clock: StoreClock) -> None:
    assert not await store.ask_drain(BootId("nobody"))
    gone, dead = await register(store, "gone"), await register(store, "dead", lease_s=8)
    await store.leave(gone)
    await clock.advance(9)
    await store.bury(dead)
    assert not await store.ask_drain(gone)
    assert not await store.ask_drain(dead)
