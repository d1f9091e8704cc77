"""Where runs stand that wait: who comes first in their line, and at their gates."""

from dueline.domain.gates import Gate, Scope, Wish
from dueline.domain.ids import BootId
from dueline.domain.lanes import PLAIN
from dueline.store.protocol import Store
from dueline.store.shapes import Tenant
from dueline.store.standings import Standing, Waiting
from tests.support.stores import QUEUE, START_MS, TENANT, a_run, claim, create, enqueue, register

W1 = BootId("w1")


async def standing(store: Store, run_id: bytes, *, tenant: str = TENANT, counted: int = 100) -> Standing:
    found = await store.standing(tenant, run_id, counted=counted)  # type: ignore[arg-type]
    assert found is not None
    return found


async def test_who_comes_first_is_told_by_tenant(store: Store) -> None:
    await enqueue(store, *(a_run(tenant="noisy") for _ in range(5)))
    (mine,) = await enqueue(store, a_run(tenant="quiet", priority=0))
    found = await standing(store, mine, tenant="quiet")
    assert found.lane == PLAIN
    assert set(found.before) <= {"noisy"}
    last = await enqueue(store, *(a_run(tenant="noisy") for _ in range(3)))
    assert (await standing(store, last[-1], tenant="noisy")).before["noisy"] == 7
    assert sum((await standing(store, last[-1], tenant="noisy", counted=4)).before.values()) == 4


async def test_other_queues_and_lanes_do_not_count(store: Store) -> None:
    await enqueue(store, a_run(queue="other"), a_run(lane="gpu"))
    (mine,) = await enqueue(store, a_run())
    assert (await standing(store, mine)).before == {}


async def test_at_a_gate_it_is_told_who_is_in_and_how_many_come_first(store: Store) -> None:
    await register(store, W1)
    await enqueue(store, *(a_run() for _ in range(4)))
    claims = await claim(store, W1, limit=4)
    gate = Gate(Scope.KEY, "k", TENANT, 1)
    await store.enter([Wish(one.run_id, one.token, (gate,)) for one in claims], ahead_ms=0)
    found = (await standing(store, claims[3].run_id)).gate
    assert found is not None
    assert (found.name, found.seen.scope, found.seen.most, found.seen.taken) == ("k", Scope.KEY, 1, 1)
    assert (found.before, found.under_way) == (2, (claims[0].run_id,))


async def test_the_run_that_is_in_the_way_is_named(store: Store) -> None:
    await register(store, W1)
    job = await create(store)
    first, second = await enqueue(store, a_run(job, exclusive=True), a_run(job, exclusive=True))
    await store.claim(W1, QUEUE, PLAIN, ahead_ms=0, limit=9)
    assert (await standing(store, second)).other == first
    assert (await standing(store, first)).other is None


async def test_of_others_and_of_what_has_ended_nothing_is_told(store: Store) -> None:
    (mine,) = await enqueue(store, a_run())
    assert await store.standing("somebody", mine, counted=1) is None
    await store.cancel_waiting([(mine, "requested")])
    assert await store.standing(TENANT, mine, counted=1) is None


async def test_who_waits_in_a_queue(store: Store) -> None:
    await store.put_tenant(Tenant(tenant="b", weight=3.0))
    await enqueue(store, a_run(tenant="a"), a_run(tenant="b"), a_run(tenant="b"), a_run(tenant="c", queue="other"))
    assert await store.waiting_in(QUEUE, limit=10) == [Waiting("b", 2, START_MS, 3.0), Waiting("a", 1, START_MS, 1.0)]
    assert await store.waiting_in(QUEUE, limit=1) == [Waiting("b", 2, START_MS, 3.0)]
