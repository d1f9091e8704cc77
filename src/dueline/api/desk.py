"""The desk for workers in any language, over HTTP."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

import msgspec
from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.desk_forms import (
    checked,
    read_given_back,
    read_offers,
    read_progress,
    read_rates,
    read_result,
    read_run_id,
)
from dueline.api.requests import json_body, optional_body
from dueline.api.routes import ApiRoute, Surface
from dueline.api.workers import worker_id_of
from dueline.domain import limits
from dueline.domain.access import KeyRole
from dueline.domain.durations import format_duration
from dueline.domain.ids import RunId, job_text, run_text
from dueline.domain.instants import format_instant
from dueline.domain.texts import CONTROL
from dueline.engine.desk import Leased
from dueline.engine.execution.calls import PreparedCall
from dueline.engine.execution.exchange import HttpCall
from dueline.store.fleet import NewNode, Role
from dueline.wire.desk import (
    AcceptedView,
    CancelView,
    HeartbeatInput,
    HeartbeatView,
    HeldRun,
    LeasedView,
    LeaseInput,
    LeaseView,
    ProgressInput,
    RegisteredView,
    RegisterInput,
    ReleaseInput,
    ReportInput,
)
from dueline.wire.labels import check_count, check_labels, check_names_list, read_duration
from dueline.wire.problems import Problems
from dueline.wire.targets import HttpTargetForm, TargetView, TaskTargetForm, target_form

_WAIT_MS_MAX = 30_000
"""Longer waits meet the patience of proxies."""
_QUEUES_MAX = 64
_TEXT_LETTERS_MAX = 200
_BUSY_MAX = 1_000_000
_HOLDING_MAX = 100_000
"""Ids of one call: they are read in a tenth of a second."""


async def register(surface: Surface, request: Request) -> Response:
    problems = Problems()
    asked = await optional_body(request, RegisterInput, problems)
    check_names_list(asked.queues, "queues", problems, most=_QUEUES_MAX, noun="queues")
    check_labels(asked.labels, "labels", problems)
    check_count(asked.slots, "slots", problems, least=1, most=_BUSY_MAX)
    check_count(asked.pid, "pid", problems, least=0, most=2**31 - 1)
    for field in ("host", "version"):
        text = getattr(asked, field)
        if len(text) > _TEXT_LETTERS_MAX or CONTROL.search(text):
            problems.add(field, f"must have at most {_TEXT_LETTERS_MAX} letters, without control characters")
    if not asked.takes:
        problems.add("takes", "must name task or http, otherwise there is nothing to give")
    types = read_offers(asked.tasks, problems)
    problems.raise_any()
    boot_id = surface.desk.new_id()
    node = NewNode(
        boot_id=boot_id,
        role=Role.WORKER,
        host=asked.host,
        pid=asked.pid,
        version=asked.version,
        queues=tuple(asked.queues),
        labels=tuple(sorted({*asked.labels, *asked.takes})),
        tasks=tuple(sorted(offered.name for offered in types)),
        slots=asked.slots,
    )
    await surface.desk.register(node, types)
    view = RegisteredView(
        id=boot_id,
        lease=format_duration(int(limits.LEASE_S * 1000)),
        beat=format_duration(int(limits.BEAT_S * 1000)),
    )
    return json_answer(view, status=201)


async def heartbeat(surface: Surface, request: Request) -> Response:
    problems = Problems()
    asked = await optional_body(request, HeartbeatInput, problems)
    check_count(asked.busy, "busy", problems, least=0, most=_BUSY_MAX)
    rates = read_rates(asked.rates, problems)
    problems.raise_any()
    beat = await surface.desk.beat(worker_id_of(request), busy=asked.busy, rates=rates)
    cancels = [CancelView(id=run_text(one.run_id), token=one.token, reason=one.reason) for one in beat.cancels]
    return json_answer(HeartbeatView(now=format_instant(beat.now_ms), drain=beat.drain_asked, cancels=cancels))


async def lease(surface: Surface, request: Request) -> Response:
    problems = Problems()
    asked = await optional_body(request, LeaseInput, problems)
    check_count(asked.limit, "limit", problems, least=0, most=limits.CLAIM_BATCH)
    wait_ms = read_duration(asked.wait, "wait", problems, least_ms=0, most_ms=_WAIT_MS_MAX)
    holding = None
    if asked.holding is not None:
        check_count(len(asked.holding), "holding", problems, least=0, most=_HOLDING_MAX)
        holding = {read_run_id(text, f"holding[{index}]", problems) for index, text in enumerate(asked.holding)}
    problems.raise_any()
    leased = await surface.desk.lease(
        worker_id_of(request),
        limit=asked.limit,
        wait_s=wait_ms / 1000,
        holding=holding,
        left=request.is_disconnected,
    )
    return json_answer(LeaseView([_leased_view(one) for one in leased]))


async def report(surface: Surface, request: Request) -> Response:
    problems = Problems()
    asked = await json_body(request, ReportInput, problems)
    forms = checked(asked.results, "results", problems)
    reported = [read_result(form, problems.within(f"results[{index}].")) for index, form in enumerate(forms)]
    problems.raise_any()
    return _accepted(forms, await surface.desk.report(worker_id_of(request), reported))


async def release(surface: Surface, request: Request) -> Response:
    problems = Problems()
    asked = await json_body(request, ReleaseInput, problems)
    forms = checked(asked.runs, "runs", problems)
    given_back = [read_given_back(form, problems.within(f"runs[{index}].")) for index, form in enumerate(forms)]
    problems.raise_any()
    return _accepted(forms, await surface.desk.release(worker_id_of(request), given_back))


async def progress(surface: Surface, request: Request) -> Response:
    problems = Problems()
    asked = await json_body(request, ProgressInput, problems)
    forms = checked(asked.runs, "runs", problems)
    saved = [read_progress(form, problems.within(f"runs[{index}].")) for index, form in enumerate(forms)]
    problems.raise_any()
    return _accepted(forms, await surface.desk.save(worker_id_of(request), saved))


async def leave(surface: Surface, request: Request) -> Response:
    await surface.desk.leave(worker_id_of(request))
    return Response(status_code=204)


def _accepted(forms: Sequence[HeldRun], accepted: set[RunId]) -> Response:
    told = {run_text(run_id) for run_id in accepted}
    ids = [form.id for form in forms if form.id is not UNSET]
    view = AcceptedView(
        accepted=[each for each in ids if each in told], refused=[each for each in ids if each not in told]
    )
    return json_answer(view)


def _leased_view(leased: Leased) -> LeasedView:
    claim = leased.claim
    return LeasedView(
        id=run_text(claim.run_id),
        token=claim.token,
        job_id=None if claim.job_id is None else job_text(claim.job_id),
        tenant=claim.tenant,
        queue=leased.queue,
        kind=claim.kind,
        attempt=claim.attempt,
        scheduled_at=format_instant(claim.scheduled_ms),
        due_at=format_instant(claim.due_ms),
        timeout=format_duration(leased.left_ms),
        target=_target_view(leased),
        checkpoint=None if leased.checkpoint is None else msgspec.Raw(leased.checkpoint.encode()),
    )


def _target_view(leased: Leased) -> TargetView:
    if isinstance(leased.prepared, PreparedCall) and leased.call is not None:
        return _request_view(leased.prepared, leased.call)
    return target_form(leased.prepared.execution.target)


def _request_view(prepared: PreparedCall, call: HttpCall) -> HttpTargetForm:
    """The request as it is to be sent, with its values put in and signed."""
    written = target_form(prepared.execution.target)
    assert not isinstance(written, TaskTargetForm)
    headers = dict(line.partition(": ")[::2] for line in call.header_lines())
    body = None if call.body is None else b64encode(call.body).decode()
    return msgspec.structs.replace(written, url=call.url, headers=headers, body=None, body_base64=body, sign=False)


ROUTES = (
    ApiRoute(
        method="POST",
        path="/v1/worker/register",
        handler=register,
        needs=KeyRole.OPERATOR,
        is_shared=True,
        summary="Register a worker, in any language.",
        request=RegisterInput,
        response=RegisteredView,
        status=201,
        repeatable=True,
    ),
    ApiRoute(
        method="POST",
        path="/v1/worker/{id}/heartbeat",
        handler=heartbeat,
        needs=KeyRole.OPERATOR,
        is_shared=True,
        summary="Say that a worker is alive; hear what it is to break off, and whether it is to end.",
        request=HeartbeatInput,
        response=HeartbeatView,
        repeatable=True,
    ),
    ApiRoute(
        method="POST",
        path="/v1/worker/{id}/lease",
        handler=lease,
        needs=KeyRole.OPERATOR,
        is_shared=True,
        summary="Take runs that are due, waiting a while for the first.",
        request=LeaseInput,
        response=LeaseView,
        repeatable=True,
    ),
    ApiRoute(
        method="POST",
        path="/v1/worker/{id}/report",
        handler=report,
        needs=KeyRole.OPERATOR,
        is_shared=True,
        summary="Say what became of runs.",
        request=ReportInput,
        response=AcceptedView,
        repeatable=True,
    ),
    ApiRoute(
        method="POST",
        path="/v1/worker/{id}/release",
        handler=release,
        needs=KeyRole.OPERATOR,
        is_shared=True,
        summary="Give back runs that were not started.",
        request=ReleaseInput,
        response=AcceptedView,
        repeatable=True,
    ),
    ApiRoute(
        method="POST",
        path="/v1/worker/{id}/progress",
        handler=progress,
        needs=KeyRole.OPERATOR,
        is_shared=True,
        summary="Say how far runs are, and from where a next attempt may go on.",
        request=ProgressInput,
        response=AcceptedView,
        repeatable=True,
    ),
    ApiRoute(
        method="DELETE",
        path="/v1/worker/{id}",
        handler=leave,
        needs=KeyRole.OPERATOR,
        is_shared=True,
        summary="Strike a worker off that ends.",
        status=204,
    ),
)
