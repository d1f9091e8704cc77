"""From a run to the HTTP call that carries it out (A22, B1)."""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from dueline import __version__
from dueline.domain.ids import JobId, RunId, job_text, run_text
from dueline.domain.job import Execution, HttpTarget, Tls
from dueline.domain.signing import new_secret, read_secret
from dueline.domain.states import RunKind
from dueline.engine.execution import calls
from dueline.engine.execution.calls import PreparedCall, Unsendable, prepare_call
from dueline.engine.execution.exchange import USUAL, CallOptions, HttpCall
from dueline.store.shapes import Claim

RUN_ID = RunId(bytes.fromhex("01890a5dac96774bbcceb302099a8057"))
JOB_ID = JobId(bytes.fromhex("01890a5dac96774bbcceb302099a8058"))
NOW_MS = 1_774_747_860_000
URL = "https://target.example/hook?a=1"
AGENT = f"User-Agent: Dueline/{__version__}"


def a_claim(*, job_id: JobId | None = JOB_ID, attempt: int = 2, token: int = 9, begun_ms: int | None = None) -> Claim:
    return Claim(
        run_id=RUN_ID,
        token=token,
        job_id=job_id,
        version=None if job_id is None else 4,
        tenant="acme",
        kind=RunKind.SCHEDULED,
        scheduled_ms=1_774_747_800_000,
        due_ms=1_774_747_860_000,
        claimed_ms=1_774_747_859_500,
        attempt=attempt,
        lost=0,
        exclusive=False,
        spec=None,
        begun_ms=begun_ms,
    )


def make_call(prepared: PreparedCall, claim: Claim, *keys: bytes, now_ms: int = NOW_MS) -> HttpCall:
    return calls.make_call(prepared, claim, run_text(claim.run_id), now_ms=now_ms, keys=keys)


def sent_headers(call: HttpCall) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in call.header_lines())


def execution(**target: Any) -> Execution:
    return Execution(target=HttpTarget(url=URL, **target), timeout_ms=4_321)


def test_a_call_carries_exactly_these_headers() -> None:
    call = make_call(prepare_call(execution(headers={"X-Colour": "green"}, body={"a": 1})), a_claim())
    assert call.header_lines() == (
        "X-Colour: green",
        "Content-Type: application/json",
        AGENT,
        "Idempotency-Key: run_01h455vb4pex5vsknk084sn02q",
        "Dueline-Run: run_01h455vb4pex5vsknk084sn02q",
        "Dueline-Attempt: 2",
        "Dueline-Token: 9",
        "Dueline-Scheduled-At: 2026-03-29T01:30:00.000Z",
        "Dueline-Tenant: acme",
        "traceparent: 00-01890a5dac96774bbcceb302099a8057-0000000000000009-01",
        f"Dueline-Job: {job_text(JOB_ID)}",
    )


def test_a_call_is_the_target_as_it_stands() -> None:
    call = make_call(prepare_call(execution(method="DELETE")), a_claim())
    assert (call.key, call.method, call.url, call.body, call.timeout_ms) == (RUN_ID, "DELETE", URL, None, 4_321)
    assert make_call(prepare_call(execution()), a_claim()).method == "POST"


def test_an_ad_hoc_run_names_no_job() -> None:
    call = make_call(prepare_call(execution()), a_claim(job_id=None))
    assert not any(line.startswith("Dueline-Job:") for line in call.header_lines())
    assert f"Dueline-Run: {run_text(RUN_ID)}" in call.header_lines()


def test_all_attempts_share_the_idempotency_key_and_differ_in_their_tokens() -> None:
    prepared = prepare_call(execution())
    first, second = (make_call(prepared, a_claim(attempt=n, token=10 * n)).header_lines() for n in (1, 2))
    trace = f"traceparent: 00-{RUN_ID.hex()}"
    assert {*first} - {*second} == {"Dueline-Attempt: 1", "Dueline-Token: 10", f"{trace}-{10:016x}-01"}
    assert {*second} - {*first} == {"Dueline-Attempt: 2", "Dueline-Token: 20", f"{trace}-{20:016x}-01"}


@pytest.mark.parametrize(
    ("body", "sent", "content_type"),
    [
        (None, None, None),
        ("", b"", "text/plain; charset=utf-8"),
        ("grün", "grün".encode(), "text/plain; charset=utf-8"),
        ('{"a":1}', b'{"a":1}', "text/plain; charset=utf-8"),
        ({"a": [1, None, "ü"]}, '{"a":[1,null,"ü"]}'.encode(), "application/json"),
        ({}, b"{}", "application/json"),
        ([], b"[]", "application/json"),
        (0, b"0", "application/json"),
        (False, b"false", "application/json"),
        (1.5, b"1.5", "application/json"),
    ],
)
def test_a_body_is_sent_as_text_or_as_json(body: Any, sent: bytes | None, content_type: str | None) -> None:
    prepared = prepare_call(execution(body=body))
    assert prepared.body == sent
    types = [line.partition(": ")[2] for line in prepared.headers if line.startswith("Content-Type")]
    assert types == ([] if content_type is None else [content_type])


@pytest.mark.parametrize("name", ["Content-Type", "content-type", "CONTENT-TYPE"])
def test_the_users_content_type_wins(name: str) -> None:
    prepared = prepare_call(execution(headers={name: "application/xml"}, body="<a/>"))
    assert prepared.headers == (f"{name}: application/xml", AGENT)


@pytest.mark.parametrize("name", ["User-Agent", "user-agent"])
def test_the_users_agent_wins(name: str) -> None:
    assert prepare_call(execution(headers={name: "mine"})).headers == (f"{name}: mine",)


def test_what_is_prepared_serves_every_run_of_a_version() -> None:
    prepared = prepare_call(execution(body={"a": 1}))
    make_call(prepared, a_claim())
    again = make_call(prepared, a_claim(attempt=3))
    assert again.headers is prepared.headers
    assert sum(line.startswith("Idempotency-Key") for line in again.header_lines()) == 1


def test_bytes_are_sent_as_bytes_and_take_no_values() -> None:
    prepared = prepare_call(execution(body_bytes=b"\x00{{run.id}}\xff"))
    call = make_call(prepared, a_claim())
    assert call.body == b"\x00{{run.id}}\xff"
    assert sent_headers(call)["Content-Type"] == "application/octet-stream"
    assert prepared.templates is None


def test_a_target_without_wishes_has_the_usual_options() -> None:
    assert prepare_call(execution()).options is USUAL
    target = execution(connect_timeout_ms=250, keep_headers=("x-request-id",), tls=Tls(verify=False))
    assert prepare_call(target).options == CallOptions(250, frozenset({"x-request-id"}), False, None)
    assert prepare_call(execution(tls=Tls(ca="pem"))).options == CallOptions(ca=b"pem")
    assert prepare_call(execution(keep_headers=())).options.keep == frozenset()


def test_values_are_put_into_url_headers_and_body() -> None:
    prepared = prepare_call(
        execution(
            headers={"X-Key": "{{run.id}}-{{ run.attempt }}", "X-Same": "{{run}} {{ x }}"},
            body={"at": "{{run.scheduled_at}}", "deep": ["{{job.name}}", {"{{run.kind}}": "100% {{tenant}}"}], "n": 1},
        ),
        job_name='say "hi"\n\u00fc',
    )
    call = make_call(prepared, a_claim())
    assert sent_headers(call)["X-Key"] == f"{run_text(RUN_ID)}-2"
    assert sent_headers(call)["X-Same"] == "{{run}} {{ x }}"
    assert json.loads(call.body or b"") == {
        "at": "2026-03-29T01:30:00.000Z",
        "deep": ['say "hi"\n\u00fc', {"scheduled": "100% acme"}],
        "n": 1,
    }


def test_values_in_a_url_are_percent_encoded_and_those_in_headers_stay_on_their_line() -> None:
    target = HttpTarget(url="http://t/{{job.name}}?at={{run.scheduled_at}}&50%25", headers={"X": "<{{job.name}}>"})
    call = make_call(prepare_call(Execution(target=target), job_name="a/b?\r\nc\u00fc"), a_claim())
    assert call.url == "http://t/a%2Fb%3F%0D%0Ac%C3%BC?at=2026-03-29T01%3A30%3A00.000Z&50%25"
    assert sent_headers(call)["X"] == "<a/b?%0D%0Ac%C3%BC>"


def test_a_text_takes_values_as_they_are() -> None:
    prepared = prepare_call(execution(body='100% of {{job.name}}, {"a": {{b}}}'), job_name='"x"')
    assert make_call(prepared, a_claim()).body == b'100% of "x", {"a": {{b}}}'


def test_a_run_whose_url_is_none_is_not_sent() -> None:
    prepared = prepare_call(Execution(target=HttpTarget(url="http://{{job.name}}/")), job_name="two words")
    with pytest.raises(Unsendable, match="host"):
        make_call(prepared, a_claim())
    assert prepared.host == "{{job.name}}"


def test_without_templates_nothing_is_made_anew() -> None:
    prepared = prepare_call(execution(body={"a": "{{b}} {{run}}"}))
    assert prepared.templates is None
    assert make_call(prepared, a_claim()).body is prepared.body


SECRETS = [new_secret(bytes([number]) * 32) for number in (1, 2, 3)]
KEYS = [read_secret(secret) for secret in SECRETS]


@pytest.mark.parametrize("body", [None, {"a": "ü"}, "text"])
def test_a_signature_is_taken_by_the_oracle_with_any_of_its_keys(body: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    call = make_call(prepare_call(execution(body=body)), a_claim(), KEYS[0], KEYS[1])
    headers = sent_headers(call)
    assert headers["webhook-id"] == headers["Idempotency-Key"]
    assert headers["webhook-timestamp"] == str(NOW_MS // 1000)
    name = "_Webhook__verify_timestamp"
    monkeypatch.setattr(Webhook, name, lambda _, text: calls_time(text))
    for secret in SECRETS[:2]:
        Webhook(secret).verify(call.body or b"", headers, json_parse=False)
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRETS[2]).verify(call.body or b"", headers, json_parse=False)


def calls_time(text: str) -> datetime:
    """The oracle's reading of a timestamp, without its look at the clock."""
    return datetime.fromtimestamp(float(text), tz=UTC)


def test_nothing_is_signed_without_a_key_or_against_the_targets_wish() -> None:
    for call in (
        make_call(prepare_call(execution()), a_claim()),
        make_call(prepare_call(execution(sign=False)), a_claim(), KEYS[0]),
    ):
        assert not any(name.startswith("webhook-") for name in sent_headers(call))


@pytest.mark.parametrize(
    ("begun_ms", "now_ms", "timeout_ms"),
    [
        (None, NOW_MS, 4_321),
        (None, NOW_MS + 9_000, 1_000),
        (NOW_MS - 7_000, NOW_MS, 3_000),
        (NOW_MS - 10_000, NOW_MS, 0),
        (NOW_MS - 99_000, NOW_MS, 0),
    ],
)
def test_an_attempt_gets_no_more_time_than_the_run_has_left(begun_ms: int | None, now_ms: int, timeout_ms: int) -> None:
    limited = msgspec.structs.replace(execution(), run_timeout_ms=10_000)
    assert make_call(prepare_call(limited), a_claim(begun_ms=begun_ms), now_ms=now_ms).timeout_ms == timeout_ms
