"""Whose turn it is: tenants share lines by their weights, keys share what their tenant gets, and who comes with little stands in front."""

import random
from collections import Counter

import pytest

from dueline.domain.lanes import PLAIN
from dueline.domain.states import RunState
from dueline.store.protocol import Store
from dueline.store.shapes import Tenant
from tests.conformance.sharing import W1, serve, shares, wait_with, weigh
from tests.support.lines import Line
from tests.support.stores import (
    QUEUE,
    START_MS,
    StoreClock,
    a_firing,
    a_job,
    a_retry,
    a_run,
    an_occurrence,
    claim,
    claim_one,
    create,
    enqueue,
    epochs_of,
    promote,
    register,
)


async def test_two_that_saturate_a_line_share_it_by_their_weights(store: Store) -> None:
    await weigh(store, heavy=3.0)
    await wait_with(store, "light", 300)
    await wait_with(store, "heavy", 600)
    served = [claimed.tenant for claimed in await serve(store, 600)]
    for end in range(20, 601, 10):
        assert abs(served[:end].count("heavy") - end * 3 / 4) <= max(2, end * 0.05)


async def test_a_second_tenant_that_comes_late_shares_at_once(store: Store) -> None:
    await wait_with(store, "first", 1_000)
    await serve(store, 300)
    await wait_with(store, "second", 300)
    for _ in range(4):
        assert abs((await shares(store, 100))["second"] - 50) <= 2


async def test_who_was_served_alone_owes_nothing_once_the_line_was_idle(store: Store, clock: StoreClock) -> None:
    await wait_with(store, "first", 500)
    assert len(await serve(store, 500, at_a_time=100)) == 500
    await clock.advance(60)
    for tenant in ("first", "second"):
        await wait_with(store, tenant, 200)
    assert abs((await shares(store, 200))["second"] - 100) <= 2


async def test_a_quiet_tenant_is_in_the_next_claim_beside_thousands_that_wait(store: Store) -> None:
    await wait_with(store, "noisy", 5_000)
    await serve(store, 100, at_a_time=100)
    for _ in range(5):
        await wait_with(store, "quiet", 1)
        assert (await shares(store, 10))["quiet"] == 1


async def test_an_important_run_starts_next_and_the_others_make_progress(store: Store) -> None:
    await wait_with(store, "t", 2_000, priority=5)
    await serve(store, 100, at_a_time=100)
    (important,) = await enqueue(store, a_run(tenant="t", priority=9))
    assert [claimed.run_id for claimed in await serve(store, 1)] == [important]
    many = [a_run(tenant="t", priority=9) for _ in range(2_400)]
    await enqueue(store, *many)
    served = {claimed.run_id for claimed in await serve(store, 2_300, at_a_time=500)}
    assert 30 <= 2_300 - len(served & {run.id for run in many}) <= 90


async def test_missed_occurrences_stand_behind_those_on_time(store: Store) -> None:
    missed = [a_run(missed=True) for _ in range(200)]
    await enqueue(store, *missed)
    await serve(store, 1)
    on_time = [a_run() for _ in range(50)]
    await enqueue(store, *on_time)
    served = {claimed.run_id for claimed in await serve(store, 55)}
    assert len(served & {run.id for run in on_time}) >= 45


async def test_keys_take_turns_in_what_their_tenant_gets(store: Store) -> None:
    await wait_with(store, "plain", 500)
    keyed = [a_run(tenant="keyed", fairness_key=f"key-{number % 4}") for number in range(400)]
    await enqueue(store, *keyed)
    keys = {run.id: run.fairness_key for run in keyed}
    served = await serve(store, 200)
    assert abs(sum(claimed.tenant == "plain" for claimed in served) - 100) <= 3
    by_key = Counter(keys[claimed.run_id] for claimed in served if claimed.tenant == "keyed")
    assert all(abs(by_key[f"key-{number}"] - 25) <= 2 for number in range(4))


@pytest.mark.parametrize("together", [True, False])
async def test_a_key_for_every_run_is_worth_no_more_than_no_keys(store: Store, together: bool) -> None:
    await wait_with(store, "plain", 200)
    keyed = [a_run(tenant="keyed", fairness_key=f"key-{number}") for number in range(100)]
    for batch in [keyed] if together else [[run] for run in keyed]:
        await enqueue(store, *batch)
    served = [claimed.tenant for claimed in await serve(store, 200)]
    for end in range(20, 201, 10):
        assert abs(served[:end].count("keyed") - end / 2) <= 3


async def test_more_keys_than_are_told_apart_are_worth_no_more_either(store: Store) -> None:
    await wait_with(store, "plain", 1_500)
    for first in (0, 900):
        await enqueue(
            store, *(a_run(tenant="keyed", fairness_key=f"key-{number}") for number in range(first, first + 900))
        )
    for _ in range(6):
        assert abs((await shares(store, 400))["keyed"] - 200) <= 12


async def test_a_quiet_key_has_its_turn_beside_a_noisy_one(store: Store) -> None:
    await wait_with(store, "t", 1_000, fairness_key="noisy")
    await serve(store, 100, at_a_time=100)
    (quiet,) = await enqueue(store, a_run(tenant="t", fairness_key="quiet"))
    assert quiet in {claimed.run_id for claimed in await serve(store, 5)}


async def test_a_new_weight_is_that_of_runs_that_become_ready_from_then_on(store: Store) -> None:
    for tenant in ("a", "b"):
        await wait_with(store, tenant, 100)
    await weigh(store, b=4.0)
    for tenant in ("a", "b"):
        await wait_with(store, tenant, 400)
    assert abs((await shares(store, 200))["b"] - 100) <= 2
    assert abs((await shares(store, 200))["b"] - 160) <= 4


async def test_lines_know_nothing_of_each_other(store: Store) -> None:
    await wait_with(store, "t", 500)
    await wait_with(store, "t", 5, lane="gpu")
    await wait_with(store, "t", 5, queue="slow")
    for tenant, queue, lane in (("one", QUEUE, "gpu"), ("other", "slow", PLAIN)):
        await wait_with(store, tenant, 5, queue=queue, lane=lane)
        first = await claim(store, await register(store), limit=2, queue=queue, lane=lane)
        assert {claimed.tenant for claimed in first} == {"t", tenant}


async def test_retries_get_a_share_of_their_own_and_no_more(store: Store) -> None:
    """A tenant whose runs fail gets as much again for its retries, and never more: they do not stand in front of everyone."""
    await wait_with(store, "fails", 1_000)
    await wait_with(store, "works", 1_000)
    served = Counter[str]()
    for _ in range(30):
        claims = await serve(store, 20, at_a_time=20)
        served.update(claimed.tenant for claimed in claims)
        await store.retry([a_retry(claimed, due_ms=START_MS) for claimed in claims if claimed.tenant == "fails"])
        await promote(store)
    assert served["works"] >= 600 / 3 - 10


async def test_delayed_runs_are_ranked_when_their_time_comes(store: Store, clock: StoreClock) -> None:
    """However many of them were written, and whenever."""
    await enqueue(store, *(a_run(tenant="early", due_ms=START_MS + 60_000) for _ in range(300)))
    await wait_with(store, "early", 50)
    await wait_with(store, "late", 500)
    assert abs((await shares(store, 100))["early"] - 50) <= 2
    await serve(store, 100)
    await clock.advance(60)
    assert (await promote(store, limit=1_000)).count == 300
    assert abs((await shares(store, 200))["early"] - 100) <= 2


async def test_of_one_flow_those_due_first_stand_first(store: Store, clock: StoreClock) -> None:
    runs = [a_run(due_ms=START_MS + 900 - number) for number in range(100)]
    await enqueue(store, *runs)
    await clock.advance(1)
    first = await claim(store, await register(store), limit=10)
    assert {claimed.run_id for claimed in first} == {run.id for run in runs[-10:]}


async def test_fired_runs_share_as_well(store: Store) -> None:
    jobs = [await create(store, a_job(tenant=tenant)) for tenant in ("a", "b") for _ in range(20)]
    await wait_with(store, "a", 100)
    firings = [a_firing(job, runs=[an_occurrence(job, START_MS)], following_ms=START_MS + 60_000) for job in jobs]
    assert len(await store.fire(firings, await epochs_of(store))) == 40
    assert abs((await shares(store, 40))["b"] - 20) <= 2


async def test_both_stores_rank_as_the_rules_say(store: Store) -> None:
    chance = random.Random(7)
    line = Line(b=3.0)
    await weigh(store, b=3.0)
    runs = [a_run(tenant="a") for _ in range(500)]
    await enqueue(store, *runs)
    line.enqueue("a", 500)
    names = {run.id: "a" for run in runs}
    for _ in range(40):
        tenant, key, priority = chance.choice("abc"), chance.choice(["", "k", "l"]), chance.choice([3, 5, 5, 8])
        missed, count = chance.random() < 0.2, chance.choice([1, 3, 30])
        runs = [a_run(tenant=tenant, fairness_key=key, priority=priority, missed=missed) for _ in range(count)]
        await enqueue(store, *runs)
        line.enqueue(tenant, count, key=key, priority=priority, missed=missed)
        names |= {run.id: f"{tenant}{key}" for run in runs}
        for _ in range(chance.choice([1, 10, 20])):
            (claimed,) = await serve(store, 1)
            assert line.serve(1) == [names[claimed.run_id]]


async def test_what_nothing_was_set_for_has_the_defaults(store: Store) -> None:
    assert await store.tenant("nobody") == Tenant(tenant="nobody", weight=1.0, updated_ms=0)
    assert await store.tenants_page(after=None, limit=10) == []


async def test_what_is_set_for_tenants_is_kept_and_told_in_pages(store: Store, clock: StoreClock) -> None:
    for tenant in ("b", "a", "B"):
        put = await store.put_tenant(Tenant(tenant=tenant, weight=0.5))
        assert put == Tenant(tenant=tenant, weight=0.5, updated_ms=START_MS)
    await clock.advance(1)
    changed = await store.put_tenant(Tenant(tenant="a", weight=2.5))
    assert (changed.weight, changed.updated_ms) == (2.5, START_MS + 1_000)
    assert await store.tenant("a") == changed
    first = await store.tenants_page(after=None, limit=2)
    assert [found.tenant for found in first] == ["B", "a"]
    assert [found.tenant for found in await store.tenants_page(after="a", limit=2)] == ["b"]


async def test_a_run_that_exists_is_left_as_it_is(store: Store) -> None:
    run = a_run(tenant="t")
    await enqueue(store, run)
    assert await store.enqueue([run]) == set()
    claimed = await claim_one(store, await register(store))
    assert (claimed.run_id, claimed.tenant) == (run.id, "t")
    assert (await store.claim(W1, QUEUE, PLAIN, ahead_ms=0, limit=10)).claims == []
    found = await store.run("t", run.id)
    assert found is not None
    assert found.state is RunState.RUNNING
