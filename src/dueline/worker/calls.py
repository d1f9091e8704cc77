"""From a run to the HTTP call that carries it out."""

from __future__ import annotations

from typing import Any

import msgspec

from dueline import __version__
from dueline.domain.ids import job_text, run_text
from dueline.domain.instants import format_instant
from dueline.domain.job import Execution, HttpTarget
from dueline.store.shapes import Claim
from dueline.worker.executors.http import HttpCall

_encoder = msgspec.json.Encoder()
_USER_AGENT = f"User-Agent: Dueline/{__version__}"


class PreparedCall(msgspec.Struct, frozen=True):
    """What is the same for every run of a job's version."""

    execution: Execution
    method: str
    url: str
    headers: tuple[str, ...]
    body: bytes | None
    awaited: bool
    """Whether the job's schedule counts from the end of its runs."""


def prepare_call(execution: Execution, *, awaited: bool = False) -> PreparedCall:
    target: HttpTarget = execution.target
    body, content_type = _encode_body(target.body)
    names = {name.lower() for name in target.headers}
    headers = [f"{name}: {value}" for name, value in target.headers.items()]
    if content_type is not None and "content-type" not in names:
        headers.append(f"Content-Type: {content_type}")
    if "user-agent" not in names:
        headers.append(_USER_AGENT)
    return PreparedCall(execution, target.method, target.url, tuple(headers), body, awaited)


def make_call(prepared: PreparedCall, claim: Claim) -> HttpCall:
    """The call of one attempt. The idempotency key is the same for all attempts of a run; the token only grows."""
    run = run_text(claim.run_id)
    headers = (
        *prepared.headers,
        f"Idempotency-Key: {run}",
        f"Dueline-Run: {run}",
        f"Dueline-Attempt: {claim.attempt}",
        f"Dueline-Token: {claim.token}",
        f"Dueline-Scheduled-At: {format_instant(claim.scheduled_ms)}",
        f"Dueline-Tenant: {claim.tenant}",
    )
    if claim.job_id is not None:
        headers += (f"Dueline-Job: {job_text(claim.job_id)}",)
    return HttpCall(claim.run_id, prepared.method, prepared.url, headers, prepared.body, prepared.execution.timeout_ms)


def _encode_body(body: Any) -> tuple[bytes | None, str | None]:
    if body is None:
        return None, None
    if isinstance(body, str):
        return body.encode(), "text/plain; charset=utf-8"
    return _encoder.encode(body), "application/json"
