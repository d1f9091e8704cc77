"""From a reply to the outcome of an attempt, and from there to what is written about the run."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dueline.domain import limits
from dueline.domain.ids import BootId, RunId
from dueline.domain.job import Delivery, Execution, HttpTarget
from dueline.domain.retry import Backoff, Conditions, RetryPolicy
from dueline.domain.run import Outcome, OutcomeKind
from dueline.domain.states import TERMINAL, EndReason, RunKind, RunState
from dueline.domain.statuses import Statuses
from dueline.engine.execution.outcomes import End, conclude, read_reply
from dueline.store.shapes import Claim, Finish, Reclaim, Retry
from dueline.worker.executors.http import HttpFailure, HttpReply

DUE_MS = 1_767_225_600_000
FIXED = RetryPolicy(backoff=Backoff.FIXED, base_ms=7_000, max_attempts=3)
TIMED_OUT = Outcome(kind=OutcomeKind.TIMED_OUT)
SUCCEEDED = Outcome(kind=OutcomeKind.SUCCEEDED, status=200)


def a_reply(status: int | None = None, failure: HttpFailure | None = None, **fields: Any) -> HttpReply:
    defaults = {"detail": "", "retry_after": None, "body": b"", "truncated": False, "started_s": 1.0, "finished_s": 2.0}
    return HttpReply(key="k", status=status, failure=failure, **(defaults | fields))


def a_claim(**fields: Any) -> Claim:
    defaults: dict[str, Any] = {
        "run_id": RunId(b"r" * 16),
        "token": 5,
        "job_id": None,
        "version": None,
        "tenant": "default",
        "kind": RunKind.ADHOC,
        "scheduled_ms": DUE_MS,
        "due_ms": DUE_MS,
        "claimed_ms": DUE_MS + 10,
        "attempt": 1,
        "lost": 0,
        "exclusive": True,
        "spec": "{}",
    }
    return Claim(**(defaults | fields))


def ended(
    outcome: Outcome,
    *,
    retry: RetryPolicy = FIXED,
    delivery: Delivery = Delivery.AT_LEAST_ONCE,
    cancel: str | None = None,
    run_timeout_ms: int | None = None,
    leaving: bool = False,
    doubt_ms: int = 0,
    **claim: Any,
) -> End:
    target = HttpTarget(url="http://t/")
    execution = Execution(target=target, retry=retry, delivery=delivery, run_timeout_ms=run_timeout_ms)
    return conclude(
        a_claim(**claim),
        execution,
        outcome,
        worker=BootId("w1"),
        started_ms=DUE_MS + 20,
        finished_ms=DUE_MS + 50,
        chance=lambda: 0.5,
        cancel=cancel,
        leaving=leaving,
        doubt_ms=doubt_ms,
    )


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (HttpFailure.INVALID, OutcomeKind.IMPOSSIBLE),
        (HttpFailure.DNS, OutcomeKind.UNREACHABLE),
        (HttpFailure.REFUSED_ADDRESS, OutcomeKind.IMPOSSIBLE),
        (HttpFailure.CONNECT, OutcomeKind.UNREACHABLE),
        (HttpFailure.TLS, OutcomeKind.UNREACHABLE),
        (HttpFailure.TIMEOUT, OutcomeKind.TIMED_OUT),
        (HttpFailure.PROTOCOL, OutcomeKind.ERRORED),
        (HttpFailure.TOO_LARGE, OutcomeKind.ERRORED),
        (HttpFailure.CANCELLED, OutcomeKind.CANCELLED),
        (HttpFailure.CLOSED, OutcomeKind.ERRORED),
        (HttpFailure.INTERNAL, OutcomeKind.ERRORED),
    ],
)
def test_a_failure_is_an_outcome(failure: HttpFailure, kind: OutcomeKind) -> None:
    outcome = read_reply(a_reply(failure=failure, detail="why"))
    assert outcome == Outcome(kind=kind, error=f"{failure}: why")


def test_every_failure_has_its_outcome() -> None:
    for failure in HttpFailure:
        assert read_reply(a_reply(failure=failure)).kind is not OutcomeKind.SUCCEEDED


@pytest.mark.parametrize("status", [200, 201, 202, 204, 206, 299])
def test_success_is_2xx(status: int) -> None:
    assert read_reply(a_reply(status)) == Outcome(kind=OutcomeKind.SUCCEEDED, status=status)


@pytest.mark.parametrize("status", [199, 300, 301, 302, 304, 307, 308, 400, 404, 408, 429, 499, 500, 503, 599])
def test_anything_else_is_a_refusal(status: int) -> None:
    assert read_reply(a_reply(status)) == Outcome(
        kind=OutcomeKind.REFUSED, status=status, error=f"the target answered {status}"
    )


@pytest.mark.parametrize(
    ("expected", "successes", "refusals"),
    [
        (((200, 200), (404, 404)), (200, 404), (201, 410, 500)),
        (((200, 299), (301, 302)), (204, 301, 302), (300, 303)),
        (((500, 599),), (500, 599), (200, 499)),
    ],
)
def test_success_is_what_was_expected(expected: Statuses, successes: list[int], refusals: list[int]) -> None:
    for status in successes:
        assert read_reply(a_reply(status), expected) == Outcome(kind=OutcomeKind.SUCCEEDED, status=status)
    for status in refusals:
        assert read_reply(a_reply(status), expected).kind is OutcomeKind.REFUSED


@pytest.mark.parametrize("status", [200, 500])
def test_headers_that_were_kept_are_told(status: int) -> None:
    assert read_reply(a_reply(status, headers={"x-request-id": "7"})).headers == {"x-request-id": "7"}


@pytest.mark.parametrize("status", [200, 500])
def test_the_body_is_the_result_whatever_bytes_it_holds(status: int) -> None:
    assert read_reply(a_reply(status, body="grün".encode())).result == "grün"
    assert read_reply(a_reply(status, body=b"")).result is None
    torn = read_reply(a_reply(status, body=b"\xff\x00\xc3")).result
    assert torn == "\N{REPLACEMENT CHARACTER}\x00\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("header", "retry_after_ms"),
    [
        (None, None),
        ("1", 1_000),
        ("120", 120_000),
        ("3600", limits.RETRY_AFTER_MS_MAX),
        ("3601", limits.RETRY_AFTER_MS_MAX),
        ("21600", limits.RETRY_AFTER_MS_MAX),
        ("", None),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
    ],
)
def test_retry_after_is_read_in_seconds_and_bounded(header: str | None, retry_after_ms: int | None) -> None:
    assert read_reply(a_reply(503, retry_after=header)).retry_after_ms == retry_after_ms


def test_a_long_account_of_a_failure_is_cut() -> None:
    error = read_reply(a_reply(failure=HttpFailure.TLS, detail="x" * 10_000)).error
    assert error is not None
    assert len(error) == limits.ERROR_LETTERS_MAX


def test_a_success_ends_the_run() -> None:
    end = ended(SUCCEEDED)
    assert isinstance(end, Finish)
    assert (end.run_id, end.token, end.state, end.exclusive) == (b"r" * 16, 5, RunState.SUCCEEDED, True)
    assert (end.started_ms, end.finished_ms, end.reason) == (DUE_MS + 20, DUE_MS + 50, None)
    attempt = end.attempt
    assert (attempt.attempt, attempt.token, attempt.worker, attempt.outcome) == (1, 5, "w1", SUCCEEDED)
    assert (attempt.claimed_ms, attempt.started_ms, attempt.finished_ms) == (DUE_MS + 10, DUE_MS + 20, DUE_MS + 50)


def test_a_wait_begins_when_the_attempt_has_certainly_ended() -> None:
    end = ended(TIMED_OUT, doubt_ms=80)
    assert isinstance(end, Retry)
    assert (end.due_ms, end.attempt.finished_ms) == (DUE_MS + 50 + 80 + 7_000, DUE_MS + 50)


def test_a_failure_that_may_pass_is_tried_again_after_its_backoff() -> None:
    end = ended(TIMED_OUT)
    assert isinstance(end, Retry)
    assert (end.run_id, end.token, end.due_ms) == (b"r" * 16, 5, DUE_MS + 50 + 7_000)
    assert end.attempt.outcome == TIMED_OUT


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        (OutcomeKind.IMPOSSIBLE, RunState.FAILED),
        (OutcomeKind.REFUSED, RunState.FAILED),
        (OutcomeKind.CANCELLED, RunState.CANCELLED),
    ],
)
def test_what_would_be_the_same_again_ends_the_run(kind: OutcomeKind, state: RunState) -> None:
    end = ended(Outcome(kind=kind, status=404 if kind is OutcomeKind.REFUSED else None))
    assert isinstance(end, Finish)
    assert end.state is state


@pytest.mark.parametrize(
    ("attempt", "lost", "again"), [(2, 0, True), (3, 0, False), (3, 1, True), (5, 2, False), (4, 2, True)]
)
def test_lost_attempts_are_not_counted(attempt: int, lost: int, again: bool) -> None:
    assert isinstance(ended(TIMED_OUT, attempt=attempt, lost=lost), Retry if again else Finish)


@pytest.mark.parametrize("kind", OutcomeKind)
def test_at_most_once_is_never_tried_again(kind: OutcomeKind) -> None:
    end = ended(Outcome(kind=kind, status=503), delivery=Delivery.AT_MOST_ONCE)
    assert not isinstance(end, Retry)
    assert end.state in TERMINAL
    assert (end.state is RunState.SUCCEEDED) == (kind is OutcomeKind.SUCCEEDED)


DIED = Outcome(kind=OutcomeKind.LOST, error="its process died of signal 9")


@pytest.mark.parametrize(("lost", "state"), [(0, RunState.READY), (1, RunState.READY), (2, RunState.FAILED)])
def test_a_run_whose_process_died_goes_back_at_once_until_it_is_poison(lost: int, state: RunState) -> None:
    end = ended(DIED, attempt=lost + 1, lost=lost)
    assert isinstance(end, Reclaim)
    assert (end.state, end.lost, end.due_ms, end.token) == (state, True, None, 5)
    assert (end.attempt.started_ms, end.attempt.finished_ms) == (DUE_MS + 20, DUE_MS + 50)
    assert end.attempt.outcome.error is not None
    assert end.attempt.outcome.error.startswith("its process died of signal 9")
    assert ("redrive" in end.attempt.outcome.error) == (end.reason == EndReason.POISON) == (state is RunState.FAILED)


@pytest.mark.parametrize("lost", [0, 2, 50])
def test_a_run_that_its_worker_breaks_off_because_it_leaves_is_no_poison(lost: int) -> None:
    end = ended(DIED, attempt=lost + 1, lost=lost, leaving=True)
    assert isinstance(end, Reclaim)
    assert (end.state, end.lost, end.counted, end.reason) == (RunState.READY, False, False, None)
    once = ended(DIED, delivery=Delivery.AT_MOST_ONCE, leaving=True)
    assert isinstance(once, Reclaim)
    assert once.state is RunState.FAILED


def test_a_run_whose_process_died_when_it_was_to_be_cancelled_ends() -> None:
    end = ended(DIED, cancel="requested")
    assert isinstance(end, Reclaim)
    assert (end.state, end.reason) == (RunState.CANCELLED, "requested")


def test_a_success_is_never_tried_again_however_many_attempts_are_left() -> None:
    assert isinstance(ended(SUCCEEDED, retry=RetryPolicy(max_attempts=100)), Finish)


around = st.integers(DUE_MS - 5_000, DUE_MS + 5_000)


@settings(derandomize=True, deadline=None)
@given(around, around, around, st.sampled_from([TIMED_OUT, SUCCEEDED]))
def test_times_are_in_order_whatever_the_clocks_say(
    claimed_ms: int, started_ms: int, finished_ms: int, outcome: Outcome
) -> None:
    # Claimed ahead or late, started by a clock that lags behind the store's.
    end = conclude(
        a_claim(claimed_ms=claimed_ms),
        Execution(target=HttpTarget(url="http://t/"), retry=FIXED),
        outcome,
        worker=BootId("w1"),
        started_ms=started_ms,
        finished_ms=finished_ms,
        chance=lambda: 0.0,
    )
    attempt = end.attempt
    assert attempt.started_ms is not None
    assert attempt.claimed_ms == claimed_ms
    assert max(DUE_MS, claimed_ms, started_ms) == attempt.started_ms <= attempt.finished_ms
    assert attempt.finished_ms >= finished_ms
    if isinstance(end, Finish):
        assert (end.started_ms, end.finished_ms) == (attempt.started_ms, attempt.finished_ms)
    else:
        assert end.due_ms == attempt.finished_ms + FIXED.base_ms


@pytest.mark.parametrize("outcome", [TIMED_OUT, Outcome(kind=OutcomeKind.CANCELLED)])
def test_a_run_that_was_to_be_cancelled_is_not_tried_again(outcome: Outcome) -> None:
    end = ended(outcome, cancel="superseded")
    assert isinstance(end, Finish)
    assert (end.state, end.reason) == (RunState.CANCELLED, "superseded")


def test_a_run_that_succeeded_before_it_could_be_cancelled_has_succeeded() -> None:
    end = ended(SUCCEEDED, cancel="superseded")
    assert isinstance(end, Finish)
    assert (end.state, end.reason) == (RunState.SUCCEEDED, None)


@pytest.mark.parametrize("delivery", Delivery)
def test_a_target_that_is_gone_is_not_tried_again_and_the_end_says_so(delivery: Delivery) -> None:
    gone = Outcome(kind=OutcomeKind.REFUSED, status=410)
    end = ended(gone, delivery=delivery, retry=RetryPolicy(retry_on=Conditions(((400, 499),))))
    assert isinstance(end, Finish)
    assert (end.state, end.reason) == (RunState.FAILED, EndReason.GONE)


def test_a_410_that_was_expected_is_a_success() -> None:
    outcome = read_reply(a_reply(410), ((410, 410),))
    end = ended(outcome)
    assert isinstance(end, Finish)
    assert (end.state, end.reason) == (RunState.SUCCEEDED, None)


@pytest.mark.parametrize(
    ("elapsed_ms", "again"),
    [(7_050, True), (7_049, False)],
)
def test_retries_end_with_the_time_for_them(elapsed_ms: int, again: bool) -> None:
    # It ended 50 ms after its first attempt began, and waits for seven seconds.
    policy = msgspec.structs.replace(FIXED, max_elapsed_ms=elapsed_ms)
    end = ended(TIMED_OUT, retry=policy, claimed_ms=DUE_MS)
    assert isinstance(end, Retry if again else Finish)


def test_the_time_for_retries_counts_from_the_first_attempt() -> None:
    policy = msgspec.structs.replace(FIXED, max_elapsed_ms=10_000)
    assert isinstance(ended(TIMED_OUT, retry=policy, attempt=2, begun_ms=DUE_MS - 2_950), Retry)
    assert isinstance(ended(TIMED_OUT, retry=policy, attempt=2, begun_ms=DUE_MS - 2_951), Finish)


@pytest.mark.parametrize(("run_timeout_ms", "again"), [(7_051, True), (7_050, False)])
def test_a_run_whose_next_attempt_would_come_too_late_ends_with_the_reason(run_timeout_ms: int, again: bool) -> None:
    end = ended(Outcome(kind=OutcomeKind.ERRORED), run_timeout_ms=run_timeout_ms, claimed_ms=DUE_MS)
    if again:
        assert isinstance(end, Retry)
    else:
        assert isinstance(end, Finish)
        assert (end.state, end.reason) == (RunState.FAILED, EndReason.RUN_TIMEOUT)


@pytest.mark.parametrize("delivery", Delivery)
def test_an_attempt_that_was_cut_off_by_the_end_of_its_run_says_so(delivery: Delivery) -> None:
    end = ended(TIMED_OUT, run_timeout_ms=50, delivery=delivery, retry=RetryPolicy(max_attempts=1))
    assert isinstance(end, Finish)
    assert (end.state, end.reason) == (RunState.FAILED, EndReason.RUN_TIMEOUT)


def test_an_answer_that_would_be_the_same_again_is_the_reason_itself() -> None:
    end = ended(Outcome(kind=OutcomeKind.REFUSED, status=404), run_timeout_ms=50)
    assert isinstance(end, Finish)
    assert (end.state, end.reason) == (RunState.FAILED, None)
