"""What the sweeps may find, in one question. That it is told wherever a sweep finds anything is held in `conftest`."""

import msgspec

from dueline.store.protocol import Store
from dueline.store.shapes import Chores
from tests.conformance.conftest import SWEEPS
from tests.conformance.overlapping import exclusive, one_under_way
from tests.support.stores import START_MS, StoreClock, a_finish, a_run, create, enqueue, run_and_claim

NONE = Chores(cancels=False, expiries=False, awaiting=False, held=False, gates=False, flows=False, keys=False)


async def test_at_rest_there_is_nothing_to_do(store: Store) -> None:
    assert await store.chores() == NONE
    (claimed,) = await run_and_claim(store, exclusive(await create(store)))
    await store.finish([a_finish(claimed)])
    assert msgspec.structs.replace(await store.chores(), flows=False) == NONE


async def test_a_run_is_told_of_when_it_expires_and_not_before(store: Store, clock: StoreClock) -> None:
    await enqueue(store, a_run(expires_ms=START_MS + 10_000))
    await clock.set_ms(START_MS + 9_999)
    assert not (await store.chores()).expiries
    await clock.set_ms(START_MS + 10_000)
    assert (await store.chores()).expiries


async def test_whoever_has_a_place_is_told_of(store: Store) -> None:
    _, first, _ = await one_under_way(store)
    assert (await store.chores()).held
    await store.finish([a_finish(first)])
    assert not (await store.chores()).held


def test_every_chore_has_a_sweep_that_is_held_to_it() -> None:
    assert set(SWEEPS.values()) == set(Chores.__struct_fields__)
