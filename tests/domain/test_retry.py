"""Whether a failed attempt is tried again, and when (X7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain import limits
from dueline.domain.retry import Backoff, Conditions, RetryPolicy, decide, is_poison, is_retryable
from dueline.domain.run import Outcome, OutcomeKind

TIMED_OUT = Outcome(kind=OutcomeKind.TIMED_OUT)
ALMOST_ONE = 1 - 2**-53
policies = st.builds(
    RetryPolicy,
    max_attempts=st.integers(2, limits.ATTEMPTS_MAX),
    base_ms=st.integers(0, limits.RETRY_CAP_MS_MAX),
    cap_ms=st.integers(0, limits.RETRY_CAP_MS_MAX),
)
chances = st.floats(0, ALMOST_ONE)


def refused(status: int, retry_after_ms: int | None = None) -> Outcome:
    return Outcome(kind=OutcomeKind.REFUSED, status=status, retry_after_ms=retry_after_ms)


RETRIED = [
    TIMED_OUT,
    Outcome(kind=OutcomeKind.UNREACHABLE),
    Outcome(kind=OutcomeKind.ERRORED),
    *(refused(status) for status in (408, 425, 429, 500, 501, 502, 503, 504, 599)),
]
NOT_RETRIED = [
    Outcome(kind=OutcomeKind.SUCCEEDED, status=200),
    Outcome(kind=OutcomeKind.IMPOSSIBLE),
    Outcome(kind=OutcomeKind.CANCELLED),
    Outcome(kind=OutcomeKind.LOST),
    Outcome(kind=OutcomeKind.REFUSED),
    *(
        refused(status)
        for status in (100, 301, 302, 304, 400, 401, 403, 404, 407, 409, 410, 422, 424, 426, 428, 430, 451, 499)
    ),
]


@pytest.mark.parametrize("outcome", RETRIED, ids=str)
def test_what_may_pass_is_retried(outcome: Outcome) -> None:
    assert is_retryable(RetryPolicy(), outcome)
    assert decide(RetryPolicy(), outcome, attempts=1, chance=0.5) is not None


@pytest.mark.parametrize("outcome", NOT_RETRIED, ids=str)
def test_what_would_be_the_same_again_is_not_retried(outcome: Outcome) -> None:
    assert not is_retryable(RetryPolicy(), outcome)
    assert decide(RetryPolicy(), outcome, attempts=1, chance=0.5) is None


def test_every_kind_of_outcome_has_a_verdict() -> None:
    assert {outcome.kind for outcome in RETRIED + NOT_RETRIED} == set(OutcomeKind)


@pytest.mark.parametrize(("attempts", "again"), [(1, True), (4, True), (5, False), (6, False)])
def test_the_last_attempt_is_the_last(attempts: int, again: bool) -> None:
    assert (decide(RetryPolicy(max_attempts=5), TIMED_OUT, attempts=attempts, chance=0.5) is not None) is again


def test_a_policy_of_one_attempt_never_retries() -> None:
    assert decide(RetryPolicy(max_attempts=1), TIMED_OUT, attempts=1, chance=0.0) is None


@pytest.mark.parametrize(
    ("attempts", "ceiling_ms"), [(1, 1_000), (2, 2_000), (3, 4_000), (9, 256_000), (10, 300_000), (99, 300_000)]
)
def test_the_ceiling_doubles_up_to_the_cap(attempts: int, ceiling_ms: int) -> None:
    policy = RetryPolicy(max_attempts=100)
    assert decide(policy, TIMED_OUT, attempts=attempts, chance=0.0) == 0
    assert decide(policy, TIMED_OUT, attempts=attempts, chance=0.5) == ceiling_ms // 2
    assert decide(policy, TIMED_OUT, attempts=attempts, chance=ALMOST_ONE) == ceiling_ms - 1


@given(policies, st.sampled_from(RETRIED), st.integers(1, 10_000), chances)
def test_jitter_is_full_and_bounded_however_many_attempts(
    policy: RetryPolicy, outcome: Outcome, attempts: int, chance: float
) -> None:
    delay_ms = decide(policy, outcome, attempts=attempts, chance=chance)
    if attempts >= policy.max_attempts:
        assert delay_ms is None
    else:
        assert delay_ms is not None
        assert 0 <= delay_ms <= min(policy.cap_ms, policy.base_ms * 2 ** (attempts - 1))


@given(policies, st.integers(1, limits.ATTEMPTS_MAX), chances, chances)
def test_a_greater_chance_never_waits_less(policy: RetryPolicy, attempts: int, one: float, other: float) -> None:
    low = decide(policy, TIMED_OUT, attempts=attempts, chance=min(one, other))
    high = decide(policy, TIMED_OUT, attempts=attempts, chance=max(one, other))
    assert (low is None and high is None) or (low is not None and high is not None and low <= high)


@pytest.mark.parametrize("attempts", [1, 2, 4])
@pytest.mark.parametrize("chance", [0.0, 0.5, ALMOST_ONE])
def test_a_fixed_backoff_is_fixed(attempts: int, chance: float) -> None:
    policy = RetryPolicy(backoff=Backoff.FIXED, base_ms=7_000)
    assert decide(policy, TIMED_OUT, attempts=attempts, chance=chance) == 7_000


@pytest.mark.parametrize("status", [429, 503])
def test_a_target_that_asks_for_room_gets_half_of_the_ceiling_at_least(status: int) -> None:
    policy = RetryPolicy(base_ms=10_000)
    assert decide(policy, refused(status), attempts=1, chance=0.0) == 5_000
    assert decide(policy, refused(status), attempts=1, chance=0.4) == 5_000
    assert decide(policy, refused(status), attempts=1, chance=0.75) == 7_500


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("retry_after_ms", "delay_ms"),
    [
        (0, 5_000),
        (4_999, 5_000),
        (5_001, 5_001),
        (60_000, 60_000),
        (limits.RETRY_AFTER_MS_MAX, limits.RETRY_AFTER_MS_MAX),
        (limits.RETRY_AFTER_MS_MAX + 1, limits.RETRY_AFTER_MS_MAX),
        (10**18, limits.RETRY_AFTER_MS_MAX),
    ],
)
def test_retry_after_is_a_minimum_up_to_an_hour(status: int, retry_after_ms: int, delay_ms: int) -> None:
    outcome = refused(status, retry_after_ms)
    assert decide(RetryPolicy(base_ms=10_000), outcome, attempts=1, chance=0.0) == delay_ms


def test_retry_after_never_shortens_the_backoff() -> None:
    policy = RetryPolicy(base_ms=100_000, cap_ms=100_000)
    assert decide(policy, refused(429, 60_000), attempts=1, chance=0.9) == 90_000
    assert (
        decide(RetryPolicy(backoff=Backoff.FIXED, base_ms=9_000), refused(503, 1_000), attempts=1, chance=0.0) == 9_000
    )


def test_other_statuses_wait_as_ever() -> None:
    for status in (408, 425, 500, 502, 504):
        assert decide(RetryPolicy(base_ms=10_000), refused(status), attempts=1, chance=0.0) == 0


@pytest.mark.parametrize(
    ("max_lost", "lost", "poison"), [(3, 1, False), (3, 2, False), (3, 3, True), (3, 4, True), (1, 1, True)]
)
def test_a_run_is_poison_when_it_has_cost_so_many_workers(max_lost: int, lost: int, poison: bool) -> None:
    assert is_poison(RetryPolicy(max_lost=max_lost), lost=lost) is poison


def test_three_workers_are_the_default() -> None:
    assert RetryPolicy().max_lost == 3


@given(policies, chances, st.integers(0, 2 * limits.RETRY_CAP_MS_MAX))
def test_a_task_that_names_its_time_gets_it(policy: RetryPolicy, chance: float, after_ms: int) -> None:
    outcome = Outcome(kind=OutcomeKind.ERRORED, retry_after_ms=after_ms)
    assert decide(policy, outcome, attempts=1, chance=chance) == min(after_ms, limits.RETRY_CAP_MS_MAX)
    assert decide(policy, outcome, attempts=policy.max_attempts, chance=chance) is None


@pytest.mark.parametrize(
    ("attempts", "delay_ms"), [(1, 1_000), (2, 60_000), (3, 3_600_000), (4, 3_600_000), (99, 3_600_000)]
)
def test_a_list_is_gone_through_and_its_last_is_repeated(attempts: int, delay_ms: int) -> None:
    policy = RetryPolicy(max_attempts=100, backoff=Backoff.LIST, delays_ms=(1_000, 60_000, 3_600_000))
    for chance in (0.0, ALMOST_ONE):
        assert decide(policy, TIMED_OUT, attempts=attempts, chance=chance) == delay_ms


def test_a_target_that_asks_for_room_gets_it_from_a_list_too() -> None:
    policy = RetryPolicy(backoff=Backoff.LIST, delays_ms=(1_000,))
    assert decide(policy, refused(503, 9_000), attempts=1, chance=0.0) == 9_000


@pytest.mark.parametrize(("elapsed_ms", "again"), [(0, True), (3_000, True), (3_001, False), (99_000, False)])
def test_no_attempt_begins_after_the_time_for_them(elapsed_ms: int, again: bool) -> None:
    policy = RetryPolicy(backoff=Backoff.FIXED, base_ms=7_000, max_elapsed_ms=10_000)
    assert (decide(policy, TIMED_OUT, attempts=1, chance=0.0, elapsed_ms=elapsed_ms) is not None) is again


def test_a_target_that_asks_for_more_than_there_is_ends_the_run() -> None:
    policy = RetryPolicy(max_elapsed_ms=10_000)
    assert decide(policy, refused(429, 10_001), attempts=1, chance=0.0) is None
    assert decide(policy, refused(429, 10_000), attempts=1, chance=0.0) == 10_000


def test_what_to_retry_on_takes_the_place_of_the_default() -> None:
    policy = RetryPolicy(retry_on=Conditions(((404, 404), (500, 502)), (OutcomeKind.UNREACHABLE,)))
    again = [refused(404), refused(500), refused(502), Outcome(kind=OutcomeKind.UNREACHABLE)]
    assert all(is_retryable(policy, outcome) for outcome in again)
    last = [refused(429), refused(503), TIMED_OUT, Outcome(kind=OutcomeKind.ERRORED)]
    assert not any(is_retryable(policy, outcome) for outcome in last)
    assert not is_retryable(RetryPolicy(retry_on=Conditions()), TIMED_OUT)


def test_what_is_never_retried_is_taken_away_from_either() -> None:
    never = Conditions(((501, 501),), (OutcomeKind.TIMED_OUT,))
    for policy in (RetryPolicy(never_on=never), RetryPolicy(never_on=never, retry_on=Conditions(((500, 599),)))):
        assert not is_retryable(policy, refused(501))
        assert not is_retryable(policy, TIMED_OUT)
        assert is_retryable(policy, refused(500))


@pytest.mark.parametrize("kind", [OutcomeKind.CANCELLED, OutcomeKind.IMPOSSIBLE, OutcomeKind.LOST])
def test_no_policy_tries_again_what_cannot_be_tried(kind: OutcomeKind) -> None:
    everything = RetryPolicy(retry_on=Conditions(((100, 999),), tuple(OutcomeKind)))
    assert not is_retryable(everything, Outcome(kind=kind))
    assert not is_retryable(everything, refused(410))
    assert is_retryable(everything, refused(411))


@pytest.mark.parametrize(("elapsed_ms", "delay_ms"), [(0, 600_000), (1, None)])
def test_a_task_that_named_its_time_is_bound_by_the_time_for_all_attempts(
    elapsed_ms: int, delay_ms: int | None
) -> None:
    policy = RetryPolicy(max_elapsed_ms=600_000)
    outcome = Outcome(kind=OutcomeKind.ERRORED, retry_after_ms=600_000)
    assert decide(policy, outcome, attempts=1, chance=0.5, elapsed_ms=elapsed_ms) == delay_ms
