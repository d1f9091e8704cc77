"""The circuit of one target."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain.circuits import Circuit, CircuitPolicy, CircuitState, is_failure
from dueline.domain.run import Outcome, OutcomeKind

POLICY = CircuitPolicy(window_s=60, calls_min=10, failure_rate=0.5, wait_s=5, wait_s_max=60)


def after(*ends: bool, at_s: float = 100.0) -> Circuit:
    circuit = Circuit(POLICY)
    for failed in ends:
        circuit.record(failed, started_s=at_s, now_s=at_s)
    return circuit


def opened(at_s: float = 100.0) -> Circuit:
    circuit = after(*[True] * 10, at_s=at_s)
    assert circuit.state is CircuitState.OPEN
    return circuit


def test_it_opens_at_the_rate_and_not_before_there_are_enough_calls() -> None:
    assert after(*[True] * 9).state is CircuitState.CLOSED
    assert after(*[True] * 10).state is CircuitState.OPEN
    assert after(*[False] * 6, *[True] * 5).state is CircuitState.CLOSED
    assert after(*[False] * 6, *[True] * 6).state is CircuitState.OPEN


def test_failures_that_lie_back_further_than_the_window_are_forgotten() -> None:
    circuit = after(*[True] * 9, at_s=100.0)
    circuit.record(True, started_s=160.0, now_s=160.0)
    assert circuit.state is CircuitState.CLOSED
    assert not circuit.is_idle(160.0)
    assert circuit.is_idle(230.0)


def test_an_open_circuit_admits_nothing_until_its_wait_is_over_and_then_one_probe() -> None:
    circuit = opened()
    assert not circuit.admit(104.9)
    assert circuit.wait_s(101.0) == 4.0
    assert circuit.admit(105.0)
    assert circuit.state is CircuitState.HALF_OPEN
    assert not circuit.admit(105.0)
    assert circuit.wait_s(105.0) == 5.0


def test_a_probe_that_succeeds_closes_it() -> None:
    circuit = opened()
    assert circuit.admit(105.0)
    circuit.record(False, started_s=105.1, now_s=105.2)
    assert circuit.state is CircuitState.CLOSED
    assert circuit.admit(105.3)
    assert circuit.is_idle(105.3)


def test_each_probe_that_fails_doubles_the_wait_up_to_its_bound() -> None:
    circuit, now_s = opened(), 100.0
    for wait_s in (5, 10, 20, 40, 60, 60):
        assert not circuit.admit(now_s + wait_s - 0.1)
        now_s += wait_s
        assert circuit.admit(now_s)
        circuit.record(True, started_s=now_s, now_s=now_s)
        assert circuit.state is CircuitState.OPEN


def test_after_it_closed_the_wait_is_short_again() -> None:
    circuit = opened()
    for now_s, failed in ((105.0, True), (115.0, False)):
        assert circuit.admit(now_s)
        circuit.record(failed, started_s=now_s, now_s=now_s)
    for _ in range(10):
        circuit.record(True, started_s=116.0, now_s=116.0)
    assert circuit.state is CircuitState.OPEN
    assert circuit.admit(121.0)


@pytest.mark.parametrize("failed", [True, False])
def test_calls_from_before_it_opened_say_nothing(failed: bool) -> None:
    circuit, states = opened(), []
    circuit.record(failed, started_s=99.0, now_s=101.0)
    states.append(circuit.state)
    assert circuit.admit(105.0)
    circuit.record(failed, started_s=99.0, now_s=106.0)
    states.append(circuit.state)
    assert states == [CircuitState.OPEN, CircuitState.HALF_OPEN]


def test_a_probe_that_says_nothing_makes_room_for_another() -> None:
    circuit = opened()
    assert circuit.admit(105.0)
    circuit.record(None, started_s=105.0, now_s=106.0)
    assert circuit.admit(106.0)
    assert not circuit.admit(106.0)


def test_a_probe_that_never_reports_is_replaced() -> None:
    circuit = opened()
    assert circuit.admit(105.0)
    assert not circuit.admit(164.0)
    assert circuit.admit(165.0)


@pytest.mark.parametrize(
    ("outcome", "failed"),
    [
        (Outcome(kind=OutcomeKind.SUCCEEDED, status=500), False),
        (Outcome(kind=OutcomeKind.REFUSED, status=404), False),
        (Outcome(kind=OutcomeKind.REFUSED, status=429), False),
        (Outcome(kind=OutcomeKind.REFUSED, status=500), True),
        (Outcome(kind=OutcomeKind.REFUSED, status=503), True),
        (Outcome(kind=OutcomeKind.TIMED_OUT), True),
        (Outcome(kind=OutcomeKind.UNREACHABLE), True),
        (Outcome(kind=OutcomeKind.ERRORED), True),
        (Outcome(kind=OutcomeKind.IMPOSSIBLE), None),
        (Outcome(kind=OutcomeKind.CANCELLED), None),
        (Outcome(kind=OutcomeKind.LOST), None),
    ],
    ids=str,
)
def test_what_speaks_against_a_target(outcome: Outcome, failed: bool | None) -> None:
    assert is_failure(outcome) is failed


steps = st.lists(st.tuples(st.floats(0, 20), st.sampled_from(["ask", "failed", "succeeded", "nothing"])), max_size=200)


@given(steps)
def test_whatever_happens_it_admits_a_call_again_within_its_longest_wait(walk: list[tuple[float, str]]) -> None:
    circuit, now_s = Circuit(POLICY), 0.0
    for pause_s, step in walk:
        now_s += pause_s
        if step == "ask":
            admitted = circuit.admit(now_s)
            assert admitted or 0 < circuit.wait_s(now_s) <= POLICY.wait_s_max
        else:
            failed = {"failed": True, "succeeded": False}.get(step)
            circuit.record(failed, started_s=now_s, now_s=now_s)
        assert len(circuit._buckets) <= 7
    assert circuit.admit(now_s + POLICY.wait_s_max)
