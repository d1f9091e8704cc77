"""What is tried again and what never is, step by step on a clock that stands still."""

import pytest

from dueline.sdk.answers import Answer
from dueline.sdk.calls import Call
from dueline.sdk.errors import AnswerLost, ApiError, Broken, Conflict, Invalid, OverQuota, Unavailable, Unreachable
from dueline.sdk.flows import call_steps
from dueline.sdk.retries import NEVER, RetryPolicy, wait_s
from dueline.wire.health import Health
from tests.sdk.stepping import Calls

OK = Answer(200, {}, b'{"status": "ok"}')
IN_PROGRESS = Answer(
    409, {"retry-after": "1"}, b'{"type": "urn:dueline:problem:in-progress", "title": "x", "status": 409}'
)
ANSWER_LOST = Answer(409, {}, b'{"type": "urn:dueline:problem:answer-lost", "title": "x", "status": 409}')
WRITES = ["POST", "PUT", "PATCH", "DELETE"]
KEYLESS = ["PUT", "PATCH", "DELETE"]
AWAY = Answer(503, {}, b"")
OVER_QUOTA = Answer(429, {}, b'{"type": "t", "title": "x", "status": 429, "quota": "run_now_per_minute"}')
LOST = Unreachable("the connection broke")
NOT_SENT = Unreachable("nobody there", sent=False)


def test_a_read_is_tried_again_whatever_became_of_it() -> None:
    calls = Calls()
    assert calls.make("GET", LOST, AWAY, Answer(502, {}, b"<html>"), OK).status == "ok"
    assert calls.pauses_s == [0.5, 1.0, 1.5]
    assert calls.left_s == [30.0, 29.5, 28.5, 27.0]


@pytest.mark.parametrize("status", [400, 404, 409, 422, 500])
def test_an_answer_that_stays_the_same_is_not_asked_for_again(status: int) -> None:
    calls = Calls()
    with pytest.raises(ApiError) as raised:
        calls.make("GET", Answer(status, {}, b""))
    assert (raised.value.status, calls.pauses_s) == (status, [])


@pytest.mark.parametrize("method", KEYLESS)
@pytest.mark.parametrize("failure", [LOST, AWAY, Answer(502, {}, b""), Answer(504, {}, b"")])
def test_a_write_without_a_key_that_may_have_taken_effect_is_never_repeated(
    method: str, failure: Answer | Unreachable
) -> None:
    calls = Calls()
    with pytest.raises((Unreachable, Unavailable, Broken)):
        calls.make(method, failure)
    assert len(calls.sent) == 1


@pytest.mark.parametrize("method", WRITES)
def test_a_write_that_never_arrived_is_repeated(method: str) -> None:
    calls = Calls()
    assert calls.make(method, NOT_SENT, NOT_SENT, OK).status == "ok"
    assert len(set(map(str, calls.sent))) == 1, "with the same key"


def test_a_quota_is_waited_for_where_the_server_says_how_long() -> None:
    calls = Calls()
    assert calls.make("POST", OVER_QUOTA._replace(headers={"retry-after": "7"}), OK).status == "ok"
    assert calls.pauses_s == [7.0]
    with pytest.raises(OverQuota):
        calls.make("POST", OVER_QUOTA)


def test_nothing_is_waited_for_that_comes_after_the_time_is_over() -> None:
    calls = Calls(timeout_s=7.0)
    with pytest.raises(OverQuota) as raised:
        calls.make("GET", OVER_QUOTA._replace(headers={"retry-after": "7"}))
    assert (raised.value.retry_after_s, calls.pauses_s) == (7.0, [])
    assert calls.make("GET", OVER_QUOTA._replace(headers={"retry-after": "6"}), OK).status == "ok"
    assert calls.left_s[-1] == 1.0


def test_the_attempts_are_bounded() -> None:
    calls = Calls(RetryPolicy(attempts_max=3))
    with pytest.raises(Unreachable):
        calls.make("GET", LOST, LOST, LOST)
    with pytest.raises(Unreachable):
        Calls(NEVER).make("GET", NOT_SENT)


def test_a_call_may_have_less_time_than_its_client() -> None:
    calls = Calls(timeout_s=30.0)
    calls.make("GET", OK, timeout_s=2.0)
    calls.make("GET", OK, timeout_s=200.0)
    assert calls.left_s == [2.0, 30.0]


def test_the_wait_is_random_below_a_bound_that_doubles_up_to_the_cap() -> None:
    policy = RetryPolicy(attempts_max=5_000, base_s=0.2, cap_s=5.0)
    bounds = [wait_s(policy, LOST, attempt=attempt, fraction=0.999_999) for attempt in (1, 2, 3, 6, 5_000)]
    assert [round(bound, 3) for bound in bounds] == [0.2, 0.4, 0.8, 5.0, 5.0]
    assert wait_s(policy, LOST, attempt=3, fraction=0.0) == 0.0


def test_a_post_is_repeated_with_the_same_key() -> None:
    calls = Calls()
    assert calls.make("POST", LOST, AWAY, IN_PROGRESS, OK).status == "ok"
    assert len({request.headers["idempotency-key"] for request in calls.sent}) == 1
    assert calls.pauses_s[-1] == 1.5


def test_what_was_done_without_an_answer_is_told_so() -> None:
    calls = Calls()
    with pytest.raises(AnswerLost):
        calls.make("POST", LOST, ANSWER_LOST)
    with pytest.raises(Conflict):
        calls.make("PUT", IN_PROGRESS)


def test_what_may_be_done_twice_is_repeated_without_a_key() -> None:
    calls = Calls()
    assert calls.make("POST", LOST, AWAY, OK, repeatable=True).status == "ok"
    assert "idempotency-key" not in calls.sent[0].headers


def test_what_is_never_sent_again_needs_no_key() -> None:
    calls = Calls(NEVER)
    calls.make("POST", OK)
    calls.make("POST", OK, idempotency_key="mine")
    assert [request.headers.get("idempotency-key") for request in calls.sent] == [None, '"mine"']


def test_every_post_has_a_key_and_nothing_else_has() -> None:
    calls = Calls()
    calls.make("POST", OK)
    calls.make("POST", OK, idempotency_key="order 17")
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        calls.make(method, OK)
    keys = [request.headers.get("idempotency-key") for request in calls.sent]
    assert keys == [f'"{bytes(10).hex()}"', '"order 17"', None, None, None, None]


@pytest.mark.parametrize("key", ['a"b', "a\\b", "é", "a\r\nb", "x" * 256])
def test_a_key_that_no_header_can_hold_is_refused_before_anything_is_sent(key: str) -> None:
    calls = Calls()
    with pytest.raises(Invalid, match="idempotency_key: must be 1 to 255 printable"):
        calls.make("POST", idempotency_key=key)


def test_a_key_may_have_255_letters() -> None:
    calls = Calls()
    calls.make("POST", OK, idempotency_key="x" * 255)
    assert calls.sent[0].headers["idempotency-key"] == f'"{"x" * 255}"'


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/a b"), ("GET", "/é"), ("GET", "x"), ("GET", "/a\r\nb"), ("get", "/")]
)
def test_what_no_request_can_begin_with_is_refused(method: str, path: str) -> None:
    calls = Calls()
    call = Call(kind=lambda: Health, method=method, path=path)
    with pytest.raises(Invalid, match="path: must be a method in capitals"):
        calls.take(call_steps(call, calls.terms))


def test_what_has_no_json_form_is_refused_before_anything_is_sent() -> None:
    for body in ({"a": object()}, {"a": {(1, 2): 3}}, {"a": "\ud800"}):
        with pytest.raises(Invalid, match="body: has no JSON form"):
            Calls().make("POST", body=body)


def test_an_answer_that_is_not_json_is_no_answer_of_a_dueline() -> None:
    with pytest.raises(Broken, match="is there something else at this address"):
        Calls().make("GET", Answer(200, {}, b"<html>welcome"))
