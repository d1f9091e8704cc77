"""From a run to the HTTP call that carries it out (A22, B1)."""

from typing import Any

import pytest

from dueline import __version__
from dueline.domain.ids import JobId, RunId, job_text, run_text
from dueline.domain.job import Execution, HttpTarget
from dueline.domain.states import RunKind
from dueline.store.shapes import Claim
from dueline.worker.calls import make_call, prepare_call

RUN_ID = RunId(bytes.fromhex("01890a5dac96774bbcceb302099a8057"))
JOB_ID = JobId(bytes.fromhex("01890a5dac96774bbcceb302099a8058"))
URL = "https://target.example/hook?a=1"
AGENT = f"User-Agent: Dueline/{__version__}"


def a_claim(*, job_id: JobId | None = JOB_ID, attempt: int = 2, token: int = 9) -> Claim:
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
    )


def execution(**target: Any) -> Execution:
    return Execution(target=HttpTarget(url=URL, **target), timeout_ms=4_321)


def test_a_call_carries_exactly_these_headers() -> None:
    call = make_call(prepare_call(execution(headers={"X-Colour": "green"}, body={"a": 1})), a_claim())
    assert call.headers == (
        "X-Colour: green",
        "Content-Type: application/json",
        AGENT,
        "Idempotency-Key: run_01h455vb4pex5vsknk084sn02q",
        "Dueline-Run: run_01h455vb4pex5vsknk084sn02q",
        "Dueline-Attempt: 2",
        "Dueline-Token: 9",
        "Dueline-Scheduled-At: 2026-03-29T01:30:00.000Z",
        "Dueline-Tenant: acme",
        f"Dueline-Job: {job_text(JOB_ID)}",
    )


def test_a_call_is_the_target_as_it_stands() -> None:
    call = make_call(prepare_call(execution(method="DELETE")), a_claim())
    assert (call.key, call.method, call.url, call.body, call.timeout_ms) == (RUN_ID, "DELETE", URL, None, 4_321)
    assert make_call(prepare_call(execution()), a_claim()).method == "POST"


def test_an_ad_hoc_run_names_no_job() -> None:
    call = make_call(prepare_call(execution()), a_claim(job_id=None))
    assert not any(line.startswith("Dueline-Job:") for line in call.headers)
    assert f"Dueline-Run: {run_text(RUN_ID)}" in call.headers


def test_all_attempts_share_the_idempotency_key_and_differ_in_their_tokens() -> None:
    prepared = prepare_call(execution())
    first, second = (make_call(prepared, a_claim(attempt=n, token=10 * n)).headers for n in (1, 2))
    assert {*first} - {*second} == {"Dueline-Attempt: 1", "Dueline-Token: 10"}
    assert {*second} - {*first} == {"Dueline-Attempt: 2", "Dueline-Token: 20"}


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
    assert again.headers[: len(prepared.headers)] == prepared.headers
    assert sum(line.startswith("Idempotency-Key") for line in again.headers) == 1
