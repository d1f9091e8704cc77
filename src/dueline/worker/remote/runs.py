"""From what a server hands out to a claim and its call, and from an ended attempt to what the server is told."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import msgspec

from dueline.domain import limits
from dueline.domain.durations import format_duration, parse_duration
from dueline.domain.ids import RunId, parse_job_id, parse_run_id, run_text
from dueline.domain.instants import format_instant, parse_instant
from dueline.domain.job import KEPT_BY_DEFAULT, Execution, HttpTarget, TaskTarget, Tls
from dueline.domain.states import RunKind
from dueline.domain.statuses import SUCCESSES
from dueline.engine.execution.calls import prepare_request
from dueline.engine.execution.exchange import HttpCall
from dueline.engine.execution.preparing import Prepared, PreparedTask
from dueline.store.shapes import Claim
from dueline.wire.policies import read_statuses
from dueline.wire.problems import Problems
from dueline.wire.reading import encode
from dueline.wire.targets import HttpTargetForm
from dueline.worker.executors.lanes import TaskCall
from dueline.worker.flights import Ended, task_call


class RemoteRun(msgspec.Struct, frozen=True):
    """A run in our hands: the claim on it, and what carries it out."""

    claim: Claim
    prepared: Prepared
    call: HttpCall | TaskCall


class RemoteEnd(msgspec.Struct, frozen=True):
    """An ended attempt on its way to the server."""

    run_id: RunId
    letters: int
    told: dict[str, Any]


def read_run(told: dict[str, Any], *, now_ms: int) -> RemoteRun:
    """A run as the server hands it out. What is not told stays with the server, which decides by it."""
    claim = Claim(
        run_id=parse_run_id(told["id"]),
        token=told["token"],
        job_id=None if told["job_id"] is None else parse_job_id(told["job_id"]),
        version=None,
        tenant=told["tenant"],
        kind=RunKind(told["kind"]),
        scheduled_ms=parse_instant(told["scheduled_at"], field="scheduled_at"),
        due_ms=parse_instant(told["due_at"], field="due_at"),
        claimed_ms=now_ms,
        attempt=told["attempt"],
        lost=0,
        exclusive=False,
        spec=None,
    )
    timeout_ms = parse_duration(told["timeout"], field="timeout", least_ms=0)
    target = told["target"]
    if target["type"] == "task":
        execution = Execution(target=TaskTarget(task=target["task"]), timeout_ms=timeout_ms)
        work = PreparedTask(execution, target["task"], encode(target["args"]), awaited=False)
        checkpoint = None if told["checkpoint"] is None else encode(told["checkpoint"])
        return RemoteRun(claim, work, task_call(claim, work, told["id"], checkpoint, timeout_ms=timeout_ms))
    prepared = prepare_request(Execution(target=_read_request(target), timeout_ms=timeout_ms))
    return RemoteRun(
        claim,
        prepared,
        HttpCall(
            claim.run_id,
            prepared.method,
            prepared.url,
            prepared.headers,
            prepared.body,
            timeout_ms,
            prepared.options,
        ),
    )


def tell_end(ended: Ended, *, started_ms: int, leaving: bool = False) -> RemoteEnd:
    """What the server is told of an ended attempt."""
    outcome, is_task = ended.outcome, isinstance(ended.prepared, PreparedTask)
    told: dict[str, Any] = {
        "id": run_text(ended.claim.run_id),
        "token": ended.claim.token,
        "outcome": outcome.kind,
        "status": outcome.status,
        "error": outcome.error,
        "headers": outcome.headers,
        "started_at": format_instant(started_ms),
    }
    if leaving:
        told["leaving"] = True
    if outcome.result is not None:
        told["result"] = msgspec.Raw(outcome.result.encode()) if is_task else outcome.result
    if outcome.retry_after_ms is not None:
        told["retry_after"] = format_duration(outcome.retry_after_ms)
    return RemoteEnd(ended.claim.run_id, len(outcome.result or ""), told)


def _read_request(told: dict[str, Any]) -> HttpTarget:
    form = msgspec.convert(told, HttpTargetForm)
    expected = read_statuses(form.expected_status, "expected_status", Problems())
    kept = tuple(form.keep_headers)
    connect_timeout_ms = parse_duration(form.connect_timeout, field="connect_timeout")
    return HttpTarget(
        url=form.url,
        method=form.method,
        headers=form.headers,
        body_bytes=None if form.body_base64 is None else b64decode(form.body_base64),
        connect_timeout_ms=None if connect_timeout_ms == limits.CONNECT_TIMEOUT_MS_DEFAULT else connect_timeout_ms,
        expected_status=() if expected == SUCCESSES else expected,
        keep_headers=None if kept == KEPT_BY_DEFAULT else kept,
        tls=None if form.tls.verify and form.tls.ca is None else Tls(verify=form.tls.verify, ca=form.tls.ca),
        sign=False,
    )
