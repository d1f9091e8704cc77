"""Runs claimed ahead of their time, held until their millisecond."""

from dueline.domain.ids import RunId
from dueline.domain.states import RunKind
from dueline.store.shapes import Claim
from dueline.worker.holding import Holding


def a_claim(due_ms: int, name: str = "run") -> Claim:
    run_id = RunId(f"{name}-{due_ms}".encode())
    return Claim(run_id, 1, None, None, "default", RunKind.ADHOC, due_ms, due_ms, 0, 1, 0, False, None)


def held(*claims: Claim) -> Holding:
    holding = Holding()
    holding.add(list(claims))
    return holding


def test_nothing_is_held_at_first() -> None:
    holding = Holding()
    assert len(holding) == 0
    assert holding.next_due_ms() is None
    assert holding.take_due(10**15, limit=10) == []
    assert holding.run_ids() == set()


def test_a_run_is_held_until_its_very_millisecond() -> None:
    claim = a_claim(1_000)
    holding = held(claim)
    assert holding.take_due(999, limit=10) == []
    assert len(holding) == 1
    assert holding.take_due(1_000, limit=10) == [claim]
    assert holding.take_due(1_000, limit=10) == []


def test_runs_come_in_the_order_of_their_due_times() -> None:
    claims = [a_claim(due_ms) for due_ms in (30, 10, 20)]
    holding = held(*claims)
    assert holding.next_due_ms() == 10
    assert [claim.due_ms for claim in holding.take_due(25, limit=10)] == [10, 20]
    assert holding.next_due_ms() == 30


def test_runs_of_one_millisecond_come_as_they_were_claimed() -> None:
    claims = [a_claim(10, name) for name in ("c", "a", "b")]
    holding = held(claims[0])
    holding.add(claims[1:])
    assert holding.take_due(10, limit=10) == claims


def test_no_more_are_taken_than_asked_for_and_none_is_lost() -> None:
    claims = [a_claim(due_ms) for due_ms in range(10)]
    holding = held(*claims)
    assert holding.take_due(100, limit=4) == claims[:4]
    assert holding.run_ids() == {claim.run_id for claim in claims[4:]}
    assert holding.take_due(100, limit=4) + holding.take_due(100, limit=4) == claims[4:]


def test_cleared_it_holds_nothing() -> None:
    holding = held(a_claim(1), a_claim(2))
    holding.clear()
    assert (len(holding), holding.next_due_ms(), holding.run_ids()) == (0, None, set())


def test_tasks_have_their_place_until_they_are_started() -> None:
    holding = held(a_claim(1), a_claim(2))
    holding.add([a_claim(1), a_claim(2), a_claim(3)], tasks=True)
    assert len(holding.take_due(2, limit=10)) == 4
    assert (len(holding), holding.tasks) == (1, 3)
    holding.started()
    assert holding.tasks == 1
    holding.take_due(3, limit=10)
    holding.clear()
    holding.started()
    assert holding.tasks == 0
