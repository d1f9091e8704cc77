"""Which calls an inbox takes as deliveries, with the worker's own calls and the reference library of Standard Webhooks."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.message import Message

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook

from dueline.domain.errors import Invalid
from dueline.domain.ids import run_text
from dueline.domain.signing import new_secret
from dueline.inbox import Delivery, Inbox, MalformedHeader, MissingHeader, Misused, OutOfTime, Rejected, WrongSignature
from dueline.inbox.delivery import Headers
from dueline.runtime.clock import ManualClock
from dueline.tasks.context import LocalContext
from tests.inbox.deliveries import BODY, KEY, NOW_MS, OLD_KEY, SECRET, a_delivery, a_run, sent

SIGNED = ("dueline-run", "webhook-id", "webhook-timestamp", "webhook-signature")
UNSIGNED = ("dueline-run", "dueline-token", "dueline-attempt", "dueline-scheduled-at", "dueline-tenant")


def an_inbox(secret: str | list[str] = SECRET, *, late_ms: int = 0) -> Inbox:
    return Inbox(secret=secret, clock=ManualClock(NOW_MS + late_ms))


def changed(pairs: list[tuple[str, str]], **values: str | None) -> list[tuple[str, str]]:
    """The headers with other values, or without some; names with underscores."""
    asked = {name.replace("_", "-"): value for name, value in values.items()}
    kept = [(name, value) for name, value in pairs if name.lower() not in asked]
    return kept + [(name, value) for name, value in asked.items() if value is not None]


def test_a_call_of_a_worker_is_a_delivery() -> None:
    headers, body = sent(KEY, attempt=2, token=7)
    assert an_inbox().receive(headers, body) == a_delivery(attempt=2, token=7)


def test_a_run_without_a_job_has_none() -> None:
    assert an_inbox().receive(*sent(KEY, job_id=None)).job_id is None


def as_message(pairs: list[tuple[str, str]]) -> Message:
    message = Message()
    for name, value in pairs:
        message[name] = value
    return message


@pytest.mark.parametrize(
    "form",
    [
        dict,
        iter,
        as_message,
        lambda pairs: {name.upper(): value for name, value in pairs},
        lambda pairs: [(name.lower().encode(), value.encode()) for name, value in pairs],
        lambda pairs: [(name, f" {value} ") for name, value in pairs],
    ],
)
def test_headers_come_in_many_forms(form: Callable[[list[tuple[str, str]]], Headers]) -> None:
    headers, body = sent(KEY)
    assert an_inbox().receive(form(headers), body) == a_delivery()


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 4_000_000_000))
def test_what_the_oracle_signs_is_taken(body: str, timestamp_s: int) -> None:
    run_id = run_text(a_run())
    signature = Webhook(SECRET).sign(run_id, datetime.fromtimestamp(timestamp_s, tz=UTC), body)
    headers = changed(sent(KEY)[0], webhook_timestamp=str(timestamp_s), webhook_signature=signature)
    inbox = Inbox(secret=SECRET, clock=ManualClock(timestamp_s * 1000))
    assert inbox.receive(headers, body.encode()).run_id == run_id


@pytest.mark.parametrize("secret", [SECRET, new_secret(OLD_KEY), [SECRET, new_secret(OLD_KEY)]])
def test_during_a_rotation_either_secret_will_do(secret: str | list[str]) -> None:
    assert an_inbox(secret).receive(*sent(KEY, OLD_KEY)) == a_delivery()


def test_one_of_several_secrets_is_enough() -> None:
    inbox = an_inbox([new_secret(b"n" * 32), SECRET])
    assert inbox.receive(*sent(KEY)) == a_delivery()
    with pytest.raises(WrongSignature):
        inbox.receive(*sent(OLD_KEY))


@pytest.mark.parametrize("name", SIGNED + UNSIGNED)
def test_a_missing_header_is_named(name: str) -> None:
    headers, body = sent(KEY)
    with pytest.raises(MissingHeader, match=name) as refused:
        an_inbox().receive(changed(headers, **{name: None}), body)
    assert refused.value.name == name


@pytest.mark.parametrize("name", SIGNED + UNSIGNED)
def test_a_header_that_is_there_twice_is_refused(name: str) -> None:
    headers, body = sent(KEY)
    with pytest.raises(MalformedHeader, match=f"{name} is there twice"):
        an_inbox().receive([*headers, *changed([], **{name: "1"})], body)


@pytest.mark.parametrize(
    "values",
    [
        {"dueline_run": "run_1"},
        {"dueline_run": run_text(a_run(2))},
        {"webhook_id": run_text(a_run(2))},
        {"dueline_run": "\udc80"},
        {"dueline_job": "job_1"},
        {"dueline_token": "-1"},
        {"dueline_token": "1" * 19},
        {"dueline_token": "\u0661"},
        {"dueline_attempt": ""},
        {"dueline_scheduled_at": "2026-01-01T00:00:00"},
        {"webhook_timestamp": "+1767225600"},
    ],
)
def test_a_header_that_says_nothing_is_refused(values: Mapping[str, str]) -> None:
    headers, body = sent(KEY)
    with pytest.raises(MalformedHeader):
        an_inbox().receive(changed(headers, **values), body)


@pytest.mark.parametrize("signature", ["", "v1,", "v1,ü", "\udc80", "v2,g0hM9SsE", " ", "v1"])
def test_a_signature_that_is_none_is_refused(signature: str) -> None:
    headers, body = sent(KEY)
    with pytest.raises(WrongSignature):
        an_inbox().receive(changed(headers, webhook_signature=signature), body)


def test_the_run_the_time_and_the_body_are_signed() -> None:
    headers, body = sent(KEY)
    other = run_text(a_run(2))
    with pytest.raises(WrongSignature):
        an_inbox().receive(changed(headers, webhook_timestamp=str(NOW_MS // 1000 + 1)), body)
    with pytest.raises(WrongSignature):
        an_inbox().receive(changed(headers, webhook_id=other, dueline_run=other), body)
    with pytest.raises(WrongSignature):
        an_inbox().receive(headers, body + b" ")
    with pytest.raises(WrongSignature):
        an_inbox(new_secret(OLD_KEY)).receive(headers, body)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_time_may_differ_by_five_minutes_to_the_millisecond(sign: int) -> None:
    headers, body = sent(KEY)
    assert an_inbox(late_ms=sign * 300_000).receive(headers, body) == a_delivery()
    with pytest.raises(OutOfTime, match="300 s ago" if sign > 0 else "300 s from now") as refused:
        an_inbox(late_ms=sign * 300_001).receive(headers, body)
    assert refused.value.late_s == sign * 300.001


def test_another_tolerance_is_kept() -> None:
    headers, body = sent(KEY)
    inbox = Inbox(secret=SECRET, tolerance=timedelta(seconds=1), clock=ManualClock(NOW_MS + 1_001))
    with pytest.raises(OutOfTime):
        inbox.receive(headers, body)


def test_unsigned_calls_are_taken_only_by_an_inbox_that_says_so() -> None:
    headers, body = sent()
    with pytest.raises(MissingHeader, match="webhook-id"):
        an_inbox().receive(headers, body)
    with pytest.raises(Misused, match="no secret"):
        Inbox().receive(headers, body)
    with pytest.raises(Misused, match="no secret"):
        Inbox(secret=[]).receive(headers, body)
    assert Inbox(unsigned=True).receive(headers, body) == a_delivery()


def test_a_rejection_is_one_error_to_catch() -> None:
    assert all(issubclass(error, Rejected) for error in (MissingHeader, MalformedHeader, WrongSignature, OutOfTime))
    assert not issubclass(Misused, Rejected)


@pytest.mark.parametrize("secret", ["", "hunter2", SECRET.removeprefix("whsec_")])
def test_a_bad_secret_is_told_when_the_program_starts(secret: str) -> None:
    with pytest.raises(Invalid, match="whsec_"):
        Inbox(secret=secret)


def test_a_secret_for_unsigned_calls_is_a_mistake() -> None:
    with pytest.raises(Invalid, match="unsigned"):
        Inbox(secret=SECRET, unsigned=True)


def test_a_body_that_was_read_and_written_again_is_another() -> None:
    headers, body = sent(KEY)
    assert body == BODY.encode()
    with pytest.raises(WrongSignature):
        an_inbox().receive(headers, BODY.replace(":", ": ").encode())


def test_the_context_of_a_task_is_a_delivery() -> None:
    expected = a_delivery(token=3, attempt=2)
    context = LocalContext(
        run_id=expected.run_id, job_id=expected.job_id, attempt=2, token=3, scheduled_ms=NOW_MS, tenant="acme"
    )
    assert Delivery.of(context) == expected
