"""Gates whose limits change, whose runs are cancelled, paused or come too late while they wait, and whose rows are lost."""

from dueline.domain.gates import Gate, Limit, Rate, Scope
from dueline.domain.job import Job, StartRate
from dueline.domain.lanes import PLAIN
from dueline.domain.limiting import own_gates
from dueline.domain.overlap import Overlap
from dueline.domain.states import HeldReason, JobState, RunState
from dueline.store.protocol import Store
from dueline.store.shapes import Blocked, Claim
from tests.conformance.gating import (
    W1,
    claimed_runs,
    enter,
    limited_job,
    relimit,
    some_claims,
    states,
    taken,
    wish,
)
from tests.support.stores import (
    QUEUE,
    START_MS,
    TENANT,
    StoreClock,
    StoreUnderTest,
    a_finish,
    a_retry,
    a_run,
    changing,
    claim,
    enqueue,
    promote,
    register,
    the_run,
)

ONE = Gate(Scope.KEY, "k", TENANT, 1)
HOUR_MS = 3_600_000
READY, HELD, RUNNING = RunState.READY, RunState.HELD, RunState.RUNNING


def gate_of(job: Job) -> Gate:
    (gate,) = own_gates(job.definition.execution, tenant=TENANT, job_id=job.id, job_name="", version=job.version)
    return gate


async def a_full_gate(store: Store, waiting: int = 2) -> list[Claim]:
    """The first has the only place, the others wait."""
    claims = await some_claims(store, 1 + waiting)
    (first,) = await enter(store, claims, ONE)
    return [first, *claims[1:]]


async def job_with_one_under_way(store: Store, waiting: int = 2) -> tuple[Job, list[Claim]]:
    job = await limited_job(store, 1)
    claims = await claimed_runs(store, *(a_run(job) for _ in range(1 + waiting)))
    (first,) = await enter(store, claims, gate_of(job))
    return job, [first, *claims[1:]]


async def test_one_who_waits_can_be_cancelled_and_the_next_has_its_turn(store: Store) -> None:
    first, second, third = await a_full_gate(store)
    await store.cancel_runs(TENANT, [second.run_id], reason="requested")
    await store.finish([a_finish(first)])
    assert await states(store, [second, third]) == [RunState.CANCELLED, READY]


async def test_one_who_was_let_in_and_is_cancelled_leaves_its_turn_to_the_next(store: Store) -> None:
    first, second, third = await a_full_gate(store)
    await store.finish([a_finish(first)])
    await store.cancel_runs(TENANT, [second.run_id], reason="requested")
    assert await states(store, [third]) == [HELD]
    assert await store.sweep_gates(limit=10) == 1
    assert await states(store, [third]) == [READY]


async def test_one_under_way_that_is_cancelled_keeps_its_place_until_it_ends(store: Store) -> None:
    first, second, _ = await a_full_gate(store)
    await store.cancel_runs(TENANT, [first.run_id], reason="requested")
    await store.sweep_gates(limit=10)
    assert await states(store, [first, second]) == [RUNNING, HELD]
    await store.finish([a_finish(first, RunState.CANCELLED)])
    assert await states(store, [second]) == [READY]


async def test_one_who_waits_may_come_too_late(store: Store, clock: StoreClock) -> None:
    late = a_run(expires_ms=START_MS + 1_000)
    claims = await claimed_runs(store, a_run(), late, a_run())
    (first,) = await enter(store, claims, ONE)
    await clock.advance(1)
    assert await store.expire(limit=10) == 1
    await store.finish([a_finish(first)])
    assert await states(store, claims[1:]) == [RunState.EXPIRED, READY]


async def test_a_paused_job_waits_at_no_gate(store: Store) -> None:
    job, claims = await job_with_one_under_way(store)
    held = [one.run_id for one in claims[1:]]
    await store.change_job(TENANT, job.id, changing(state=JobState.PAUSED, hold=held))
    await store.finish([a_finish(claims[0])])
    await store.sweep_gates(limit=10)
    assert await states(store, claims[1:]) == [HELD, HELD]
    assert (await the_run(store, held[0])).reason == HeldReason.PAUSED
    await store.change_job(TENANT, job.id, changing(state=JobState.ACTIVE, free=held))
    again = await claim(store, W1)
    assert len(await enter(store, again, gate_of(job))) == 1
    assert await states(store, claims[1:]) == [RUNNING, HELD]


async def test_a_deleted_job_leaves_nothing_at_its_gate(store: Store, clock: StoreClock) -> None:
    job, claims = await job_with_one_under_way(store)
    ends = [(one.run_id, "deleted") for one in claims[1:]]
    await store.change_job(TENANT, job.id, changing(deleted=True, cancel=ends))
    assert await states(store, claims) == [RUNNING, RunState.CANCELLED, RunState.CANCELLED]
    await store.finish([a_finish(claims[0])])
    assert await taken(store, gate_of(job)) == 0
    await clock.advance(60)
    assert await store.sweep_gates(limit=10) == 0, "it was seen a minute ago, no longer"
    await clock.advance(0.001)
    assert await store.sweep_gates(limit=10) == 1, "and is forgotten"


async def test_a_higher_limit_lets_more_in(store: Store) -> None:
    job, claims = await job_with_one_under_way(store, waiting=3)
    job = await relimit(store, job, 3)
    assert await store.sweep_gates(limit=10) == 2
    assert await states(store, claims) == [RUNNING, READY, READY, HELD]
    assert len(await enter(store, await claim(store, W1), gate_of(job))) == 2


async def test_a_lower_limit_lets_nobody_in_until_enough_have_left(store: Store) -> None:
    job = await limited_job(store, 3)
    claims = await claimed_runs(store, *(a_run(job) for _ in range(5)))
    passed = await enter(store, claims, gate_of(job))
    old, job = gate_of(job), await relimit(store, job, 1)
    for one in passed[:2]:
        await store.finish([a_finish(one)])
        assert await enter(store, await claim(store, W1), old) == [], "whoever knows the old limit is told better"
    await store.finish([a_finish(passed[2])])
    assert len(await enter(store, await claim(store, W1), old)) == 1


async def test_a_lower_limit_is_remembered_for_runs_that_come_late(store: Store, clock: StoreClock) -> None:
    """Their queue may have been paused meanwhile; what they know of their job is what it said before."""
    job = await limited_job(store, 5)
    await enqueue(store, a_run(job), a_run(job), a_run(job))
    old = gate_of(job)
    await relimit(store, job, 1)
    await clock.advance(30 * 24 * 3600)
    assert await store.sweep_gates(limit=10) == 0
    await register(store, W1)
    assert len(await enter(store, await claim(store, W1, limit=3), old)) == 1
    assert await claim(store, W1) == []


async def test_of_a_changed_job_that_is_idle_nothing_is_kept_for_ever(store: Store, clock: StoreClock) -> None:
    await relimit(store, await limited_job(store, 5), 1)
    await clock.advance(30 * 24 * 3600)
    assert await store.sweep_gates(limit=10) == 0
    await clock.advance(0.001)
    assert await store.sweep_gates(limit=10) == 1


async def test_a_limit_that_a_job_gives_up_holds_nobody(store: Store) -> None:
    job, claims = await job_with_one_under_way(store)
    old = gate_of(job)
    await relimit(store, job, None)
    await store.sweep_gates(limit=10)
    assert len(await enter(store, await claim(store, W1), old)) == 2
    assert await states(store, claims) == [RUNNING] * 3


async def test_runs_under_way_count_when_their_job_gets_a_limit(store: Store) -> None:
    job = await limited_job(store, None)
    before = await claimed_runs(store, a_run(job), a_run(job))
    job = await relimit(store, job, 2)
    await enqueue(store, a_run(job))
    (new,) = await claim(store, W1)
    assert await enter(store, [new], gate_of(job)) == []
    await store.finish([a_finish(before[0])])
    await store.sweep_gates(limit=10)
    assert len(await enter(store, await claim(store, W1), gate_of(job))) == 1


async def test_a_run_that_was_counted_in_is_not_in_its_own_way(store: Store) -> None:
    """It was claimed when the limit was set, and passes only then."""
    claims = await some_claims(store, 1)
    limit = await store.put_limit(Limit(scope=Scope.QUEUE, name=QUEUE, most=1))
    assert await taken(store, limit.gate) == 1
    assert len(await enter(store, claims, limit.gate)) == 1
    assert await taken(store, limit.gate) == 1


async def test_a_run_that_is_refused_keeps_no_place_of_earlier_times(store: Store) -> None:
    claims = await some_claims(store, 2)
    await enter(store, claims[:1], ONE)
    limit = await store.put_limit(Limit(scope=Scope.QUEUE, name=QUEUE, most=2))
    assert await taken(store, limit.gate) == 2
    assert await enter(store, claims[1:], ONE, limit.gate) == []
    assert await taken(store, limit.gate) == 1


async def test_a_higher_rate_begins_at_once(store: Store, clock: StoreClock) -> None:
    job = await limited_job(store, None, StartRate(rate=Rate(1, HOUR_MS)))
    claims = await claimed_runs(store, *(a_run(job) for _ in range(3)))
    await enter(store, claims, gate_of(job))
    assert (await store.upcoming()).refill_ms == START_MS + HOUR_MS
    job = await relimit(store, job, None, StartRate(rate=Rate(10, 1_000)))
    assert (await store.upcoming()).refill_ms == START_MS
    await store.refill(ahead_ms=0, limit=10)
    assert (await store.upcoming()).refill_ms == START_MS + 100
    await clock.advance(0.1)
    await store.refill(ahead_ms=0, limit=10)
    (again,) = await claim(store, W1)
    assert await store.enter([wish(again, gate_of(job))], ahead_ms=0) == {claims[1].run_id: START_MS + 100}


async def test_a_rate_that_is_given_up_holds_nobody(store: Store, clock: StoreClock) -> None:
    limit = await store.put_limit(Limit(scope=Scope.HOST, name="h", rate=Rate(1, HOUR_MS)))
    claims = await some_claims(store, 3)
    await enter(store, claims, limit.gate)
    await clock.advance(1)
    await store.delete_limit(Scope.HOST, "h")
    await store.refill(ahead_ms=0, limit=10)
    assert await states(store, claims) == [RUNNING, READY, READY]
    assert len(await enter(store, await claim(store, W1), limit.gate)) == 2


async def test_a_token_that_another_gate_spoils_goes_to_the_next(store: Store, clock: StoreClock) -> None:
    """A run whose host is busy gets its turn, cannot use it, and must not keep others from it until the next token comes."""
    rated = Gate(Scope.KEY, "r", TENANT, None, Rate(1, HOUR_MS))
    claims = await some_claims(store, 4)
    await enter(store, claims[:1], ONE)
    await enter(store, claims[1:2], rated)
    await enter(store, claims[2:], rated)
    await clock.advance(HOUR_MS / 1000)
    await store.refill(ahead_ms=1_000, limit=10)
    assert await states(store, claims[2:]) == [READY, HELD]
    assert await enter(store, await claim(store, W1), rated, ONE, ahead_ms=1_000) == []
    await clock.advance(0.5)
    await store.refill(ahead_ms=1_000, limit=10)
    assert await states(store, claims[2:]) == [HELD, READY]
    assert len(await enter(store, await claim(store, W1), rated, ahead_ms=1_000)) == 1


async def test_who_shares_a_key_passes_by_its_own_word(store: Store) -> None:
    """Two jobs may think differently of a key, and their runs may come in one batch."""
    wide, narrow = Gate(Scope.KEY, "k", TENANT, 4), ONE
    claims = await some_claims(store, 6)
    wishes = [wish(one, (narrow, wide)[number % 2]) for number, one in enumerate(claims)]
    starts = await store.enter(wishes, ahead_ms=0)
    assert set(starts) == {claims[0].run_id, *(one.run_id for one in claims[1::2])}


async def test_a_key_for_places_is_another_than_the_same_for_starts(store: Store) -> None:
    rated = Gate(Scope.KEY, "k", TENANT, None, Rate(1_000, 1_000, 10))
    claims = await some_claims(store, 4)
    assert len(await enter(store, claims[:2], rated)) == 2
    assert len(await enter(store, claims[2:], ONE)) == 1, "those who passed for their rate have no place here"


async def test_of_two_versions_in_a_batch_the_later_counts(store: Store) -> None:
    """Also where the gate was forgotten meanwhile."""
    claims = await some_claims(store, 4)
    old, new = Gate(Scope.JOB, "j", most=4, as_of=1), Gate(Scope.JOB, "j", most=2, as_of=2)
    starts = await store.enter([wish(one, (old, new)[number % 2]) for number, one in enumerate(claims)], ahead_ms=0)
    assert len(starts) == 2


async def test_an_exclusive_run_that_waits_at_a_gate_keeps_its_jobs_place(store: Store) -> None:
    job = await limited_job(store, None, overlap=Overlap.QUEUE_ALL)
    claims = await claimed_runs(store, a_run(), a_run(job, exclusive=True))
    (first,) = await enter(store, claims, ONE)
    (later,) = await enqueue(store, a_run(job, exclusive=True))
    claimed = await store.claim(W1, QUEUE, PLAIN, ahead_ms=0, limit=10)
    (blocked,) = claimed.blocked
    assert isinstance(blocked, Blocked)
    assert blocked.run_id == later
    await store.hold_blocked([blocked])
    await store.free_held(limit=10)
    await store.finish([a_finish(first)])
    again = await claim(store, W1)
    assert [one.run_id for one in again] == [claims[1].run_id], "the one that waits for it stays where it is"
    (second,) = await enter(store, again, ONE)
    await store.finish([a_finish(second)])
    assert [one.run_id for one in await claim(store, W1)] == [later]


async def test_runs_of_a_paused_queue_do_not_pass(store: Store) -> None:
    first, second, third = await a_full_gate(store)
    await store.pause_queue(QUEUE, note=None)
    await store.finish([a_finish(first)])
    assert await claim(store, W1) == []
    await store.resume_queue(QUEUE)
    (again,) = await claim(store, W1)
    assert again.run_id == second.run_id
    assert len(await enter(store, [again], ONE)) == 1
    assert await states(store, [third]) == [HELD]


async def test_a_retried_run_passes_again(store: Store) -> None:
    first, second, _ = await a_full_gate(store)
    await store.retry([a_retry(first, due_ms=START_MS)])
    await promote(store)
    again = await claim(store, W1)
    assert len(again) == 2
    passed = await enter(store, again, ONE)
    assert [one.run_id for one in passed] == [again[0].run_id]
    assert {one.run_id for one in again} == {first.run_id, second.run_id}


async def test_a_gate_whose_row_is_gone_holds_nobody_for_good(under_test: StoreUnderTest) -> None:
    store = under_test.store
    first, second, third = await a_full_gate(store)
    await under_test.tamper("DELETE FROM gates")
    await store.finish([a_finish(first)])
    await store.sweep_gates(limit=10)
    assert await states(store, [second, third]) == [READY, READY]
    assert len(await enter(store, await claim(store, W1), ONE)) == 1
    assert await taken(store, ONE) == 1


async def test_places_that_are_gone_are_counted_anew(under_test: StoreUnderTest) -> None:
    """More may pass then, once; when those have left, it is as before."""
    store = under_test.store
    first, second, third = await a_full_gate(store)
    await under_test.tamper("DELETE FROM gate_places")
    await store.sweep_gates(limit=10)
    (passed,) = await enter(store, await claim(store, W1), ONE)
    assert passed.run_id == second.run_id
    await store.finish([a_finish(first)])
    assert await states(store, [third]) == [HELD]
    await store.finish([a_finish(passed)])
    assert await states(store, [third]) == [READY]
    assert await taken(store, ONE) == 0


async def test_many_gates_that_nobody_needs_are_forgotten_in_pages(store: Store, clock: StoreClock) -> None:
    """A key for every run leaves a gate for every run."""
    claims = await some_claims(store, 5)
    starts = await store.enter([wish(one, Gate(Scope.KEY, one.run_id.hex(), TENANT, 1)) for one in claims], ahead_ms=0)
    assert len(starts) == 5
    await store.release(claims)
    await clock.advance(61)
    assert [await store.sweep_gates(limit=2) for _ in range(4)] == [2, 2, 1, 0]
