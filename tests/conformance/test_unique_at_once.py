"""Many who ask for one key at the same time."""

import asyncio
from collections import Counter
from itertools import cycle
from typing import Any

import pytest

from dueline.domain.ids import RunId
from dueline.domain.states import RunState
from dueline.domain.uniqueness import OnConflict, UniqueAnswer, UniqueVerdict
from dueline.store.protocol import Store
from dueline.store.shapes import RunFilter
from tests.conformance.test_unique import REPLACE, ask, unique, written
from tests.support.stores import (
    TENANT,
    StoreUnderTest,
    a_finish,
    a_run,
    claim,
    register,
)

MANY = 100
OTHERS = {
    OnConflict.REJECT: UniqueVerdict.REJECTED,
    OnConflict.IGNORE: UniqueVerdict.IGNORED,
    OnConflict.REPLACE: UniqueVerdict.REPLACED,
    OnConflict.RESCHEDULE: UniqueVerdict.RESCHEDULED,
}
CONFLICTS = sorted(OTHERS)


async def live(store: Store) -> list[RunId]:
    found = await store.runs_page(RunFilter(tenant=TENANT), before=None, limit=10 * MANY)
    return [run.id for run in found if run.state is RunState.READY or run.state is RunState.SCHEDULED]


async def ask_at_once(stores: list[Store], on_conflict: OnConflict, **fields: Any) -> list[UniqueAnswer]:
    async with asyncio.timeout(30):
        answers = await asyncio.gather(
            *(
                ask(store, unique(a_run(), on_conflict=on_conflict, **fields))
                for _, store in zip(range(MANY), cycle(stores), strict=False)
            )
        )
    return [answer for (answer,) in answers]


@pytest.mark.parametrize("on_conflict", CONFLICTS)
async def test_of_many_who_ask_at_once_for_one_key_one_run_is_left(
    stores: list[Store], on_conflict: OnConflict
) -> None:
    answers = await ask_at_once(stores, on_conflict)
    said = Counter(answer.verdict for answer in answers)
    assert said == {UniqueVerdict.WRITTEN: 1, OTHERS[on_conflict]: MANY - 1}
    (left,) = await live(stores[0])
    if on_conflict is REPLACE:
        assert left in {answer.run_id for answer in answers}
    else:
        assert {answer.run_id for answer in answers} == {left}
    assert await ask(stores[0], unique()) == [UniqueAnswer(left, UniqueVerdict.REJECTED)]


@pytest.mark.parametrize("on_conflict", CONFLICTS)
async def test_a_key_that_became_free_is_taken_by_one_of_many(stores: list[Store], on_conflict: OnConflict) -> None:
    """The row of the key is there, of a run that has ended."""
    await written(stores[0])
    (claimed,) = await claim(stores[0], await register(stores[0]))
    await stores[0].finish([a_finish(claimed)])
    answers = await ask_at_once(stores, on_conflict)
    assert Counter(answer.verdict for answer in answers)[UniqueVerdict.WRITTEN] == 1
    assert len(await live(stores[0])) == 1


@pytest.mark.parametrize("on_conflict", CONFLICTS)
async def test_many_who_ask_while_keys_are_forgotten_leave_one_run(
    stores: list[Store], under_test: StoreUnderTest, on_conflict: OnConflict
) -> None:
    await written(stores[0])
    (claimed,) = await claim(stores[0], await register(stores[0]))
    await stores[0].finish([a_finish(claimed)])
    await under_test.tamper("UPDATE uniques SET sweep_ms = 0")
    async with asyncio.timeout(30):
        sweeping = asyncio.gather(*(store.forget_keys(limit=10) for store in stores for _ in range(5)))
        answers = await ask_at_once(stores, on_conflict)
        await sweeping
    assert Counter(answer.verdict for answer in answers)[UniqueVerdict.WRITTEN] == 1
    (left,) = await live(stores[0])
    assert await ask(stores[0], unique()) == [UniqueAnswer(left, UniqueVerdict.REJECTED)]


@pytest.mark.parametrize("on_conflict", CONFLICTS)
async def test_batches_with_the_same_keys_crosswise_do_not_stop_each_other(
    stores: list[Store], on_conflict: OnConflict
) -> None:
    names = [f"k{number}" for number in range(20)]
    orders = [names, names[::-1], names[10:] + names[:10]]

    async def write(store: Store, order: list[str]) -> None:
        answers = await ask(store, *(unique(key=key, on_conflict=on_conflict) for key in order), atomic=False)
        assert len(answers) == len(names)

    async with asyncio.timeout(30):
        await asyncio.gather(
            *(write(store, order) for _, store, order in zip(range(48), cycle(stores), cycle(orders), strict=False))
        )
    assert len(await live(stores[0])) == len(names)


async def test_replacing_and_starting_at_once_never_ends_what_has_started(stores: list[Store]) -> None:
    """Whoever claims a run executes it to its end, or finds it gone; a replaced one was claimed by nobody."""
    worker = await register(stores[0])
    claimed: list[RunId] = []
    replaced = 0
    async with asyncio.timeout(30):
        for _ in range(30):
            answers, claims = await asyncio.gather(
                ask(stores[-1], unique(on_conflict=REPLACE)), claim(stores[0], worker)
            )
            replaced += answers[0].verdict is UniqueVerdict.REPLACED
            claimed += [one.run_id for one in claims]
            assert await stores[0].finish([a_finish(one) for one in claims]) == {one.run_id for one in claims}
    assert len(set(claimed)) == len(claimed)
    found = await stores[0].runs_page(RunFilter(tenant=TENANT, state=RunState.CANCELLED), before=None, limit=MANY)
    assert len(found) == replaced
    assert {run.id for run in found}.isdisjoint(claimed)


async def test_who_gives_up_waiting_leaves_the_key_to_others(stores: list[Store]) -> None:
    asking = [asyncio.create_task(ask(store, unique())) for _, store in zip(range(20), cycle(stores), strict=False)]
    await asyncio.sleep(0)
    for task in asking[::2]:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    await ask(stores[0], unique())
    assert len(await live(stores[0])) == 1
