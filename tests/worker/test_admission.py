"""Which claims are started, and which are put off for the sake of their target or of others (F6)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain import limits
from dueline.domain.circuits import CircuitPolicy
from dueline.domain.ids import RunId
from dueline.domain.run import Outcome, OutcomeKind
from dueline.domain.states import HeldReason, RunKind
from dueline.store.shapes import Claim, Postponed
from dueline.worker.admission import Admission
from dueline.worker.circuits import Circuits
from dueline.worker.shares import Shares

NOW_MS = 1_767_225_600_000
POLICY = CircuitPolicy(window_s=60, calls_min=5, failure_rate=0.5, wait_s=10, wait_s_max=60)
DOWN = Outcome(kind=OutcomeKind.UNREACHABLE)
OK = Outcome(kind=OutcomeKind.SUCCEEDED, status=200)


class HalfChance:
    def entropy(self, ids: int = 1) -> bytes:
        return bytes(10 * ids)

    def fraction(self) -> float:
        return 0.5


def a_claim(tenant: str = "acme") -> Claim:
    return Claim(RunId(b"r" * 16), 5, None, None, tenant, RunKind.ADHOC, NOW_MS, NOW_MS, NOW_MS, 1, 0, False, "{}")


class Desk:
    def __init__(self, *, slots: int = 100, **options: Any) -> None:
        self.admission = Admission(HalfChance(), slots=slots, policy=POLICY, **options)
        self.now_s = 1_000.0

    def ask(self, host: str, tenant: str = "acme") -> Postponed | None:
        return self.admission.ask(a_claim(tenant), host, now_s=self.now_s, now_ms=NOW_MS)

    def end(self, host: str, outcome: Outcome | None, tenant: str = "acme") -> None:
        self.admission.ended(a_claim(tenant), host, outcome, started_s=self.now_s, now_s=self.now_s)

    def break_down(self, host: str) -> None:
        for _ in range(POLICY.calls_min):
            assert self.ask(host) is None
            self.end(host, DOWN)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_an_open_circuit_puts_runs_off_and_says_why(desk: Desk) -> None:
    desk.break_down("down")
    assert desk.ask("down") == Postponed(RunId(b"r" * 16), 5, NOW_MS + 15_000, HeldReason.CIRCUIT)


def test_other_hosts_and_other_tenants_are_not_concerned(desk: Desk) -> None:
    desk.break_down("down")
    assert desk.ask("up") is None
    assert desk.ask("down", tenant="other") is None


def test_one_probe_goes_through_and_its_success_lets_all_through(desk: Desk) -> None:
    desk.break_down("down")
    desk.now_s += POLICY.wait_s
    assert [desk.ask("down") is None for _ in range(3)] == [True, False, False]
    desk.end("down", OK)
    assert [desk.ask("down") is None for _ in range(3)] == [True, True, True]


def test_what_is_put_off_takes_no_share(desk: Desk) -> None:
    desk.break_down("down")
    assert {desk.ask("down").reason for _ in range(1_000)} == {HeldReason.CIRCUIT}  # type: ignore[union-attr]


def test_a_hanging_host_gets_half_of_the_slots_and_the_others_the_rest(desk: Desk) -> None:
    answers = [desk.ask("hangs") for _ in range(100)]
    assert [answer is None for answer in answers] == [True] * 50 + [False] * 50
    assert {answer.reason for answer in answers if answer is not None} == {HeldReason.HOST_BUSY}
    assert [desk.ask("other") for _ in range(50)] == [None] * 50


def test_a_share_of_one_is_no_bound() -> None:
    desk = Desk(slots=10, host_share=1.0)
    assert [desk.ask("host") for _ in range(10)] == [None] * 10


def test_every_worker_can_call_every_host() -> None:
    assert Desk(slots=1).ask("host") is None


def dues(answers: list[Postponed | None]) -> list[int]:
    return [answer.due_ms - NOW_MS for answer in answers if answer is not None]


def test_what_finds_no_slot_at_a_host_that_was_just_called_waits_for_a_moment(desk: Desk) -> None:
    due = dues([desk.ask("new") for _ in range(100)])
    assert due == sorted(set(due))
    assert len(due) == 50
    assert due[-1] == pytest.approx(250, abs=1)


def test_what_finds_no_slot_at_a_host_that_hangs_comes_back_one_after_the_other_and_not_at_once(desk: Desk) -> None:
    assert dues([desk.ask("hangs") for _ in range(50)]) == []
    desk.now_s += 0.25
    due = dues([desk.ask("hangs") for _ in range(50)])
    assert due == sorted(set(due))
    # Those of the next half second wait in their slots, the others leave them.
    assert due[:4] == pytest.approx([100, 200, 300, 400], abs=1)
    assert min(due[5:]) > limits.AHEAD_MS
    assert due[-1] == pytest.approx(50_000 / limits.HOST_PACE_MIN + limits.PUT_OFF_MS_MIN, abs=5)


def test_what_finds_no_slot_waits_as_long_as_the_host_takes_for_its_turn(desk: Desk) -> None:
    assert dues([desk.ask("host") for _ in range(50)]) == []
    desk.now_s += 0.5
    for _ in range(40):
        desk.end("host", OK)
    assert dues([desk.ask("host") for _ in range(80)]) == []
    # Forty answers in half a second.
    assert dues([desk.ask("host") for _ in range(3)]) == pytest.approx([12.5, 25, 37.5], abs=1)


def test_a_quick_host_may_have_all_slots(desk: Desk) -> None:
    for _ in range(60):
        assert desk.ask("quick") is None
        desk.end("quick", OK)
        assert desk.ask("quick") is None
    assert desk.ask("quick") is None


def test_timeouts_earn_nothing() -> None:
    desk = Desk(slots=100)
    assert [desk.ask("hangs") for _ in range(50)] == [None] * 50
    for _ in range(4):
        desk.end("hangs", Outcome(kind=OutcomeKind.TIMED_OUT))
    assert [desk.ask("hangs") is None for _ in range(5)] == [True] * 4 + [False]


def test_what_was_broken_off_leaves_its_slot(desk: Desk) -> None:
    for _ in range(200):
        assert desk.ask("host") is None
        desk.end("host", None)
    assert desk.admission._shares._hosts == {}


def test_answers_of_long_ago_earn_nothing() -> None:
    shares = Shares(10)
    for _ in range(5):
        assert shares.enter("h", 100.0) is None
    for now_s, more in ((100.5, 1), (101.9, 1), (102.0, 0)):
        shares.leave("h", 100.0, answered=True)
        assert shares.enter("h", 100.0) is None
        entered = shares.enter("h", now_s) is None
        assert entered == bool(more)
        if entered:
            shares.leave("h", now_s, answered=False)


moves = st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.floats(0, 3)), max_size=200)


@given(moves)
def test_shares_count_what_is_under_way_and_forget_the_rest(walk: list[tuple[str, bool, float]]) -> None:
    shares, under_way, now_s = Shares(6), {"a": 0, "b": 0, "c": 0}, 50.0
    for host, coming, pause_s in walk:
        now_s += pause_s
        if coming:
            wait_s = shares.enter(host, now_s)
            assert wait_s is None or 0 <= wait_s <= limits.HOST_WAIT_S_MAX
            under_way[host] += wait_s is None
            assert wait_s is None or under_way[host] >= 3
        elif under_way[host]:
            shares.leave(host, now_s, answered=pause_s < 1)
            under_way[host] -= 1
    assert {host: one.under_way for host, one in shares._hosts.items()} == {h: n for h, n in under_way.items() if n}


def test_targets_that_never_fail_have_no_circuit() -> None:
    circuits = Circuits(POLICY)
    for _ in range(100):
        circuits.record(("t", "h"), False, started_s=1.0, now_s=1.0)
        circuits.record(("t", "h"), None, started_s=1.0, now_s=1.0)
    assert len(circuits) == 0
    circuits.record(("t", "h"), True, started_s=1.0, now_s=1.0)
    circuits.record(("t", "h"), False, started_s=2.0, now_s=2.0)
    assert len(circuits) == 1
    circuits.record(("t", "h"), False, started_s=100.0, now_s=100.0)
    assert len(circuits) == 0


def test_circuits_are_bounded_and_those_that_failed_last_are_kept() -> None:
    circuits = Circuits(POLICY, most=3)
    for host in ("a", "b", "a", "c", "d"):
        circuits.record(("t", host), True, started_s=1.0, now_s=1.0)
    assert [host for _, host in circuits._circuits] == ["a", "c", "d"]


def test_runs_of_a_limited_task_are_put_off_one_after_the_other(desk: Desk) -> None:
    def ask() -> Postponed | None:
        return desk.admission.ask_task(a_claim(), "report", 2, now_s=desk.now_s, now_ms=NOW_MS)

    assert [ask(), ask()] == [None, None]
    put_off = [ask() for _ in range(100)]
    assert {one.reason for one in put_off if one is not None} == {HeldReason.CONCURRENCY}
    due = dues(put_off)
    assert len(due) == 100
    assert due == sorted(set(due))
    # They come back spread over time, not all of them every second.
    assert due[-1] - due[0] >= 90 / limits.HOST_PACE_MIN * 1000
    desk.admission.task_ended("report", now_s=desk.now_s)
    assert ask() is None
    assert ask() is not None
