"""What becomes of a run whose owner is gone, or did not end it in time (X6, X8, F3)."""

from typing import Any

import pytest

from dueline.domain.ids import BootId, RunId
from dueline.domain.job import Delivery, Execution, HttpTarget
from dueline.domain.retry import Backoff, RetryPolicy
from dueline.domain.run import OutcomeKind
from dueline.domain.states import RUN_MOVES, EndReason, RunState
from dueline.engine.execution.reclaiming import decide_reclaim
from dueline.store.shapes import Reclaim, Stray

NOW_MS = 1_767_225_600_000
CLAIMED_MS = NOW_MS - 60_000


def reclaimed(
    *,
    attempt: int = 1,
    lost: int = 0,
    overtime: bool = False,
    now_ms: int = NOW_MS,
    begun_ms: int | None = None,
    **execution: Any,
) -> Reclaim:
    stray = Stray(
        RunId(b"r" * 16), 7, None, None, BootId("w1"), attempt, lost, CLAIMED_MS, overtime, "{}", None, begun_ms
    )
    decided = decide_reclaim(
        stray, Execution(target=HttpTarget(url="http://t/"), **execution), now_ms=now_ms, chance=0.5
    )
    assert (decided.run_id, decided.token) == (stray.run_id, 7)
    assert decided.state in RUN_MOVES["reclaim"][1]
    return decided


def test_a_lost_run_goes_back_at_once() -> None:
    decided = reclaimed()
    assert (decided.state, decided.lost, decided.due_ms, decided.reason) == (RunState.READY, True, None, None)


def test_the_record_says_what_is_known() -> None:
    attempt = reclaimed(attempt=2).attempt
    assert (attempt.attempt, attempt.token, attempt.worker) == (2, 7, "w1")
    assert (attempt.claimed_ms, attempt.started_ms, attempt.finished_ms) == (CLAIMED_MS, None, NOW_MS)
    assert (attempt.outcome.kind, attempt.outcome.error) == (OutcomeKind.LOST, "the worker vanished")


@pytest.mark.parametrize(
    ("max_lost", "lost", "state"),
    [
        (3, 0, RunState.READY),
        (3, 1, RunState.READY),
        (3, 2, RunState.FAILED),
        (3, 3, RunState.FAILED),
        (1, 0, RunState.FAILED),
    ],
)
def test_it_is_poison_when_it_has_cost_exactly_so_many_workers(max_lost: int, lost: int, state: RunState) -> None:
    decided = reclaimed(attempt=lost + 1, lost=lost, retry=RetryPolicy(max_lost=max_lost))
    assert (decided.state, decided.lost) == (state, True)
    assert decided.reason == (EndReason.POISON if state is RunState.FAILED else None)


def test_lost_is_not_failed_also_after_the_last_attempt() -> None:
    assert reclaimed(attempt=1, retry=RetryPolicy(max_attempts=1)).state is RunState.READY
    assert reclaimed(attempt=100, lost=1, retry=RetryPolicy(max_attempts=5)).state is RunState.READY


FIXED = RetryPolicy(backoff=Backoff.FIXED, base_ms=7_000, max_attempts=3)


def test_an_attempt_past_its_timeout_is_tried_again_after_its_backoff() -> None:
    decided = reclaimed(overtime=True, retry=FIXED)
    assert (decided.state, decided.lost, decided.due_ms) == (RunState.RETRYING, False, NOW_MS + 7_000)
    assert decided.reason is None
    assert decided.attempt.outcome.kind is OutcomeKind.TIMED_OUT


@pytest.mark.parametrize(
    ("attempt", "lost", "state"),
    [(2, 0, RunState.RETRYING), (3, 0, RunState.FAILED), (3, 1, RunState.RETRYING), (4, 1, RunState.FAILED)],
)
def test_past_its_timeout_for_the_last_time_it_fails_and_lost_attempts_are_not_counted(
    attempt: int, lost: int, state: RunState
) -> None:
    decided = reclaimed(attempt=attempt, lost=lost, overtime=True, retry=FIXED)
    assert (decided.state, decided.lost) == (state, False)
    assert (decided.due_ms is None) == (state is RunState.FAILED)


def test_overtime_is_not_counted_as_a_lost_worker_nor_as_poison() -> None:
    decided = reclaimed(attempt=5, lost=3, overtime=True, retry=RetryPolicy(max_lost=1))
    assert (decided.state, decided.lost, decided.reason) == (RunState.RETRYING, False, None)


@pytest.mark.parametrize(("overtime", "reason"), [(False, "lost"), (True, "timed_out")])
def test_at_most_once_is_never_started_again(overtime: bool, reason: str) -> None:
    decided = reclaimed(overtime=overtime, delivery=Delivery.AT_MOST_ONCE)
    assert (decided.state, decided.reason, decided.due_ms) == (RunState.FAILED, reason, None)
    assert decided.lost is not overtime


def test_a_clock_behind_the_claim_does_not_put_the_end_before_it() -> None:
    assert reclaimed(now_ms=CLAIMED_MS - 5).attempt.finished_ms == CLAIMED_MS


@pytest.mark.parametrize(("begun_ms", "again"), [(None, True), (NOW_MS - 90_000, True), (NOW_MS - 90_001, False)])
def test_no_attempt_begins_after_the_time_for_them(begun_ms: int | None, again: bool) -> None:
    policy = RetryPolicy(backoff=Backoff.FIXED, base_ms=10_000, max_elapsed_ms=100_000)
    decided = reclaimed(attempt=2, overtime=True, begun_ms=begun_ms, retry=policy)
    assert decided.state is (RunState.RETRYING if again else RunState.FAILED)


@pytest.mark.parametrize("overtime", [False, True])
@pytest.mark.parametrize(("left_ms", "again"), [(1_001, True), (1_000, False), (0, False)])
def test_a_run_whose_time_is_over_ends(left_ms: int, again: bool, overtime: bool) -> None:
    wait_ms = 1_000 if overtime else 0
    policy = RetryPolicy(backoff=Backoff.FIXED, base_ms=1_000)
    begun_ms = NOW_MS - 90_000
    run_timeout_ms = 90_000 + left_ms - (1_000 - wait_ms)
    decided = reclaimed(attempt=2, overtime=overtime, begun_ms=begun_ms, retry=policy, run_timeout_ms=run_timeout_ms)
    assert (decided.state in (RunState.READY, RunState.RETRYING)) is again
    assert again or decided.reason == EndReason.RUN_TIMEOUT
