"""Gates by themselves: never more than may be, in the order of those who come, and no token later than it is there."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dueline.domain.gates import Gate, GateId, Rate, Refusal, Scope, Seen, Wish, admit, charges, latest, refills, unseen
from dueline.domain.ids import RunId
from dueline.domain.states import HeldReason

NOW_MS = 1_767_225_600_000
MS = 1_000

rates = st.builds(Rate, count=st.integers(1, 2_000), period_ms=st.integers(1, 10_000), burst=st.integers(1, 20))
mosts = st.none() | st.integers(1, 5)
aheads_ms = st.sampled_from([0, 1, 250, 1_000])
steps_ms = st.lists(st.tuples(st.integers(0, 1_500), st.integers(0, 12)), min_size=1, max_size=15)
"""How long nothing happens, and how many come then."""


def a_gate(name: str = "k", most: int | None = None, rate: Rate | None = None, as_of: int = 0) -> Gate:
    return Gate(Scope.JOB, name, "", most, rate, as_of)


def wishes(count: int, *gates: Gate, first: int = 0) -> list[Wish]:
    return [Wish(RunId(number.to_bytes(16, "big")), 1, gates) for number in range(first, first + count)]


def enter(
    asked: Sequence[Wish], seen: dict[GateId, Seen], *, now_ms: int = NOW_MS, ahead_ms: int = 0
) -> tuple[dict[RunId, int], dict[RunId, Refusal]]:
    return admit(asked, seen, now_us=now_ms * MS, until_us=(now_ms + ahead_ms) * MS)


def unseen_all(*gates: Gate) -> dict[GateId, Seen]:
    return {gate.id: unseen(gate) for gate in gates}


@given(most=st.integers(1, 4), steps=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=20))
def test_never_more_are_under_way_than_may_be(most: int, steps: list[tuple[int, int]]) -> None:
    gate = a_gate(most=most)
    seen = unseen_all(gate)
    under_way = 0
    for come, leave in steps:
        starts, refused = enter(wishes(come, gate), seen)
        assert len(starts) == min(come, most - under_way), "and no fewer"
        assert len(starts) + len(refused) == come
        under_way += len(starts)
        left = min(leave, under_way)
        under_way -= left
        seen[gate.id].taken -= left
        assert seen[gate.id].taken == under_way <= most


@given(rate=rates, ahead_ms=aheads_ms, steps=steps_ms)
def test_in_any_window_no_more_start_than_the_burst_and_what_flows_in(
    rate: Rate, ahead_ms: int, steps: list[tuple[int, int]]
) -> None:
    gate = a_gate(rate=rate)
    seen, now_ms = unseen_all(gate), NOW_MS
    started: list[int] = []
    for wait_ms, come in steps:
        now_ms += wait_ms
        starts, _ = enter(wishes(come, gate), seen, now_ms=now_ms, ahead_ms=ahead_ms)
        assert all(now_ms <= start_ms <= now_ms + ahead_ms for start_ms in starts.values())
        started += starts.values()
    assert started == sorted(started), "whoever comes first starts first"
    for first, since_ms in enumerate(started):
        for last, until_ms in enumerate(started[first:], first):
            # Instants are told in whole milliseconds, none too early.
            window_us = (until_ms - since_ms + 1) * MS
            assert last - first + 1 <= rate.burst + window_us / rate.interval_us


@given(rate=rates, steps=steps_ms)
def test_no_token_is_lost_while_somebody_wants_it(rate: Rate, steps: list[tuple[int, int]]) -> None:
    """Whoever asks for all there is gets what flowed in since, to the last one."""
    assume(rate.burst > 1)
    gate = a_gate(rate=rate)
    seen, now_ms, total = unseen_all(gate), NOW_MS, 0
    for wait_ms, _ in [(0, 0), *steps]:
        # Not longer than the bucket has room for what flows in.
        now_ms += min(wait_ms, rate.interval_us * (rate.burst - 1) // MS)
        starts, _ = enter(wishes(rate.burst + 1, gate), seen, now_ms=now_ms)
        total += len(starts)
        assert total == rate.burst + (now_ms - NOW_MS) * MS // rate.interval_us


@given(
    most=mosts, rate=st.none() | rates, ahead_ms=aheads_ms, full_ms=st.integers(-5_000, 5_000), taken=st.integers(0, 6)
)
def test_the_room_that_is_told_is_the_room_that_there_is(
    most: int | None, rate: Rate | None, ahead_ms: int, full_ms: int, taken: int
) -> None:
    gate = a_gate(most=most, rate=rate)
    seen = unseen_all(gate)
    seen[gate.id].full_us, seen[gate.id].taken = (NOW_MS + full_ms) * MS, taken
    room = seen[gate.id].room(now_us=NOW_MS * MS, until_us=(NOW_MS + ahead_ms) * MS)
    starts, _ = enter(wishes(100, gate), seen, ahead_ms=ahead_ms)
    assert len(starts) == (100 if room is None else min(room, 100))


@given(gates=st.lists(st.tuples(mosts, st.none() | rates), min_size=1, max_size=3), count=st.integers(0, 20))
def test_those_who_pass_come_before_those_who_do_not(gates: list[tuple[int | None, Rate | None]], count: int) -> None:
    shared = [a_gate(str(number), *what) for number, what in enumerate(gates)]
    asked = wishes(count, *shared)
    starts, refused = enter(asked, unseen_all(*shared), ahead_ms=100)
    assert [*starts, *refused] == [wish.run_id for wish in asked]


@given(
    whats=st.lists(st.tuples(mosts, st.none() | rates), min_size=2, max_size=4),
    which=st.lists(st.sets(st.integers(0, 3), min_size=1), max_size=25),
)
def test_a_run_passes_all_of_its_gates_or_none(
    whats: list[tuple[int | None, Rate | None]], which: list[set[int]]
) -> None:
    gates = [a_gate(str(number), *what) for number, what in enumerate(whats)]
    asked = [
        wish
        for number, wanted in enumerate(which)
        for wish in wishes(1, *(gates[n] for n in sorted(wanted) if n < len(gates)), first=number)
        if wish.gates
    ]
    seen = unseen_all(*gates)
    starts, refused = enter(asked, seen, ahead_ms=100)
    for gate in gates:
        through = [wish for wish in asked if gate in wish.gates and wish.run_id in starts]
        assert seen[gate.id].taken == len(through)
        assert gate.most is None or len(through) <= gate.most
        if gate.rate is not None and through:
            assert seen[gate.id].full_us >= NOW_MS * MS + len(through) * gate.rate.interval_us
    for wish in asked:
        if wish.run_id in refused:
            assert refused[wish.run_id].gate in {gate.id for gate in wish.gates}


def test_who_waits_at_one_gate_takes_its_token_at_another_when_it_starts() -> None:
    """Two would start within a tenth of a second otherwise, where one a second may."""
    here, there = a_gate("here", rate=Rate(1, 1_000)), a_gate("there", rate=Rate(1, 900))
    seen = unseen_all(here, there)
    enter(wishes(1, there), seen)
    first, _ = enter(wishes(1, here, there, first=1), seen, ahead_ms=1_000)
    second, _ = enter(wishes(1, here, first=2), seen, now_ms=NOW_MS + 950, ahead_ms=1_000)
    assert [*first.values(), *second.values()] == [NOW_MS + 900, NOW_MS + 1_900]


@given(rate=rates, ahead_ms=aheads_ms, count=st.integers(1, 60))
def test_who_waits_for_a_token_is_looked_at_when_it_comes_and_not_before(rate: Rate, ahead_ms: int, count: int) -> None:
    gate = a_gate(rate=rate)
    seen = unseen_all(gate)
    asked = wishes(count, gate)
    _, refused = enter(asked, seen, ahead_ms=ahead_ms)
    assume(refused)
    (charge,) = charges(asked, seen, refused, now_ms=NOW_MS, ahead_ms=ahead_ms)
    assert charge.awaited is True
    assert charge.refill_ms is not None
    (due,) = refills(seen, now_ms=charge.refill_ms + 1, ahead_ms=ahead_ms)
    assert due.room >= 1
    if charge.refill_ms > NOW_MS:
        (early,) = refills(seen, now_ms=charge.refill_ms - 1, ahead_ms=ahead_ms)
        assert early.room == 0
        assert early.next_ms == charge.refill_ms


@given(rate=rates, waiting=st.integers(1, 40), ahead_ms=st.sampled_from([250, 1_000]))
def test_all_who_wait_for_tokens_get_them_in_time(rate: Rate, waiting: int, ahead_ms: int) -> None:
    """Let in whenever they are to be looked at, they start as if each had stood at the gate when its token came."""
    assume(rate.interval_us < 2_000_000)
    gate = a_gate(rate=rate)
    seen, queue = unseen_all(gate), wishes(waiting, gate)
    starts, refused = enter(queue, seen, ahead_ms=ahead_ms)
    now_ms: int | None = charges(queue, seen, refused, now_ms=NOW_MS, ahead_ms=ahead_ms)[0].refill_ms
    queue = [wish for wish in queue if wish.run_id in refused]
    for _ in range(500):
        if not queue:
            break
        assert now_ms is not None
        (due,) = refills(seen, now_ms=now_ms, ahead_ms=ahead_ms)
        passed, refused = enter(queue[: due.room], seen, now_ms=now_ms, ahead_ms=ahead_ms)
        assert not refused, "whoever is let in passes"
        starts |= passed
        queue = queue[due.room :]
        assert due.next_ms is not None
        now_ms = max(due.next_ms, now_ms + 1)
    expected = [max(number - rate.burst + 1, 0) * rate.interval_us for number in range(waiting)]
    for start_ms, after_us in zip(starts.values(), expected, strict=True):
        assert 0 <= (start_ms - NOW_MS) * MS - after_us < MS


def test_who_lacks_a_place_is_not_looked_at_for_a_token() -> None:
    gate = a_gate(most=1, rate=Rate(1, 1_000, 5))
    seen = unseen_all(gate)
    asked = wishes(2, gate)
    _, refused = enter(asked, seen)
    (refusal,) = refused.values()
    assert (refusal.reason, refusal.for_token) == (HeldReason.CONCURRENCY, False)
    assert charges(asked, seen, refused, now_ms=NOW_MS, ahead_ms=0)[0].refill_ms is None
    assert refills(seen, now_ms=NOW_MS, ahead_ms=0)[0].next_ms is None


def test_a_token_that_another_gate_spoils_is_offered_again_soon_but_not_at_once() -> None:
    rated, full = a_gate("rated", rate=Rate(1, 1_000)), a_gate("full", most=1)
    seen = unseen_all(rated, full)
    seen[full.id].taken = 1
    asked = wishes(1, rated, full)
    _, refused = enter(asked, seen, ahead_ms=1_000)
    (charge,) = charges(asked, seen, refused, now_ms=NOW_MS, ahead_ms=1_000)
    assert (charge.gate, charge.awaited, charge.refill_ms) == (rated.id, False, NOW_MS + 500)


@pytest.mark.parametrize(
    ("scope", "reason", "stays_ready"),
    [
        (Scope.JOB, HeldReason.CONCURRENCY, False),
        (Scope.KEY, HeldReason.CONCURRENCY, False),
        (Scope.HOST, HeldReason.CONCURRENCY, False),
        (Scope.TENANT, HeldReason.THROTTLED, False),
        (Scope.QUEUE, HeldReason.CONCURRENCY, True),
    ],
)
def test_who_is_refused_is_told_why(scope: Scope, reason: HeldReason, stays_ready: bool) -> None:
    gate = Gate(scope, "x", most=1)
    _, refused = enter(wishes(2, gate), unseen_all(gate))
    (refusal,) = refused.values()
    assert (refusal.gate, refusal.reason, refusal.stays_ready) == (gate.id, reason, stays_ready)


def test_of_two_words_the_later_counts_and_of_two_of_the_same_time_the_last() -> None:
    old, new, last = a_gate(most=9, as_of=1), a_gate(most=2, as_of=2), a_gate(most=3, as_of=2)
    assert latest([new, old]) == {old.id: new}
    assert latest([new, last, old]) == {old.id: last}
    seen = unseen(new)
    seen.as_of = 2
    seen.hear(old)
    assert seen.most == 2
    seen.hear(last)
    assert seen.most == 3


def test_gates_are_told_apart() -> None:
    rate = Rate(1, 1_000)
    gates = [
        Gate(Scope.JOB, "a"),
        Gate(Scope.KEY, "a", most=1),
        Gate(Scope.KEY, "a", rate=rate),
        Gate(Scope.KEY, "a", "t", most=1),
        Gate(Scope.KEY, "ta", most=1),
        Gate(Scope.QUEUE, "a"),
    ]
    assert len({gate.id for gate in gates}) == len(gates)
    assert Gate(Scope.QUEUE, "a", rate=rate).id == Gate(Scope.QUEUE, "a", most=1).id, "a queue has one for both"
