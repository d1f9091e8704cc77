"""Targets as people write them: what they mean, what is refused and how, and that a view can be written again."""

from base64 import b64encode
from typing import Any

import msgspec
import pytest

from dueline.domain import limits
from dueline.domain.job import Execution, HttpTarget, Tls
from dueline.wire.jobs import JobInput, to_execution
from dueline.wire.problems import Problems
from dueline.wire.reading import decode, encode, read_body
from dueline.wire.runs import AdhocInput, to_spec
from dueline.wire.targets import target_form
from tests.support.target import KEY_AND_CERTIFICATE

CERTIFICATE = KEY_AND_CERTIFICATE[KEY_AND_CERTIFICATE.index("-----BEGIN CERTIFICATE") :]


def asked(target: Any, **fields: Any) -> tuple[Execution, list[tuple[str, str]]]:
    problems = Problems()
    form = read_body(encode({"target": {"url": "http://t/", **target}, **fields}), JobInput, problems)
    execution = to_execution(form, problems, payload_bytes_max=limits.PAYLOAD_BYTES_MAX)
    return execution, problems.found


def read(target: Any) -> HttpTarget:
    execution, problems = asked(target)
    assert problems == []
    assert isinstance(execution.target, HttpTarget)
    return execution.target


def stored(target: HttpTarget) -> Any:
    return msgspec.json.decode(msgspec.json.encode(target))


@pytest.mark.parametrize(
    "target",
    [
        {"connect_timeout": "10s"},
        {"connect_timeout": "PT10S", "expected_status": ["2xx"], "tls": {}, "sign": True},
        {"expected_status": ["200-299"], "keep_headers": ["Retry-After", "Location", "content-type"]},
        {"body": None, "body_base64": None, "headers": {}, "method": "post", "tls": {"verify": True, "ca": None}},
    ],
)
def test_defaults_take_no_room_however_they_are_said(target: Any) -> None:
    assert stored(read(target)) == {"type": "http", "url": "http://t/"}


@pytest.mark.parametrize(
    ("target", "kept"),
    [
        ({"body_base64": b64encode(b"\x00\xff").decode()}, {"body_bytes": b"\x00\xff"}),
        ({"connect_timeout": "250ms"}, {"connect_timeout_ms": 250}),
        ({"expected_status": [200, "404", "3xx"]}, {"expected_status": ((200, 200), (404, 404), (300, 399))}),
        ({"keep_headers": ["X-Request-Id", "Server", "server"]}, {"keep_headers": ("server", "x-request-id")}),
        ({"keep_headers": []}, {"keep_headers": ()}),
        ({"tls": {"verify": False}}, {"tls": Tls(verify=False)}),
        ({"tls": {"ca": CERTIFICATE}}, {"tls": Tls(ca=CERTIFICATE)}),
        ({"sign": False}, {"sign": False}),
        ({"url": "http://t/{{run.id}}?n={{ run.attempt }}"}, {"url": "http://t/{{run.id}}?n={{ run.attempt }}"}),
        ({"headers": {"X": "{{tenant}} {{other}}"}}, {"headers": {"X": "{{tenant}} {{other}}"}}),
        ({"body": {"a": ["{{job.name}}", "{{x}}"]}}, {"body": {"a": ["{{job.name}}", "{{x}}"]}}),
    ],
)
def test_what_is_asked_is_kept_and_a_view_can_be_written_again(target: Any, kept: dict[str, Any]) -> None:
    found = read(target)
    assert found == msgspec.structs.replace(HttpTarget(url="http://t/"), **kept)
    assert msgspec.json.decode(msgspec.json.encode(found), type=HttpTarget) == found
    assert read(decode(encode(target_form(found)))) == found


REFUSED: list[tuple[Any, str, str]] = [
    ({"body": 1, "body_base64": "AA=="}, "target.body_base64", "together with target.body"),
    ({"body_base64": "a"}, "target.body_base64", "not base64"),
    ({"body_base64": "a b c d "}, "target.body_base64", "not base64"),
    ({"body_base64": "ü"}, "target.body_base64", "not base64"),
    ({"body_base64": b64encode(bytes(65_537)).decode()}, "target.body_base64", "65537 bytes long"),
    ({"connect_timeout": "1ms"}, "target.connect_timeout", "between PT0.1S and PT5M"),
    ({"connect_timeout": "soon"}, "target.connect_timeout", "not a duration"),
    ({"expected_status": []}, "target.expected_status", "must name a status"),
    ({"expected_status": [200, "20x"]}, "target.expected_status[1]", '"5xx"'),
    ({"expected_status": ["timeout"]}, "target.expected_status[0]", "must be a status"),
    ({"expected_status": [200.5]}, "target.expected_status[0]", "a whole number or text"),
    ({"expected_status": [200] * 33}, "target.expected_status", "at most 32"),
    ({"keep_headers": ["a b"]}, "target.keep_headers[0]", "not the name of a header"),
    ({"keep_headers": ["x", "Set-Cookie"]}, "target.keep_headers[1]", "credentials"),
    ({"keep_headers": [f"x{n}" for n in range(17)]}, "target.keep_headers", "at most 16"),
    ({"tls": {"ca": "no"}}, "target.tls.ca", "PEM"),
    ({"tls": {"ca": ""}}, "target.tls.ca", "PEM"),
    ({"tls": {"ca": "ü"}}, "target.tls.ca", "PEM"),
    ({"tls": {"ca": KEY_AND_CERTIFICATE}}, "target.tls.ca", "no private key"),
    ({"tls": {"ca": CERTIFICATE * 40}}, "target.tls.ca", "longer than"),
    ({"tls": {"ca": CERTIFICATE, "verify": False}}, "target.tls.ca", "no use"),
    ({"tls": {"verfy": False}}, "target.tls.verfy", "did you mean verify?"),
    ({"sign": "yes"}, "target.sign", "true or false"),
    ({"headers": {"traceparent": "00-1-1-01"}}, "target.headers.traceparent", "set by Dueline"),
    ({"headers": {"Webhook-Signature": "v1,a"}}, "target.headers.Webhook-Signature", "set by Dueline"),
    ({"url": "http://t/{{run.no}}"}, "target.url", "{{run.no}} at letter 10 is unknown"),
    ({"url": "http://t/{{secrets.A}}"}, "target.url", "reserved"),
    ({"url": "http://t/{{x}}"}, "target.url", "must not hold '{'"),
    ({"url": "{{tenant}}://t/"}, "target.url", "must begin with http"),
    ({"url": "http://u@{{tenant}}/"}, "target.url", "user info"),
    ({"headers": {"X": "a {{job.nam}}"}}, "target.headers.X", "{{job.nam}} at letter 3 is unknown"),
    ({"body": "\n{{run.x}}"}, "target.body", "{{run.x}} at letter 2 is unknown"),
    ({"body": {"a": [1, "{{secrets.KEY}}"]}}, "target.body.a[1]", "{{secrets.KEY}} at letter 1 is reserved"),
    ({"body": {"{{run.y}}": 1}}, "target.body.{{run.y}}", "is unknown"),
]


@pytest.mark.parametrize(("target", "field", "reason"), REFUSED)
def test_what_cannot_work_is_refused_by_its_field(target: Any, field: str, reason: str) -> None:
    _, ((found, why), *more) = asked(target)
    assert found == field
    assert reason in why
    assert more == []


def test_a_run_without_a_job_has_no_job_to_name() -> None:
    problems = Problems()
    body = encode({"target": {"url": "http://t/{{run.id}}", "body": ["{{job.id}}"]}})
    to_spec(read_body(body, AdhocInput, problems), problems, now_ms=0)
    ((field, reason),) = problems.found
    assert field == "target.body[0]"
    assert "a run without a job has none" in reason


def test_a_time_for_the_whole_run() -> None:
    assert asked({}, run_timeout="2h")[0].run_timeout_ms == 7_200_000
    assert asked({})[0].run_timeout_ms is None
    for text in ("1ms", "31d", "x"):
        ((field, _),) = asked({}, run_timeout=text)[1]
        assert field == "run_timeout"
