"""What a tenant may have and do, exactly at the edge and one past it."""

import pytest

from dueline.domain.errors import Invalid, OverQuota
from dueline.domain.gates import Gate, Seen, unseen
from dueline.domain.job import HttpTarget, Target, TaskTarget
from dueline.domain.quotas import Quotas

NOW_MS = 1_767_225_600_000
MINUTE_MS = 60_000


def bucket(quotas: Quotas) -> Seen:
    gate = quotas.asking("acme", updated_ms=1)
    assert isinstance(gate, Gate)
    return unseen(gate)


def ask(quotas: Quotas, seen: Seen, count: int, *, now_ms: int) -> None:
    quotas.check_asking(seen, count, now_ms=now_ms)
    seen.draw(count, now_ms * 1_000)


@pytest.mark.parametrize(
    ("target", "field", "size"),
    [
        (HttpTarget(url="http://t/", body="é" * 5), "target.body", 10),
        (HttpTarget(url="http://t/", body={"a": "1234"}), "target.body", 12),
        (HttpTarget(url="http://t/", body_bytes=b"\xff" * 10), "target.body_base64", 10),
        (TaskTarget(task="t", args={"a": 1234}), "target.args", 10),
    ],
)
def test_a_payload_is_counted_in_the_bytes_that_are_sent(target: Target, field: str, size: int) -> None:
    Quotas(payload_bytes=size).check_payload(target)
    with pytest.raises(Invalid) as caught:
        Quotas(payload_bytes=size - 1).check_payload(target)
    ((told, reason),) = caught.value.problems
    assert told == field
    assert "payload_bytes" in reason


@pytest.mark.parametrize("target", [HttpTarget(url="http://t/"), TaskTarget(task="t")])
def test_no_payload_is_never_too_large(target: Target) -> None:
    Quotas(payload_bytes=1).check_payload(target)


def test_without_quotas_nothing_is_refused() -> None:
    nothing = Quotas()
    nothing.check_payload(HttpTarget(url="http://t/", body="x" * 1_000_000))
    nothing.check_backfill(1_000_000)
    assert nothing.asking("acme", updated_ms=1) is None


def test_a_backfill_may_be_as_large_as_its_quota() -> None:
    quotas = Quotas(backfill_runs=10)
    quotas.check_backfill(10)
    with pytest.raises(OverQuota) as caught:
        quotas.check_backfill(11)
    assert (caught.value.quota, caught.value.limit, caught.value.retry_after_s) == ("backfill_runs", 10, None)


def test_as_many_as_the_quota_may_be_asked_for_at_once_and_then_one_by_one() -> None:
    quotas = Quotas(run_now_per_minute=6)
    seen = bucket(quotas)
    for _ in range(6):
        ask(quotas, seen, 1, now_ms=NOW_MS)
    with pytest.raises(OverQuota) as caught:
        ask(quotas, seen, 1, now_ms=NOW_MS)
    assert (caught.value.quota, caught.value.limit, caught.value.used) == ("run_now_per_minute", 6, 6)
    assert caught.value.retry_after_s == 10
    with pytest.raises(OverQuota):
        ask(quotas, seen, 1, now_ms=NOW_MS + 9_999)
    ask(quotas, seen, 1, now_ms=NOW_MS + 10_000)


def test_many_at_once_wait_for_all_of_their_tokens() -> None:
    quotas = Quotas(run_now_per_minute=60)
    seen = bucket(quotas)
    ask(quotas, seen, 60, now_ms=NOW_MS)
    with pytest.raises(OverQuota) as caught:
        ask(quotas, seen, 30, now_ms=NOW_MS)
    assert caught.value.retry_after_s == 30
    ask(quotas, seen, 30, now_ms=NOW_MS + 30_000)


def test_more_than_a_minute_holds_is_not_told_to_wait() -> None:
    quotas = Quotas(run_now_per_minute=60)
    with pytest.raises(OverQuota) as caught:
        ask(quotas, bucket(quotas), 61, now_ms=NOW_MS)
    assert (caught.value.used, caught.value.retry_after_s) == (0, None)


def test_whoever_waits_as_long_as_it_says_gets_through() -> None:
    quotas = Quotas(run_now_per_minute=7)
    seen, now_ms = bucket(quotas), NOW_MS
    ask(quotas, seen, 7, now_ms=now_ms)
    for _ in range(20):
        with pytest.raises(OverQuota) as caught:
            ask(quotas, seen, 2, now_ms=now_ms)
        assert caught.value.retry_after_s is not None
        now_ms += caught.value.retry_after_s * 1_000
        ask(quotas, seen, 2, now_ms=now_ms)


def test_what_is_spent_comes_back() -> None:
    quotas = Quotas(run_now_per_minute=60)
    seen = bucket(quotas)
    ask(quotas, seen, 60, now_ms=NOW_MS)
    now_us = NOW_MS * 1_000
    assert seen.spent(now_us) == 60
    assert seen.spent(now_us + 999_999) == 60
    assert seen.spent(now_us + 1_000_000) == 59
    assert seen.spent(now_us + MINUTE_MS * 1_000) == 0


def test_what_is_left_to_ask_for_is_told_to_the_second() -> None:
    quotas = Quotas(run_now_per_minute=6)
    seen = bucket(quotas)

    def told(count: int, *, now_ms: int) -> tuple[int, int]:
        allowance = quotas.left_to_ask(seen, count, now_ms=now_ms)
        assert allowance is not None
        assert (allowance.quota, allowance.limit, allowance.window_s) == ("run_now_per_minute", 6, 60)
        return allowance.left, allowance.full_s

    assert told(0, now_ms=NOW_MS) == (6, 0)
    assert told(1, now_ms=NOW_MS) == (5, 10)
    assert told(6, now_ms=NOW_MS) == (0, 60)
    assert told(7, now_ms=NOW_MS) == (6, 0), "so many are refused, and nothing is taken"
    ask(quotas, seen, 5, now_ms=NOW_MS)
    assert told(1, now_ms=NOW_MS) == (0, 60)
    assert told(2, now_ms=NOW_MS) == (1, 50)
    assert told(1, now_ms=NOW_MS + 9_999) == (0, 51)
    assert told(1, now_ms=NOW_MS + 10_000) == (1, 50)
    assert told(1, now_ms=NOW_MS + 50_000) == (5, 10)
    assert Quotas().left_to_ask(seen, 1, now_ms=NOW_MS) is None
