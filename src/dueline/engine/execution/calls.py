"""From a run to the HTTP call that carries it out. Tasks have `preparing`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from dueline import __version__
from dueline.domain.errors import DuelineError
from dueline.domain.gates import Gate
from dueline.domain.ids import job_text
from dueline.domain.instants import format_instant
from dueline.domain.job import Execution, HttpTarget
from dueline.domain.signing import sign
from dueline.domain.statuses import SUCCESSES, Statuses
from dueline.domain.templates import Encode, Template, as_text, compile_template, in_header, in_json, in_url
from dueline.domain.urls import authority, url_problem
from dueline.engine.execution.deadlines import time_left_ms
from dueline.engine.execution.exchange import USUAL, CallOptions, HttpCall
from dueline.store.shapes import Claim

_encoder = msgspec.json.Encoder()
_HEADERS_KEPT = 256
_USER_AGENT = f"User-Agent: Dueline/{__version__}"


class Unsendable(DuelineError):
    """With the values of this run put in, it is no call that may be made."""


class Templates(msgspec.Struct, frozen=True):
    """The parts of a call that differ from run to run; None: the prepared part stands as it is."""

    url: Template | None
    headers: tuple[str | Template, ...] | None
    body: Template | None


class PreparedCall(msgspec.Struct, frozen=True, gc=False):
    """What is the same for every run of a job's version."""

    execution: Execution
    method: str
    url: str
    headers: tuple[str, ...]
    body: bytes | None
    awaited: bool
    """Whether the job's schedule counts from the end of its runs."""
    host: str
    """Whose health and share of slots the call counts for, as the URL names it: a place for a value stays one."""
    expected: Statuses
    signed: bool
    options: CallOptions
    templates: Templates | None
    job_name: str
    gates: tuple[Gate, ...] = ()
    """Those that its runs pass for their own sake."""


def prepare_call(
    execution: Execution, *, awaited: bool = False, job_name: str = "", gates: tuple[Gate, ...] = ()
) -> PreparedCall:
    """What all calls of an execution whose target is HTTP have in common."""
    target = execution.target
    assert isinstance(target, HttpTarget)
    body, content_type, encode = _encode_body(target)
    headers = _header_lines(tuple(target.headers.items()), content_type)
    return PreparedCall(
        execution,
        target.method,
        target.url,
        headers,
        body,
        awaited,
        authority(target.url),
        target.expected_status or SUCCESSES,
        target.sign,
        _options(target),
        _compile(target.url, headers, body, encode),
        job_name,
        gates,
    )


def prepare_request(execution: Execution) -> PreparedCall:
    """A call that was made elsewhere, values and signature included: it is sent as it stands."""
    target = execution.target
    assert isinstance(target, HttpTarget)
    return PreparedCall(
        execution,
        target.method,
        target.url,
        tuple(f"{name}: {value}" for name, value in target.headers.items()),
        target.body_bytes,
        False,
        authority(target.url),
        target.expected_status or SUCCESSES,
        False,
        _options(target),
        None,
        "",
    )


def make_call(prepared: PreparedCall, claim: Claim, run: str, *, now_ms: int, keys: Sequence[bytes] = ()) -> HttpCall:
    """The call of one attempt of a run, whose id as text is `run`; signed with `keys` if there are any. Raises Unsendable.

    The idempotency key is the same for all attempts of a run; the token only grows. All attempts are spans of one trace.
    """
    url, lines, body = prepared.url, prepared.headers, prepared.body
    if prepared.templates is not None:
        url, lines, body = _fill(prepared, prepared.templates, claim, run)
    told = (
        f"Idempotency-Key: {run}\r\nDueline-Run: {run}\r\nDueline-Attempt: {claim.attempt}\r\nDueline-Token: {claim.token}\r\n"
        f"Dueline-Scheduled-At: {format_instant(claim.scheduled_ms)}\r\nDueline-Tenant: {claim.tenant}\r\n"
        f"traceparent: 00-{claim.run_id.hex()}-{claim.token:016x}-01"
    )
    if claim.job_id is not None:
        told += f"\r\nDueline-Job: {job_text(claim.job_id)}"
    if keys and prepared.signed:
        told += _signed(run, now_ms // 1000, body or b"", keys)
    timeout_ms = time_left_ms(prepared.execution, claim, now_ms=now_ms)
    return HttpCall(claim.run_id, prepared.method, url, lines, body, timeout_ms, prepared.options, told)


@lru_cache(maxsize=_HEADERS_KEPT)
def _header_lines(headers: tuple[tuple[str, str], ...], content_type: str | None) -> tuple[str, ...]:
    """Kept: runs without a job have the same few again and again."""
    names = {name.lower() for name, _ in headers}
    lines = [f"{name}: {value}" for name, value in headers]
    if content_type is not None and "content-type" not in names:
        lines.append(f"Content-Type: {content_type}")
    if "user-agent" not in names:
        lines.append(_USER_AGENT)
    return tuple(lines)


def _encode_body(target: HttpTarget) -> tuple[bytes | None, str | None, Encode | None]:
    """The body, its content type, and how values are put into it; bytes take none."""
    if target.body_bytes is not None:
        return target.body_bytes, "application/octet-stream", None
    if target.body is None:
        return None, None, None
    if isinstance(target.body, str):
        return target.body.encode(), "text/plain; charset=utf-8", as_text
    return _encoder.encode(target.body), "application/json", in_json


def _options(target: HttpTarget) -> CallOptions:
    """`USUAL` itself for a target without wishes, so that a call like the one before costs nothing to set up."""
    if target.connect_timeout_ms is None and target.keep_headers is None and target.tls is None:
        return USUAL
    ca = None if target.tls is None or target.tls.ca is None else target.tls.ca.encode()
    return CallOptions(
        target.connect_timeout_ms,
        None if target.keep_headers is None else frozenset(target.keep_headers),
        target.tls is None or target.tls.verify,
        ca,
    )


def _compile(url: str, headers: tuple[str, ...], body: bytes | None, encode: Encode | None) -> Templates | None:
    if "{{" not in url and "{{" not in "\n".join(headers) and (body is None or b"{{" not in body):
        return None  # As nearly always: a run without a job pays for this each time.
    filled_url = compile_template(url, in_url)
    filled_body = None if body is None or encode is None else compile_template(body.decode(), encode)
    lines = tuple(compile_template(line, in_header) or line for line in headers)
    filled_lines = lines if any(isinstance(line, Template) for line in lines) else None
    if filled_url is None and filled_body is None and filled_lines is None:
        return None
    return Templates(filled_url, filled_lines, filled_body)


def _fill(
    prepared: PreparedCall, templates: Templates, claim: Claim, run: str
) -> tuple[str, tuple[str, ...], bytes | None]:
    values = _values(prepared, claim, run)
    url, lines, body = prepared.url, prepared.headers, prepared.body
    try:
        if templates.url is not None:
            url = templates.url.fill(values)
            if reason := url_problem(url):
                raise Unsendable(f"the URL of this run {reason}")
        if templates.headers is not None:
            lines = tuple(line if isinstance(line, str) else line.fill(values) for line in templates.headers)
        if templates.body is not None:
            body = templates.body.fill(values).encode()
    except KeyError as error:
        name = error.args[0]
        raise Unsendable(
            f"there is nothing to put in for {{{{{name}}}}}: take it out of the job, or redrive the run with the value in its place"
        ) from None
    return url, lines, body


def _values(prepared: PreparedCall, claim: Claim, run: str) -> Mapping[str, str]:
    return {
        "run.id": run,
        "run.attempt": str(claim.attempt),
        "run.scheduled_at": format_instant(claim.scheduled_ms),
        "run.kind": claim.kind,
        "job.id": "" if claim.job_id is None else job_text(claim.job_id),
        "job.name": prepared.job_name,
        "tenant": claim.tenant,
    }


def _signed(run: str, timestamp_s: int, body: bytes, keys: Sequence[bytes]) -> str:
    signature = sign(keys, message_id=run, timestamp_s=timestamp_s, body=body)
    return f"\r\nwebhook-id: {run}\r\nwebhook-timestamp: {timestamp_s}\r\nwebhook-signature: {signature}"
