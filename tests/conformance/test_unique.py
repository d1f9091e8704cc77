"""Runs that must not be there twice: who has a key, for how long, and what becomes of others that ask for it."""

from typing import Any

import msgspec
import pytest

from dueline.domain import limits
from dueline.domain.ids import BootId, RunId
from dueline.domain.run import NewRun
from dueline.domain.states import RunState
from dueline.domain.uniqueness import Dedupe, OnConflict, UniqueAnswer, UniqueRun, UniqueVerdict, make_dedupe
from dueline.store.protocol import Store
from tests.conformance.ear import listening
from tests.support.stores import (
    QUEUE,
    START_MS,
    StoreClock,
    StoreUnderTest,
    a_finish,
    a_retry,
    a_run,
    claim,
    claim_one,
    confirm,
    enqueue,
    promote,
    register,
    the_run,
)

W1 = BootId("w1")
REJECT, IGNORE, REPLACE, RESCHEDULE = OnConflict
LATER_MS = START_MS + 60_000
LIMIT = 100


def unique(run: NewRun | None = None, key: str = "k", on_conflict: OnConflict = REJECT, **fields: Any) -> UniqueRun:
    said = {"window_ms": None, "states": None} | fields
    return UniqueRun(run or a_run(), make_dedupe(key, on_conflict=on_conflict, **said))


async def ask(store: Store, *runs: UniqueRun, atomic: bool = True) -> list[UniqueAnswer]:
    return await store.enqueue_unique(runs, atomic=atomic)


async def written(store: Store, run: NewRun | None = None, **fields: Any) -> RunId:
    (answer,) = await ask(store, unique(run, **fields))
    assert answer.verdict is UniqueVerdict.WRITTEN
    return answer.run_id


async def verdict(store: Store, run: NewRun | None = None, **fields: Any) -> UniqueVerdict:
    (answer,) = await ask(store, unique(run, **fields))
    return answer.verdict


async def finish_one(store: Store, state: RunState = RunState.SUCCEEDED) -> RunId:
    claimed = await claim_one(store, await register(store))
    await store.finish([a_finish(claimed, state)])
    return claimed.run_id


async def test_a_run_with_a_free_key_is_written_as_any_other(store: Store) -> None:
    ear = await listening(store)
    run = a_run(tags=("a",), fairness_key="f", expires_ms=START_MS + 5_000)
    assert await ask(store, unique(run)) == [UniqueAnswer(run.id, UniqueVerdict.WRITTEN)]
    await ear.hears(f"ready/{QUEUE}")
    found = await the_run(store, run.id)
    assert (found.state, found.tags, found.created_ms) == (RunState.READY, ("a",), START_MS)
    assert (await claim_one(store, await register(store))).run_id == run.id


async def test_a_run_that_is_due_later_waits_with_its_key(store: Store) -> None:
    run_id = await written(store, a_run(due_ms=LATER_MS))
    assert (await the_run(store, run_id)).state is RunState.SCHEDULED
    assert await ask(store, unique()) == [UniqueAnswer(run_id, UniqueVerdict.REJECTED)]


@pytest.mark.parametrize(("on_conflict", "said"), [(REJECT, UniqueVerdict.REJECTED), (IGNORE, UniqueVerdict.IGNORED)])
async def test_who_comes_second_is_told_of_the_first_and_writes_nothing(
    store: Store, on_conflict: OnConflict, said: UniqueVerdict
) -> None:
    first = await written(store)
    second = a_run()
    assert await ask(store, unique(second, on_conflict=on_conflict)) == [UniqueAnswer(first, said)]
    assert await store.run(second.tenant, second.id) is None
    assert [claimed.run_id for claimed in await claim(store, await register(store))] == [first]


async def test_other_keys_and_other_tenants_are_free(store: Store) -> None:
    await written(store)
    await written(store, key="other")
    await written(store, a_run(tenant="other"))


async def test_the_same_call_again_is_answered_the_same(store: Store, clock: StoreClock) -> None:
    """Its answer was lost, and nothing is written twice; nor does the window begin anew."""
    run = a_run()
    await written(store, run, window_ms=1_000)
    await clock.set_ms(START_MS + 500)
    assert await written(store, run, window_ms=1_000) == run.id
    assert len(await claim(store, await register(store))) == 1
    await clock.set_ms(START_MS + 1_000)
    await written(store, window_ms=1_000)


@pytest.mark.parametrize("state", [RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED])
async def test_without_a_window_the_key_of_an_ended_run_is_free(store: Store, state: RunState) -> None:
    await written(store)
    await finish_one(store, state)
    await written(store)


async def test_a_live_run_has_its_key_in_every_state(store: Store) -> None:
    await written(store)
    claimed = await claim_one(store, await register(store))
    assert await verdict(store) is UniqueVerdict.REJECTED
    await store.retry([a_retry(claimed, due_ms=START_MS)])
    assert await verdict(store) is UniqueVerdict.REJECTED
    await promote(store)
    assert await verdict(store) is UniqueVerdict.REJECTED
    await finish_one(store)
    await written(store)


async def test_a_key_is_free_again_a_whole_window_after_its_run_was_written(store: Store, clock: StoreClock) -> None:
    """However long the run lives: here it waits all the time."""
    await written(store, window_ms=5_000)
    await clock.set_ms(START_MS + 4_999)
    assert await verdict(store, window_ms=5_000) is UniqueVerdict.REJECTED
    await clock.set_ms(START_MS + 5_000)
    await written(store, window_ms=5_000)
    await clock.set_ms(START_MS + 9_999)
    assert await verdict(store, window_ms=5_000) is UniqueVerdict.REJECTED


async def test_within_the_window_a_run_that_succeeded_has_its_key(store: Store, clock: StoreClock) -> None:
    first = await written(store, window_ms=5_000)
    assert await finish_one(store) == first
    await clock.set_ms(START_MS + 4_999)
    assert await ask(store, unique(window_ms=5_000)) == [UniqueAnswer(first, UniqueVerdict.REJECTED)]
    assert await verdict(store, window_ms=5_000, on_conflict=REPLACE) is UniqueVerdict.TOO_LATE
    await clock.set_ms(START_MS + 5_000)
    await written(store, window_ms=5_000)


async def test_a_run_that_failed_has_its_key_only_for_those_who_say_so(store: Store) -> None:
    first = await written(store, window_ms=5_000)
    await finish_one(store, RunState.FAILED)
    said = unique(window_ms=5_000, states=[RunState.FAILED], on_conflict=IGNORE)
    assert await ask(store, said) == [UniqueAnswer(first, UniqueVerdict.IGNORED)]
    await written(store, window_ms=5_000)


async def test_only_the_states_that_are_named_are_in_the_way(store: Store) -> None:
    """Of two runs of one key the last one has it."""
    first = await written(store)
    second = await written(store, states=[RunState.RUNNING])
    assert await ask(store, unique()) == [UniqueAnswer(second, UniqueVerdict.REJECTED)]
    claims = await claim(store, await register(store))
    assert {claimed.run_id for claimed in claims} == {first, second}
    assert await verdict(store, states=[RunState.RUNNING]) is UniqueVerdict.REJECTED


async def test_a_run_whose_record_is_gone_is_in_nobodys_way(under_test: StoreUnderTest) -> None:
    store = under_test.store
    await written(store, window_ms=5_000)
    await finish_one(store)
    await under_test.tamper("DELETE FROM history")
    await written(store, window_ms=5_000)


async def test_a_replaced_run_ends_and_the_new_one_has_the_key(store: Store) -> None:
    first = await written(store)
    second = a_run(due_ms=LATER_MS)
    assert await ask(store, unique(second, on_conflict=REPLACE)) == [UniqueAnswer(second.id, UniqueVerdict.REPLACED)]
    ended = await the_run(store, first)
    assert (ended.state, ended.reason, ended.attempt) == (RunState.CANCELLED, "superseded", 0)
    assert (await the_run(store, second.id)).state is RunState.SCHEDULED
    assert await ask(store, unique()) == [UniqueAnswer(second.id, UniqueVerdict.REJECTED)]


async def test_a_rescheduled_run_stands_for_both_and_waits_for_its_new_time(store: Store, clock: StoreClock) -> None:
    first = await written(store, a_run(expires_ms=START_MS + 5_000))
    ear = await listening(store)
    again = unique(a_run(due_ms=LATER_MS), on_conflict=RESCHEDULE)
    assert await ask(store, again) == [UniqueAnswer(first, UniqueVerdict.RESCHEDULED)]
    await ear.hears("waiting")
    run = await the_run(store, first)
    assert (run.state, run.due_ms, run.scheduled_ms) == (RunState.SCHEDULED, LATER_MS, START_MS)
    await register(store, lease_s=3_600)
    await clock.set_ms(LATER_MS + 4_999)
    assert await store.expire(limit=LIMIT) == 0
    await promote(store)
    assert (await claim_one(store, W1)).run_id == first


async def test_a_rescheduled_run_can_come_earlier(store: Store) -> None:
    first = await written(store, a_run(due_ms=LATER_MS))
    assert await verdict(store, on_conflict=RESCHEDULE) is UniqueVerdict.RESCHEDULED
    await promote(store)
    assert (await claim_one(store, await register(store))).run_id == first


async def test_a_run_that_is_claimed_ahead_of_its_time_can_be_replaced(store: Store, clock: StoreClock) -> None:
    first = await written(store, a_run(due_ms=START_MS + 500))
    claimed = await claim_one(store, await register(store), ahead_ms=500)
    assert await verdict(store, on_conflict=REPLACE) is UniqueVerdict.REPLACED
    assert (await the_run(store, first)).reason == "superseded"
    await clock.set_ms(START_MS + 500)
    assert await confirm(store, claimed) == set()


async def test_a_run_that_is_claimed_ahead_of_its_time_can_be_rescheduled(store: Store, clock: StoreClock) -> None:
    first = await written(store, a_run(due_ms=START_MS + 500))
    claimed = await claim_one(store, await register(store), ahead_ms=500)
    assert await verdict(store, a_run(due_ms=LATER_MS), on_conflict=RESCHEDULE) is UniqueVerdict.RESCHEDULED
    await clock.set_ms(START_MS + 500)
    assert await confirm(store, claimed) == set()
    run = await the_run(store, first)
    assert (run.state, run.due_ms, run.attempt, run.worker) == (RunState.SCHEDULED, LATER_MS, 0, None)


@pytest.mark.parametrize("on_conflict", [REPLACE, RESCHEDULE])
async def test_what_has_started_is_neither_replaced_nor_rescheduled(store: Store, on_conflict: OnConflict) -> None:
    first = await written(store)
    claimed = await claim_one(store, await register(store))
    too_late = [UniqueAnswer(first, UniqueVerdict.TOO_LATE)]
    assert await ask(store, unique(a_run(due_ms=LATER_MS), on_conflict=on_conflict)) == too_late
    await store.retry([a_retry(claimed, due_ms=START_MS)])
    assert await ask(store, unique(on_conflict=on_conflict)) == too_late
    await promote(store)
    assert await ask(store, unique(on_conflict=on_conflict)) == too_late
    assert (await claim_one(store, W1)).run_id == first


@pytest.mark.parametrize("atomic", [True, False])
async def test_of_a_batch_with_one_refused_none_or_the_others_are_written(store: Store, atomic: bool) -> None:
    first = await written(store)
    moved = await written(store, key="moved")
    plain, free, replacing = a_run(), a_run(), a_run()
    batch = [
        UniqueRun(plain, None),
        unique(free, "free"),
        unique(),
        unique(replacing, "moved", REPLACE),
    ]
    assert await ask(store, *batch, atomic=atomic) == [
        UniqueAnswer(plain.id, UniqueVerdict.WRITTEN),
        UniqueAnswer(free.id, UniqueVerdict.WRITTEN),
        UniqueAnswer(first, UniqueVerdict.REJECTED),
        UniqueAnswer(replacing.id, UniqueVerdict.REPLACED),
    ]
    found = {claimed.run_id for claimed in await claim(store, await register(store))}
    assert found == ({first, moved} if atomic else {first, plain.id, free.id, replacing.id})
    if atomic:
        await written(store, key="free")


async def test_runs_of_one_batch_with_one_key_find_each_other(store: Store) -> None:
    runs = [a_run() for _ in range(4)]
    batch = [
        unique(runs[0]),
        unique(runs[1], on_conflict=REPLACE),
        unique(msgspec.structs.replace(runs[2], due_ms=LATER_MS), on_conflict=RESCHEDULE),
        unique(runs[3], on_conflict=IGNORE),
    ]
    assert [answer.run_id for answer in await ask(store, *batch)] == [runs[0].id, *[runs[1].id] * 3]
    assert (await the_run(store, runs[0].id)).reason == "superseded"
    assert (await the_run(store, runs[1].id)).due_ms == LATER_MS
    assert await ask(store, unique()) == [UniqueAnswer(runs[1].id, UniqueVerdict.REJECTED)]
    assert [await ask(store), await ask(store, atomic=False)] == [[], []]


async def test_a_large_batch_is_written_once(store: Store) -> None:
    batch = [unique(key=f"k{number}", on_conflict=IGNORE) for number in range(2_000)]
    first = await ask(store, *batch)
    assert {answer.verdict for answer in first} == {UniqueVerdict.WRITTEN}
    again = await ask(store, *(unique(key=f"k{number}", on_conflict=IGNORE) for number in reversed(range(2_000))))
    assert [answer.run_id for answer in reversed(again)] == [answer.run_id for answer in first]


async def test_a_batch_of_runs_without_keys_is_written(store: Store) -> None:
    runs = [a_run(), a_run()]
    answers = await ask(store, *(UniqueRun(run, None) for run in runs))
    assert [answer.run_id for answer in answers] == [run.id for run in runs]


async def test_runs_with_keys_stand_in_line_with_the_others(store: Store) -> None:
    """Those that were ignored took nobody's turn."""
    await enqueue(store, *(a_run(tenant="other") for _ in range(50)))
    for _ in range(20):
        await ask(store, unique(on_conflict=IGNORE))
    await enqueue(store, a_run())
    served = await claim(store, await register(store), limit=6)
    assert [claimed.tenant for claimed in served].count("default") == 2


async def keys(store: Store) -> int:
    """How many keys a sweep looks at."""
    return await store.forget_keys(limit=LIMIT)


async def test_a_free_key_is_forgotten_and_a_taken_one_is_not(store: Store, clock: StoreClock) -> None:
    await written(store, key="over")
    await written(store, a_run(queue="slow"), key="live")
    await finish_one(store)
    await clock.set_ms(START_MS + limits.KEY_SWEEP_MS - 1)
    assert await keys(store) == 0
    await clock.set_ms(START_MS + limits.KEY_SWEEP_MS)
    assert await keys(store) == 2
    assert await keys(store) == 0, "what is live is looked at again later"
    assert await verdict(store, key="live") is UniqueVerdict.REJECTED
    await clock.set_ms(START_MS + 2 * limits.KEY_SWEEP_MS)
    assert await keys(store) == 1
    await clock.set_ms(START_MS + 4 * limits.KEY_SWEEP_MS - 1)
    assert await keys(store) == 0
    await written(store, key="over")


async def test_the_key_of_a_run_that_is_due_later_is_not_looked_at_before(store: Store, clock: StoreClock) -> None:
    day_ms = START_MS + 86_400_000
    await written(store, a_run(due_ms=day_ms))
    await clock.set_ms(day_ms + limits.KEY_SWEEP_MS - 1)
    assert await keys(store) == 0
    await clock.set_ms(day_ms + limits.KEY_SWEEP_MS)
    assert await keys(store) == 1


async def test_a_key_that_was_just_taken_is_not_looked_at_however_late_its_run_is(
    store: Store, clock: StoreClock
) -> None:
    """A sweep that goes on at the same time may not see the run yet, and must not take its key away."""
    await written(store, a_run(due_ms=START_MS - limits.AT_PAST_MS_MAX))
    assert await keys(store) == 0
    assert await verdict(store, window_ms=1) is UniqueVerdict.REJECTED
    await clock.advance(1)
    await written(store, a_run(due_ms=START_MS - limits.AT_PAST_MS_MAX), window_ms=1)
    assert await keys(store) == 0


async def test_a_key_is_not_forgotten_within_its_window(store: Store, clock: StoreClock) -> None:
    hour_ms = 3_600_000
    await written(store, window_ms=hour_ms)
    await finish_one(store)
    await clock.set_ms(START_MS + hour_ms - 1)
    assert await keys(store) == 0
    assert await verdict(store, window_ms=hour_ms) is UniqueVerdict.REJECTED
    await clock.set_ms(START_MS + hour_ms)
    assert await keys(store) == 1
    await clock.advance(10 * hour_ms / 1000)
    assert await keys(store) == 0


async def test_a_sweep_is_bounded(store: Store, clock: StoreClock) -> None:
    await ask(store, *(unique(key=f"k{number}") for number in range(10)))
    for claimed in await claim(store, await register(store)):
        await store.finish([a_finish(claimed)])
    await clock.set_ms(START_MS + limits.KEY_SWEEP_MS)
    assert [await store.forget_keys(limit=4) for _ in range(4)] == [4, 4, 2, 0]


async def test_the_longest_window_there_is_ends_at_its_millisecond(store: Store, clock: StoreClock) -> None:
    longest = Dedupe(key="k", window_ms=limits.DEDUPE_WINDOW_MS_MAX)
    await ask(store, UniqueRun(a_run(), longest))
    await clock.set_ms(START_MS + limits.DEDUPE_WINDOW_MS_MAX - 1)
    (answer,) = await ask(store, UniqueRun(a_run(), longest))
    assert answer.verdict is UniqueVerdict.REJECTED
    await clock.set_ms(START_MS + limits.DEDUPE_WINDOW_MS_MAX)
    (answer,) = await ask(store, UniqueRun(a_run(), longest))
    assert answer.verdict is UniqueVerdict.WRITTEN
